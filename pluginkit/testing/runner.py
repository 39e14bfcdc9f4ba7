"""One test run: build, plan, have every runtime judge, run every case, compare. The meeting point of all rooms."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from pluginkit.build import build
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, NothingSelected, PluginCrashed
from pluginkit.manifest import Manifest
from pluginkit.runtimes import BuildVerdict, Configured, host, tensorrt_rtx
from pluginkit.runtimes.host import HostSession
from pluginkit.runtimes.liveness import problems
from pluginkit.runtimes.worker import WorkerCrashed, WorkerTimeout
from pluginkit.testing import planning
from pluginkit.testing.compare import compare
from pluginkit.testing.model import Case, Network, Plan
from pluginkit.testing.report import CaseResult, Outcome, Report, Verdict

Step = Callable[[str, int, int | None], None]
"""Told what is being done, how many are done, and of how many (None: not known)."""


@dataclass(frozen=True)
class Options:
    """What a run is asked to do.

    Attributes:
        project: the folder with `pluginkit.toml`.
        precisions: None means all that the manifest declares.
        families: networks by name; None means all.
        only: patterns of case ids; none means all.
        data: an .npz with the person's own inputs.
        seed: what random shapes and values follow from.
        library: a library to test as it is; None means: build the project's.
        timeout: seconds that any one call into the plugin may take.
    """

    project: Path = Path()
    precisions: tuple[DType, ...] | None = None
    families: tuple[str, ...] | None = None
    only: tuple[str, ...] = ()
    data: Path | None = None
    seed: int = 0
    library: Path | None = None
    timeout: float = 60.0


@dataclass
class _Run:
    """A run under way: what is known so far."""

    options: Options
    manifest: Manifest
    library: Path
    plan: Plan
    step: Step
    cases: list[CaseResult] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    configured: dict[str, tuple[Configured, ...]] = field(default_factory=dict)
    """By network: what configure saw in the host, which is what a builder is expected to say."""


def run(options: Options, step: Step = lambda *_: None) -> Report:
    """Test a plugin.

    Raises:
        PluginkitError: the run could not take place (no project, build failed, wrong reference, no such library).
            What the plugin does wrong is in the report.
    """
    manifest = Manifest.load(options.project)
    step("building", 0, None)
    library = options.library or build(options.project, "cpu")[0].library
    step("asking the reference", 0, None)
    plan = planning.make(
        manifest,
        options.project,
        precisions=options.precisions,
        families=options.families,
        seed=options.seed,
        data=options.data,
        timeout=options.timeout,
    )
    this = _Run(options, manifest, library, select(plan, options.only), step)
    with _loaded(this) as session:
        _host(this, session)
    said = _rtx(this)
    return Report(
        plugin=manifest.plugin.name,
        library=str(library),
        sha256=hashlib.sha256(library.read_bytes()).hexdigest(),
        seed=options.seed,
        cases=tuple(this.cases),
        verdicts=tuple(this.verdicts),
        runtimes={host.NAME: "pluginkit's own, on target cpu", tensorrt_rtx.NAME: said},
    )


def select(plan: Plan, only: Sequence[str]) -> Plan:
    """The part of a plan whose case ids match one of the patterns; all of it if there are none.

    Raises:
        NothingSelected: no case matches.
    """
    if not only:
        return plan
    cases = tuple(case for case in plan.cases if any(fnmatchcase(case.id, pattern) for pattern in only))
    if not cases:
        raise NothingSelected(
            f"No case matches {' or '.join(only)}.",
            hint=f"Case ids look like {plan.cases[0].id}; * stands for anything.",
        )
    used = {case.network_id for case in cases}
    return replace(plan, cases=cases, networks=tuple(n for n in plan.networks if n.id in used))


_BUILDS = {
    "built": Outcome.PASSED,
    "refused": Outcome.FAILED,
    "crashed": Outcome.CRASHED,
    "hung": Outcome.HUNG,
}
"""What a build's status means for the run."""


def _loaded(this: _Run) -> HostSession:
    """The library in the host.

    Raises:
        PluginCrashed: loading it took the process down, or never ended.
    """
    try:
        return host.open(this.library, this.manifest, timeout=this.options.timeout)
    except (WorkerCrashed, WorkerTimeout) as death:
        raise PluginCrashed(
            f"{this.library} cannot be loaded: {death.message}",
            hint="Look at what runs on loading: constructors of globals, and functions with the attribute constructor.",
        ) from None


def _host(this: _Run, session: HostSession) -> None:
    done = 0
    for network in this.plan.networks:
        this.step(f"host: {network.id}", done, len(this.plan.cases))
        built = session.build(network)
        this.configured[network.id] = built.configured
        for case in (case for case in this.plan.cases if case.network_id == network.id):
            this.step(f"host: {case.id}", done, len(this.plan.cases))
            done += 1
            if built.ok:
                this.cases.append(_case(session, network, case))
            else:
                this.cases.append(_result(network, case, _BUILDS[built.status], message=built.message))


def _guarded(action: Callable[[], str]) -> tuple[Outcome, str, float]:
    """Run something in a worker: how it ended, what is to say of it, and the seconds it took."""
    started = time.monotonic()
    try:
        message = action()
        outcome = Outcome.FAILED if message else Outcome.PASSED
    except WorkerTimeout as hang:
        outcome, message = Outcome.HUNG, hang.message
    except WorkerCrashed as crash:
        outcome, message = Outcome.CRASHED, crash.message
    except CheckFailed as failure:
        outcome, message = Outcome.FAILED, failure.message
    return outcome, message, time.monotonic() - started


def _case(session: HostSession, network: Network, case: Case) -> CaseResult:
    found: dict[str, float | str | None] = {}

    def action() -> str:
        ran = session.run(case)
        comparison = compare(ran.outputs, case.expected, case.tolerance)
        worst = comparison.worst
        found.update(error=worst.error, allowed=worst.allowed, unit=worst.unit)
        if not comparison.ok:
            return comparison.message
        if case.enqueues is not None and ran.enqueues != case.enqueues:
            return f"enqueue was called {ran.enqueues} times, expected {case.enqueues}"
        return ""

    outcome, message, seconds = _guarded(action)
    return replace(_result(network, case, outcome, message=message, seconds=seconds), **found)  # type: ignore[arg-type]


def _result(network: Network, case: Case, outcome: Outcome, *, message: str = "", seconds: float = 0.0) -> CaseResult:
    return CaseResult(
        id=case.id,
        network=network.id,
        family=network.family,
        precision=network.precision,
        point=case.id.removeprefix(f"{network.id}/"),
        shape=" ".join(f"{name}={value}" for name, value in case.symbols.items()),
        outcome=outcome,
        message=message,
        seconds=seconds,
    )


def _rtx(this: _Run) -> str:
    """Have NVIDIA's builder judge every network; what to say of its part in the run."""
    found = tensorrt_rtx.probe()
    if not found.found:
        return f"took no part: {found.reason} ({found.remedy})"
    outcome, message, seconds = _guarded(lambda: _judge(this))
    if outcome is not Outcome.PASSED:
        # Loading failed, so no network was judged: each gets that answer, or the run would look as if none was asked.
        for network in this.plan.networks[len(this.verdicts) :]:
            this.verdicts.append(Verdict(network.id, tensorrt_rtx.NAME, outcome, message, (), seconds))
    return f"{found.version}, through the V3 adapter; engines built, not run"


def _judge(this: _Run) -> str:
    with tensorrt_rtx.open(this.library, this.manifest, timeout=this.options.timeout) as session:
        for done, network in enumerate(this.plan.networks):
            this.step(f"NVIDIA's builder: {network.id}", done, len(this.plan.networks))
            verdict = session.build(network)
            if verdict.ok and network.family == "plain":
                # The same network once more, as models have it whose exporter knows no domains.
                again = session.build(network, default_domain=True)
                verdict = verdict if again.ok else replace(again, message=f"in ONNX's default domain: {again.message}")
            this.verdicts.append(_verdict(network, verdict, this.configured.get(network.id, ())))
    return ""


def _verdict(network: Network, verdict: BuildVerdict, expected: Sequence[Configured]) -> Verdict:
    outcome, message = _BUILDS[verdict.status], verdict.message
    if verdict.ok:
        message = "\n".join(problems(network, verdict.configured, expected))
        outcome = Outcome.FAILED if message else Outcome.PASSED
    return Verdict(network.id, tensorrt_rtx.NAME, outcome, message, verdict.log, verdict.seconds)
