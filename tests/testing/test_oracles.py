"""Every family's oracle against onnxruntime, which runs the same model with standard operators for the plugin."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import onnx
import pytest
from onnx import helper

from pluginkit.dtypes import DType
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Case, Network
from pluginkit.network.plan import Plan
from pluginkit.testing import plan as planning
from pluginkit.testing.comparison import compare
from pluginkit.testing.families.base import Applier, OracleResult, Setting
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference

from .conftest import EXAMPLES, FAMILIES, Example, inlined, session


@functools.cache
def planned(name: str) -> Plan:
    """When it is asked for: making the three takes seconds, which every worker's collection would cost."""
    return plan(EXAMPLES[name].manifest, EXAMPLES[name].reference, seed=3)


ONNX = [name for name, family in FAMILIES.items() if not family.BY_API]


def cases_of(name: str, network_id: str) -> tuple[Network, list[Case]]:
    network = next(network for network in planned(name).usual if network.id == network_id)
    return network, [case for case in planned(name).cases if case.network_id == network_id]


def failing(model: onnx.ModelProto, cases: list[Case]) -> list[str]:
    run = session(model)
    return [case.id for case in cases if not compare(case.defined(run(case)), case.expected, case.tolerance).ok]


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
@pytest.mark.parametrize("family", ONNX)
@pytest.mark.parametrize("name", EXAMPLES)
def test_oracle_is_onnxruntimes_answer(name: str, family: str, precision: str) -> None:
    network, cases = cases_of(name, f"{family}/{precision}")
    run = session(inlined(network, EXAMPLES[name]))
    assert cases
    for case in cases:
        result = compare(case.defined(run(case)), case.expected, case.tolerance)
        assert result.ok, f"{case.id}: {result.message}"
        assert tuple(case.expected) == network.outputs


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_case_lies_in_its_profile_and_feeds_every_input(name: str) -> None:
    for case in planned(name).cases:
        network = planned(name).network(case)
        profile = next(profile for profile in network.profiles if profile.name == case.profile)
        assert set(case.feeds) == set(profile.shapes)
        for tensor, feed in case.feeds.items():
            low, _, high = profile.shapes[tensor]
            assert all(a <= b <= c for a, b, c in zip(low, feed.shape, high, strict=True))
            if tensor in profile.values:
                assert (feed >= profile.values[tensor][0]).all()
                assert (feed <= profile.values[tensor][2]).all()


def test_ids_are_unique_and_name_the_profile_only_if_there_are_several() -> None:
    for made in map(planned, EXAMPLES):
        assert len({case.id for case in made.cases}) == len(made.cases)
    assert "cond-both/int8/opt/else" in {case.id for case in planned("leaky").cases}
    assert "loop-count/float16/large/max" in {case.id for case in planned("bar").cases}


def all_nodes(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    inner = [a.g for node in graph.node for a in node.attribute if a.HasField("g")]
    return [*graph.node, *[node for sub in inner for node in all_nodes(sub)]]


@pytest.mark.parametrize("name", EXAMPLES)
def test_node_names_are_no_prefixes_of_one_another_and_plugin_nodes_carry_their_identity(name: str) -> None:
    manifest = EXAMPLES[name].manifest
    for network in planned(name).usual:
        nodes = all_nodes(onnx.load_from_string(network.model).graph)
        names = [node.name for node in nodes]
        assert not [(a, b) for a in names for b in names if a != b and b.startswith(a)]
        assert len(set(names)) == len(names)
        for node in (node for node in nodes if node.domain):
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            assert attributes["plugin_version"].decode() == manifest.plugin.version
            assert attributes["plugin_namespace"].decode() == manifest.plugin.namespace
            assert node.op_type == manifest.plugin.name
            call = next(call for call in network.calls if call.node == node.name)
            for field, (_, value) in call.fields.items():
                assert attributes[field] == pytest.approx(value)


def test_loops_feed_back_what_fits_and_concatenate_the_rest() -> None:
    outputs = {name: cases_of(name, "loop-count/float32")[0].outputs for name in EXAMPLES}
    assert outputs["leaky"] == ("x_last",)
    assert outputs["bar"] == ("a_last", "b_last", "joined_all")
    assert outputs["trio"] == ("a_last", "b_last", "wide_all")


def test_enqueues_follow_the_trips() -> None:
    counts = {case.point: case.enqueues for case in cases_of("leaky", "loop-count/float32")[1]}
    assert counts == {"min": 1, "opt": 2, "max": 3, "random-1": 2}


def test_int8_saturates_the_plugins_output_at_both_ends() -> None:
    for family in ("plain", "loop-count", "cond-both", "cond-computed", "shape-in", "multi-profile"):
        network, cases = cases_of("leaky", f"{family}/int8")
        scale = network.calls[0].output_scales[0]
        assert scale not in (1.0, network.calls[0].scales[0])
        for case in cases:
            if case.point != "min" and case.enqueues == 1:
                steps = np.rint(case.expected["y"] / scale)
                assert steps.max() == 127
                assert steps.min() == -128


# Planted faults: each must be seen.


def subgraph(model: onnx.ModelProto, op: str) -> onnx.NodeProto:
    return next(node for node in model.graph.node if node.op_type == op)


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_swapped_branches_are_seen(name: str, precision: str) -> None:
    network, cases = cases_of(name, f"cond-both/{precision}")
    model = inlined(network, EXAMPLES[name])
    for attribute in subgraph(model, "If").attribute:
        attribute.name = {"then_branch": "else_branch", "else_branch": "then_branch"}[attribute.name]
    assert failing(model, cases) == [case.id for case in cases]


@pytest.mark.parametrize("precision", ["float32", "float16"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_one_trip_too_many_is_seen(name: str, precision: str) -> None:
    network, cases = cases_of(name, f"loop-count/{precision}")
    model = inlined(network, EXAMPLES[name])
    model.graph.initializer.append(helper.make_tensor("one", onnx.TensorProto.INT64, [], [1]))
    loop = subgraph(model, "Loop")
    add = helper.make_node("Add", [loop.input[0], "one"], ["more"], "n999_add")
    loop.input[0] = "more"
    model.graph.node.insert(0, add)
    missed = [case.id for case in cases if case.id not in failing(model, cases)]
    # Trips that change nothing can't be seen: a single positive value stays what it is.
    assert all(case_id.endswith("/min") for case_id in missed)


@pytest.mark.parametrize("family", [name for name in ONNX if name != "loop-zero-trips"])
def test_swapped_scales_are_seen(family: str) -> None:
    network, cases = cases_of("leaky", f"{family}/int8")
    cases = [case for case in cases if case.enqueues]
    import dataclasses

    calls = tuple(dataclasses.replace(c, scales=c.output_scales, output_scales=c.scales) for c in network.calls)
    wrong = failing(inlined(dataclasses.replace(network, calls=calls), EXAMPLES["leaky"]), cases)
    assert [case.id for case in cases if case.point in ("opt", "max", "random-1") and case.id not in wrong] == []


def test_a_wrong_kernel_is_seen() -> None:
    example = EXAMPLES["leaky"]
    wrong = Example(
        example.manifest, example.function, lambda i, o, p: [helper.make_node("LeakyRelu", i, o, alpha=0.45)]
    )
    for precision in example.manifest.precisions():
        network, cases = cases_of("leaky", f"plain/{precision.value}")
        missed = {case.id for case in cases} - set(failing(inlined(network, wrong), cases))
        # Far above zero there is no negative number.
        assert all(case_id.endswith(("/min", "/values-far")) for case_id in missed), missed


def test_precisions_and_types_of_a_call() -> None:
    network, _ = cases_of("trio", "plain/int8")
    call = network.calls[0]
    assert call.types == (DType.INT8, DType.INT8, DType.INT64)
    assert call.scales[2] == 0.0
    assert call.inputs[0][0] == ((1, 6), (2, 6), (5, 6)), "INT8 has constant channels"
    assert set(call.fields) == {"a_scale", "b_scale", "mix_scale", "wide_scale"}
    assert not cases_of("trio", "plain/float32")[0].calls[0].fields


GROWN = """
[plugin]
name = "Grown"
base = "v3"
[[inputs]]
name = "x"
types = ["float16"]
shape = ["n"]
[[inputs]]
name = "t"
types = ["int8"]
shape = ["n"]
scale = "t_scale"
[[outputs]]
name = "y"
types = ["int8"]
shape = ["n"]
scale = "y_scale"
[[fields]]
name = "t_scale"
type = "float32"
[[fields]]
name = "y_scale"
type = "float32"
[[profiles]]
symbols = { n = [1, 3, 3] }
"""


def test_nan_as_int8_means_nothing(tmp_path: Path) -> None:
    """What FP16's infinities leave in an INT8 tensor is not a document's, and so is what follows from it."""
    file = tmp_path / "reference.py"
    file.write_text("def reference(x, t):\n    return x - x + t\n")
    manifest = Manifest.parse(GROWN)
    reference = Reference.load(file, manifest)
    setting = Setting(manifest, DType.FLOAT16, {}, scales={"t": 1e5, "y": 1e5})

    def steps(x: list[float], fill: Literal[0, 1, 2]) -> tuple[list[float], bool]:
        applier = Applier(setting, reference, fill=fill)
        (y,) = applier([np.array(x), np.array([0.0, 1e5, -1e9])])
        return [*(y / 1e5)], applier.masks

    assert steps([1.0, 2.0, 6e4], 0) == steps([1.0, 2.0, 6e4], 1) == ([0, 1, -128], False)
    assert steps([1.0, 1e6, 6e4], 0) == ([0, -128, -128], True)
    assert steps([1.0, 1e6, 6e4], 1) == ([0, 127, -128], True)
    assert steps([1.0, 1e6, 6e4], 2) == ([0, 0, -128], True)

    def even(applier: Applier, feeds: Mapping[str, np.ndarray]) -> OracleResult:
        """The same of the least step and of the largest, and another of 0."""
        (y,) = applier([feeds["x"], feeds["t"]])
        return OracleResult({"y": np.minimum(np.abs(y), 1e5)}, 1, 1)

    family: Any = SimpleNamespace(NAME="even", oracle=even)
    feeds = {"x": np.array([1.0, 1e6]), "t": np.array([0.0, 1e5])}
    answer = even(Applier(setting, reference), feeds)
    arbitrary = planning._arbitrary(family, setting, reference, feeds, answer, lost=True)
    assert arbitrary["y"].tolist() == [False, True]
