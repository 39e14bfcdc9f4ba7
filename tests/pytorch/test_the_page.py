"""docs/from-pytorch.md word for word: each command is typed, each change made, each line of its outputs found."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pluginkit import cli
from pluginkit.runtimes.rtx import session as tensorrt_rtx

pytestmark = [
    pytest.mark.slow,
    pytest.mark.compile,
    pytest.mark.rtx,
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here"),
]
pytest.importorskip("torch")
pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "from-pytorch.md"
ONLY = {"test": ["--network", "plain"], "build": ["--target", "cpu"]}
"""The whole matrix of such a plugin, and what nvcc makes of it, is other tests' matter."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def words(text: str) -> str:
    return " ".join(text.split())


def typed(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Type a block's commands; `cd` changes the folder."""
    before = Path.cwd()
    for line in block.strip().splitlines():
        program, *arguments = shlex.split(line)
        if program == "cd":
            there, before = (before, Path.cwd()) if arguments == ["-"] else (Path(arguments[0]), Path.cwd())
            monkeypatch.chdir(there)
        elif program == "python":
            done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
        else:
            assert program == "pluginkit"
            assert cli.run([*arguments, *ONLY.get(arguments[0], [])]) == 0, line


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    layers, export = blocks("python")
    Path("layers.py").write_text(layers)
    Path("export.py").write_text(export)
    new, build_and_test, run_export, imported = blocks("sh")
    made, shown = blocks("text")
    typed(new, monkeypatch)
    output = words(capfd.readouterr().out)
    for line in map(words, made.splitlines()):
        assert line in output
    kernel = Path("gate/src/gate.cu")
    after, count = re.subn(
        r"        float sum = .*?        float const result = [^\n]*\n", lambda _: blocks("cpp")[0], kernel.read_text(),
        flags=re.DOTALL,
    )  # fmt: skip
    assert count == 1
    kernel.write_text(after)
    typed(build_and_test, monkeypatch)
    assert "plain FP32 case-example" in words(capfd.readouterr().out)
    typed(run_export, monkeypatch)
    capfd.readouterr()
    typed(imported, monkeypatch)
    output = words(capfd.readouterr().out)
    for line in filter(None, map(words, shown.splitlines())):
        assert line in output
