"""One test run: build and plan, ask every judge for its items, execute them, assemble a report."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path

from pluginkit.judges import judges
from pluginkit.judges.digests import digest
from pluginkit.judges.protocol import Answers, Build, Item, RunWork, Section
from pluginkit.manifest import Manifest
from pluginkit.process.crew import Crew, Sessions
from pluginkit.run import libraries
from pluginkit.run.execution import LocalWorkplace, execute
from pluginkit.run.items import JudgePart, groups, parts
from pluginkit.run.options import Options, Step
from pluginkit.run.selection import named_families, named_precision, select
from pluginkit.runtimes import Target
from pluginkit.testing import planning
from pluginkit.testing.report import CaseResult, Report, Verdict

ON_GPU = 8
"""Processes at once that share the GPU: each has a context of its own, some hundred megabytes of its memory.
On an H100 with 16 cores 4 were as fast as 16."""


class _Steps:
    """Reports how far a run is, from any thread."""

    def __init__(self, step: Step, total: int) -> None:
        self._step = step
        self._lock = threading.Lock()
        self._done, self._total = 0, total

    def begin(self, what: str) -> None:
        """This begins."""
        with self._lock:
            self._step(what, self._done, self._total or None)

    def end(self) -> None:
        """One is done."""
        with self._lock:
            self._done += 1


def run(options: Options, step: Step = lambda *_: None) -> Report:
    """Test a plugin.

    Raises:
        PluginkitError: the run could not take place (no project, build failed, wrong reference, no such library).
            What the plugin does wrong is in the report.
    """
    targets, without = libraries.targets(options)
    made = libraries.make(options, targets, step)
    step("asking the reference", 0, None)
    work = _plan(options, [one.build for one in made])
    taking_part = list(parts(work))
    found = _execute(options, work, taking_part, {one.build: one.path for one in made}, targets, step)
    return assemble(work, taking_part, found, made[0].path, without)


def _plan(options: Options, builds: Sequence[Build]) -> RunWork:
    """The first step: networks and cases, and what of them was chosen."""
    manifest = Manifest.load(options.project)
    whole = planning.make(
        manifest,
        options.project,
        precisions=options.precisions or named_precision(options.only),
        families=options.families or named_families(options.only),
        seed=options.seed,
        data=options.data,
        calibration=options.calibration,
        timeout=options.timeout,
    )
    work = RunWork(
        manifest,
        options.project,
        whole,
        whole,
        options.only,
        tuple(builds),
        options.timeout,
        options.sanitize,
        options.schedules,
        options.strict or manifest.test.strict,
    )
    others = [name for judge in judges() if judge.probe().found for name in judge.ids(work)]
    return replace(work, plan=select(whole, options.only, others))


def _execute(
    options: Options,
    work: RunWork,
    taking_part: Sequence[JudgePart],
    paths: Mapping[Build, Path],
    targets: Sequence[Target],
    step: Step,
) -> dict[Item, Answers]:
    """The third step: all items, several at once. What comes out doesn't depend on which ends first."""
    steps = _Steps(step, sum(len(part.items) for part in taking_part))
    gpu = threading.Lock()

    def gpu_library() -> Path:
        with gpu:
            return libraries.gpu_library(options)

    def task(group: Sequence[Item], waits: Future[dict[Item, Answers]] | None, own: Sessions) -> dict[Item, Answers]:
        place = LocalWorkplace(own, paths.__getitem__, gpu_library, steps.begin)
        known = {one.network: findings.configured for one, findings in waits.result().items()} if waits else {}
        found = {}
        for item in group:
            found[item] = execute(item, work, place, known)
            steps.end()
        return found

    with Crew(options.jobs or _jobs(targets)) as crew:
        # All is given to the crew before anything is waited for.
        given: list[Future[dict[Item, Answers]]] = []
        first: dict[str, Future[dict[Item, Answers]]] = {}
        for part in taking_part:
            for group in groups(part.items):
                network = group[0].network
                waits = first.get(network) if group[0].needs else None
                future = crew.submit(partial(task, group, waits))
                given.append(future)
                if network and part is taking_part[0]:
                    first.setdefault(network, future)
        return {item: findings for one in given for item, findings in one.result().items()}


def assemble(
    work: RunWork, taking_part: Sequence[JudgePart], found: Mapping[Item, Answers], library: Path, more: str
) -> Report:
    """The fourth step: a report of what came of all items, in the plan's order.

    Args:
        work: what the items were made from.
        taking_part: the judges' parts.
        found: what came of each item.
        library: the first build's file.
        more: what else there is to report of the host's part.
    """
    sections: dict[Section, list[CaseResult | Verdict]] = {
        "cases": [], "verdicts": [], "controls": [], "registries": [],
    }  # fmt: skip
    statuses: dict[str, str] = {}
    for part in taking_part:
        findings = [found[item] for item in part.items]
        for item in part.items:
            sections[item.section] += found[item].results
        absent = next((one.absent for one in findings if one.absent), part.absent)
        statuses[part.judge.NAME] = (
            replace(part, absent=absent).status if absent else part.judge.summary(work, findings)
        )
    host = taking_part[0].judge.NAME
    statuses[host] = "; ".join(filter(None, (statuses[host], more)))
    ran = {item.network for part in taking_part for item in part.items}
    return Report(
        plugin=work.manifest.plugin.name,
        library=str(library),
        sha256=digest(library),
        seed=work.plan.seed,
        cases=tuple(one for one in sections["cases"] if isinstance(one, CaseResult)),
        verdicts=_verdicts(sections["verdicts"]),
        controls=_verdicts(sections["controls"]),
        registries=_verdicts(sections["registries"]),
        runtimes=statuses,
        sanitize=work.sanitize,
        schedules=work.schedules,
        networks=tuple(one for one in work.whole.networks if one.id in ran),
        kept_fields=work.whole.kept_fields,
        strict=work.strict,
    )


def _verdicts(found: Sequence[CaseResult | Verdict]) -> tuple[Verdict, ...]:
    return tuple(one for one in found if isinstance(one, Verdict))


def _jobs(targets: Sequence[Target]) -> int:
    return min(cores(), ON_GPU) if "gpu" in targets else cores()


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))
