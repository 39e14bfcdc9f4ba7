"""`doctor --cut` and `--outputs`: engines A, B, C, and the shape tensors between them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import cli
from pluginkit.errors import UsageError
from pluginkit.importing.cutting import parts, with_outputs
from pluginkit.runtimes.rtx import session as tensorrt_rtx

from .models import CONDITION, branch, conditional, model, value
from .test_shape_tensors import ints, node

pytestmark = pytest.mark.usefixtures("one_process")
ort = pytest.importorskip("onnxruntime")


def chain() -> onnx.ModelProto:
    """A finds a shape, B doubles it, C reshapes by it; C needs a tensor of A's too, and a weight is everywhere."""
    nodes = [
        node("Mul", ["x", "w"], "scaled"),
        node("Shape", ["scaled"], "size"),
        node("Mul", ["size", "change"], "target"),
        node("Neg", ["scaled"], "turned"),
        conditional(
            branch([node("Mul", ["turned", "w"], "a")], value("a", ["n", 4])),
            branch([node("Add", ["scaled", "w"], "b")], value("b", ["n", 4])),
            "either",
        ),
        node("Reshape", ["either", "target"], "y"),
    ]
    weights = onnx.numpy_helper.from_array(np.arange(1, 5, dtype=np.float32), "w")
    inputs = [value("x", ["n", 4]), CONDITION]
    return model(nodes, inputs, [value("y", [None, None])], initializers=[weights, ints("change", 1, 1)])


def test_the_parts_and_their_shape_tensors() -> None:
    first, second, third = parts(chain(), [["size"], ["target"]])
    ends = [
        ([one.name for one in part.model.graph.input], [one.name for one in part.model.graph.output])
        for part in (first, second, third)
    ]
    assert ends == [
        (["x"], ["scaled", "size"]),
        (["size"], ["target"]),
        (["condition", "scaled", "target"], ["y"]),
    ]
    # By what is behind: C takes the target as a shape, so B has it marked, and needs the size as one.
    assert [(part.shape_inputs, part.shape_outputs) for part in (first, second, third)] == [
        ((), ("size",)), (("size",), ("target",)), (("target",), ())]  # fmt: skip
    assert [[one.name for one in part.model.graph.initializer] for part in (first, second, third)] == [
        ["w"], ["change"], ["w"]]  # fmt: skip
    for part in (first, second, third):
        onnx.checker.check_model(part.model, full_check=True)
        assert not part.wrong


def test_one_after_the_other_they_are_the_model() -> None:
    whole = chain()
    made = {"x": np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32), "condition": np.array(True)}
    (expected,) = ort.InferenceSession(whole.SerializeToString()).run(None, made)
    for part in parts(whole, [["size"], ["target"]]):
        session = ort.InferenceSession(part.model.SerializeToString())
        given = {one.name: made[one.name] for one in session.get_inputs()}
        made |= dict(zip([one.name for one in session.get_outputs()], session.run(None, given), strict=True))
    np.testing.assert_array_equal(made["y"], expected)


def test_a_shape_tensor_of_a_type_that_no_end_has() -> None:
    nodes = [
        node("Cast", ["x"], "flags", to=TensorProto.BOOL),
        node("Where", ["flags", "some", "others"], "target"),
        node("Reshape", ["x", "target"], "y"),
    ]
    proto = model(nodes, [value("x", [2])], [value("y", None)], initializers=[ints("some", 1, 1), ints("others", 2, 2)])
    _, last = parts(proto, [["flags"]])
    assert last.wrong == ("flags",)


@pytest.mark.parametrize(
    ("cuts", "words"),
    [
        ([["nothere"]], "no tensor"),
        ([["scale"]], "Is scaled meant"),
        ([["x"]], "no node makes it"),
        ([["w"]], "no node makes it"),
        ([["a"]], "inside an If"),
        ([["target"], ["size"]], "leaves no nodes"),
        ([["y"]], "nothing left"),
    ],
)
def test_what_can_not_be_cut(cuts: list[list[str]], words: str) -> None:
    with pytest.raises(UsageError) as error:
        parts(chain(), cuts)
    assert words in f"{error.value.message} {error.value.hint}"


def test_a_type_that_nobody_knows() -> None:
    nodes = [helper.make_node("Scale", ["x"], ["s"], "s", domain="acme"), node("Neg", ["s"], "y")]
    with pytest.raises(UsageError, match="type of s"):
        parts(model(nodes), [["s"]])


def test_other_outputs() -> None:
    changed = with_outputs(chain(), ["target", "scaled"])
    assert [one.name for one in changed.graph.output] == ["target", "scaled"]
    assert [one.op_type for one in changed.graph.node] == ["Mul", "Shape", "Mul"]
    assert [one.name for one in changed.graph.input] == ["x"]
    onnx.checker.check_model(changed, full_check=True)


@pytest.mark.rtx
@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here")
def test_nvidia_builds_each_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(chain(), path)
    assert cli.run(["doctor", str(path), "--cut", "size", "--cut", "target", "--into", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert f"engine B: {tmp_path / 'model-B.onnx'}, 1 nodes" in out
    assert "target, a shape tensor for a later engine: mark it by markOutputForShapes" in out
    assert "target, a shape tensor: its values are given by IOptimizationProfile::setShapeValues" in out
    assert "one after the other they give what the model gives (largest difference 0.0e+00)" in out
    assert out.count("build by TensorRT-RTX: built") == 4
    assert "target values: min 1x4, opt 4x4, max 16x4" in out
    assert cli.run(["doctor", str(path), "--outputs", "target", "--into", str(tmp_path), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["models"]
    assert [one["build"]["status"] for one in made] == ["built", "built"]
    assert made[1]["model"] == str(tmp_path / "model-outputs.onnx")
    assert [one["name"] for one in made[1]["tensors"]] == ["x", "scaled", "size", "target"]


def test_two_changes_at_once(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(chain(), path)
    assert cli.run(["doctor", str(path), "--cut", "size", "--outputs", "target"]) == 2
    assert cli.run(["doctor", str(path), "--cut", "size", "--into", str(tmp_path / "nothere")]) == 2
    assert not list(tmp_path.glob("model-*"))


def test_a_model_that_onnxruntime_can_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    nodes = [node("Neg", ["x"], "turned"), helper.make_node("Scale", ["turned"], ["y"], "s", domain="acme")]
    onnx.save(model(nodes), path)
    assert cli.run(["doctor", str(path), "--cut", "turned", "--into", str(tmp_path)]) == 1
    assert "not compared with the model, which onnxruntime can't run" in capsys.readouterr().out
    assert (tmp_path / "model-B.onnx").exists()
