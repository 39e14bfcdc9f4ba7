"""What `pluginkit test` does, once its options are read: everything that takes long to import."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import click
from rich.text import Text

from pluginkit import layouts
from pluginkit.api import tests
from pluginkit.cli import farms, progress, table, terminal
from pluginkit.cli.errors import show_error
from pluginkit.cli.report_files import check_writable
from pluginkit.cli.testing.precisions import chosen
from pluginkit.errors import ToolMissing, UsageError
from pluginkit.process import early_build, files
from pluginkit.reporting import behaviours, page
from pluginkit.run import messages, several_plugins, watching
from pluginkit.run.executors import Executor
from pluginkit.run.monorepo import changes, projects
from pluginkit.run.options import Options, Shard, Step
from pluginkit.runtimes.tensorrt import session
from pluginkit.testing.calibration import Calibration, Method
from pluginkit.testing.report import Report


def run(
    *,
    project: Path,
    precisions: tuple[str, ...],
    networks: tuple[str, ...],
    only: tuple[str, ...],
    data: Path | None,
    calibration: Method | None,
    calibration_data: Path | None,
    seed: int,
    target: Literal["auto", "cpu", "gpu"],
    library: Path | None,
    timeout: float,
    sanitize: tuple[str, ...],
    schedules: int | None,
    strict: bool,
    large: bool,
    jobs: int | None,
    farm: str | None,
    on: tuple[str, ...],
    since: str | None,
    shard: str | None,
    asked_for: tuple[str, ...],
    watch: bool,
    verbose: int,
    json_file: Path | None,
    html: Path | None,
    history: Path | None,
    junit: Path | None,
    behaviour: Path | None,
) -> int:
    """Tests, and tests again where `watch` is set; the exit code. The arguments are the command's."""
    for file in (json_file, html, junit, behaviour):
        check_writable(file)
    tensorrt = _tensorrt(target) if behaviour else ""
    if html is not None:
        page.check()
    kept = _history(history)
    project = tests.home(project, library)
    options = Options(
        project=project,
        precisions=chosen(precisions),
        families=networks or None,
        only=only,
        data=data,
        calibration=Calibration(calibration, calibration_data),
        seed=seed,
        library=library,
        timeout=timeout,
        sanitize=tuple(name.strip() for names in sanitize for name in names.split(",")),
        schedules=schedules or 0,
        jobs=jobs or 0,
        target=target,
        strict=strict,
        large=large,
        shard=_shard(shard),
        targets=layouts.targets(asked_for),
    )
    to_stdout = json_file is not None and str(json_file) == "-"
    if watch and to_stdout:
        raise UsageError("--watch and --json - don't go together.", hint="Name a file: it is written at each run.")
    refused = {"--watch": (watch, "--watch tests on this machine."), "--jobs": (jobs, farms.FULL)}
    farms.check(farm, on, refused)
    console = terminal.console(stderr=to_stdout)
    several = _projects(options, since, watch=watch)
    if several is not None and not several:
        console.print(Text(f"Nothing of a project has changed since {since}: nothing is tested."))
        return _nothing(options, since, json_file, html, junit)
    command_ = messages.again(
        project, library, data, options.calibration, strict=strict, target=target, timeout=timeout, farm=farm, on=on,
        asked_for=layouts.targets(asked_for),
    )  # fmt: skip

    def once(options: Options) -> Report:
        with progress.bar("planning", console, elapsed=True) as step, farms.opened(farm, on) as executor:
            runs = _run(options, several, step, executor)
        report = tests.report_of(runs.joined)
        table.show_all(runs.reports, report, console, command=command_, detail=verbose)
        _write(report, json_file, junit)
        if html is not None:
            names = [kind.short.lower() for kind in options.precisions or ()]
            whole = messages.whole(
                command_,
                precisions=names,
                networks=networks,
                only=options.only,
                sanitize=options.sanitize,
                schedules=options.schedules,
                seed=seed,
            )
            page.write(report, html, command=command_, whole=whole, reports=runs.reports)
            console.print(Text(f"Page: {html}"))
        if behaviour is not None:
            files.write(behaviour, behaviours.rows(runs.reports, tensorrt))
        kept(runs.reports)
        if runs.error is not None:
            raise runs.error
        return report

    if not watch:
        return once(options).exit_code
    screen = watching.Screen(partial(_ahead, once), lambda text: console.print(Text(text, style="bold")), show_error)
    with contextlib.suppress(KeyboardInterrupt):
        watching.watch(options, watching.saved_files(options), screen)
    console.print("Stopped.")
    return 0


def _tensorrt(target: Literal["auto", "cpu", "gpu"]) -> str:
    """The version of the full TensorRT that the run asks.

    Raises:
        UsageError: the run is on the CPU, where it is not asked.
        ToolMissing: it isn't here, or there is no GPU.
    """
    if target == "cpu":
        raise UsageError("--record-behaviour asks the full TensorRT, on a GPU.", hint="Leave out --target cpu.")
    found = session.probe()
    if not found.found:
        raise ToolMissing(f"--record-behaviour: {found.reason}.", hint=found.remedy)
    return found.version


def _ahead(once: Callable[[Options], Report], options: Options) -> Report:
    """A round of --watch: the compiler is at work before anything else is done."""
    if options.target != "gpu" and options.library is None and not any(options.sanitize):
        early_build.begin(options.project)
    try:
        return once(options)
    finally:
        early_build.cancel()


def _history(folder: Path | None) -> Callable[[Sequence[Report]], None]:
    """What keeps reports in a folder; nothing where none is named."""
    if folder is None:
        return lambda _: None
    from pluginkit.history import History

    found = History(folder)
    found.check()
    return found.add


def _shard(text: str | None) -> Shard | None:
    return None if text is None else Shard.parse(text)


def _run(
    options: Options, several: Sequence[projects.RepositoryProject] | None, step: Step, executor: Executor | None
) -> several_plugins.Runs:
    """The run of one project, or of several."""

    def one_project(options: Options, step: Step) -> several_plugins.Runs:
        return tests.run(options, step, executor)

    return one_project(options, step) if several is None else projects.run(several, options, one_project, step)


def _projects(options: Options, since: str | None, *, watch: bool) -> Sequence[projects.RepositoryProject] | None:
    """Those of DIR/..., with --changed-since those that a change concerns; None of one project."""
    if not projects.is_many(options.project):
        if since is not None:
            raise UsageError("--changed-since chooses among the projects of a folder.", hint="pluginkit test DIR/...")
        return None
    refused = {
        "--watch": watch,
        "--library": options.library,
        "--data": options.data,
        "--calibration-data": options.calibration.data,
    }
    for name, given in refused.items():
        if given:
            raise UsageError(f"{name} is for one project.", hint="Name the project instead of DIR/...")
    found = projects.find(options.project)
    if since is None:
        return found
    by_folder = {one.folder: one for one in found}
    changed = changes.concerned(list(by_folder), options.project.parent, since)
    if changed.why:
        click.echo(f"--changed-since {since}: {changed.why}.", err=True)
    return [by_folder[one] for one in changed.projects]


def _nothing(options: Options, since: str | None, json_file: Path | None, html: Path | None, junit: Path | None) -> int:
    """The files of a run that has nothing to do, for what collects them."""
    report = tests.TestReport(f"{options.project}", "", "", options.seed, (), ())
    _write(report, json_file, junit)
    if html is not None:
        again = shlex.join(["pluginkit", "test", str(options.project), "--changed-since", str(since)])
        page.write(report, html, command=again, whole=again)
    return report.exit_code


def _write(report: Report, json_file: Path | None, junit: Path | None) -> None:
    """Write the files for machines that were asked for."""
    if json_file is not None and str(json_file) == "-":
        click.echo(json.dumps(report.to_json(), indent=2))
    elif json_file is not None:
        files.write(json_file, json.dumps(report.to_json(), indent=2) + "\n")
    if junit is not None:
        report.write_junit(junit)
