"""docs/cpu-target.md names what the code has: neither more nor less."""

from __future__ import annotations

import re
from pathlib import Path

from pluginkit.cuda_cpu import RUNTIME_DIR
from pluginkit.cuda_cpu.ptx.instructions import INSTRUCTIONS
from pluginkit.cuda_cpu.ptx.operands import SPECIAL_REGISTERS

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "cpu-target.md").read_text(encoding="utf-8")


def test_the_list_of_ptx() -> None:
    section = DOCS[DOCS.index("\nInstructions, each for") :]
    named = re.findall(r"`([^`\s]+)`", section)
    assert sorted(named) == sorted([*INSTRUCTIONS, *(f"%{name}" for name in SPECIAL_REGISTERS)])


def test_the_settings() -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in RUNTIME_DIR.glob("*.cpp"))
    read = set(re.findall(r'(?:option|getenv)\("(PLUGINKIT_CPU_\w+)"', sources))
    read |= {f"PLUGINKIT_CPU_{name}" for name in re.findall(r'\{"(\w+)=", &Settings::', sources)}
    section = DOCS[DOCS.index("\n## Settings") : DOCS.index("\n## The device")]
    assert set(re.findall(r"^\| `(PLUGINKIT_CPU_\w+)`", section, re.MULTILINE)) == read


def test_the_kinds_of_findings() -> None:
    sources = "".join(file.read_text(encoding="utf-8") for file in RUNTIME_DIR.glob("*.cpp"))
    reported = set(re.findall(r'report\(\s*\{\s*"([a-z-]+)"', sources))
    section = DOCS[DOCS.index("\n## What it finds") : DOCS.index("\n## Settings")]
    assert reported
    assert reported <= set(re.findall(r"`([a-z-]+)`", section))
