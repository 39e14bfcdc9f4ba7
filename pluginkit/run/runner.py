"""One test run: build and plan, ask every evaluator for its items, execute them, assemble a report."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from pluginkit.evaluators.digests import digest
from pluginkit.evaluators.protocol import Answers, Build, Item, RunWork, Section
from pluginkit.manifest import Manifest
from pluginkit.network.large import LargeCase
from pluginkit.process import early_build, fork_server, standby
from pluginkit.process.worker_pool import WorkerPool
from pluginkit.run import libraries, targeted
from pluginkit.run.executors import Executor, LocalExecutor
from pluginkit.run.items import EvaluatorPart, part_of, parts
from pluginkit.run.options import Options, Shard, Step
from pluginkit.run.selection import named_families, named_precision, select
from pluginkit.runtimes.tensorrt import session as tensorrt
from pluginkit.testing import planning
from pluginkit.testing.report import CaseResult, Report, Verdict


def run(options: Options, step: Step = lambda *_: None, executor: Executor | None = None) -> Report:
    """Test a plugin.

    Args:
        options: what to do.
        step: called with each step of the progress.
        executor: where the items are executed; None: on this machine.

    Raises:
        PluginkitError: the run could not take place (no project, build failed, wrong reference, no such library).
            What the plugin does wrong is in the report.
    """
    place = executor or LocalExecutor(options)
    targets, without = libraries.targets(options, place.gpus)
    if executor is None and not options.sanitize:  # whose workers have another environment
        fork_server.begin()
    built = threading.Event()
    with ExitStack() as stack:
        stack.callback(standby.close)
        with WorkerPool(1) as pool:
            planned = pool.submit(lambda _: _plan(options) if executor else _chosen(_plan(options), place))
            if executor is None:
                pool.submit(lambda _: _start_standby(planned.result(), options, built))
            made = libraries.make(options, targets, step, place.gpus)
            built.set()
            early_build.cancel()  # of a library that nobody asked for: its folder is locked
            step("asking the reference", 0, None)
            work = replace(planned.result(), builds=tuple(one.build for one in made))
        if executor:  # whose workers are asked once they have the library's builds
            work = _chosen(work, executor)
        taking_part = part_of(place.parts(work, options.evaluators), options.shard)
        found = place.execute(work, taking_part, {one.build: one.path for one in made}, step)
    return assemble(work, taking_part, found, made[0].path, without, place, options.shard)


def _start_standby(work: RunWork, options: Options, built: threading.Event) -> None:
    """Starts what the evaluators will need besides the library, until that is built."""
    for part in parts(work, options.evaluators):
        for module in part.evaluator.STANDBY if part.items else ():
            if built.is_set() or not standby.begin(module, options.timeout):
                return


def _plan(options: Options) -> RunWork:
    """The first step: networks and cases. What of them was chosen, and the builds, come later."""
    manifest = Manifest.load(options.project).for_targets(options.targets)
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
        timeout=options.timeout,
        sanitize=options.sanitize,
        schedules=options.schedules,
        strict=options.strict or manifest.test.strict,
    )
    if options.large:
        work = replace(work, large=_large(options, manifest))
    return work


def _chosen(work: RunWork, executor: Executor) -> RunWork:
    return replace(work, plan=select(work.whole, work.only, executor.ids(work)))


def _large(options: Options, manifest: Manifest) -> LargeCase | str:
    return planning.make_large(
        manifest,
        options.project,
        precisions=options.precisions or named_precision(options.only),
        seed=options.seed,
        timeout=options.timeout,
    )


def assemble(
    work: RunWork,
    taking_part: Sequence[EvaluatorPart],
    found: Mapping[Item, Answers],
    library: Path,
    more: str,
    executor: Executor,
    shard: Shard | None = None,
) -> Report:
    """The fourth step: a report of what came of all items, in the plan's order.

    Args:
        work: what the items were made from.
        taking_part: the evaluators' parts.
        found: what came of each item.
        library: the first build's file.
        more: what else there is to report of the host's part.
        executor: what executed them.
        shard: the part of the run that this is.
    """
    sections: dict[Section, list[CaseResult | Verdict]] = {
        "cases": [], "verdicts": [], "controls": [], "registries": [],
    }  # fmt: skip
    statuses: dict[str, str] = {}
    for part in taking_part:
        findings = [found[item] for item in part.items]
        for item in part.items:
            sections[item.section] += [_located(one, item.build) for one in found[item].results]
        absent = next((one.absent for one in findings if one.absent), part.absent)
        statuses[part.name] = replace(part, absent=absent).status if absent else executor.summary(part, work, findings)
    networks = tuple(one for one in work.whole.networks if one.id in {item.network for item in found})
    had = {one.network for one in sections["verdicts"] if isinstance(one, Verdict) and one.runtime == tensorrt.NAME}
    sections["verdicts"] += targeted.verdicts(work.manifest, networks, had)
    host = taking_part[0].evaluator.NAME
    statuses[host] = "; ".join(filter(None, (statuses[host], more)))
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
        networks=networks,
        kept_fields=work.whole.kept_fields,
        strict=work.strict,
        shard=str(shard) if shard else "",
    )


def _located(one: CaseResult | Verdict, build: Build) -> CaseResult | Verdict:
    return replace(one, gpu=build.where) if isinstance(one, CaseResult) else one


def _verdicts(found: Sequence[CaseResult | Verdict]) -> tuple[Verdict, ...]:
    return tuple(one for one in found if isinstance(one, Verdict))
