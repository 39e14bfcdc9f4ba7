"""Concrete points as static networks, and what is built in addition to a plan's networks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from pluginkit.dtypes import DType
from pluginkit.errors import NothingSelected
from pluginkit.evaluators.protocol import RunWork
from pluginkit.evaluators.rtx import participation
from pluginkit.evaluators.rtx import static_networks as static
from pluginkit.evaluators.rtx.build import controls
from pluginkit.manifest import Manifest
from pluginkit.network.plan import Plan
from pluginkit.run.selection import select
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.rtx.session import RtxSession

needs_rtx = pytest.mark.skipif(not tensorrt_rtx.probe().found, reason=tensorrt_rtx.probe().reason)


@pytest.fixture(scope="module")
def session(library: Path, manifest: Manifest) -> Iterator[RtxSession]:
    with tensorrt_rtx.open(library, manifest, timeout=60) as session:
        yield session


@pytest.mark.parametrize(
    "network_id", ["plain/float32", "loop-count/float32", "loop-while/float32", "cond-both/float32", "loop-in-if/int8"]
)
@pytest.mark.rtx
@pytest.mark.compile
@needs_rtx
def test_each_point_has_the_oracles_shapes(session, manifest: Manifest, whole_plan: Plan, network_id: str) -> None:  # type: ignore[no-untyped-def]
    (network,) = [network for network in whole_plan.networks if network.id == network_id]
    points = static.points(whole_plan.cases, network)
    assert len(points) == (4 * len(manifest.profiles) if network.family == "plain" else 1)
    for case in points:
        fixed = static.fixed(network, case, manifest)
        verdict = session.build(fixed)
        assert verdict.ok, (case.id, verdict.message)
        assert participation.problems(fixed, verdict.configured) == []
        shapes = session.shapes()
        assert static.wrong_shapes(case, shapes, manifest) == []
        assert all(size >= 0 for dims in shapes.values() for size in dims), "real numbers on both sides"
        probes = 1 if network.family == "loop-while" else 2
        assert len(fixed.calls) == (1 + probes) * len(network.calls), "a probe behind each output that is used"


@pytest.mark.rtx
@pytest.mark.compile
@needs_rtx
def test_an_oracle_of_another_shape_is_found(session, manifest: Manifest, whole_plan: Plan) -> None:  # type: ignore[no-untyped-def]
    (network,) = [network for network in whole_plan.networks if network.id == "loop-count/float32"]
    case = next(case for case in whole_plan.cases if case.id == "loop-count/float32/default/max")
    assert session.build(static.fixed(network, case, manifest)).ok
    wrong = replace(case, expected={name: np.zeros((1, *a.shape)) for name, a in case.expected.items()})
    found = static.wrong_shapes(wrong, session.shapes(), manifest)
    assert len(found) == len(case.expected)
    assert "the oracle's shape is [1, 4, 8], NVIDIA's [4, 8]" in found[0]


def test_minus_one_is_never_agreed_on(manifest: Manifest, whole_plan: Plan) -> None:
    case = whole_plan.cases[0]
    assert static.wrong_shapes(case, dict.fromkeys(case.expected, (-1, -1)), manifest)


def test_a_static_network_is_a_checked_model(manifest: Manifest, whole_plan: Plan) -> None:
    for network in whole_plan.usual:
        case = static.points(whole_plan.cases, network)[0]
        model = onnx.load_from_string(static.fixed(network, case, manifest).model)
        names = {value.name for value in model.graph.input}
        assert "trips" not in names or network.family == "loop-while", "its limit is not a shape tensor"
        dims = [dim for value in model.graph.input for dim in value.type.tensor_type.shape.dim]
        assert all(dim.HasField("dim_value") for dim in dims)


def test_each_api_network_is_there_once_the_precisions_in_turn(whole_plan: Plan) -> None:
    assert {network.precision for network in whole_plan.by_api} == {DType.FLOAT32, DType.FLOAT16, DType.INT8}
    families = [network.family for network in whole_plan.by_api]
    assert len(families) == len(set(families))


def test_only_finds_what_is_built_beside_the_plan(manifest: Manifest, whole_plan: Plan) -> None:
    ids = [one.id for one in controls(manifest, whole_plan)]
    for pattern in (ids[0], f"{ids[0]}/*"):
        chosen = select(whole_plan, [pattern], ids)
        assert chosen.networks == ()
        work = RunWork(manifest, Path(), chosen, whole_plan, only=(pattern,))
        assert [one for one in ids if work.asks_for(one)] == ids[:1]
    with pytest.raises(NothingSelected):
        select(whole_plan, ["nothing"], ids)
