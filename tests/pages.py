"""Follows a page of docs/: types its commands, makes its changes, and holds its outputs against what is printed.

    ```sh      commands, each on a line
    ```text    what the commands before it print; `...` stands for any lines
    ```diff    a change of the file that its first line names, as `--- src/my_plugin.cu`
    ```python  the file that its first line names, as `# model.py`; ```cuda likewise, as `// folder/plugin.cu`

With PLUGINKIT_PASTE=1 the outputs are written into the page instead; lines of `...` are for the author to put in.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pluginkit import cli

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"^```(sh|text|diff|python|cuda)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARYING = (r"\b\d+(?:\.\d+)? (?:s|KiB|ms)\b", r"\b[0-9a-f]{12}\b", r" {2,}", r"took no part:.*|not tested by [^;]*")
"""Times, sizes, hashes, columns' widths, and which of NVIDIA's runtimes are here."""


def follow(name: str, capfd: pytest.CaptureFixture[str], more: Mapping[str, str] | None = None) -> None:
    """Follow docs/NAME in the current folder.

    Args:
        name: the page's.
        capfd: what is printed.
        more: options for a command, by the line that the page has; its output is then not compared.
    """
    page = DOCS / name
    text = page.read_text(encoding="utf-8")
    printed, skipped = "", False
    pasted, wrong = text, list[str]()
    for block in BLOCK.finditer(text):
        kind, content = block.groups()
        if kind == "diff":
            change(content)
        elif kind in ("python", "cuda"):
            path = Path(content.splitlines()[0].lstrip("#/ "))
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
        elif kind == "sh":
            capfd.readouterr()
            skipped = False
            for line in content.splitlines():
                extra = (more or {}).get(line, "")
                skipped |= bool(extra)
                typed(f"{line} {extra}")
            printed = capfd.readouterr().out.strip("\n")
        elif not skipped and not re.fullmatch(pattern(content), plain(printed), re.DOTALL):
            wrong.append(f"{name} has\n{content}\nand this is printed:\n{printed}")
            at = block.start(2) + len(pasted) - len(text)
            pasted = f"{pasted[:at]}{printed}\n{pasted[at + len(content) :]}"
    if os.environ.get("PLUGINKIT_PASTE"):
        page.write_text(pasted, encoding="utf-8")
        return
    assert not wrong, "\n\n".join(wrong) + "\n\nPLUGINKIT_PASTE=1 writes it into the page."


def typed(line: str, run: Callable[[list[str]], int] = cli.run) -> int:
    """Type a command of pluginkit's or Python's, or `cd`; the exit code."""
    program, *arguments = shlex.split(line, comments=True)
    if program == "cd":
        os.chdir(arguments[0])
        return 0
    if program == "python":
        return subprocess.run([sys.executable, *arguments], check=False).returncode
    assert program == "pluginkit", line
    return run(arguments)


def change(block: str) -> None:
    """Make a change as a diff shows it."""
    head, *lines = block.splitlines()
    path = Path(head.removeprefix("--- "))
    before = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
    after = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
    content = path.read_text(encoding="utf-8")
    assert content.count(before) == 1, f"{path} has not\n{before}"
    path.write_text(content.replace(before, after), encoding="utf-8")


def plain(text: str) -> str:
    """Without what differs from run to run."""
    for one in VARYING:
        text = re.sub(one, " ", text)
    return "\n".join(line.strip() for line in text.strip().splitlines() if line.strip())


def pattern(text: str) -> str:
    """An output as a regular expression."""
    return re.escape(plain(text)).replace(r"\.\.\.", ".*")
