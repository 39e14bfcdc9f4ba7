"""`pluginkit check` of a project: its library, its manifests, and what test runs show."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pluginkit.build import SANITIZERS, build, existing
from pluginkit.build.sanitizers import GPU_SANITIZERS
from pluginkit.demands import DemandWarning
from pluginkit.errors import CheckFailed, FarmLost, PluginCrashed, PluginkitError, ToolMissing, UsageError
from pluginkit.manifest.project import Member, members, root
from pluginkit.run import runner
from pluginkit.run.executors import Executor
from pluginkit.run.libraries import FIRST_GPU, on_cpu
from pluginkit.run.options import Options
from pluginkit.testing.report import Outcome, Report, Verdict
from pluginkit.validation.catalog import BY_RUNS, CHECKS, Check, choose
from pluginkit.validation.checking import CheckLimits, CheckReport, Step, check_library
from pluginkit.validation.results import CheckResult, Ending
from pluginkit.validation.subjects.evidence import RUNTIMES, RunEvidence, observations

FAMILIES = ("plain",)
"""The networks of the runs, which hold every plugin: others have the same one in other surroundings, which `pluginkit
test` evaluators."""
SANITIZED = ("plain/*/min", "plain/*/opt", "plain/*/random-1", "plain/*/*/min", "plain/*/*/opt", "plain/*/*/random-1")
"""The cases of the runs with checks compiled in, where each takes its time."""
SCHEDULES = 2
SCHEDULED = 7
"""The level from which each case runs in other orders too."""
HOST = ("host",)
CHECK = "pluginkit check"
"""`Verdict.runtime` of a check."""


@dataclass(frozen=True)
class ProjectOptions:
    """What is asked of a project.

    Attributes:
        project: the folder with `pluginkit.toml`.
        library: one that is checked as it is; None: the project's, which is built.
        model: an ONNX model.
        creators: which of the library's; none: all.
        limits: as of `check_library`; its seconds are for one call into the plugin, too.
        strict: warnings count as failures, whatever pluginkit.toml has.
        in_process: as of `check_library`.
    """

    project: Path
    library: Path | None = None
    model: Path | None = None
    creators: tuple[str, ...] = ()
    limits: CheckLimits = field(default_factory=CheckLimits)
    strict: bool = False
    in_process: bool = False


def check_project(
    asked: ProjectOptions, chosen: Sequence[Check], step: Step = lambda *_: None, executor: Executor | None = None
) -> CheckReport:
    """Ask checks of a project's library, or of one that its manifest is next to.

    Args:
        asked: of which.
        chosen: the checks.
        step: called with each step of the progress.
        executor: where it is asked and run; None: on this machine.

    Raises:
        PluginkitError: it can't be built, the manifest makes no sense, the reference is wrong; as `check_library`.
        FarmLost: the executor's workers are gone.
    """
    project = root(asked.project.resolve())
    there = members(project)
    library, as_it_is = library_of(asked, project, there[0], step)
    named = chosen_members(there, asked.creators)
    failed: list[PluginkitError] = []
    given = library if as_it_is else None
    evidence = {one.name: _evidence(one, chosen, asked, given, failed, step, executor) for one in named}
    report = check_library(
        library,
        chosen,
        wanted=asked.creators,
        model=asked.model,
        members=there,
        evidence={name: one for name, one in evidence.items() if one is not None},
        limits=asked.limits,
        strict=asked.strict or is_strict(named),
        in_process=asked.in_process,
        asker=executor.asker(library, jobs=asked.limits.jobs) if executor else None,
        step=step,
    )
    if failed and not report.bad:
        # No check tells it: a reference that raises, say.
        raise failed[0]
    return report


def with_checks(
    options: Options, reports: Sequence[Report], step: Step = lambda *_: None, executor: Executor | None = None
) -> tuple[Report, ...]:
    """The reports of a whole test run, with the checks of the library up to the usual level.

    What the run has shown already, and what it alone can show, is left out. Of a run's shards one asks them. A partial
    run is as it is.

    Raises:
        UsageError: a manifest switches off what is not a check; or as `check_library`.
    """
    if options.partial or not reports:
        return tuple(reports)
    if options.shard is not None and not options.shard.takes(CHECK):
        return tuple(reports)
    there = [one for one in members(options.project) if one.name in {report.plugin for report in reports}]
    library = Path(reports[0].library)
    if not library.is_file() or any(case.target == "gpu" for case in reports[0].cases[:1]):
        return tuple(reports)
    chosen = [one for one in choose() if one.need not in (*BY_RUNS, "model")]
    found = check_library(
        library,
        chosen,
        wanted=[f"{one.name}:{one.manifest.plugin.version}" for one in there],
        members=there,
        limits=CheckLimits(options.timeout, jobs=options.jobs),
        asker=executor.asker(library, jobs=options.jobs) if executor else None,
        step=step,
    )
    return tuple(
        _with_results(report, one, [result for result in found.results if _is_of(result, one, first=one is there[0])])
        for one, report in zip(there, reports, strict=True)
    )


def _is_of(result: CheckResult, one: Member, *, first: bool) -> bool:
    """Whether a result is about a plugin; what is about the library is with its first."""
    return result.plugin == f"{one.name} {one.manifest.plugin.version}" or (first and not result.plugin)


def _with_results(report: Report, one: Member, results: Sequence[CheckResult]) -> Report:
    shown = {seen.check for seen in observations(report)}
    new = [result for result in results if not (result.is_finding and result.check in shown)]
    strict = report.strict
    several = report.cases and report.cases[0].id.startswith(f"{one.name}/")
    lead = f"{one.name}/" if several else ""
    verdicts = tuple(_verdict(result, lead, strict=strict) for result in new)
    warnings = tuple(
        DemandWarning(result.check, result.method or "library", result.message)
        for result in new
        if result.ending is Ending.WARNING and not strict
    )
    return replace(report, checks=verdicts, check_warnings=warnings)


_OUTCOMES = {
    Ending.PASSED: Outcome.PASSED,
    Ending.FAILED: Outcome.FAILED,
    Ending.CRASHED: Outcome.CRASHED,
    Ending.SKIPPED: Outcome.SKIPPED,
}


def _verdict(result: CheckResult, lead: str, *, strict: bool) -> Verdict:
    check = CHECKS[result.check]
    outcome = _OUTCOMES.get(result.ending, Outcome.FAILED if strict else Outcome.PASSED)
    where = f"{result.method}: " if result.method else ""
    lines = [f"{where}{result.message}", *result.frames]
    if outcome.bad:
        lines = [check.title, *lines, f"source: {check.source}", f"fix: {check.fix}"]
    return Verdict(f"{lead}check/{result.check}", CHECK, outcome, "\n".join(filter(None, lines)))


def chosen_members(there: Sequence[Member], creators: Sequence[str]) -> list[Member]:
    """Those that are named, as `Name` or `Name:version`; all where none is."""
    return [
        one for one in there if not creators or {one.name, f"{one.name}:{one.manifest.plugin.version}"} & set(creators)
    ]


def is_strict(there: Sequence[Member]) -> bool:
    """Whether the manifest of any has warnings as failures."""
    return any(one.manifest.test.strict for one in there)


def library_of(asked: ProjectOptions, project: Path, first: Member, step: Step) -> tuple[Path, bool]:
    """The library, and whether it is none that is built here."""
    if asked.library is not None:
        return asked.library, True
    section = first.manifest.library
    if section is not None:
        step("building by [library] command" if section.command else "reading the library", 0, None)
        return existing.make(project, section).library, True
    step("building", 0, None)
    return build(project, "cpu")[0].library, False


def _evidence(
    one: Member,
    chosen: Sequence[Check],
    asked: ProjectOptions,
    library: Path | None,
    failed: list[PluginkitError],
    step: Step,
    executor: Executor | None,
) -> RunEvidence | None:
    """What the runs of a plugin show that the checks need; None where they need none. Into `failed` goes what has kept
    a run from taking place."""
    needs = {check.need for check in chosen} & set(BY_RUNS)
    if not needs:
        return None
    level = max(check.level for check in chosen if check.need in BY_RUNS)
    reports: dict[str, Report] = {}
    absent: dict[str, str] = {}
    for name, options in _runs(one, needs, level, asked, library, executor):
        if isinstance(options, str):
            absent[name] = options
            continue
        try:
            reports[name] = runner.run(options, step, executor)
        except FarmLost:
            # Not something that isn't here: what was asked for was under way.
            raise
        except (ToolMissing, UsageError) as error:
            absent[name] = error.message
        except (CheckFailed, PluginCrashed) as error:
            absent[name] = f"not reached: {error.message}"
            failed.append(error)
    return RunEvidence(one.manifest, reports, absent, watched=library is None or on_cpu(library))


def _runs(
    one: Member,
    needs: Collection[str],
    level: int,
    asked: ProjectOptions,
    library: Path | None,
    executor: Executor | None,
) -> Iterator[tuple[str, Options | str]]:
    """The runs by their names, or why one can't be."""
    usual = Options(
        project=one.folder,
        families=FAMILIES,
        library=library,
        timeout=asked.limits.seconds,
        jobs=asked.limits.jobs,
        target="auto" if library else "cpu",
    )
    nvidia = any(need in needs for need in RUNTIMES)
    ordered = level >= SCHEDULED and (library is None or on_cpu(library))
    yield "run", replace(usual, schedules=SCHEDULES if ordered else 0, evaluators=None if nvidia else HOST)
    if "sanitizers" in needs:
        as_it_is = "checks are compiled in, and the library is taken as it is: " + (
            "leave out --library" if one.manifest.library is None else "[library] in pluginkit.toml has another build"
        )
        sanitized = replace(usual, families=None, only=SANITIZED, sanitize=tuple(SANITIZERS), evaluators=HOST)
        yield "sanitizers", as_it_is if library else sanitized
    on_a_gpu = replace(usual, target="gpu", evaluators=HOST)
    gpus = executor.gpus if executor else FIRST_GPU
    obstacle = gpus.obstacle() if {"gpu", "gpu-sanitizers"} & set(needs) else ""
    if "gpu" in needs:
        yield "gpu", obstacle or on_a_gpu
    if "gpu-sanitizers" in needs:
        tools = tuple(GPU_SANITIZERS)
        yield "gpu-sanitizers", obstacle or replace(on_a_gpu, only=SANITIZED, sanitize=tools)
