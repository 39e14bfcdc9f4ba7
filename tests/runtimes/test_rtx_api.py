"""Networks made by NVIDIA's API around a plugin layer of its parser: every form, precision and profile, and live."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pluginkit.dtypes import DType
from pluginkit.evaluators.rtx import participation
from pluginkit.manifest import Manifest
from pluginkit.network import api_model as api
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.rtx.session import RtxSession
from pluginkit.testing.families.api import forms
from pluginkit.testing.families.base import Setting
from pluginkit.testing.plan import field_values

needs_rtx = pytest.mark.skipif(not tensorrt_rtx.probe().found, reason=tensorrt_rtx.probe().reason)
pytestmark = [pytest.mark.rtx, pytest.mark.compile, needs_rtx]

PRECISIONS = (DType.FLOAT32, DType.FLOAT16, DType.INT8)


@pytest.fixture(scope="module")
def session(library: Path, manifest: Manifest) -> Iterator[RtxSession]:
    with tensorrt_rtx.open(library, manifest, timeout=60) as session:
        yield session


def made(manifest: Manifest, form: str, precision: DType = DType.FLOAT32) -> api.ApiNetwork:
    scales = {tensor.name: 0.125 for tensor in (*manifest.inputs, *manifest.outputs)}
    network = forms.make(Setting(manifest, precision, field_values(manifest), scales), form)
    assert network is not None
    return network


@pytest.mark.parametrize("form", forms.FORMS)
def test_builds_and_is_live(session: RtxSession, manifest: Manifest, form: str) -> None:
    for precision in PRECISIONS:
        network = made(manifest, form, precision)
        assert pickle.loads(pickle.dumps(network)) == network
        verdict = session.build_api(network)
        assert verdict.ok, (network.id, verdict.message)
        assert participation.problems(network, verdict.configured) == []


def test_the_probe_behind_sees_the_shapes_of_each_profile(session: RtxSession, manifest: Manifest) -> None:
    verdict = session.build_api(made(manifest, "api-loop-iterator-1"))
    seen = [record.inputs[0] for record in verdict.configured if record.node == "n002_probe_side"]
    assert {(one.min, one.opt, one.max) for one in seen} == {((1, 1), (2, 3), (4, 8)), ((5, 1), (6, 3), (7, 8))}


def without_probes(network: api.ApiNetwork) -> api.ApiNetwork:
    """Only the shapes of the plugin's outputs are asked for."""
    behind = {s.outs[0]: s.inputs[0] for s in network.steps if isinstance(s, api.PluginLayer) and api.is_probe(s.node)}
    shown = {s.out for s in network.steps if isinstance(s, api.IdentityLayer) and s.x in behind}
    steps: list[api.Step] = []
    for step in network.steps:
        if isinstance(step, api.ShapeLayer):
            steps.append(replace(step, x=behind[step.x]))
        elif not (
            (isinstance(step, api.PluginLayer) and api.is_probe(step.node))
            or (isinstance(step, api.IdentityLayer) and step.out in shown)
            or (isinstance(step, api.NetworkOutput) and step.x in shown)
        ):
            steps.append(step)
    return replace(network, steps=tuple(steps))


@pytest.mark.parametrize(("form", "configured"), [("api-cond-constant", 2), ("api-unused", 1)])
def test_what_no_output_depends_on_is_left_out(
    session: RtxSession, manifest: Manifest, form: str, configured: int
) -> None:
    network = made(manifest, form)
    nodes = {call.node for call in network.calls if call.live}
    assert len([node for node in nodes if node.endswith("_plugin")]) == configured
    assert {record.node for record in session.build_api(network).configured} == nodes
    message = participation.problems(
        replace(network, calls=tuple(replace(call, live=True) for call in network.calls)), []
    )
    assert len(message) == len(network.calls) * len(network.profiles)


def test_without_the_probe_a_plugin_that_is_asked_for_shapes_only_is_dead(
    session: RtxSession, manifest: Manifest
) -> None:
    network = without_probes(made(manifest, "api-shape-out"))
    verdict = session.build_api(network)
    assert verdict.ok, verdict.message
    found = participation.problems(network, verdict.configured)
    assert len(found) == 3 * len(manifest.profiles)
    assert all("never configured" in problem for problem in found)


def test_a_probe_that_sees_other_shapes_is_found(session: RtxSession, manifest: Manifest) -> None:
    network = made(manifest, "api-cond-lazy")
    verdict = session.build_api(network)
    calls = list(network.calls)
    assert "probe" in calls[1].node
    calls[1] = replace(calls[1], inputs=((((1, 1), (2, 3), (4, 9)),), *calls[1].inputs[1:]))
    found = participation.problems(replace(network, calls=tuple(calls)), verdict.configured)
    assert len(found) == 1
    assert "1x1/2x3/4x9" in found[0]


def test_a_form_that_does_not_apply() -> None:
    text = """
        plugin = {name = "Scalar"}
        inputs = [{name = "x", types = ["float32"], shape = []}]
        outputs = [{name = "y", types = ["float32"], shape = []}]
        profiles = [{symbols = {}}]
    """
    setting = Setting(Manifest.parse(text), DType.FLOAT32, {})
    assert forms.make(setting, "api-loop-iterator-1") is None
    assert forms.make(setting, "api-loop-iterator-0") is not None


def test_a_step_that_the_api_refuses_is_named(session: RtxSession, manifest: Manifest) -> None:
    network = made(manifest, "api-loop-iterator-0")
    steps = tuple(replace(s, axis=7) if isinstance(s, api.IteratorLayer) else s for s in network.steps)
    verdict = session.build_api(replace(network, steps=steps))
    assert verdict.status == "refused"
    assert verdict.message.startswith("NVIDIA's ")
    assert "axis" in verdict.message.lower()
