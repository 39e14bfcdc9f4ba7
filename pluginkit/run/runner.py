"""One test run: build, plan, have every runtime judge, run every case, compare. The meeting point of all rooms."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TypeVar

from pluginkit.build.gpus import find_driver
from pluginkit.dtypes import PRECISIONS, DType
from pluginkit.errors import NothingSelected
from pluginkit.judges.host import outside_profile as outside
from pluginkit.judges.host.cases import Hosted, Step
from pluginkit.judges.host.schedules import schedules, ways_on_gpu
from pluginkit.judges.lean import registries as registered
from pluginkit.judges.rtx import engines as in_rtx
from pluginkit.judges.rtx.build import Beside, Judge, beside
from pluginkit.judges.tensorrt import cases as in_tensorrt
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.plan import Plan
from pluginkit.process.crew import Bench, Crew
from pluginkit.run import libraries
from pluginkit.run.options import Options
from pluginkit.runtimes import Configured, Target
from pluginkit.runtimes.host import session as host
from pluginkit.runtimes.lean import session as lean
from pluginkit.runtimes.rtx import engines as rtx_engines
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.tensorrt import session as tensorrt
from pluginkit.testing import planning
from pluginkit.testing.families import FAMILIES
from pluginkit.testing.report import CaseResult, Report, Verdict

T = TypeVar("T")

_WILD = set("*?[")

ON_GPU = 8
"""Processes at once that share the GPU: each has a context of its own, some hundred megabytes of its memory.
On an H100 with 16 cores 4 were as fast as 16."""


class _Steps:
    """Tells how far a run is, from whatever thread."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._lock = threading.Lock()
        self._done, self._total = 0, 0

    def more(self, total: int) -> None:
        """So much is to be done."""
        self._total += total

    def begin(self, what: str) -> None:
        """This begins."""
        with self._lock:
            self._step(what, self._done, self._total or None)

    def end(self) -> None:
        """One is done."""
        with self._lock:
            self._done += 1


@dataclass
class _Run:
    """A run under way: what is known so far."""

    options: Options
    manifest: Manifest
    library: Path
    plan: Plan
    beside: Beside
    step: Step
    steps: _Steps
    verdicts: list[Verdict] = field(default_factory=list)
    controls: list[Verdict] = field(default_factory=list)


@dataclass(frozen=True)
class _Found:
    """What the host found of a network: its cases, what it must refuse, and what configure saw in it."""

    cases: list[CaseResult]
    controls: list[Verdict]
    configured: tuple[Configured, ...]


def run(options: Options, step: Step = lambda *_: None) -> Report:
    """Test a plugin.

    Raises:
        PluginkitError: the run could not take place (no project, build failed, wrong reference, no such library).
            What the plugin does wrong is in the report.
    """
    manifest = Manifest.load(options.project)
    targets, without = libraries.targets(options)
    made = libraries.make(options, targets, step)
    step("asking the reference", 0, None)
    plan = planning.make(
        manifest,
        options.project,
        precisions=options.precisions or named_precision(options.only),
        families=options.families or named_families(options.only),
        seed=options.seed,
        data=options.data,
        calibration=options.calibration,
        timeout=options.timeout,
    )
    first = made[0].path
    more = beside(manifest, plan)
    registries = registered.installed()
    beyond = outside.cases(manifest, plan)
    chosen = select(plan, options.only, [*more.ids, *registries.ids, *(case.id for case in beyond)])
    beyond = outside.cases(manifest, plan, options.only)
    missing = [network for network in plan.networks if network.id in {case.network_id for case in beyond}]
    chosen = replace(chosen, networks=(*chosen.networks, *(one for one in missing if one not in chosen.networks)))
    this = _Run(options, manifest, first, chosen, more.select(options.only), step, _Steps(step))
    orders = schedules(options.schedules, options.seed, deferred=bool(options.sanitize))
    hosteds = [
        Hosted(
            one.path,
            one.flavour,
            manifest,
            options.project,
            options.timeout,
            ways_on_gpu(checked=bool(one.flavour.tool)) if one.target == "gpu" else orders,
            # What is refused is refused before the library is asked: once is enough for both targets.
            () if one.target == "gpu" and len(targets) > 1 else beyond,
            one.target,
            options.strict or manifest.test.strict,
        )
        for one in made
    ]
    found_by = registries.select(options.only) if not options.sanitize else registered.Registered(())
    with Crew(options.jobs or _jobs(targets)) as crew:
        # All is given to the crew before anything is waited for. What comes out has the plan's order.
        hosted = [crew.submit(partial(_hosted, this, one, n)) for one in hosteds for n in this.plan.networks]
        this.steps.more(len(this.plan.cases) * len(hosteds))
        judging = _judging(this, crew, hosted)
        registering = crew.submit(lambda _: tuple(found_by.judge(first, manifest, plan, options.timeout)))
        cases = [case for one in hosted for case in one.result().cases]
        this.controls += [verdict for one in hosted for verdict in one.result().controls]
        said = judging()
        asked = registering.result()
    deployed = _tensorrt(this)
    return Report(
        plugin=manifest.plugin.name,
        library=str(first),
        sha256=hashlib.sha256(first.read_bytes()).hexdigest(),
        seed=options.seed,
        cases=tuple(cases),
        verdicts=tuple(this.verdicts),
        controls=tuple(this.controls),
        registries=asked,
        runtimes={
            host.NAME: _said(options, made, without, cases),
            tensorrt_rtx.NAME: said,
            lean.NAME: _lean(options, [verdict.network for verdict in asked]),
            tensorrt.NAME: deployed,
        },
        sanitize=options.sanitize,
        schedules=options.schedules,
        networks=this.plan.networks,
        strict=options.strict or manifest.test.strict,
    )


def _jobs(targets: Sequence[Target]) -> int:
    return min(cores(), ON_GPU) if "gpu" in targets else cores()


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def _hosted(this: _Run, hosted: Hosted, network: AnyNetwork, bench: Bench) -> _Found:
    """Run a network's cases in the host."""
    hosting = bench.get(hosted)
    found = []
    for case in (case for case in this.plan.cases if case.network_id == network.id):
        bench.check()
        this.steps.begin(f"{hosted.name}: {case.id}")
        found.append(hosting.case(network, case))
        this.steps.end()
    return _Found(found, hosting.outside(network), hosting.configured(network))


def _lean(options: Options, asked: Sequence[str]) -> str:
    """What to say of the registries' part in the run."""
    found = lean.probe()
    if not found.found:
        return f"took no part: {found.reason} ({found.remedy})"
    if options.sanitize:
        return "took no part: it is not run on libraries with checks compiled in"
    return f"NVIDIA's registries: {', '.join(asked)}" if asked else "took no part: not selected"


def _said(options: Options, made: Sequence[libraries.Library], without: str, cases: Sequence[CaseResult]) -> str:
    """What to say of the host's part in the run."""
    on_cpu = [one.flavour for one in made if one.target == "cpu"]
    where = []
    if on_cpu:
        checks = " with " + " and then with ".join(flavour.name for flavour in on_cpu) if options.sanitize else ""
        where.append(f"on target cpu{checks}")
    on_gpus = [one for one in made if one.target == "gpu"]
    if on_gpus:
        tools = " and then ".join(one.flavour.tool for one in on_gpus if one.flavour.tool)
        where.append(f"on target gpu ({on_gpus[0].where})" + (f" under {tools}" if tools else ""))
    watched = next((case.watched for case in cases if case.watched), "")
    said = "pluginkit's own, " + " and ".join(where)
    also = ["with deferred streams"] if on_cpu and (options.sanitize or options.schedules) else []
    if options.schedules:
        orders = "order" if options.schedules == 1 else "orders"
        also += ["in reverse", f"in {options.schedules} random {orders} of seed {options.seed}"]
    if on_gpus and not options.sanitize:
        also += ["replayed from a CUDA graph on new data", "with a second context at work"]
    seen = f"enqueue's calls of CUDA seen {watched}" if watched and not options.sanitize else ""
    return "; ".join(filter(None, (said, f"each case also {', '.join(also)}" if also else "", seen, without)))


def named_families(only: Sequence[str]) -> tuple[str, ...] | None:
    """The networks that patterns of ids name, so that no other is planned; None if one may mean any network."""
    first = [pattern.partition("/")[0] for pattern in only if "/" in pattern]
    if len(first) < len(only) or not only or any(set(name) & _WILD for name in first):
        return None
    # The registries are asked about the plugin alone.
    return tuple(name for name in FAMILIES if name in first) or ("plain",)


def named_precision(only: Sequence[str]) -> tuple[DType, ...] | None:
    """The precision that all patterns name; None if there isn't one.

    It makes the case of a network by NVIDIA's API again, which a whole run makes in one precision only.
    """
    second = {pattern.partition("/")[2].partition("/")[0].partition("-")[0] for pattern in only}
    return next(((kind,) for kind in PRECISIONS if second == {kind.value}), None)


def select(plan: Plan, only: Sequence[str], beside_ids: Sequence[str] = ()) -> Plan:
    """The part of a plan whose case ids match one of the patterns; all of it if there are none.

    Raises:
        NothingSelected: no case matches, and nothing of what is built beside the plan (`beside_ids`).
    """
    if not only:
        return plan
    cases = tuple(case for case in plan.cases if any(fnmatchcase(case.id, pattern) for pattern in only))
    others = [name for one in beside_ids for name in (one, f"{one}/")]
    if not cases and not any(fnmatchcase(name, pattern) for name in others for pattern in only):
        raise NothingSelected(
            f"No case matches {' or '.join(only)}.",
            hint=f"Case ids look like {plan.cases[0].id}; * stands for anything.",
        )
    used = {case.network_id for case in cases}
    return replace(plan, cases=cases, networks=tuple(n for n in plan.networks if n.id in used))


def _judging(this: _Run, crew: Crew, hosted: Sequence[Future[_Found]]) -> Callable[[], str]:
    """Have NVIDIA's builder judge every network. The function waits for that, and says what its part in the run was."""
    if this.options.sanitize:
        return lambda: "took no part: it is not run on libraries with checks compiled in"
    found = tensorrt_rtx.probe()
    if not found.found:
        return lambda: f"took no part: {found.reason} ({found.remedy})"
    judge = Judge(this.library, this.manifest, this.options.timeout, this.plan)

    def asked(what: str, ask: Callable[[Bench], T], bench: Bench) -> T:
        bench.check()
        this.steps.begin(f"NVIDIA's builder: {what}")
        answer = ask(bench)
        this.steps.end()
        return answer

    def submit(what: str, ask: Callable[[Bench], T]) -> Future[T]:
        this.steps.more(1)
        return crew.submit(partial(asked, what, ask))

    def network(one: AnyNetwork, found: Future[_Found], bench: Bench) -> tuple[Verdict, int]:
        # That it was live shows in what configure saw, which the host says first.
        return judge.network(one, found.result().configured, bench)

    by_id = {one.id: found for one, found in zip(this.plan.networks, hosted[: len(this.plan.networks)], strict=True)}
    networks = [submit(one.id, partial(network, one, by_id[one.id])) for one in this.plan.judged]
    controls = [submit(one.id, partial(judge.control, one)) for one in this.beside.controls]

    def said() -> str:
        judged = [one.result() for one in networks]
        this.verdicts += [verdict for verdict, _ in judged]
        this.controls += [verdict for one in controls if (verdict := one.result()) is not None]
        how = "as it is" if this.manifest.plugin.base == "v3" else "through the V3 adapter"
        text = f"{found.version}, {how}; {_rtx_engines(this)}"
        points = sum(count for _, count in judged)
        return f"{text}; {points} points also as static networks" if points else text

    return said


def _rtx_engines(this: _Run) -> str:
    """Have RTX run its engines, if the GPU is one that it runs on; what to say of it."""
    driver = find_driver()
    obstacle = rtx_engines.obstacle(driver)
    library = "" if obstacle else libraries.for_gpu(this.options)
    if obstacle or isinstance(library, str):
        return f"engines built, not run: {obstacle or library}"
    this.verdicts += in_rtx.judge(library, this.manifest, this.options.timeout, this.plan, this.step)
    return f"engines run on {driver.gpus[0].name}, in the process that built them and in another"


def _tensorrt(this: _Run) -> str:
    """Have the full TensorRT build and run everything, on a GPU; what to say of its part in the run."""
    options = this.options
    if options.sanitize:
        return "took no part: it is not run on libraries with checks compiled in"
    found = tensorrt.probe()
    if not found.found:
        return f"took no part: {found.reason} ({found.remedy})"
    library = libraries.for_gpu(options)
    if isinstance(library, str):
        return f"took no part: {library}"
    this.verdicts += in_tensorrt.judge(library, this.manifest, options.timeout, this.plan, this.step)
    return f"{found.version}, on the GPU"
