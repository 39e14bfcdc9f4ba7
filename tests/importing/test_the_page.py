"""docs/from-a-model.md word for word: each command is typed, each change made, each line of its outputs found."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from pluginkit import cli
from pluginkit.runtimes.rtx import session as tensorrt_rtx

from .models import model, value

pytestmark = [
    pytest.mark.compile,
    pytest.mark.rtx,
    pytest.mark.xdist_group("projects"),
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here"),
]
pytest.importorskip("onnxruntime")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "from-a-model.md"
ONLY = {"test": ["--network", "plain"], "build": ["--target", "cpu"]}
"""The whole matrix of such a plugin, and what nvcc makes of it, is other tests' matter."""


def the_model() -> onnx.ModelProto:
    weights = onnx.numpy_helper.from_array(np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32), "w")
    attributes = {"domain": "acme", "mode": 1}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], "matmul"),
        helper.make_node("Swish2", ["h"], ["h2"], "first", beta=1.5, **attributes),
        helper.make_node("Swish2", ["h2"], ["y"], "second", beta=2.0, **attributes),
    ]
    return model(nodes, [value("x", ["n", 8])], [value("y", ["n", 8])], initializers=[weights])


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(the_model(), "model.onnx")
    shown = blocks("text")
    doctor, new, build_and_test, imported = blocks("sh")
    typed(doctor, monkeypatch, 1)
    output = words(capfd.readouterr().out)
    head, row, _, _, command = shown[0].splitlines()
    # The table's last column wraps.
    assert words(head) in output
    assert words(row.partition("known to")[0]) in output
    assert words(command) in output
    assert command.strip() == new.strip()
    typed(new, monkeypatch, 0)
    # A third of the build; integration/test_python_module has it.
    change(Path("swish2/CMakeLists.txt"), r"\npluginkit_add_python_module\([^\n]*\)\n", "\n")
    (body,), (kernel,) = blocks("python"), blocks("cpp")
    change(Path("swish2/reference.py"), r"    raise NotImplementedError\(.*?\n    \)\n", body)
    change(Path("swish2/src/swish2.cu"), r"        float const sum = .*?        return result;\n", kernel)
    capfd.readouterr()
    typed(build_and_test, monkeypatch, 0)
    assert "plain FP32 case-first" in words(capfd.readouterr().out)
    typed(imported, monkeypatch, 0)
    output = words(capfd.readouterr().out)
    for line in filter(None, map(words, shown[2].splitlines())):
        assert line in output


def test_several_operators_behind_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    nodes = [
        helper.make_node("Stem", ["x"], ["features"], "stem", domain="acme"),
        helper.make_node("Relu", ["features"], ["h"], "relu"),
        helper.make_node("Head", ["h"], ["y"], "head", domain="acme"),
    ]
    onnx.save(model(nodes, [value("x", ["n", 8])], [value("y", None)]), "model.onnx")
    typed("pluginkit doctor model.onnx", monkeypatch, 1)
    block = blocks("text")[1]
    assert block in capfd.readouterr().out
    for command in block.splitlines()[1:]:
        typed(command, monkeypatch, 0)
    (given,) = re.findall(r"`--shape (features:\S+)`", PAGE.read_text(encoding="utf-8"))
    typed(f"pluginkit new Other --from-onnx model.onnx --op acme::Head --shape {given}", monkeypatch, 0)


def typed(block: str, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Type a block's commands; `cd` changes the folder."""
    before = Path.cwd()
    for line in block.strip().splitlines():
        program, *arguments = shlex.split(line)
        if program == "cd":
            there, before = (before, Path.cwd()) if arguments == ["-"] else (Path(arguments[0]), Path.cwd())
            monkeypatch.chdir(there)
            continue
        assert program == "pluginkit"
        assert cli.run([*arguments, *ONLY.get(arguments[0], [])]) == code, line


def change(path: Path, pattern: str, text: str) -> None:
    before = path.read_text()
    after, count = re.subn(pattern, lambda _: text, before, flags=re.DOTALL)
    assert count == 1, path
    path.write_text(after)
