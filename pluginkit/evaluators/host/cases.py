"""Runs the cases of a plan in pluginkit's host, on one build of the plugin's library, and evaluates each."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

from pluginkit.bases import BASES
from pluginkit.build import Instrumentation
from pluginkit.demands import DemandWarning
from pluginkit.errors import CheckFailed, PluginCrashed
from pluginkit.evaluators.digests import digest
from pluginkit.evaluators.host import field_causes, large, leaks, outside_profile, ties
from pluginkit.evaluators.host.clones import Clones
from pluginkit.evaluators.host.kept_state import KeptState
from pluginkit.evaluators.host.schedules import Schedule, other_contexts
from pluginkit.host.errors import Finding
from pluginkit.layouts import BEFORE_V3, IMPLICIT_BATCH, Layout
from pluginkit.library import build_record
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork, types_of
from pluginkit.network.large import LargeCase
from pluginkit.network.networks import Array, Case
from pluginkit.process.defects import demand_of_cost, describe, describe_all
from pluginkit.process.findings import Defect
from pluginkit.process.worker import WorkerCrashed, WorkerTimeout
from pluginkit.runtimes import BuildVerdict, Configured, Target
from pluginkit.runtimes.host import session as host
from pluginkit.runtimes.host.session import HostSession
from pluginkit.runtimes.host.time_limit import endless
from pluginkit.testing import heat, int8_causes, rounding
from pluginkit.testing.comparison import Comparison, compare
from pluginkit.testing.report import STRICT, CaseResult, Outcome, Verdict

BUILDS = {
    "built": Outcome.PASSED,
    "refused": Outcome.FAILED,
    "crashed": Outcome.CRASHED,
    "hung": Outcome.HUNG,
}
"""What a build's status means for the run."""

OUTPUTS = "E7"
"""The demand that outputs are the reference's."""

NOT_SUPPORTED = "not-supported"
"""The kind of what target cpu can't do."""

SHAPES_KEPT = (
    "Compute on the dimensions that enqueue is given, or on those of the last configurePlugin or onShapeChange: no\n"
    "  member may keep those of the first call, or only grow."
)


@dataclass(frozen=True)
class Hosted:
    """One build of the library, and how cases are run on it: in each of the schedules, until one fails. With `strict`
    a warning is a failure. `layout` is that whose classes the host has; None: the newest."""

    library: Path
    instrumentation: Instrumentation
    manifest: Manifest
    project: Path
    timeout: float
    schedules: Sequence[Schedule]
    target: Target = "cpu"
    strict: bool = False
    layout: Layout | None = None

    @property
    def key(self) -> Hashable:
        """The library's content, and how it is loaded and run."""
        return (
            "host",
            digest(self.library),
            self.instrumentation,
            self.target,
            self.timeout,
            self.project,
            self.strict,
        )

    @property
    def for_implicit_batch(self) -> bool:
        """Whether the library is known to have the classes of `IMPLICIT_BATCH`; of others wrong methods are called."""
        if self.manifest.library is not None:
            return self.manifest.library.layout == IMPLICIT_BATCH.number
        return self._has(IMPLICIT_BATCH)

    def _has(self, layout: Layout) -> bool:
        """Whether the library is known to have the classes of a layout."""
        record = build_record.read(self.library, digest(self.library))
        return record is not None and record.same and str(layout.number) in record.layouts

    @property
    def before_v3(self) -> Hosted | None:
        """How cases are run on the interface that a layer has where there is no IPluginV3; None where it has one
        interface, or the library none for that."""
        if len(self.manifest.plugin.interfaces) == 1 or not self._has(BEFORE_V3):
            return None
        return replace(self, manifest=self.manifest.in_layout(BEFORE_V3), layout=BEFORE_V3)

    def open(self) -> Hosting:
        """Load it.

        Raises:
            PluginCrashed: loading the library took the process down, or never ended.
            UsageError, CheckFailed: it is not a plugin library, or another plugin's.
        """
        try:
            session = host.open(
                self.library,
                self.manifest,
                timeout=self.timeout * self.instrumentation.slowdown,
                environment=self.instrumentation.environment(),
                project=self.project,
                target=self.target,
                instrumentation=self.instrumentation,
                layout=self.layout,
            )
        except (WorkerCrashed, WorkerTimeout) as death:
            raise PluginCrashed(
                f"{self.library} cannot be loaded: {death.message}",
                hint="Look at what runs on loading: constructors of globals, and functions with the attribute "
                "constructor.",
            ) from None
        return Hosting(self, session)

    @property
    def name(self) -> str:
        """For people: `host`, where it is not the CPU, and the checks that are compiled in."""
        return " ".join(filter(None, ("host", "on the GPU" if self.target == "gpu" else "", self.instrumentation.name)))


@dataclass(frozen=True)
class _Built:
    """What came of building a network."""

    verdict: BuildVerdict
    defects: tuple[Defect, ...]
    printed: str


class Hosting:
    """The library, loaded. `close` ends its processes."""

    def __init__(self, hosted: Hosted, session: HostSession) -> None:
        self._hosted = hosted
        self._for_implicit_batch = hosted.for_implicit_batch
        self._session = session
        self._built: dict[str, _Built] = {}
        self._kept = KeptState(session)
        self._clones = Clones(session, BASES[hosted.manifest.plugin.base].generation == "v2")
        before = hosted.before_v3
        self._before_v3 = before.open() if before is not None else None
        self.remark = ""
        """Whether cases are also run on the interface that a layer has with TensorRT 8, where it has two."""
        if len(hosted.manifest.plugin.interfaces) > 1:
            this, other = (BASES[name].interface for name in reversed(hosted.manifest.plugin.interfaces))
            self._other = f"the {other} of TensorRT {BEFORE_V3.number}"
            without = f"the library has not got {self._other}"
            self.remark = f"as the {this} alone: {without}" if before is None else f"as the {this} and as {self._other}"

    def close(self) -> None:
        """Ends the processes."""
        self._session.close()
        if self._before_v3 is not None:
            self._before_v3.close()

    def configured(self, network: AnyNetwork) -> tuple[Configured, ...]:
        """What configure saw when the network was built, which happens once; nothing if it can't be built."""
        return self._network(network).verdict.configured

    def refused(self, network: AnyNetwork, case: Case) -> Verdict | None:
        """Whether a case outside of its profile is refused; None if its network can't be built."""
        return outside_profile.evaluate(self._session, case) if self._network(network).verdict.ok else None

    def case(self, network: AnyNetwork, case: Case, ends: LargeCase | str = "") -> CaseResult:
        """Runs a case; where its network can't be built, that is its result. With the one case that goes on to other
        lives of the plugin, it is also tried on the `ends` of very large tensors; or there is a reason not to. A layer
        that has another interface where there is no IPluginV3 is run as that, too."""
        result = self._in_one_layout(network, case, ends)
        if self._before_v3 is None or result.outcome.bad or types_of(network) & BEFORE_V3.lacks:
            return result
        other = self._before_v3.case(network, case)
        if other.outcome.bad:
            return replace(other, message=host.in_convention(self._other, other.message))
        warnings = tuple(dict.fromkeys((*result.warnings, *other.warnings)))
        runs, seconds = result.runs + other.runs, result.seconds + other.seconds
        return replace(result, runs=runs, seconds=seconds, warnings=warnings)

    def _in_one_layout(self, network: AnyNetwork, case: Case, ends: LargeCase | str) -> CaseResult:
        built = self._network(network)
        if built.verdict.ok and not built.defects:
            ran = self._case(self._session, network, case)
            result = _with_warning(case, field_causes.as_warning(network, ran))
            if (
                result.outcome is Outcome.PASSED
                and self._session.typical(network)
                and leaks.asked(self._hosted.manifest, case)
            ):
                result = self._with_leaks(case, result)
                result = self._with_ends(result, ends) if self._hosted.target == "cpu" else result
            return self._warned(result, (*built.verdict.warnings, *result.warnings), ran.outcome)
        if unwanted := field_causes.refused(network, built.verdict):
            return self._result(network, case, Outcome.SKIPPED, message=unwanted)
        message = "" if built.verdict.ok else built.verdict.message
        result = self._result(network, case, BUILDS[built.verdict.status], message=message)
        result = replace(result, demand=built.verdict.demand)
        result = _with(result, built.defects, built.printed)
        warned = field_causes.as_warning(network, result)
        return self._warned(warned, warned.warnings, result.outcome)

    def _warned(self, result: CaseResult, warnings: Sequence[DemandWarning], ended: Outcome) -> CaseResult:
        """The result with all of its warnings, each once.

        With `strict` a case that has any has failed; for TensorRT 8.5, which runs branches that are not taken, one that
        has E19. One that has `ended` badly, as the warning says, has ended so.
        """
        result = replace(result, warnings=tuple(dict.fromkeys(warnings)))
        insisted = "8.5" in self._hosted.manifest.targets.tensorrt and any(one.rule == "E19" for one in result.warnings)
        if not (self._hosted.strict or insisted) or not result.warnings:
            return result
        lead = (result.message, STRICT)
        message = "\n".join(filter(None, (*lead, *(one.text for one in result.warnings))))
        outcomes = (result.outcome, ended, Outcome.FAILED)
        return replace(result, outcome=next(one for one in outcomes if one.bad), message=message)

    def large(self, case: LargeCase) -> CaseResult:
        """Runs the case of more than 2^31 elements."""
        started = time.monotonic()
        outcome, message = large.run(self._session, case, self._hosted.target)
        result = self._result(case.network, case, outcome, message=message, seconds=time.monotonic() - started)
        found = self._session.findings()
        if found and all(endless(one) for one in found):
            return replace(result, outcome=Outcome.SKIPPED, message=f"not tested: {found[0].text}")
        result = _with(result, found, self._session.printed)
        if not result.outcome.bad or self._hosted.target == "gpu":
            return result
        why = large.other_cause(self._session, case, found)
        return self._result(case.network, case, Outcome.SKIPPED, message=why, seconds=result.seconds) if why else result

    def _with_leaks(self, case: Case, result: CaseResult) -> CaseResult:
        """The result, with what the plugin leaves behind in each life."""
        found: list[DemandWarning] = []
        demand = [""]

        def action() -> str:
            try:
                found.extend(leaks.find(self._session, case))
            except Finding as finding:
                demand.append(finding.rule)
                raise
            return ""

        outcome, message, seconds = guarded(action)
        result = replace(result, seconds=result.seconds + seconds, warnings=(*result.warnings, *found))
        if outcome is not Outcome.PASSED:
            result = replace(result, outcome=outcome, message=message, demand=demand[-1])
        # What costs time in each run has been announced with the case.
        defects = [one for one in self._session.findings() if not demand_of_cost(one)]
        return _with(result, defects, self._session.printed)

    def _with_ends(self, result: CaseResult, ends: LargeCase | str) -> CaseResult:
        """The result, with what is wrong at the ends of very large tensors, or why that isn't known."""
        if result.outcome is not Outcome.PASSED or isinstance(ends, str):
            return replace(result, large_untried=ends if isinstance(ends, str) else "")
        started = time.monotonic()
        warnings, untried = large.warnings(self._session, ends)
        seconds = result.seconds + time.monotonic() - started
        return replace(
            result, seconds=seconds, warnings=(*result.warnings, *warnings), large_untried=untried, unjudged=untried
        )

    def _network(self, network: AnyNetwork) -> _Built:
        if network.id not in self._built:
            verdict = self._session.build(network)
            self._built[network.id] = _Built(verdict, self._session.findings(), self._session.printed)
        return self._built[network.id]

    def _case(self, session: HostSession, network: AnyNetwork, case: Case) -> CaseResult:
        """The first run that fails, else the one in order; `runs` is how many there were in the schedules."""
        results: list[CaseResult] = []
        usual: dict[str, Array] = {}
        schedules = self._hosted.schedules
        hosted = self._hosted
        more = other_contexts(
            network,
            case,
            hosted.manifest,
            hosted.target,
            checked=bool(hosted.instrumentation.name),
            for_implicit_batch=self._for_implicit_batch,
        )
        for schedule, convention in product((*schedules, *more), session.ways(case)):
            before = session.asked
            again = partial(self._once, session, network, case, schedule, convention, usual)
            result = again()
            # A build with checks takes many times as long to start, and who hangs once would hang once more.
            if result.outcome.bad and not _hung(result) and not self._hosted.instrumentation.name:
                result = self._kept.evaluate(result, before, again)
                result = self._clones.evaluate(result, again)
            result = _without_graph(result) if schedule.way == "graph" else result
            result = _not_taken(result) if schedule.way == "branches" else result
            results.append(replace(result, message=host.in_convention(convention, result.message)))
            if result.outcome.bad:
                break
        chosen = results[-1] if results[-1].outcome.bad else results[0]
        warnings = tuple(one for result in results for one in result.warnings)
        seconds = sum(result.seconds for result in results)
        runs = min(len(results), len(schedules) * len(session.ways(case)))
        return replace(chosen, runs=runs, seconds=seconds, warnings=warnings)

    def _once(
        self,
        session: HostSession,
        network: AnyNetwork,
        case: Case,
        schedule: Schedule,
        convention: str,
        usual: dict[str, Array],
        *,
        initialize_clones: bool = False,
    ) -> CaseResult:
        """One run. `usual` are the outputs of the first, which enters them, if they are right; `initialize_clones` is
        that of the session."""
        found: dict[str, float | str | heat.Heat | tuple[DemandWarning, ...] | None] = {}

        def action() -> str:
            try:
                ran = session.run(
                    case,
                    order=schedule.order,
                    deferred=schedule.deferred,
                    convention=convention,
                    way=schedule.way,
                    initialize_clones=initialize_clones,
                )
            except Finding as error:
                found.update(demand=error.rule)
                raise
            warnings = ran.warnings
            found.update(watched=ran.watched, warnings=warnings)
            outputs, comparison, moved = _compared(case, schedule, case.defined(ran.outputs), usual)
            if moved:
                warnings = (*warnings, DemandWarning("E18", "enqueue", f"{schedule.description}: {moved}"))
                found.update(warnings=warnings)
            worst = comparison.worst
            found.update(error=worst.error, allowed=worst.allowed, unit=worst.unit)
            if not comparison.ok:
                found.update(demand=OUTPUTS)
                found.update(heat=heat.of(outputs, case.expected, case.tolerance, worst))
                causes = field_causes.describe(session, network, case, outputs)
                why = self._why(network, case, outputs, comparison)
                return "\n".join(filter(None, (comparison.message, causes, why)))
            if finding := rounding.evaluate(outputs, case.expected, case.clear, case.tolerance):
                found.update(demand=OUTPUTS)
                return finding
            if short := rounding.short_of_end(outputs, case.saturated, case.tolerance):
                found.update(warnings=(*warnings, DemandWarning("E13", "enqueue", short)))
            if case.enqueues is not None and ran.enqueues != case.enqueues:
                return f"enqueue was called {ran.enqueues} times, expected {case.enqueues}"
            return ""

        outcome, message, seconds = guarded(action)
        result = self._result(network, case, outcome, message=message, seconds=seconds)
        result = replace(result, **found)  # type: ignore[arg-type]
        defects = session.findings()
        result = _with(result, defects, session.printed, session.workspace(network.id) if defects else None)
        if schedule.description and result.outcome.bad:
            lines = [f"{schedule.description} (without that it passed):", result.message]
            if schedule.way == "reused":
                before = ", ".join(one.id for one in case.earlier)
                lines.insert(1, f"before it in the same context: {before}\n  fix: {SHAPES_KEPT}")
            way = schedule.way if schedule.way != "eager" else "order"
            return replace(result, schedule=schedule.description, message="\n".join(lines), way=way)
        return result

    def _why(self, network: AnyNetwork, case: Case, outputs: Mapping[str, Array], comparison: Comparison) -> str:
        """What may be the cause of INT8 outputs that are off; empty where there is nothing to say."""
        calls = [call for call in network.calls if any(call.output_scales)]
        manifest = self._hosted.manifest
        explanations: list[str] = []
        for one in comparison.outputs:
            scale = case.tolerance.scales.get(one.name, 0.0)
            if one.ok or not isinstance(scale, float) or not scale or one.index is None or not calls:
                continue
            if one.name in case.tolerance.float8:
                continue
            if any(tensor.scale_axis is not None for tensor in (*manifest.inputs, *manifest.outputs)):
                continue
            inputs = {t.name: s for t, s in zip(manifest.inputs, calls[0].scales, strict=True) if s}
            scales = {t.name: s for t, s in zip(manifest.outputs, calls[0].output_scales, strict=True) if s}
            made = [name for name, other in scales.items() if other == scale]
            if made:
                name = one.name if one.name in made else made[0]
                causes = int8_causes.find(outputs[one.name], case.expected[one.name], name, scale, inputs, scales)
                explanations.append(int8_causes.describe(causes, alone=network.family == "plain"))
        return "\n".join(dict.fromkeys(filter(None, explanations)))

    def _result(
        self,
        network: AnyNetwork,
        case: Case | LargeCase,
        outcome: Outcome,
        *,
        message: str = "",
        seconds: float = 0.0,
    ) -> CaseResult:
        found = result(network, case, outcome, self._hosted.instrumentation, self._hosted.target)
        return replace(found, message=message, seconds=seconds)


def _not_taken(result: CaseResult) -> CaseResult:
    """What a plugin does wrong in a branch that is not taken, as a warning: TensorRT 8.5 alone is known to run it."""
    if not result.outcome.bad:
        return result
    warning = DemandWarning("E19", "enqueue", result.message)
    return replace(
        result, outcome=Outcome.PASSED, message="", defects=(), demand="", warnings=(*result.warnings, warning)
    )


def result(
    network: AnyNetwork, case: Case | LargeCase, outcome: Outcome, instrumentation: Instrumentation, on: Target
) -> CaseResult:
    """A case's result that says no more than how it ended, on a build's target, with the build's checks."""
    return CaseResult(
        id=case.id,
        network=network.id,
        family=network.family,
        precision=network.precision,
        point=case.id.removeprefix(f"{network.id}/"),
        shape=" ".join(f"{name}={value}" for name, value in case.symbols.items()),
        outcome=outcome,
        sanitizers=instrumentation.name,
        target=on,
    )


def guarded(action: Callable[[], str]) -> tuple[Outcome, str, float]:
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


def _compared(
    case: Case, schedule: Schedule, outputs: dict[str, Array], usual: dict[str, Array]
) -> tuple[dict[str, Array], Comparison, str]:
    """A run's outputs against what is expected. Of a run in another order items that are equal may have changed places
    (E18): the usual outputs stand for its own then, and the text says which."""
    comparison = compare(outputs, case.expected, case.tolerance)
    if comparison.ok and schedule == Schedule() and not usual:
        usual.update(outputs)
    if comparison.ok or not schedule.in_other_order or not (moved := ties.exchanged(usual, outputs)):
        return outputs, comparison, ""
    return usual, compare(usual, case.expected, case.tolerance), moved


def _hung(result: CaseResult) -> bool:
    """Whether it took all the time that it had: its process was killed, or target cpu has ended its kernel."""
    return result.outcome is Outcome.HUNG or any(endless(one) for one in result.defects)


def _with_warning(case: Case, result: CaseResult) -> CaseResult:
    """The result, as a warning where it is bad and no document makes the case's demand. A hang stays one: TensorRT
    would wait for ever."""
    if not case.advisory or not result.outcome.bad or _hung(result):
        return result
    if any(one.kind == NOT_SUPPORTED for one in result.defects):
        # Says nothing of the plugin.
        return result
    only = DemandWarning(
        "E14", "enqueue", f"with NaN, infinities and denormals elsewhere in the inputs: {result.message}"
    )
    return replace(result, outcome=Outcome.PASSED, message="", warnings=(*result.warnings, only))


def _without_graph(result: CaseResult) -> CaseResult:
    """The result of a run in a CUDA graph: no plugin has to run in one, so what is wrong there alone is a warning."""
    if result.outcome is not Outcome.FAILED:
        return result
    only = DemandWarning("E4", "enqueue", result.message)
    return replace(result, outcome=Outcome.PASSED, message="", warnings=(*result.warnings, only))


def _with(result: CaseResult, found: Sequence[Defect], printed: str, workspace: int | None = None) -> CaseResult:
    """The result with what the library's checks found: a case with a finding has failed, however it ended, unless the
    finding breaks what TensorRT doesn't require. `workspace`: in bytes, what enqueue was given."""
    if not found:
        return result
    costs = [DemandWarning(rule, "enqueue", describe(one)) for one in found if (rule := demand_of_cost(one))]
    log = tuple(printed.splitlines())
    result = replace(result, warnings=(*result.warnings, *costs), defects=tuple(found), log=log)
    defects = [one for one in found if not demand_of_cost(one)]
    if not defects:
        return result
    # A process that a sanitizer ended is not a crash: its message is in the log.
    rest = result.message if result.outcome is Outcome.FAILED else result.message.partition("\n")[0]
    message = "\n".join(filter(None, (describe_all(defects, workspace), rest)))
    return replace(result, outcome=Outcome.FAILED, message=message)
