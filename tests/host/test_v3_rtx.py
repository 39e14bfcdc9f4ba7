"""The optional parts of an IPluginV3 in NVIDIA's parser and builder, and in the host: both tell the plugin the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto, helper

from pluginkit.dtypes import DType
from pluginkit.host import Library, build
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network, NetworkProfile, Range
from pluginkit.runtimes.rtx import refusals
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.verdict import Configured

from .test_v3 import MODES, K, X

pytestmark = pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="no TensorRT-RTX")

MANIFEST = Manifest.parse("""
plugin = { name = "ProbeV3", namespace = "tests", base = "v3" }
inputs = [{ name = "x", types = ["float32"], shape = ["n", "c"] }]
outputs = [{ name = "y", types = ["float32"], shape = ["n", "c"] }]
profiles = [{ symbols = { n = [1, 2, 4], c = [5, 5, 5] } }]
""")


@pytest.fixture(scope="module")
def session(v3_library: Path) -> Iterator[tensorrt_rtx.RtxSession]:
    with tensorrt_rtx.RtxSession(v3_library, MANIFEST, 60.0) as opened:
        opened.check()
        yield opened


def network(mode: str, length: Sequence[int] = (1,)) -> Network:
    """The plugin, and Identity behind it; `length` is the shape of its shape input."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 5])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    names, made = ["x"], ["made"]
    attributes: dict[str, Any] = {"mode": MODES[mode], "fault": 0, "factor": 2.0}
    values: dict[str, Range] = {}
    if mode == "shape_input":
        inputs.append(helper.make_tensor_value_info("k", TensorProto.INT32, length))
        names.append("k")
        attributes["tensorrt_plugin_shape_input_indices"] = [1]
        values["k"] = ((1,), (3,), (6,))
    if mode == "size":
        made.append("count")
        outputs.append(helper.make_tensor_value_info("count", TensorProto.INT32, []))
    attributes |= {"plugin_version": "1", "plugin_namespace": "tests"}
    node = helper.make_node("ProbeV3", names, made, domain="pluginkit", name="layer", **attributes)
    graph = helper.make_graph([node, helper.make_node("Identity", ["made"], ["y"])], "g", inputs, outputs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("pluginkit", 1)]
    model = helper.make_model(graph, opset_imports=opsets).SerializeToString()
    profiles = (NetworkProfile("p", {"x": ((1, 5), (2, 5), (4, 5))}, values),)
    return Network(mode, "plain", DType.FLOAT32, model, (), profiles, ("y",))


@pytest.mark.parametrize("mode", MODES)
def test_nvidias_builder_tells_the_plugin_what_the_host_does(
    session: tensorrt_rtx.RtxSession, v3_library: Path, mode: str
) -> None:
    verdict = session.build(network(mode))
    assert verdict.ok, verdict.message
    more, indices = ([K], (1,)) if mode == "shape_input" else ([], ())
    fields = {
        "mode": (DType.INT32, MODES[mode]),
        "fault": (DType.INT32, 0),
        "factor": (DType.FLOAT32, 2.0),
    }
    with Library(v3_library) as loaded:
        built = build(loaded.creators[0], "layer", fields, [[X, *more]], shape_inputs=indices)
    expected = Configured.of("layer", built.configured[0])
    assert set(verdict.configured) == {expected}


def test_a_shape_input_is_1d(session: tensorrt_rtx.RtxSession) -> None:
    """So pluginkit.toml refuses a 0-D one (manifest/v3_rules.py)."""
    assert session.build(network("shape_input")).ok
    verdict = session.build(network("shape_input", ()))
    assert verdict.status == "refused"
    assert "getAsSymbolicDims" in verdict.message
    assert "rank() == 1" in verdict.message


def conditional(*, both: bool, constant: bool = False) -> Network:
    """An If with the plugin in one branch or in both, whose shape input is a network input or a constant."""
    fields = {"mode": MODES["shape_input"], "fault": 0, "factor": 2.0, "plugin_version": "1"}
    attributes = {**fields, "plugin_namespace": "tests", "tensorrt_plugin_shape_input_indices": [1]}
    branches = []
    for index, live in enumerate((True, both)):
        name = f"n{index}_layer"
        node = helper.make_node("ProbeV3", ["x", "k"], [f"y{index}"], name, domain="pluginkit", **attributes)
        if not live:
            node = helper.make_node("Expand", ["one", "shape"], [f"y{index}"], name)
        ends = [helper.make_tensor_value_info(f"y{index}", TensorProto.FLOAT, None)]
        branches.append(helper.make_graph([node], f"g{index}", [], ends))
    nodes = [
        helper.make_node("Cast", ["k"], ["rows"], "n2_cast", to=TensorProto.INT64),
        helper.make_node("Concat", ["rows", "five"], ["shape"], "n3_concat", axis=0),
        helper.make_node("If", ["flag"], ["y"], "n4_if", then_branch=branches[0], else_branch=branches[1]),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 5]),
        helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
        helper.make_tensor_value_info("k", TensorProto.INT32, [1]),
    ]
    constants = [
        helper.make_tensor("one", TensorProto.FLOAT, [], [1.0]),
        helper.make_tensor("five", TensorProto.INT64, [1], [5]),
        helper.make_tensor("k", TensorProto.INT32, [1], [3]),
    ]
    values: dict[str, Range] = {} if constant else {"k": ((1,), (3,), (6,))}
    inputs, constants = (inputs[:-1], constants) if constant else (inputs, constants[:-1])
    ends = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "g", inputs, ends, constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("pluginkit", 1)]
    model = helper.make_model(graph, opset_imports=opsets).SerializeToString()
    profiles = (NetworkProfile("p", {"x": ((1, 5), (2, 5), (4, 5))}, values),)
    return Network("if", "cond-both", DType.FLOAT32, model, (), profiles, ("y",))


def test_both_sides_of_the_row_on_shape_inputs_in_conditionals(session: tensorrt_rtx.RtxSession) -> None:
    """The plugin in both branches: NVIDIA's builder ends its process where the values are known at run time only."""
    row = refusals.recognise(session.build(conditional(both=True)), shape_inputs=True)
    assert row is not None
    assert row.id == "shape-input-in-flow"
    assert session.build(network("plain")).ok
    for built in (conditional(both=True, constant=True), conditional(both=False)):
        # This plugin has a workspace, which is refused by another row.
        verdict = session.without(["workspace"], built)
        assert verdict.ok, verdict.message


def test_both_sides_of_the_row_on_sizes_of_zero(session: tensorrt_rtx.RtxSession) -> None:
    """The size's upper bound is 0 in one of two profiles. ONNX's NonZero and NMS have no implementation there."""

    def of(*rows: tuple[int, int, int]) -> Network:
        found = [NetworkProfile(f"p{at}", {"x": tuple((n, 5) for n in row)}) for at, row in enumerate(rows)]  # type: ignore[misc]
        return replace(network("size"), profiles=tuple(found))

    for first in ((0, 0, 1), (1, 2, 4)):
        refused = of(first, (0, 0, 0))
        row = refusals.recognise(session.build(refused))
        assert row is not None
        assert row.id == "size-of-zero"
        for built in (session.without(["sizes"], refused), session.build(of(first, (0, 0, 1)))):
            assert built.ok, built.message
    assert session.build(of((0, 0, 0))).ok


def test_nvidias_order_of_calls(session: tensorrt_rtx.RtxSession) -> None:
    """What the table in host/bases/v3/lifecycle.py says of the build."""
    session.build(network("tactics"))
    entered = [call["enter"].partition("::")[2] for call in session._calls() if "enter" in call]

    def first(method: str) -> int:
        return entered.index(method)

    for methods in (
        ("createPlugin", "getNbOutputs", "getOutputDataTypes", "getOutputShapes", "configurePlugin"),
        ("createPlugin", "clone", "supportsFormatCombination", "configurePlugin", "getNbTactics", "getValidTactics"),
        ("getAliasedInput", "configurePlugin", "getWorkspaceSize", "getFieldsToSerialize"),
    ):
        assert list(methods) == sorted(methods, key=first)
    assert "onShapeChange" not in entered
    assert "enqueue" not in entered
