"""The host's checks of a network around its plugins: profiles, nodes, and whether the plugins' answers fit in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.interpreter import preflight, shape_check, walker
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network, Range
from pluginkit.network.plan import Plan
from pluginkit.runtimes.host import session as host

Networks = Callable[..., Network]
BEHAVING = ("Behaving", "1", "")
OPSETS = [helper.make_opsetid("", 17)]


def with_shapes(network: Network, given: Range) -> Network:
    first, *others = network.profiles
    return replace(network, profiles=(replace(first, shapes={**first.shapes, "x": given}), *others))


def with_node(network: Network, change: Callable[[onnx.NodeProto], object]) -> Network:
    model = onnx.load_from_string(network.model)
    (node,) = [node for node in walker.nodes(model.graph) if node.op_type == "Behaving"]
    change(node)
    return replace(network, model=model.SerializeToString())


def test_the_plans_networks_are_right(whole_plan: Plan) -> None:
    for network in whole_plan.networks:
        preflight.check(network, BEHAVING)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (((3, 1), (2, 3), (4, 8)), "profile 'default', input 'x', axis 0: min 3, opt 2, max 4; expected 0 <= min"),
        (((1, 1), (2, 9), (4, 8)), "axis 1: min 1, opt 9, max 8"),
        (((-1, 1), (2, 3), (4, 8)), "axis 0: min -1"),
        (((1,), (2,), (4,)), "another rank"),
    ],
)
def test_profiles(networks: Networks, given: Range, message: str) -> None:
    with pytest.raises(CheckFailed) as caught:
        preflight.check(with_shapes(networks(), given), BEHAVING)
    assert message in str(caught.value)


def test_a_profile_without_an_input_and_one_against_a_constant(networks: Networks) -> None:
    network = networks()
    first, *others = network.profiles
    with pytest.raises(CheckFailed, match="and the profile no shapes for it"):
        preflight.check(replace(network, profiles=(replace(first, shapes={}), *others)), BEHAVING)
    model = onnx.load_from_string(network.model)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 3
    with pytest.raises(CheckFailed, match="axis 1: min 1, opt 3, max 8; the network has the constant 3"):
        preflight.check(replace(network, model=model.SerializeToString()), BEHAVING)


def test_nodes_name_the_creator(networks: Networks) -> None:
    def version(node: onnx.NodeProto) -> None:
        (attribute,) = [one for one in node.attribute if one.name == "plugin_version"]
        attribute.s = b"7"

    with pytest.raises(CheckFailed, match="asks for Behaving 7 in namespace ''; the library has Behaving 1"):
        preflight.check(with_node(networks(), version), BEHAVING)
    more = with_node(networks(), lambda node: node.output.append("one_more"))
    (call,) = more.calls
    preflight.check_outputs(more, {call.node: 3})
    with pytest.raises(CheckFailed, match="has 3 outputs, the plugin 2"):
        preflight.check_outputs(more, {call.node: 2})


@pytest.mark.compile
def test_the_session_asks(library: Path, manifest: Manifest, networks: Networks) -> None:
    with host.open(library, manifest, timeout=30) as session:
        verdict = session.build(with_shapes(networks(), ((3, 1), (2, 3), (4, 8))))
        assert verdict.status == "refused"
        assert "expected 0 <= min <= opt <= max" in verdict.message
        assert session.build(networks("loop-count/int8")).ok


def model(nodes: list[onnx.NodeProto], network: Network, outputs: tuple[str, ...] = ("y",)) -> Network:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "c"])
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    made = helper.make_model(helper.make_graph(nodes, "g", [x], ends), opset_imports=OPSETS)
    return replace(network, model=made.SerializeToString(), calls=())


def test_the_shapes_of_graph_outputs(networks: Networks) -> None:
    nodes = [helper.make_node("Concat", ["x", "x"], ["y"], axis=0)]
    first, second = shape_check.walk(model(nodes, networks()), "Behaving", {})
    assert first == [{"y": ("float32", dims)} for dims in ((2, 1), (4, 3), (8, 8))]
    assert second[2] == {"y": ("float32", (14, 8))}


def test_neighbours_that_do_not_fit(networks: Networks) -> None:
    one = onnx.numpy_helper.from_array(np.zeros((3, 5), np.float32), "five")
    nodes = [helper.make_node("Constant", [], ["c"], value=one), helper.make_node("Add", ["x", "c"], ["y"])]
    with pytest.raises(CheckFailed, match="profile 'default' at opt: "):
        shape_check.walk(model(nodes, networks()), "Behaving", {})


def loop(body: list[onnx.NodeProto], network: Network, kind: int = TensorProto.FLOAT) -> Network:
    heads = [
        helper.make_tensor_value_info("trip", TensorProto.INT64, []),
        helper.make_tensor_value_info("going", TensorProto.BOOL, []),
        helper.make_tensor_value_info("state", TensorProto.FLOAT, [None, None]),
    ]
    ends = [
        helper.make_tensor_value_info("going_on", TensorProto.BOOL, []),
        helper.make_tensor_value_info("next", kind, [None, None]),
        helper.make_tensor_value_info("seen", TensorProto.FLOAT, [None, None]),
    ]
    body = [*body, helper.make_node("Identity", ["going"], ["going_on"]), helper.make_node("Neg", ["state"], ["seen"])]
    graph = helper.make_graph(body, "body", heads, ends)
    trips = onnx.numpy_helper.from_array(np.array(5), "trips")
    nodes = [
        helper.make_node("Constant", [], ["trips"], value=trips),
        helper.make_node("Loop", ["trips", "", "x"], ["y", "all"], "the_loop", body=graph),
    ]
    return model(nodes, network, ("y", "all"))


def test_a_state_keeps_its_shape_and_type(networks: Networks) -> None:
    same = [helper.make_node("Neg", ["state"], ["next"])]
    found = shape_check.walk(loop(same, networks()), "Behaving", {})
    assert found[0][1] == {"y": ("float32", (2, 3)), "all": ("float32", (5, 2, 3))}
    grows = [helper.make_node("Concat", ["state", "state"], ["next"], axis=1)]
    with pytest.raises(CheckFailed, match=r"Loop 'the_loop': state 0 is float32 \[1, 1\] before a trip and .*\[1, 2\]"):
        shape_check.walk(loop(grows, networks()), "Behaving", {})
    other = [helper.make_node("Cast", ["state"], ["next"], to=TensorProto.FLOAT16)]
    with pytest.raises(CheckFailed, match="float16"):
        shape_check.walk(loop(other, networks(), TensorProto.FLOAT16), "Behaving", {})


@pytest.mark.parametrize("rank", [7, 8])
def test_what_a_loop_concatenates_has_a_dimension_more(networks: Networks, rank: int) -> None:
    """NVIDIA's builder refuses the ninth (tests/fidelity found it)."""
    ones = ", ".join(["1"] * (rank - 1))
    deep = [
        helper.make_node("Identity", ["state"], ["next"]),
        onnx.parser.parse_node(f"shape = Constant <value = int64[{rank}] {{{ones}, -1}}> ()"),
        helper.make_node("Reshape", ["state", "shape"], ["deep"]),
    ]
    network = loop(deep, networks())
    proto = onnx.load_from_string(network.model)
    body = next(one.g for node in proto.graph.node for one in node.attribute if one.name == "body")
    del body.node[-1]
    body.output[2].CopyFrom(helper.make_tensor_value_info("deep", TensorProto.FLOAT, [None] * rank))
    network = replace(network, model=proto.SerializeToString())
    if rank == 7:
        assert shape_check.walk(network, "Behaving", {})[0][1]["all"][1] == (5, *[1] * 6, 6)
    else:
        with pytest.raises(CheckFailed, match="Loop 'the_loop': scan output 0 would have 9 dimensions"):
            shape_check.walk(network, "Behaving", {})


@pytest.mark.compile
def test_a_plugin_that_gets_a_wrong_shape(library: Path, manifest: Manifest, networks: Networks) -> None:
    """The first dimension is a constant for the plugin and another one in the graph."""
    network = networks()
    (call,) = network.calls
    odd = replace(call, inputs=tuple((((9, 1), (9, 3), (9, 8)),) for _ in call.inputs))
    with host.open(library, manifest, timeout=30) as session:
        verdict = session.build(replace(network, calls=(odd,)))
    assert verdict.status == "refused"
    assert "input 0 has the shape [1, 1], the network has [9, -1]" in verdict.message
    assert call.types == (DType.FLOAT32,)
