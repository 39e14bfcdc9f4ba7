"""The host runtime with a plugin that behaves, and one that doesn't."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pluginkit.errors import CheckFailed, PluginkitError, UsageError
from pluginkit.evaluators.rtx import participation
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network, PluginCall
from pluginkit.network.plan import Plan
from pluginkit.process.worker import WorkerCrashed, WorkerTimeout
from pluginkit.runtimes.host import session as host
from pluginkit.testing.comparison import compare

pytestmark = pytest.mark.compile

CONFIGURE_SEGFAULT, NO_FORMAT, ENQUEUE_SEGFAULT, ENQUEUE_EXIT, ENQUEUE_HANG, ENQUEUE_ERROR, CONFIGURE_HANG = range(1, 8)
FORMATS_ABORT, CREATE_NULL, DESERIALIZE_NULL, SERIALIZE_OTHER, UNWRITTEN = range(8, 13)
LAST_PROFILE, COUNTS, BELOW_MAX, NEEDS_NUMBERS = range(13, 17)


@pytest.fixture
def session(library: Path, manifest: Manifest) -> Iterator[host.HostSession]:
    with host.open(library, manifest, timeout=30) as session:
        yield session


def test_all_cases_are_right_and_every_node_is_live(session: host.HostSession, whole_plan: Plan) -> None:
    for network in whole_plan.networks:
        verdict = session.build(network)
        assert verdict.ok, verdict.message
        if isinstance(network, Network):
            assert participation.problems(network, verdict.configured) == []
    for case in whole_plan.cases:
        ran = session.run(case)
        comparison = compare(case.defined(ran.outputs), case.expected, case.tolerance)
        assert comparison.ok, (case.id, comparison.message)
        assert ran.enqueues == case.enqueues, case.id


@pytest.mark.parametrize(
    ("fault", "status", "word"),
    [
        (CONFIGURE_SEGFAULT, "crashed", "SIGSEGV in IPluginV2DynamicExt::configurePlugin"),
        (FORMATS_ABORT, "crashed", "SIGABRT in IPluginV2DynamicExt::supportsFormatCombination"),
        (NO_FORMAT, "refused", "supportsFormatCombination"),
        (CREATE_NULL, "refused", "createPlugin"),
    ],
)
def test_faults_of_the_build(session, networks, whole_plan, fault, status, word) -> None:  # type: ignore[no-untyped-def]
    verdict = session.build(networks(fault=fault))
    assert verdict.status == status
    assert word in verdict.message
    assert session.build(networks()).ok, "the next network has a process again"


def test_a_hang_in_the_build(library: Path, manifest: Manifest, networks) -> None:  # type: ignore[no-untyped-def]
    with host.open(library, manifest, timeout=3) as session:
        verdict = session.build(networks(fault=CONFIGURE_HANG))
        assert verdict.status == "hung"
        assert "configurePlugin" in verdict.message


@pytest.mark.parametrize(
    ("fault", "kind", "word"),
    [
        (ENQUEUE_SEGFAULT, WorkerCrashed, "SIGSEGV in IPluginV2DynamicExt::enqueue"),
        (ENQUEUE_EXIT, WorkerCrashed, "exit code 0 in IPluginV2DynamicExt::enqueue"),
        (ENQUEUE_ERROR, CheckFailed, "enqueue"),
        (DESERIALIZE_NULL, CheckFailed, "deserializePlugin"),
    ],
)
def test_faults_of_the_run(session, networks, whole_plan, fault, kind, word) -> None:  # type: ignore[no-untyped-def]
    good, bad = networks(), replace(networks(fault=fault), id="bad")
    assert session.build(good).ok
    assert session.build(bad).ok
    cases = [case for case in whole_plan.cases if case.network_id == good.id]
    with pytest.raises(kind) as caught:
        session.run(replace(cases[0], network_id="bad"))
    assert isinstance(caught.value, PluginkitError)
    assert word in str(caught.value)
    assert compare(session.run(cases[1]).outputs, cases[1].expected, cases[1].tolerance).ok, "case k+1 runs"


def test_an_unwritten_element_costs_no_process(session, networks, whole_plan) -> None:  # type: ignore[no-untyped-def]
    good, bad = networks(), replace(networks(fault=UNWRITTEN), id="bad")
    failing = replace(networks(fault=ENQUEUE_ERROR), id="failing")
    assert all(session.build(network).ok for network in (good, bad, failing))
    first, second, *_ = [case for case in whole_plan.cases if case.network_id == good.id]
    session.run(first)
    process = session._runner.pid
    for number in (1, 3):
        assert len(session.asked) == number
        with pytest.raises(CheckFailed, match="left unwritten: 1 of"):
            session.run(replace(first, network_id="bad"))
        assert compare(session.run(second).outputs, second.expected, second.tolerance).ok
        assert session._runner.pid == process
    with pytest.raises(CheckFailed):
        session.run(replace(first, network_id="failing"))
    assert session.asked == (), "after any other finding the next run has a process of its own"
    session.run(first)
    assert session._runner.pid != process
    session.renew()
    assert session.asked == ()


def test_a_hang_in_a_run(library: Path, manifest: Manifest, networks, whole_plan: Plan) -> None:  # type: ignore[no-untyped-def]
    with host.open(library, manifest, timeout=3) as session:
        assert session.build(networks(fault=ENQUEUE_HANG)).ok
        with pytest.raises(WorkerTimeout, match="enqueue"):
            session.run(next(case for case in whole_plan.cases if case.network_id == "plain/float32"))


def test_the_run_has_only_what_was_serialized(session, networks, whole_plan) -> None:  # type: ignore[no-untyped-def]
    """This plugin serializes another alpha each time, which is a warning; what is run has the one of the first time."""
    verdict = session.build(networks(fault=SERIALIZE_OTHER))
    assert [one.rule for one in verdict.warnings] == ["S2", "F7"]
    case = next(case for case in whole_plan.cases if case.network_id == "plain/float32")
    ran = session.run(case)
    assert not compare(ran.outputs, case.expected, case.tolerance).ok
    assert {one.rule for one in ran.warnings} == {"S2"}


@pytest.mark.parametrize("fault", [LAST_PROFILE, COUNTS, BELOW_MAX])
def test_only_the_life_of_tensorrt_8_5_shows_it(session, networks, whole_plan, fault) -> None:  # type: ignore[no-untyped-def]
    """Contexts of two profiles at once, enqueue called 100 times, and min and max that are the shape at hand."""
    assert session.build(replace(networks(fault=fault), id="bad")).ok
    case = next(one for one in whole_plan.cases if one.id == "plain/float32/default/opt")
    case = replace(case, network_id="bad")
    for way in ("eager", "concurrent", "reused"):
        assert compare(session.run(case, way=way).outputs, case.expected, case.tolerance).ok, way
    assert not compare(session.run(case, way="as-8.5").outputs, case.expected, case.tolerance).ok


@pytest.mark.parametrize("network", ["cond-then/float32", "cond-both/float32", "api-cond-lazy/float32"])
def test_a_branch_that_is_not_taken_is_run_on_other_data(session, whole_plan, network) -> None:  # type: ignore[no-untyped-def]
    made = next(one for one in whole_plan.networks if one.id == network)
    cases = [case for case in whole_plan.cases if case.network_id == network and "/opt" in case.id]
    bad = replace(made, id="bad", calls=tuple(_with_fault(call, NEEDS_NUMBERS) for call in made.calls))
    assert session.build(made).ok
    assert session.build(bad).ok
    crashes = 0
    for case in cases:
        for way in ("eager", "branches"):
            ran = session.run(case, way=way)
            assert compare(case.defined(ran.outputs), case.expected, case.tolerance).ok, (case.id, way)
            assert ran.enqueues == case.enqueues, "what is not taken is not counted"
        other = replace(case, network_id="bad")
        assert compare(case.defined(session.run(other).outputs), case.expected, case.tolerance).ok
        try:
            session.run(other, way="branches")
        except WorkerCrashed:
            crashes += 1
    assert crashes


def _with_fault(call: PluginCall, fault: int) -> PluginCall:
    """The call of the plugin with that fault; a probe behind it stays as it is."""
    fields = {name: (kind, fault if name == "fault" else value) for name, (kind, value) in call.fields.items()}
    return replace(call, fields=fields)


def test_an_unbuilt_network(session: host.HostSession, whole_plan: Plan) -> None:
    with pytest.raises(UsageError, match="isn't built"):
        session.run(whole_plan.cases[0])


def test_libraries_that_are_none(tmp_path: Path, manifest: Manifest) -> None:
    with pytest.raises(UsageError):
        host.open(tmp_path / "missing.so", manifest)
    text = tmp_path / "text.so"
    text.write_text("no ELF")
    with pytest.raises(UsageError):
        host.open(text, manifest)


def test_another_plugin_in_the_library(library: Path, manifest: Manifest) -> None:
    other = manifest.model_copy(update={"plugin": manifest.plugin.model_copy(update={"name": "Other"})})
    with pytest.raises(PluginkitError, match="Other"):
        host.open(library, other)
