"""A test run of a project: of its plugin, or of each plugin where its library holds several.

Then every id begins with its plugin's name, `Scale/loop-count/float32/opt`, and `--only` takes such ids. What a plugin
cannot have, a network that doesn't hold it or a precision that it doesn't declare, leaves it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pluginkit.build import existing
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, NothingSelected, PluginCrashed, PluginkitError, UsageError
from pluginkit.manifest.project import Member, members, root
from pluginkit.run import runner
from pluginkit.run.executors import Executor
from pluginkit.run.options import Options, Step
from pluginkit.testing.families import selection
from pluginkit.testing.report import CaseResult, Report, Verdict


@dataclass(frozen=True)
class Runs:
    """What came of it.

    Attributes:
        reports: of each plugin that was run.
        errors: why others could not be run, or the library's checks not be asked.
    """

    reports: tuple[Report, ...]
    errors: tuple[PluginkitError, ...] = ()

    @property
    def joined(self) -> Report:
        """All reports as one."""
        return self.reports[0] if len(self.reports) == 1 else _joined(self.reports)

    @property
    def error(self) -> PluginkitError | None:
        """All errors as one, of the first one's kind."""
        if not self.errors:
            return None
        first = self.errors[0]
        return first.worded("\n".join(error.message for error in self.errors))


def run(options: Options, step: Step = lambda *_: None, executor: Executor | None = None) -> Runs:
    """Test every plugin of a project's library, or the added plugin that `options.project` is the folder of.

    Args:
        options: what to do.
        step: called with each step of the progress.
        executor: as of `runner.run`.

    Raises:
        PluginkitError: as `runner.run`, where no plugin could be run. Where one could, the others' errors are in the
            answer, but for the library's own (it does not build), which are everybody's.
    """
    options = _with_library(options, step)
    there = members(options.project)
    if len(there) == 1:
        return Runs((runner.run(options, step, executor),))
    names = [one.name for one in there]
    asked = [(one, part) for one in there if (part := _part(one, names, options))]
    # Nothing for any plugin: the first one's message has what there would be.
    asked = asked or [(there[0], replace(options, project=there[0].folder))]
    _check_data(options, asked)
    reports: list[Report] = []
    errors: list[PluginkitError] = []
    empty: list[PluginkitError] = []
    for one, part in asked:

        def named_step(what: str, done: int, total: int | None, name: str = one.name) -> None:
            step(f"{name}: {what}", done, total)

        try:
            reports.append(named(runner.run(part, named_step, executor), one.name))
        except NothingSelected as error:
            empty.append(error)
        except (CheckFailed, PluginCrashed, UsageError) as error:
            errors.append(error.worded(f"{one.name}: {error.message}"))
    if not reports:
        raise Runs((), tuple(errors)).error or empty[0]
    return Runs(tuple(reports), tuple(errors))


def _with_library(options: Options, step: Step) -> Options:
    """The run of the library that `[library]` names, built by its command, unless another one is to be tested."""
    project = root(options.project.resolve())
    section = members(project)[0].manifest.library
    if section is None or options.library is not None:
        return options
    step("building by [library] command" if section.command else "reading the library", 0, None)
    return replace(options, library=existing.make(project, section).library)


def _part(one: Member, names: Sequence[str], options: Options) -> Options | None:
    """What a run asks of one plugin; None if it asks nothing of it."""
    only = only_of(one.name, names, options.only)
    kinds = options.precisions and tuple(kind for kind in options.precisions if _declares(one, kind))
    families = options.families and tuple(name for name in options.families if _holds(one, name))
    if (options.only and not only) or (options.precisions and not kinds) or (options.families and not families):
        return None
    shard = options.shard and options.shard.within(one.name)
    return replace(options, project=one.folder, only=only, precisions=kinds, families=families, shard=shard)


def only_of(name: str, names: Sequence[str], only: Sequence[str]) -> tuple[str, ...]:
    """The patterns for a plugin: those that begin with its name, without it, and those that begin with no plugin's."""
    found = []
    for pattern in only:
        first, _, rest = pattern.partition("/")
        if first == name and rest:
            found.append(rest)
        elif first not in names:
            found.append(pattern)
    return tuple(found)


def _declares(one: Member, kind: DType) -> bool:
    return kind in one.manifest.precisions()


def _holds(one: Member, name: str) -> bool:
    named_ = selection.called(name)
    return any(not row.refusal for row in selection.offered(one.manifest) if row.family in named_)


def _check_data(options: Options, asked: Sequence[tuple[Member, Options]]) -> None:
    given = {"--data": options.data, "--calibration-data": options.calibration.data}
    option = next((name for name, file in given.items() if file), None)
    if option and len(asked) > 1:
        name = asked[0][0].name
        raise UsageError(
            f"{option} holds the inputs of one plugin, and this library has {len(asked)}.",
            hint=f"Test one of them: --only '{name}/*'",
        )


def named(report: Report, name: str) -> Report:
    """A report in which every id begins with the plugin's name."""
    return replace(
        report,
        cases=tuple(named_case(case, name) for case in report.cases),
        verdicts=tuple(named_verdict(verdict, name) for verdict in report.verdicts),
        controls=tuple(named_verdict(verdict, name) for verdict in report.controls),
        registries=tuple(named_verdict(verdict, name) for verdict in report.registries),
        checks=tuple(named_verdict(verdict, name) for verdict in report.checks),
        networks=tuple(replace(one, id=f"{name}/{one.id}", family=f"{name}/{one.family}") for one in report.networks),
    )


def named_case(case: CaseResult, name: str) -> CaseResult:
    """A case of a report, likewise."""
    return replace(
        case,
        id=f"{name}/{case.id}",
        network=f"{name}/{case.network}",
        family=f"{name}/{case.family}",
        after=tuple(f"{name}/{one}" for one in case.after),
    )


def named_verdict(verdict: Verdict, name: str) -> Verdict:
    """A verdict of a report, likewise."""
    return replace(verdict, network=f"{name}/{verdict.network}")


def _joined(reports: Sequence[Report]) -> Report:
    first = reports[0]
    runtimes: dict[str, str] = {}
    for runtime in dict.fromkeys(name for report in reports for name in report.runtimes):
        statuses = {report.plugin: report.runtimes[runtime] for report in reports if runtime in report.runtimes}
        alike = len(set(statuses.values())) == 1
        runtimes[runtime] = (
            statuses[first.plugin] if alike else "; ".join(f"{name}: {one}" for name, one in statuses.items())
        )
    return replace(
        first,
        plugin=", ".join(report.plugin for report in reports),
        library=", ".join(dict.fromkeys(report.library for report in reports)),
        sha256=", ".join(dict.fromkeys(report.sha256 for report in reports)),
        cases=tuple(case for report in reports for case in report.cases),
        verdicts=tuple(verdict for report in reports for verdict in report.verdicts),
        controls=tuple(verdict for report in reports for verdict in report.controls),
        registries=tuple(verdict for report in reports for verdict in report.registries),
        checks=tuple(verdict for report in reports for verdict in report.checks),
        check_warnings=tuple(warning for report in reports for warning in report.check_warnings),
        networks=tuple(network for report in reports for network in report.networks),
        runtimes=runtimes,
    )
