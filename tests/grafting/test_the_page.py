"""docs/grafting.md word for word: each command is typed, each change made, each line of its outputs found; and what the
command refuses."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from pluginkit import cli
from pluginkit.runtimes.rtx import session as tensorrt_rtx

pytestmark = [
    pytest.mark.compile,
    pytest.mark.rtx,
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here"),
]
pytest.importorskip("onnxruntime")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "grafting.md"
MODEL = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 4, 4, 4] x) => (float[n, c, h, w] y)
<int64[3] two = {0, 2, -1}, int64[3] four = {0, 4, -1}, float[2] ones2 = {1.0, 1.0}, float[2] zeros2 = {0.0, 0.0},
 float[4] ones4 = {1.0, 1.0, 1.0, 1.0}, float[4] zeros4 = {0.0, 0.0, 0.0, 0.0}, float[2] same = {1.0, 1.0},
 float[2] double = {2.0, 2.0}, int64[2] none = {0, 0}, int64[2] edge = {1, 1},
 float[4, 1, 1] gamma = {1.0, 2.0, 3.0, 4.0}, float[4, 1, 1] beta = {0.1, 0.2, 0.3, 0.4}> {
  flat = Reshape(x, two)
  normed = InstanceNormalization<epsilon = 0.001>(flat, ones2, zeros2)
  shape = Shape(x)
  back = Reshape(normed, shape)
  scaled = Mul(gamma, back)
  first = Add(scaled, beta)
  scales = Concat<axis = 0>(same, double)
  up = Resize<mode = "nearest">(first, , scales)
  half = Concat<axis = 0>(none, edge)
  pads = Concat<axis = 0>(half, half)
  padded = Pad<mode = "reflect">(up, pads)
  flat2 = Reshape(padded, four)
  normed2 = InstanceNormalization(flat2, ones4, zeros4)
  shape2 = Shape(padded)
  back2 = Reshape(normed2, shape2)
  scaled2 = Mul(back2, gamma)
  y = Add(scaled2, beta)
}"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def words(text: str) -> str:
    return " ".join(text.split())


def typed(line: str, *more: str) -> int:
    program, *arguments = shlex.split(line)
    assert program == "pluginkit"
    return cli.run([*arguments, *more])


def change(path: Path, pattern: str, text: str) -> None:
    after, count = re.subn(pattern, lambda _: text, path.read_text(), flags=re.DOTALL)
    assert count == 1, path
    path.write_text(after)


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    model = parser.parse_model(MODEL)
    for index, name in ((0, "first"), (5, "affine"), (11, "second"), (16, "last")):
        model.graph.node[index].name = name
    onnx.save(model, "model.onnx")
    new, graft, store = blocks("sh")
    (body, _), (kernel,), (pattern,), (shown,) = (blocks(one) for one in ("python", "cpp", "toml", "text"))
    assert typed(new) == 0
    change(Path("group_norm/reference.py"), r"    shape = \(.*?    return total\n", body)
    kernel_file = Path("group_norm/src/group_norm.cu")
    change(kernel_file, r"        float sum = .*?        float const result = [^\n]*\n", kernel)
    Path("group_norm/patterns").mkdir()
    Path("group_norm/patterns/instance_norm.toml").write_text(pattern)
    capfd.readouterr()
    assert typed(graft) == 0
    output = words(capfd.readouterr().out)
    for line in filter(None, map(words, shown.splitlines())):
        assert line in output
    made = onnx.load("grafted.onnx")
    assert [one.op_type for one in made.graph.node] == ["GroupNorm", "Resize", "Pad", "GroupNorm"]
    constants = {one.name: onnx.numpy_helper.to_array(one).tolist() for one in made.graph.initializer}
    pads = next(one for one in made.graph.node if one.op_type == "Pad").input[1]
    assert constants[pads] == [0, 0, 1, 1, 0, 0, 1, 1]

    # Once more, from a store, with the bundle's pattern; the project's are gone.
    monkeypatch.setenv("PLUGINKIT_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    pack, add, again = store.splitlines()
    assert typed(pack) == 0
    assert "patterns for graft: instance_norm" in capfd.readouterr().out
    assert typed(add) == 0
    Path("group_norm").rename("aside")
    assert typed("pluginkit registry show group_norm") == 0
    capfd.readouterr()
    assert typed(again) == 0
    assert "instance_norm" not in capfd.readouterr().err
    assert Path("from_store.onnx").read_bytes() == Path("grafted.onnx").read_bytes()
    assert typed("pluginkit graft model.onnx --replace other --by acme::GroupNorm -o bad.onnx") == 2
    assert "The plugin's bundle brings instance_norm." in words(capfd.readouterr().err)
    assert typed("pluginkit graft model.onnx --replace other --by acme::Groupnorm -o bad.onnx") == 1
    assert "Nothing implements acme::Groupnorm 1." in words(capfd.readouterr().err)
    Path("aside").rename("group_norm")

    # A wrong attribute: other values, and nothing is written.
    wrong = pattern.replace('"split[1]"', '"split[1] // 2"')
    Path("wrong.toml").write_text(wrong)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert typed("pluginkit graft model.onnx --by group_norm -o bad.onnx", "--replace", "wrong.toml") == 1
    error = words(capfd.readouterr().err)
    assert "Nothing is written" in error
    assert "output 'y'" in error
    # A file's inputs are run on, too; those that are wrong are said.
    np.savez("in.npz", x=np.zeros((1, 4, 4, 4), np.float64))
    assert typed("pluginkit graft model.onnx --by group_norm -o bad.onnx --data in.npz --replace instance_norm") == 2
    np.savez("shape.npz", x=np.zeros((3, 5), np.float32))
    assert typed("pluginkit graft model.onnx --by group_norm -o bad.onnx --data shape.npz --replace instance_norm") == 2
    assert "x has the shape [3, 5], and the model takes [1, 4, 4, 4]" in words(capfd.readouterr().err)
    assert typed("pluginkit graft model.onnx --by @2 -o bad.onnx --replace instance_norm") == 2
    assert "'@2' is not a plugin's name" in words(capfd.readouterr().err)
    assert typed("pluginkit graft model.onnx --by group_norm -o bad.onnx --replace chain:Tanh,Tanh") == 3
    assert typed("pluginkit graft model.onnx --by group_norm -o model.onnx --replace instance_norm") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*files, "in.npz", "shape.npz"])
