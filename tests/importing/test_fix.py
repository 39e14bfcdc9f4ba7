"""`pluginkit doctor --fix`: rewrites that NVIDIA builds, and that onnxruntime confirms before they are written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import cli, parser_operators
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.importing import ImportOptions, inputs, missing_operators, onnx_sessions, plugin_node, profiles, run
from pluginkit.importing.building import ModelSession
from pluginkit.importing.implementations import find_implementations
from pluginkit.importing.rewrites import conditionals, fixing, recurrences
from pluginkit.network.networks import NetworkProfile
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.verdict import BuildVerdict

from .models import CONDITION, branch, conditional, model, value

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.usefixtures("one_process")
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


def nested() -> onnx.ModelProto:
    """An If in a branch; its branches have the same names inside."""
    inner = helper.make_node(
        "If",
        ["second"],
        ["t"],
        "inner",
        then_branch=branch([helper.make_node("Relu", ["x"], ["a"], "n")], value("a", ["n", "c"])),
        else_branch=branch([helper.make_node("Neg", ["x"], ["a"], "n")], value("a", ["n", "c"])),
    )
    other = branch([helper.make_node("Abs", ["x"], ["e"], "abs")], value("e", ["n", "c"]))
    inputs = [value("x", ["n", "c"]), CONDITION, value("second", [], TensorProto.BOOL)]
    return model([conditional(branch([inner], STATE), other)], inputs)


def quick_gelu() -> onnx.ModelProto:
    node = helper.make_node("QuickGelu", ["x"], ["y"], "gelu", domain="com.microsoft", alpha=1.25)
    return model([node], domains=("com.microsoft",))


def crop() -> onnx.ModelProto:
    node = helper.make_node("CenterCropPad", ["x", "size"], ["y"], "crop")
    size = helper.make_tensor("size", TensorProto.INT64, [2], [3, 5])
    return model([node], [value("x", [4, 4])], [value("y", [3, 5])], initializers=[size], opset=18)


@pytest.fixture(scope="module")
def native(session: ModelSession) -> set[str]:
    return session.native([*parser_operators.OPERATORS, "QuickGelu"])


def built(session: ModelSession, proto: onnx.ModelProto, folder: Path) -> tuple[BuildVerdict, NetworkProfile | None]:
    path = folder / "model.onnx"
    onnx.save(proto, path)
    found, refused = session.inputs(path, (), [one.name for one in profiles.given(proto)])
    if refused:
        return refused, None
    profile = profiles.profile(found, [])
    return session.build(path, profile), profile


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
        (nested(), "both of its branches are computed, and Where takes one"),
        (quick_gelu(), "com.microsoft::QuickGelu (1 node): written by"),
        (crop(), "CenterCropPad (1 node): written by"),
    ],
    ids=["lstm", "lstm-all", "gru", "loop", "scan", "condition", "if-in-if", "quick-gelu", "crop"],
)
def test_nvidia_refuses_the_original_and_builds_the_rewrite(
    proto: onnx.ModelProto, change: str, tmp_path: Path, session: ModelSession, native: set[str]
) -> None:
    implementations = find_implementations(proto, (), native.__contains__)
    refused, _ = built(session, proto, tmp_path)
    assert refused.status == "refused"
    changed, changes = fixing.apply(
        proto, missing_operators.find(tmp_path / "model.onnx", proto, implementations, native.__contains__)
    )
    assert [one for one in changes if change in one], changes
    onnx.checker.check_model(changed)
    verdict, profile = built(session, changed, tmp_path)
    assert verdict.ok, verdict.message
    assert profile is not None
    both = [onnx_sessions.session(one.SerializeToString()) for one in (proto, changed)]
    for chosen in (True, False):
        feeds, _ = inputs.draw(proto, profile, plugin_node.DOMAIN, np.random.default_rng(4))
        feeds = {name: np.full_like(one, chosen) if one.dtype == bool else one for name, one in feeds.items()}
        (expected,), (got,) = (one.run(None, feeds) for one in both)
        fixing.difference("y", got, expected)


@RTX
@pytest.mark.rtx
@pytest.mark.parametrize(
    ("proto", "change"),
    [
        (recurrent("LSTM", ["", "h"]), "its last hidden state is taken"),
        (quick_gelu(), "com.microsoft::QuickGelu (1 node): written by"),
    ],
    ids=["lstm", "quick-gelu"],
)
def test_doctor_compares_and_writes_the_rewrite(
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


@pytest.mark.parametrize(
    ("nodes", "given", "message"),
    [
        (["x -> y"], ["x", "x"], "rewritten: 2 inputs have the name x"),
        (["a -> b", "b -> a", "x -> y"], ["x"], "rewritten: node .*: its nodes need each other's outputs in a circle"),
    ],
)
def test_a_graph_that_can_not_be_computed(nodes: list[str], given: list[str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    made = [helper.make_node("Relu", one.split(" -> ")[:1], one.split(" -> ")[1:]) for one in nodes]
    path.write_bytes(model(made, [value(name, [2, 3]) for name in given]).SerializeToString())
    with pytest.raises(UsageError, match=message):
        fixing.fix(path, tmp_path / "fixed.onnx", (), NetworkProfile("default", {}), seed=0, timeout=60)


def test_nothing_to_rewrite_and_the_model_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, made = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(model([helper.make_node("Relu", ["x"], ["y"], "relu")]), path)
    assert cli.run(["doctor", str(path), "--fix", str(made), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["models"]) == 1
    assert not made.exists()
    assert cli.run(["doctor", str(path), "--fix", str(path)]) == 2
    assert "would replace the model itself" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["Loop", "If", "LSTM"])
def test_nodes_that_are_none_of_onnx_are_left_alone(kind: str) -> None:
    """Without inputs, outputs and bodies: onnx's checker says so, and a rewrite has nothing to say."""
    bare = branch([helper.make_node(kind, [], [])], value("t", ["n", "c"]))
    proto = model([conditional(bare, bare)], [value("x", ["n", "c"]), CONDITION])
    assert recurrences.rewrite(proto) == []
    assert conditionals.rewrite(proto) == []


@RTX
@pytest.mark.parametrize("kind", ["Loop", "If"])
def test_what_nobody_serves_is_written_out_inside_of_bodies(kind: str, tmp_path: Path) -> None:
    """Where it stands: with the names of that body, and what is outside of it."""
    node = helper.make_node("QuickGelu", ["s"], ["m"], "gelu", domain="com.microsoft", alpha=1.25)
    nodes = [node, helper.make_node("Add", ["m", "x"], ["s2"], "add")]
    shape: list[int | str | None] = ["n", "c"]
    if kind == "Loop":
        nodes.append(helper.make_node("Identity", ["go"], ["on"], "keep"))
        given = [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("s", shape)]
        body = helper.make_graph(nodes, "body", given, [value("on", [], TensorProto.BOOL), value("s2", shape)])
        around = [helper.make_node("Loop", ["trips", "yes", "x"], ["y"], "loop", body=body)]
        inputs, path = [value("x", shape)], "loop/body/gelu"
    else:
        other = branch([helper.make_node("Neg", ["x"], ["e"], "neg")], value("e", shape))
        around = [
            helper.make_node("Abs", ["x"], ["s"], "abs"),
            conditional(branch(nodes, value("s2", shape)), other),
        ]
        inputs, path = [value("x", shape), CONDITION], "if/then_branch/gelu"
    constants = [
        helper.make_tensor("trips", TensorProto.INT64, [], [3]),
        helper.make_tensor("yes", TensorProto.BOOL, [], [True]),
    ]
    proto = model(around, inputs, domains=("com.microsoft",), initializers=constants)
    source, made = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    onnx.save(proto, source)
    before = run(ImportOptions(source))
    assert [one.nodes for one in before.unserved] == [(path,)]
    profile = profiles.profile(profiles.declared_inputs(proto), [])
    fixed = fixing.fix(source, made, before.unserved, profile, seed=0, timeout=60)
    # Compared at min and opt on six inputs.
    assert fixed.runs == 6
    after = run(ImportOptions(made))
    assert after.verdict is not None
    assert (after.unserved, after.verdict.status, after.ran.status) == ((), "built", "ran")
