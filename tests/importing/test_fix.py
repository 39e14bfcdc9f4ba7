"""`pluginkit doctor --fix`: rewrites that NVIDIA builds, and that onnxruntime confirms before they are written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import cli
from pluginkit.errors import CheckFailed
from pluginkit.importing.rewrites import fixing, recurrences
from pluginkit.network.model import NetworkProfile
from pluginkit.runtimes.rtx import session as tensorrt_rtx

from .models import CONDITION, branch, conditional, model, value

pytest.importorskip("onnxruntime")
RTX = pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here")
HIDDEN = value("y", [1, "n", 4])
STATE = value("t", ["n", "c"])


def weights(name: str, *shape: int) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.random.default_rng(3).normal(size=shape).astype(np.float32) / 4, name)


def recurrent(kind: str, outputs: list[str], **attributes: object) -> onnx.ModelProto:
    """An LSTM or GRU in a branch, of which only the last hidden state is used."""
    gates = {"LSTM": 4, "GRU": 3}[kind]
    layer = helper.make_node(kind, ["x", "w", "r"], outputs, "layer", hidden_size=4, **attributes)
    then = branch([layer, helper.make_node("Identity", ["h"], ["t"], "same")], value("t", [1, "n", 4]))
    other = branch([helper.make_node("Relu", ["h0"], ["e"], "relu")], value("e", [1, "n", 4]))
    inputs = [value("x", [5, "n", 3]), value("h0", [1, "n", 4]), CONDITION]
    constants = [weights("w", 1, gates * 4, 3), weights("r", 1, gates * 4, 4)]
    return model([conditional(then, other)], inputs, [HIDDEN], initializers=constants)


def looping(*, scan: bool, condition: bool = True) -> onnx.ModelProto:
    """A Loop in a branch, of which only the first state is used."""
    nodes = [
        helper.make_node("Identity", ["go"], ["on"], "keep"),
        helper.make_node("Mul", ["a", "w"], ["a1"], "scale"),
        helper.make_node("Add", ["b", "a"], ["b1"], "add"),
    ]
    nodes += [helper.make_node("Neg", ["a"], ["turned"], "turn")] if scan else []
    given = [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("a", ["n", 4]),
             value("b", ["n", 4])]  # fmt: skip
    made = [value("on", [], TensorProto.BOOL), value("a1", ["n", 4]), value("b1", ["n", 4])]
    body = helper.make_graph(nodes, "body", given, [*made, *([value("turned", ["n", 4])] if scan else [])])
    outputs = ["first", "second", *(["all"] if scan else [])]
    loop = helper.make_node("Loop", ["trips", "yes" if condition else "", "x", "x"], outputs, "loop", body=body)
    then = branch([loop, helper.make_node("Identity", ["first"], ["t"], "same")], value("t", ["n", 4]))
    other = branch([helper.make_node("Relu", ["x"], ["e"], "relu")], value("e", ["n", 4]))
    constants = [weights("w", 4), helper.make_tensor("trips", TensorProto.INT64, [], [3])]
    constants += [helper.make_tensor("yes", TensorProto.BOOL, [], [True])]
    inputs = [value("x", ["n", 4]), CONDITION]
    return model([conditional(then, other)], inputs, [value("y", ["n", 4])], initializers=constants)


def quick_gelu() -> onnx.ModelProto:
    node = helper.make_node("QuickGelu", ["x"], ["y"], "gelu", domain="com.microsoft", alpha=1.25)
    return model([node], domains=("com.microsoft",))


def crop() -> onnx.ModelProto:
    node = helper.make_node("CenterCropPad", ["x", "size"], ["y"], "crop")
    size = helper.make_tensor("size", TensorProto.INT64, [2], [3, 5])
    return model([node], [value("x", [4, 4])], [value("y", [3, 5])], initializers=[size], opset=18)


@RTX
@pytest.mark.rtx
@pytest.mark.parametrize(
    ("proto", "change"),
    [
        (recurrent("LSTM", ["", "h"]), "its last hidden state is taken"),
        (recurrent("LSTM", ["steps", "h", "c"]), "its last hidden state is taken"),
        (recurrent("GRU", ["", "h"]), "its last hidden state is taken"),
        (looping(scan=False), "states that nothing uses come first"),
        (looping(scan=True), "1 scan output that nothing uses left out"),
        (looping(scan=False, condition=False), "it has a constant condition"),
        (quick_gelu(), "com.microsoft::QuickGelu (1 nodes): written by"),
        (crop(), "CenterCropPad (1 nodes): written by"),
    ],
    ids=["lstm", "lstm-all", "gru", "loop", "scan", "condition", "quick-gelu", "crop"],
)
def test_nvidia_refuses_the_original_and_builds_the_rewrite(
    proto: onnx.ModelProto, change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, made = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(proto, path)
    assert cli.run(["doctor", str(path), "--fix", str(made)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"pluginkit doctor {path} --fix {tmp_path / 'model-fixed.onnx'}" in out
    assert change in out
    assert "onnxruntime gives the same on 6 random inputs" in out
    assert re.search(
        r"model\.onnx: .*?refused by TensorRT-RTX.*fixed\.onnx: (\d warnings?; )?built by TensorRT-RTX", out
    )
    onnx.checker.check_model(str(made))


@pytest.mark.parametrize(
    "proto",
    [
        recurrent("LSTM", ["", "h"], direction="reverse"),
        recurrent("LSTM", ["", "h"], layout=1),
        model([helper.make_node("Relu", ["x"], ["y"], "relu")]),
    ],
)
def test_what_no_rewrite_is_exact_for_stays_as_it_is(proto: onnx.ModelProto) -> None:
    before = proto.SerializeToString(deterministic=True)
    assert recurrences.rewrite(proto) == []
    assert proto.SerializeToString(deterministic=True) == before


def test_outside_of_branches_nothing_is_rewritten() -> None:
    layer = helper.make_node("LSTM", ["x", "w", "r"], ["", "y"], "layer", hidden_size=4)
    constants = [weights("w", 1, 16, 3), weights("r", 1, 16, 4)]
    assert recurrences.rewrite(model([layer], [value("x", [5, "n", 3])], [HIDDEN], initializers=constants)) == []


def test_a_rewrite_that_is_wrong_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(proto: onnx.ModelProto) -> list[str]:
        proto.graph.node[0].op_type = "Neg"
        return ["Relu as Neg"]

    monkeypatch.setattr(recurrences, "rewrite", wrong)
    path, made = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(model([helper.make_node("Relu", ["x"], ["y"], "relu")]), path)
    profile = NetworkProfile("default", {"x": ((1, 4), (2, 4), (3, 4))})
    with pytest.raises(CheckFailed, match="Nothing is written: 'y' differs by"):
        fixing.fix(path, made, (), profile, seed=0, timeout=60)
    assert not made.exists()


def test_nothing_to_rewrite_and_the_model_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, made = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(model([helper.make_node("Relu", ["x"], ["y"], "relu")]), path)
    assert cli.run(["doctor", str(path), "--fix", str(made), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["models"]) == 1
    assert not made.exists()
    assert cli.run(["doctor", str(path), "--fix", str(path)]) == 2
    assert "would replace the model itself" in capsys.readouterr().err
