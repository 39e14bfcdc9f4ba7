"""Both sides of every row of the table: what NVIDIA's builder lets pass or falls over, and what pluginkit does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit.dtypes import DType
from pluginkit.evaluators.rtx import structure_controls as structures
from pluginkit.evaluators.rtx.build import Builder
from pluginkit.manifest import Manifest
from pluginkit.network import api_model as api
from pluginkit.network.networks import Network, NetworkProfile
from pluginkit.network.plan import Plan
from pluginkit.process.worker_pool import Common
from pluginkit.process.worker_pool import Sessions as PoolSessions
from pluginkit.runtimes.host import session as host
from pluginkit.runtimes.host.session import HostSession
from pluginkit.runtimes.rtx import leniencies, refusals
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.rtx.session import RtxSession
from pluginkit.testing.families import FAMILIES
from pluginkit.testing.families.api import forms
from pluginkit.testing.families.base import DOMAIN, Body, GraphInput, Names, network, value_info
from pluginkit.testing.report import Outcome, Report

from . import faulty

HERE = Path(__file__).parent
needs_rtx = pytest.mark.skipif(not tensorrt_rtx.probe().found, reason=tensorrt_rtx.probe().reason)
pytestmark = [pytest.mark.rtx, pytest.mark.compile, needs_rtx, pytest.mark.xdist_group("leniencies")]

GROWS, OTHER_NAME, OTHER_VERSION, UNSERIALIZABLE, NULL_CLONE, DIVIDES_BY_ZERO, SHRINKS, CONSTANT = range(8, 16)
NULL_SHAPE = 4
"""The field `fault` of refused.cpp."""
V3_NULL_FIELDS, V3_DIVIDES_BY_ZERO, V3_NULL_DIMENSION = 4, 5, 6
"""The same of refused_v3.cpp."""


@dataclass(frozen=True)
class Sessions:
    """The plugins in NVIDIA's builder, and the one that pluginkit's host takes in there too."""

    rtx: RtxSession
    rtx_v3: RtxSession
    host: HostSession
    library: Path


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, compile_library: Callable[..., Path]) -> Iterator[Sessions]:
    folder, manifest = tmp_path_factory.mktemp("lenient"), faulty.manifest()
    # Of other shapes than the networks': else what the manifest says of the outputs goes before what the network says.
    elsewhere = Manifest.parse(faulty.TOML.format(fault=0).replace("n = [1, 2, 4]", "n = [1, 2, 5]"))
    library, v3 = (
        compile_library(HERE / f"{name}.cpp", folder / f"lib{name}.so") for name in ("refused", "refused_v3")
    )
    with (
        tensorrt_rtx.open(library, manifest, timeout=60) as one,
        tensorrt_rtx.open(v3, manifest, timeout=60) as other,
        host.open(library, elsewhere, timeout=60) as own,
    ):
        yield Sessions(one, other, own, library)


def plain(fault: int) -> Network:
    return faulty.networks(faulty.manifest(fault))["plain/float32"]


def conditional(fault: int, precision: DType, columns: str = "c") -> Network:
    """An If with the plugin alone in each branch, the fault in the first; where it is quantized, outside of the If."""
    text = faulty.TOML.format(fault=0)
    if columns != "c":
        text = text.replace('"n", "c"', f'"n", "{columns}"').replace(", c = [1, 3, 8]", "")
    signature = Manifest.parse(text)
    setting = faulty.setting(signature, precision)
    names = Names(["flag", "x", "y"])
    main = Body(setting, names, "main")
    (tensor,), quantized = setting.manifest.inputs, precision is DType.INT8
    entered, left = "x", "y"
    if quantized:
        scale = main.constant("scale", TensorProto.FLOAT, [], [0.125])
        zero = main.constant("zero", TensorProto.INT8, [], [0])
        entered, left = main.op("QuantizeLinear", ["x", scale, zero], "q"), "p"
    calls, graphs = [], {}
    for label, value in (("then", fault), ("else", 0)):
        # The plugin's node by hand: Body.plugin's own would have the quantization in the branch.
        _, call = Body(setting, names, label).plugin(["x"])
        calls.append(replace(call, fields={"fault": (DType.INT32, value)}))
        node = helper.make_node(
            "Refused",
            [entered],
            [f"{label}_y"],
            call.node,
            domain=DOMAIN,
            plugin_version="1",
            plugin_namespace="",
            fault=value,
        )
        ends = [helper.make_tensor_value_info(f"{label}_y", precision.onnx, [None, None])]
        graphs[f"{label}_branch"] = helper.make_graph([node], label, [], ends)
    main.op("If", ["flag"], [left], **graphs)
    if quantized:
        main.op("DequantizeLinear", ["p", scale, zero], "y")
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None])
    x = GraphInput(value_info(setting, tensor, "x"), setting.ranges(tensor))
    inputs = [GraphInput.scalar(setting, "flag", TensorProto.BOOL), x]
    return network(setting, "cond-both", main, inputs=inputs, outputs=[out], calls=calls)


def iterating(precision: DType, form: str = "api-loop-iterator-0") -> api.ApiNetwork:
    made = forms.make(faulty.setting(faulty.manifest(), precision), form)
    assert made is not None
    return made


def cast_in_the_loop(made: api.ApiNetwork) -> api.ApiNetwork:
    """The iterator on the FP32 tensor, and its slice cast."""
    (cast,) = [step for step in made.steps if isinstance(step, api.Cast) and step.dtype == "float16"]
    steps: list[api.Step] = []
    for step in made.steps:
        if isinstance(step, api.IteratorLayer):
            steps += [replace(step, x=cast.x, out="z1_slice"), api.Cast("z1_slice", step.out, "float16")]
        elif step is not cast:
            steps.append(step)
    return replace(made, steps=tuple(steps))


def concatenated(made: api.ApiNetwork, axis: int) -> api.ApiNetwork:
    """The plugin's output of all trips on that axis too, the iterators' loop left out of it."""
    (plugin,) = [s for s in made.steps if isinstance(s, api.PluginLayer) and s.node.endswith("_plugin")]
    (limit,) = [step for step in made.steps if isinstance(step, api.TripLimit)]
    more = (
        api.LoopOutput(limit.loop, "CONCATENATE", plugin.outs[0], "z1_all", axis, limit.x),
        api.NetworkOutput("z1_all"),
    )
    return replace(made, steps=(*made.steps, *more))


def assert_the_host_refuses(session: HostSession, network: api.AnyNetwork, text: Sequence[str]) -> None:
    verdict = session.build(network)
    assert verdict.status == "refused"
    for word in text:
        assert word in verdict.message


def test_every_row_has_a_test_and_a_source() -> None:
    assert {row.id for row in leniencies.LENIENCIES} == set(ROWS)
    for row in leniencies.LENIENCIES:
        assert row.nvidia
        assert row.instead
        assert leniencies.TRIED in row.source
        assert f"test_{ROWS[row.id].removeprefix('test_')}" in globals()


ROWS = {
    "plugin-name": "test_identity",
    "plugin-version": "test_identity",
    "int8-across-if": "test_int8_across_an_if",
    "null-fields": "test_null_from_getFieldsToSerialize",
    "branch-shapes": "test_branches_of_other_shapes",
    "negative-dimension": "test_a_negative_dimension",
    "constant-state": "test_a_state_that_becomes_a_constant",
    "neighbour-shapes": "test_neighbours_that_fit_somewhere",
    "division-by-zero": "test_division_by_zero",
    "null-clone": "test_null_from_clone",
    "null-dimension": "test_a_dimension_that_is_null",
    "int8-scalar": "test_an_int8_scalar",
    "int8-channels": "test_int8_with_open_channels",
    "second-condition": "test_a_second_condition",
    "conditional-without-output": "test_a_conditional_without_output",
    "computed-length": "test_a_length_that_a_loop_computes",
    "short-concatenation": "test_a_concatenation_shorter_than_its_loop",
    "iterator-past-end": "test_an_iterator_past_the_end",
}


@pytest.mark.parametrize(
    ("fault", "row", "method", "text"),
    [
        (OTHER_NAME, "plugin-name", "getPluginType", "getPluginName answered 'Impostor', and its creator says"),
        (OTHER_VERSION, "plugin-version", "getPluginVersion", "getPluginVersion answered '2', and its creator says"),
    ],
)
def test_identity(opened: Sessions, fault: int, row: str, method: str, text: str) -> None:
    verdict = opened.rtx.build(plain(fault))
    assert verdict.ok, verdict.message
    (sentence,) = verdict.lenient
    assert text in sentence
    assert f"leniency {row}: NVIDIA's builder builds" in sentence
    assert opened.rtx.build(plain(0)).lenient == ()
    assert_the_host_refuses(opened.host, plain(fault), [method, "but its creator is that of"])


def test_null_from_getFieldsToSerialize(opened: Sessions) -> None:
    for session, fault in ((opened.rtx, UNSERIALIZABLE), (opened.rtx_v3, V3_NULL_FIELDS)):
        verdict = session.build(plain(fault))
        assert verdict.ok, verdict.message
        (sentence,) = verdict.lenient
        assert "getFieldsToSerialize answered null (leniency null-fields" in sentence
    assert_the_host_refuses(opened.host, plain(UNSERIALIZABLE), ["getSerializationSize", "this host has room for"])


def test_int8_across_an_if(opened: Sessions) -> None:
    verdict = opened.rtx.build(conditional(0, DType.INT8))
    assert verdict.ok, verdict.message
    assert_the_host_refuses(opened.host, conditional(0, DType.INT8), ["INT8", "Quantize and dequantize within"])
    assert opened.host.build(conditional(0, DType.FLOAT32)).ok


def test_branches_of_other_shapes(opened: Sessions) -> None:
    verdict = opened.rtx.build(conditional(GROWS, DType.FLOAT32, columns="3"))
    assert verdict.ok, verdict.message
    text = ["[2, 3] in then_branch", "[1, 3] in else_branch", "'default' at min"]
    assert_the_host_refuses(opened.host, conditional(GROWS, DType.FLOAT32, columns="3"), text)
    both = conditional(GROWS, DType.FLOAT32)
    assert "MyelinCheckException" in opened.rtx.build(both).message, "of the If it says nothing"
    assert opened.rtx.build(conditional(0, DType.FLOAT32)).ok
    assert_the_host_refuses(opened.host, both, ["[2, 1] in then_branch"])


def test_a_negative_dimension(opened: Sessions) -> None:
    """1 to 8 less 2, with 3 as opt."""
    verdict = opened.rtx.build(plain(SHRINKS))
    assert verdict.ok, verdict.message
    assert_the_host_refuses(opened.host, plain(SHRINKS), ["kSUB(s1, 2) is -1 for inputs of the shapes [(1, 1)]"])
    shapes = {"x": ((1, 1), (2, 1), (4, 1))}
    less = replace(plain(SHRINKS), profiles=(NetworkProfile("low", shapes),))
    assert "inherently negative length" in opened.rtx.build(less).message


def neighbour(fault: int) -> Network:
    """The plugin's output and its input added up; at opt n is 3."""
    network = plain(fault)
    model = onnx.load_from_string(network.model)
    (end,) = model.graph.output
    model.graph.node.append(helper.make_node("Add", [end.name, "x"], ["total"], "z9_add"))
    end.name = "total"
    end.type.tensor_type.ClearField("shape")
    shapes = ((1, 1), (3, 3), (4, 8))
    (call,) = network.calls
    return replace(
        network,
        model=model.SerializeToString(),
        calls=(replace(call, inputs=((shapes,),)),),
        profiles=(NetworkProfile("default", {"x": shapes}),),
    )


def test_a_state_that_becomes_a_constant(opened: Sessions) -> None:
    """3, where the profile has 1 to 4; n + 1 is noticed."""
    constant, grown = (faulty.networks(faulty.manifest(fault))["loop-count/float32"] for fault in (CONSTANT, GROWS))
    verdict = opened.rtx.build(constant)
    assert verdict.ok, verdict.message
    assert_the_host_refuses(opened.host, constant, ["state 0 is float32 [1, 1] before a trip"])
    assert opened.rtx.build(grown).status == "refused"


def test_neighbours_that_fit_somewhere(opened: Sessions) -> None:
    """3 and n at opt alone; n + 1 and n where n is 1."""
    for fault in (CONSTANT, GROWS):
        verdict = opened.rtx.build(neighbour(fault))
        assert verdict.ok, verdict.message
        assert_the_host_refuses(opened.host, neighbour(fault), ["profile 'default' at", "'Add'"])
    assert opened.host.build(neighbour(0)).ok


def test_division_by_zero(opened: Sessions) -> None:
    verdict = opened.rtx_v3.build(plain(V3_DIVIDES_BY_ZERO))
    assert verdict.status == "crashed"
    assert "SIGSEGV" in verdict.message
    adapted = opened.rtx.build(plain(DIVIDES_BY_ZERO))
    assert adapted.status == "refused"
    assert "output shape computation failed" in adapted.message
    assert_the_host_refuses(opened.host, plain(DIVIDES_BY_ZERO), ["getOutputDimensions", "kFLOOR_DIV"])


def test_a_dimension_that_is_null(opened: Sessions) -> None:
    verdict = opened.rtx_v3.build(plain(V3_NULL_DIMENSION))
    assert verdict.status == "crashed"
    assert "SIGSEGV outside of the plugin, after IPluginV3OneBuild::getOutputShapes" in verdict.message
    adapted = opened.rtx.build(plain(NULL_SHAPE))
    assert adapted.status == "refused"
    assert "output shape computation failed" in adapted.message
    assert_the_host_refuses(opened.host, plain(NULL_SHAPE), ["getOutputDimensions", "d[0] is null"])


def test_null_from_clone(opened: Sessions) -> None:
    verdict = opened.rtx.build(plain(NULL_CLONE))
    assert verdict.status == "crashed"
    assert "SIGSEGV" in verdict.message
    assert opened.rtx.build(plain(0)).ok, "the next network has a process again"
    assert_the_host_refuses(opened.host, plain(NULL_CLONE), ["clone", "answered null"])


def test_an_int8_scalar(opened: Sessions) -> None:
    text = faulty.TOML.format(fault=0).replace('["n", "c"]', "[]").replace("{ n = [1, 2, 4], c = [1, 3, 8] }", "{}")
    for kind, its in (("float32", ()), ("int8", ()), ("int8 as it comes", (1,))):
        scalar = faulty.networks(Manifest.parse(text))[f"plain/{kind.split()[0]}"]
        if kind == "int8 as it comes":
            scalar = _without_reshapes(scalar)
        verdict, own = opened.rtx.build(scalar), opened.host.build(scalar)
        assert verdict.ok, verdict.message
        assert own.ok, own.message
        assert {record.inputs[0].opt for record in verdict.configured} == {its}
        assert {record.inputs[0].opt for record in own.configured} == {()}


def _without_reshapes(network: Network) -> Network:
    model = onnx.load_from_string(network.model)
    for node in model.graph.node:
        if node.op_type == "Reshape":
            node.op_type = "Identity"
            del node.input[1]
    return replace(network, model=model.SerializeToString())


def test_int8_with_open_channels(opened: Sessions) -> None:
    """1 to 8 of them, where the plan has a network for each count."""
    setting = faulty.setting(faulty.manifest(), DType.INT8)
    open_ones = FAMILIES["plain"].build(setting)
    by_api = forms.make(setting, "api-cond-lazy")
    assert isinstance(open_ones, Network)
    assert by_api is not None
    assert opened.rtx.build(open_ones).ok
    assert opened.rtx.build_api(by_api).ok
    assert_the_host_refuses(opened.host, open_ones, ["input 0 is INT8 and has 1 to 8 channels", "at build time"])
    verdict = opened.host.build(by_api)
    assert verdict.status == "refused"
    assert "at build time" in verdict.message
    for made in faulty.networks(faulty.manifest()).values():
        assert opened.host.build(made).ok, made.id


def assert_only_the_host_refuses(opened: Sessions, sound: api.ApiNetwork, broken: api.ApiNetwork, text: str) -> None:
    for made in (sound, broken):
        verdict = opened.rtx.build_api(made)
        assert verdict.ok, verdict.message
    assert opened.host.build(sound).ok
    assert_the_host_refuses(opened.host, broken, [text])


def test_a_second_condition(opened: Sessions) -> None:
    sound = iterating(DType.FLOAT32, "api-cond-lazy")
    (condition,) = [step for step in sound.steps if isinstance(step, api.Conditional)]
    steps = (*sound.steps, structures.FLAG, replace(condition, flag=structures.FLAG.out))
    assert_only_the_host_refuses(opened, sound, replace(sound, steps=steps), "conditional 'if' has 2 conditions")


def test_a_conditional_without_output(opened: Sessions) -> None:
    plain = iterating(DType.FLOAT32, "api-shape-out")
    conditional = (structures.FLAG, *structures.branches("zi", plain.outputs[-1], structures.FLAG.out))
    sound, broken = (replace(plain, steps=(*plain.steps, *conditional, *end)) for end in (structures.either("zi"), ()))
    assert_only_the_host_refuses(opened, sound, broken, "conditional 'zi' has no output layer")


def test_a_length_that_a_loop_computes(opened: Sessions) -> None:
    """2, the last value of what two trips count; shape tensors are sums of constants."""
    plain = iterating(DType.FLOAT32, "api-shape-out")
    one = api.ConstantLayer("zk_one", "int32", (1,))
    counting = (
        one,
        api.ConstantLayer("zk_trips", "int32", (2,)),
        api.LoopStep("zk"),
        api.TripLimit("zk", "COUNT", "zk_trips"),
        api.Recurrence("zk", one.out, "zk_state"),
        api.Elementwise("SUM", "zk_state", one.out, "zk_more"),
        api.Recur("zk_state", "zk_more"),
        api.LoopOutput("zk", "LAST_VALUE", "zk_state", "zk_length"),
    )
    summed = (one, api.Elementwise("SUM", one.out, one.out, "zk_length"))
    all_of_it = api.LoopOutput("zl", "CONCATENATE", "zl_twice", "zl_all", 0, "zk_length")
    loop = (*structures.loop("zl", plain.outputs[-1]), all_of_it, api.NetworkOutput("zl_all"))
    sound, broken = (replace(plain, steps=(*plain.steps, *before, *loop)) for before in (summed, counting))
    message = "'zl_all' is computed from 'zk_length', of LoopOutput, which is not a shape tensor"
    assert_only_the_host_refuses(opened, sound, broken, message)


def test_a_concatenation_shorter_than_its_loop(opened: Sessions) -> None:
    """Of constants: 2 trips, and the length 1."""
    plain = iterating(DType.FLOAT32, "api-shape-out")
    length = api.ConstantLayer("zl_length", "int32", (2,))
    all_of_it = api.LoopOutput("zl", "CONCATENATE", "zl_twice", "zl_all", 0, "zl_length")
    loop = structures.loop("zl", plain.outputs[-1])
    sound, broken = (
        replace(plain, steps=(*plain.steps, *loop, one, all_of_it, api.NetworkOutput("zl_all")))
        for one in (length, replace(length, values=(1,)))
    )
    assert_only_the_host_refuses(opened, sound, broken, "'zl_all' is 1, and the loop makes 2 trips")


def test_an_iterator_past_the_end(opened: Sessions) -> None:
    """The trip count of the profile's max is one more than the axis has there."""
    sound = iterating(DType.FLOAT32)
    (profile,) = sound.profiles
    ((trips, (low, best, (most,))),) = profile.values.items()
    longer = replace(profile, values={trips: (low, best, (most + 1,))})
    message = f"ends at {most}, and the loop that iterates over it makes {most + 1} trips"
    assert_only_the_host_refuses(opened, sound, replace(sound, profiles=(longer,)), message)


def test_the_cast_of_a_slice(opened: Sessions) -> None:
    made = iterating(DType.FLOAT16)
    assert opened.rtx.build_api(made).ok
    verdict = opened.rtx.build_api(cast_in_the_loop(made))
    row = refusals.recognise(verdict)
    assert row is not None
    assert row.id == "half-slice"


def test_concatenation_on_axis_1(opened: Sessions) -> None:
    made = iterating(DType.FLOAT32, "api-loop-count")
    assert opened.rtx.build_api(concatenated(made, 0)).ok
    verdict = opened.rtx.build_api(concatenated(made, 1))
    row = refusals.recognise(verdict)
    assert row is not None
    assert row.id == "concatenate-axis-1"
    assert opened.rtx.build_api(iterating(DType.FLOAT32, "api-loop-iterator-1")).ok


def test_a_leniency_turns_the_run_red(opened: Sessions) -> None:
    """What `pluginkit test` has of NVIDIA's builder."""
    network = plain(OTHER_NAME)
    evaluator = Builder(opened.library, faulty.manifest(OTHER_NAME), timeout=60, plan=Plan((network,), (), seed=0))
    bench = PoolSessions(Common())
    try:
        verdict, _ = evaluator.network(network, tuple, bench)
    finally:
        bench.close()
    assert verdict.outcome is Outcome.FAILED
    assert verdict.message == (
        "IPluginV3OneCore::getPluginName answered 'Impostor', and its creator says 'Refused' "
        "(leniency plugin-name: NVIDIA's builder builds a plugin whose name is not its creator's)"
    )
    assert Report("Refused", "", "", 0, (), (verdict,)).exit_code == 1
