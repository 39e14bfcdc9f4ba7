"""`polygraphy run --pluginkit` as the user types it: by Polygraphy's own entry point, with its own files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import parser

pytest.importorskip("onnxruntime")
pytestmark = [pytest.mark.compile, pytest.mark.slow]

HEAD = '<ir_version: 8, opset_import: ["" : 17, "acme" : 1]> g (float[2, 4] x) => (float[2, 4] y)'
WITH = HEAD + '{ h = Abs(x)  y = acme.Scale <plugin_namespace = "acme", factor = 0.5, mode = FIRST> (h) }'
WITHOUT = HEAD + "<float one = {1.0}> { h = Abs(x)  y = Add(h, one) }"
"""What Scale gives of positive numbers with mode 1."""


def polygraphy(folder: Path, *arguments: str) -> tuple[int, str]:
    program = Path(sys.executable).parent / "polygraphy"
    ran = subprocess.run([program, "run", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def test_kernel_reference_and_saved_arrays(scale_project: Path, tmp_path: Path) -> None:
    for name, text in (
        ("with", WITH.replace("FIRST", "1")),
        ("wrong", WITH.replace("FIRST", "2")),
        ("without", WITHOUT),
    ):
        onnx.save(parser.parse_model(text), tmp_path / f"{name}.onnx")
    library = str(next(scale_project.glob("build/cpu/lib*.so")))
    code, text = polygraphy(
        tmp_path, "with.onnx", "--pluginkit", "--pluginkit-reference", "--plugins", library, "--save-inputs", "in.json",
        "--save-outputs", "out.json",
    )  # fmt: skip
    assert code == 0, text
    assert "Accuracy Summary | pluginkit vs. pluginkit-reference | Passed: 1/1" in text
    # What the kernel gave, against onnxruntime's of the model without a plugin.
    loaded = ("--load-inputs", "in.json", "--load-outputs", "out.json")
    code, text = polygraphy(tmp_path, "without.onnx", "--onnxrt", *loaded)
    assert code == 0, text
    assert "onnxrt-runner" in text
    # And the other way around, where the values differ.
    code, text = polygraphy(tmp_path, "wrong.onnx", "--pluginkit", "--plugins", str(scale_project), *loaded)
    assert code == 1, text
    assert "FAILED | Output: 'y'" in text
    # onnxruntime's own inputs and outputs, loaded by pluginkit's runner.
    saved = ("--save-inputs", "theirs.json", "--save-outputs", "wanted.json")
    code, text = polygraphy(tmp_path, "without.onnx", "--onnxrt", "--seed", "7", *saved)
    assert code == 0, text
    loaded = ("--load-inputs", "theirs.json", "--load-outputs", "wanted.json")
    code, text = polygraphy(tmp_path, "with.onnx", "--pluginkit", "--plugins", library, *loaded)
    assert code == 0, text
    assert "pluginkit vs. onnxrt-runner" in text
