"""When RTX's engines are run, what is asked of them then, and what is made of the answers."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from pluginkit.build.gpus import DriverInfo, Gpu
from pluginkit.errors import CheckFailed, ToolMissing
from pluginkit.evaluators.protocol import RunWork
from pluginkit.evaluators.rtx import engine_evaluator
from pluginkit.evaluators.rtx import engines as in_rtx
from pluginkit.evaluators.rtx.engines import RtxRuns
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Case, Network
from pluginkit.network.plan import Plan
from pluginkit.process.worker_pool import Common, Sessions
from pluginkit.run import libraries
from pluginkit.run.execution import LocalWorkplace, execute
from pluginkit.run.executors import LocalExecutor
from pluginkit.run.items import parts
from pluginkit.run.libraries import gpu_library
from pluginkit.run.options import Options
from pluginkit.run.runner import assemble
from pluginkit.runtimes import Availability, BuildVerdict, Ran
from pluginkit.runtimes.rtx import engines as rtx_engines
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.rtx.engines import RtxEngines, obstacle
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference
from pluginkit.testing.report import Outcome, Verdict

NAME = engine_evaluator.EVALUATOR.NAME
FRESH, SAME = "in another process", "in the process that built the engine"


def gpu(capability: str) -> DriverInfo:
    return DriverInfo("13.0", (Gpu("a GPU", capability),))


@pytest.mark.parametrize("capability", ["8.0", "8.6", "8.9", "12.0", "12.1", "13.0"])
def test_it_runs_on(capability: str) -> None:
    assert obstacle(gpu(capability)) == ""


@pytest.mark.parametrize("capability", ["7.5", "8.7", "9.0", "10.0", "11.0"])
def test_it_does_not_run_on(capability: str) -> None:
    assert (
        obstacle(gpu(capability)) == f"compute capability {capability}, and RTX runs engines on 8.0, 8.6, 8.9 and 12.x"
    )


def test_a_machine_without_gpu_says_so() -> None:
    for driver in (DriverInfo(problem="no NVIDIA device here: ..."), DriverInfo("13.0")):
        assert obstacle(driver) == "no GPU here", "pluginkit info prints it next to why"


@dataclass
class Stand:
    """Answers as a session does: right, but in `wrong`."""

    wrong: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)

    def build(self, network: Network) -> BuildVerdict:
        return BuildVerdict("built", "built")

    def run(self, network: Network, case: Case, *, fresh: bool = True) -> Ran:
        self.asked.append((case.id, FRESH if fresh else SAME))
        more = 1000 if self.wrong == self.asked[-1][1] else 0
        return Ran({name: np.float32(want + more) for name, want in case.expected.items()}, -1)


@pytest.fixture(scope="module")
def manifest(bar: Path) -> Manifest:
    return Manifest.load(bar)


@pytest.fixture(scope="module")
def plain(manifest: Manifest, bar: Path) -> Plan:
    return plan(manifest, Reference.load(bar, manifest), families=["plain"], precisions=None, seed=1)


def test_every_case_runs_in_both_processes(plain: Plan) -> None:
    stand = Stand()
    verdicts = list(RtxRuns(cast("RtxEngines", stand), plain).all())
    assert {verdict.outcome for verdict in verdicts} == {Outcome.PASSED}
    # Variants are the host's: who builds an engine chooses formats itself.
    usual = {network.id for network in plain.usual}
    # So are warnings: what no document asks of a plugin.
    run = [case for case in plain.cases if case.network_id in usual and not case.advisory]
    assert stand.asked == [(case.id, where) for case in run for where in (SAME, FRESH)]


@pytest.mark.parametrize("wrong", [SAME, FRESH])
def test_where_it_is_wrong_is_said(wrong: str, plain: Plan) -> None:
    verdict = next(RtxRuns(cast("RtxEngines", Stand(wrong)), plain).all())
    assert verdict.outcome is Outcome.FAILED
    assert verdict.runtime == "tensorrt-rtx engines"
    assert f"{plain.cases[0].id}: {wrong}" in verdict.message


def status_of(
    monkeypatch: pytest.MonkeyPatch, manifest: Manifest, plain: Plan, driver: DriverInfo, library: Any
) -> str:
    """What a run says of the engines' part."""

    def build(*_: Any) -> Any:
        if isinstance(library, Exception):
            raise library
        return [SimpleNamespace(library=library)]

    monkeypatch.setattr(engine_evaluator, "find_driver", lambda: driver)
    monkeypatch.setattr(engine_evaluator.rtx, "probe", lambda: Availability(True, "1.7"))
    monkeypatch.setattr(libraries, "build", build)
    monkeypatch.setattr(in_rtx, "evaluate", lambda *_: [Verdict("plain/float32", NAME, Outcome.FAILED, "wrong")])
    work = RunWork(manifest, Path(), plain, plain)
    place = LocalWorkplace(Sessions(Common()), lambda _: Path("lib.so"), partial(gpu_library, Options()))
    (part,) = [part for part in parts(work) if part.evaluator.NAME == NAME]
    found = {item: execute(item, work, place) for item in part.items}
    report = assemble(work, [part], found, Path(__file__), "", LocalExecutor(Options()))
    return f"{report.runtimes[NAME]}; {len(report.verdicts)} verdicts"


def test_a_run_says_whether_engines_ran(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, manifest: Manifest, plain: Plan
) -> None:
    nvcc = ToolMissing("nvcc is not on this machine", hint="get it")
    assert status_of(monkeypatch, manifest, plain, gpu("9.0"), nvcc).startswith(
        "took no part: compute capability 9.0, and RTX"
    )
    assert status_of(monkeypatch, manifest, plain, gpu("8.9"), nvcc) == (
        "took no part: nvcc is not on this machine (get it); 0 verdicts"
    )
    assert status_of(monkeypatch, manifest, plain, gpu("8.9"), tmp_path / "lib.so") == (
        "run on a GPU, in the process that built them and in another; 1 verdicts"
    )


@pytest.mark.rtx
@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason=tensorrt_rtx.probe().reason)
def test_nvidia_builds_the_engine_and_says_why_it_does_not_run(plain: Plan, manifest: Manifest, bar: Path) -> None:
    if shutil.which("nvidia-smi"):
        pytest.skip("there is a GPU here")
    network, case = plain.networks[0], plain.cases[0]
    with rtx_engines.open(next((bar / "build").rglob("*.so")), manifest, timeout=60) as session:
        assert session.build(network).ok
        for fresh in (False, True):
            with pytest.raises(CheckFailed, match=r"TensorRT-RTX doesn't deserialize the engine: .*cudaError 35"):
                session.run(network, case, fresh=fresh)
