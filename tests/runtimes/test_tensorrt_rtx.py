"""NVIDIA's parser and builder with a plugin that behaves, and one that doesn't."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import onnx
import pytest

from pluginkit import installation
from pluginkit.errors import CheckFailed, PluginkitError, ToolMissing, UsageError
from pluginkit.evaluators.rtx import participation
from pluginkit.manifest import Manifest
from pluginkit.network.plan import Plan
from pluginkit.process.worker import Worker
from pluginkit.runtimes.host import session as host
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.rtx.session import RtxSession

Compile = Callable[..., Path]

needs_rtx = pytest.mark.skipif(not tensorrt_rtx.probe().found, reason=tensorrt_rtx.probe().reason)
pytestmark = [pytest.mark.rtx, pytest.mark.compile, needs_rtx]

CONFIGURE_SEGFAULT, NO_FORMAT, CONFIGURE_HANG, FORMATS_ABORT, CREATE_NULL = 1, 2, 7, 8, 9


@pytest.fixture(scope="module")
def session(library: Path, manifest: Manifest) -> Iterator[RtxSession]:
    with tensorrt_rtx.open(library, manifest, timeout=60) as session:
        yield session


@pytest.fixture
def own_session(library: Path, manifest: Manifest) -> Iterator[RtxSession]:
    with tensorrt_rtx.open(library, manifest, timeout=20) as session:
        yield session


def test_every_network_builds_and_is_live(session, library, manifest, whole_plan: Plan) -> None:  # type: ignore[no-untyped-def]
    """As exporters write them; as they are, a whole matrix has them (integration/test_bar_plugin)."""
    assert len(whole_plan.networks) >= 9
    with host.open(library, manifest) as ours:
        for number, network in enumerate(whole_plan.usual):
            expected = ours.build(network).configured
            for as_exported in (False, True) if number == 0 else (True,):
                verdict = session.build(network, as_exported=as_exported)
                assert verdict.ok, (network.id, verdict.message)
                assert participation.problems(network, verdict.configured, expected) == []


def test_one_process_builds_them_all(own_session: RtxSession, networks) -> None:  # type: ignore[no-untyped-def]
    own_session.build(networks())
    worker = own_session._worker
    own_session.build(networks("loop-count/int8"))
    assert worker is not None
    assert own_session._worker is worker


def dead(network):  # type: ignore[no-untyped-def]
    """The same network, its outputs taken from the inputs: nothing needs the plugin."""
    model = onnx.load_from_string(network.model)
    for output in model.graph.output:
        for node in model.graph.node:
            node.output[:] = [f"{name}_dead" if name == output.name else name for name in node.output]
        model.graph.node.append(onnx.helper.make_node("Neg", [model.graph.input[0].name], [output.name]))
    return replace(network, model=model.SerializeToString())


def test_a_dead_plugin_is_no_success(session: RtxSession, networks) -> None:  # type: ignore[no-untyped-def]
    network = dead(networks())
    verdict = session.build(network)
    assert verdict.ok, verdict.message
    problems = participation.problems(network, verdict.configured)
    assert len(problems) == 2, problems
    assert f"plugin node {network.calls[0].node!r}, profile 'default': never configured" in problems[0]
    assert "'large'" in problems[1]


def test_shapes_other_than_the_hosts_are_found(session, library, manifest, networks) -> None:  # type: ignore[no-untyped-def]
    network = networks()
    verdict = session.build(network)
    with host.open(library, manifest) as ours:
        expected = ours.build(network).configured
    for other, message in ({"opt": (2, 2)}, "2x2"), ({"max": (3, 3)}, "3x3"), ({"min": (3, 3)}, "3x3"):
        wrong = [replace(e, outputs=(replace(e.outputs[0], **other), *e.outputs[1:])) for e in expected]
        problems = participation.problems(network, verdict.configured, wrong)
        assert len(problems) == 2
        assert message in problems[0]
    wider = [replace(e, outputs=(replace(e.outputs[0], max=(9, 9)), *e.outputs[1:])) for e in expected]
    assert participation.problems(network, verdict.configured, wider) == [], "NVIDIA's may be the better bounds"
    other = replace(network, calls=(replace(network.calls[0], inputs=(network.calls[0].inputs[0],) * 2),))
    assert participation.problems(other, [c for c in verdict.configured if c.inputs[0].max == (7, 8)])
    fewer = [c for c in verdict.configured if c.inputs[0].max == (4, 8)]
    assert [p.split(":")[0] for p in participation.problems(network, fewer)] == [
        f"plugin node {network.calls[0].node!r}, profile 'large'"
    ]


def test_a_segfault_names_the_method_and_the_next_network_builds(own_session, networks) -> None:  # type: ignore[no-untyped-def]
    verdict = own_session.build(networks(fault=CONFIGURE_SEGFAULT))
    assert verdict.status == "crashed"
    node = networks().calls[0].node
    assert f"SIGSEGV in IPluginV3OneBuild::configurePlugin of layer {node!r}" in verdict.message
    assert verdict.configured, "the call that never came back is in the trace"
    assert own_session.build(networks()).ok


def test_an_abort_and_a_hang(library: Path, manifest: Manifest, networks) -> None:  # type: ignore[no-untyped-def]
    with tensorrt_rtx.open(library, manifest, timeout=6) as session:
        verdict = session.build(networks(fault=FORMATS_ABORT))
        assert (verdict.status, "SIGABRT in IPluginV3OneBuild::supportsFormatC" in verdict.message) == ("crashed", True)
        verdict = session.build(networks(fault=CONFIGURE_HANG))
        assert (verdict.status, "IPluginV3OneBuild::configurePlugin" in verdict.message) == ("hung", True)


def test_refusals_are_in_nvidias_words(session: RtxSession, networks) -> None:  # type: ignore[no-untyped-def]
    verdict = session.build(networks(fault=NO_FORMAT))
    assert verdict.status == "refused"
    assert "NVIDIA's builder: " in verdict.message
    assert "format" in verdict.message.lower()
    verdict = session.build(networks(fault=CREATE_NULL))
    assert verdict.status == "refused"
    assert "NVIDIA's parser: " in verdict.message
    profile = networks().profiles[0]
    upside_down = replace(profile, shapes={name: tuple(reversed(r)) for name, r in profile.shapes.items()})
    verdict = session.build(replace(networks(), profiles=(upside_down,)))
    assert verdict.status == "refused"
    assert "profile" in verdict.message.lower()
    assert session.build(networks()).ok


def test_libraries_that_nvidia_does_not_load(tmp_path: Path, manifest: Manifest, compile_library: Compile) -> None:
    with pytest.raises(UsageError, match=r"There is no file .*missing\.so"):
        tensorrt_rtx.open(tmp_path / "missing.so", manifest)
    source = tmp_path / "empty.cpp"
    source.write_text('extern "C" int nothing() { return 0; }\n')
    with pytest.raises(CheckFailed, match="getCreators"):
        tensorrt_rtx.open(compile_library(source, tmp_path / "libempty.so"), manifest)


def test_a_library_that_crashes_on_load(tmp_path: Path, manifest: Manifest, compile_library: Compile) -> None:
    source = tmp_path / "crash.cpp"
    source.write_text("#include <cstdlib>\nstatic int const now = (std::abort(), 1);\n")
    with pytest.raises(PluginkitError, match="SIGABRT"):
        tensorrt_rtx.open(compile_library(source, tmp_path / "libcrash.so"), manifest)


def test_another_plugins_name(library: Path, manifest: Manifest) -> None:
    other = manifest.model_copy(update={"plugin": manifest.plugin.model_copy(update={"name": "Other"})})
    with pytest.raises(CheckFailed, match="lists no creator Other 1 in namespace ''; new: Behaving 1 in ''"):
        tensorrt_rtx.open(library, other)


def test_close_removes_its_files(library: Path, manifest: Manifest) -> None:
    session = tensorrt_rtx.open(library, manifest)
    folder = session._folder
    assert folder.exists()
    session.close()
    assert not folder.exists()


def test_its_processes_are_forked_as_all_others_are(library: Path, manifest: Manifest) -> None:
    """They need no environment of their own to find NVIDIA's library."""
    with (
        tensorrt_rtx.open(library, manifest) as session,
        session._start(str(library)) as one,
        Worker("tests.runtimes.about_itself", {}, timeout=60) as other,
    ):
        states = [Path(f"/proc/{worker.pid}/stat").read_text().rsplit(")")[-1].split() for worker in (one, other)]
    parents = {int(state[1]) for state in states}
    assert len(parents) == 1
    assert os.getpid() not in parents


def test_another_tensorrt_rtx_on_the_library_path(  # type: ignore[no-untyped-def]
    library: Path,
    manifest: Manifest,
    networks,
    compile_library: Compile,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As of an SDK: the parser has the one that is loaded."""
    source = tmp_path / "other.cpp"
    source.write_text("extern int const other = 1;\n")
    compile_library(source, tmp_path / "libtensorrt_rtx.so")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    with tensorrt_rtx.open(library, manifest, timeout=60) as session:
        verdict = session.build(networks())
        assert verdict.ok, verdict.message


def test_missing_wheels_are_named_with_the_remedy(library, manifest, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(tensorrt_rtx.importlib.util, "find_spec", lambda name: None)
    found = tensorrt_rtx.probe()
    assert (found.found, found.remedy) == (False, installation.extra("rtx"))
    with pytest.raises(ToolMissing, match="not installed"):
        tensorrt_rtx.open(library, manifest)
