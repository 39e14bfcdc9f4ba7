"""`pluginkit test`."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import click
from rich.text import Text

from pluginkit.cli import farms, progress, table
from pluginkit.cli.errors import show_error
from pluginkit.cli.report_files import check_writable, json_option
from pluginkit.cli.testing.precisions import chosen
from pluginkit.errors import PluginkitError, UsageError
from pluginkit.manifest import FILE_NAME
from pluginkit.reporting import page
from pluginkit.run import messages, several_plugins, watching
from pluginkit.run.executors import Executor
from pluginkit.run.monorepo import changes, projects
from pluginkit.run.options import Options, Shard, Step
from pluginkit.testing.calibration import METHODS, Calibration, Method
from pluginkit.testing.report import Report


@click.command("test")
@click.argument("project", type=click.Path(path_type=Path), default=".")
@click.option("--fp32", "precisions", flag_value="float32", multiple=True, help="Test in float32 (kFLOAT).")
@click.option("--fp16", "precisions", flag_value="float16", multiple=True, help="Test in float16 (kHALF).")
@click.option(
    "--int8",
    "precisions",
    flag_value="int8",
    multiple=True,
    help="Test in INT8, quantized explicitly (Q/DQ) and implicitly (scales by descriptor).",
)
@click.option("--bf16", "precisions", flag_value="bfloat16", multiple=True, help="Test in bfloat16 (kBF16).")
@click.option("--fp8", "precisions", flag_value="float8", multiple=True, help="Test in FP8 (kFP8, E4M3), by Q/DQ.")
@click.option("--network", "networks", multiple=True, metavar="NAME", help="Only this network, or all of a kind: loop.")
@click.option("--only", multiple=True, metavar="ID", help="Only the cases with this id; * and ? stand for anything.")
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="FILE.npz", help="Also run on your own inputs, by name."
)
@click.option(
    "--calibration",
    type=click.Choice(METHODS),
    help="How scales are found: by the largest value or by entropy. Default: max where the plugin gets them by "
    "fields, both where by descriptors.",
)
@click.option(
    "--calibration-data",
    type=click.Path(path_type=Path),
    metavar="FILE.npz",
    help="Calibrate on your own samples: an array for each input, with a leading dimension that counts them.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="What random shapes, values and orders follow from.",
)
@click.option(
    "--target",
    type=click.Choice(["auto", "cpu", "gpu"]),
    default="auto",
    show_default=True,
    help="cpu: the kernels run on the host; gpu: on the GPU; auto: on the host, and where there are a GPU and nvcc on "
    "the GPU too.",
)
@click.option(
    "--library",
    type=click.Path(path_type=Path),
    metavar="LIB.so",
    help="Test this library; build nothing. Without a pluginkit.toml in PROJECT, the one next to it is taken.",
)
@click.option(
    "--timeout", type=click.FloatRange(1), default=60.0, show_default=True, help="Seconds until a plugin hangs."
)
@click.option(
    "--sanitize",
    "sanitize",
    multiple=True,
    metavar="CHECKS",
    help="Run with these checks; several by commas. On target cpu they are compiled in: address, undefined, thread, "
    "memory. On target gpu compute-sanitizer has them: memcheck, racecheck, initcheck, synccheck.",
)
@click.option(
    "--schedules",
    type=click.IntRange(1),
    metavar="N",
    help="Run each case also with deferred streams, in reverse and in N random orders of blocks and threads.",
)
@click.option(
    "--strict", is_flag=True, help="A warning (what TensorRT doesn't require, and a good plugin does) is a failure."
)
@click.option(
    "--large",
    is_flag=True,
    help="Also run a case of its own with more than 2^31 elements, which indices of 32 bits don't reach: on target gpu "
    "all of it; on target cpu the ends, as each test does, but with as much time and memory as that takes.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Do so much at once.  [default: the number of cores, 8 on a GPU]",
)
@farms.farm_option
@farms.on_option
@click.option(
    "--changed-since",
    "since",
    metavar="REV",
    help="With PROJECT as DIR/...: only the projects that something has changed in since HEAD left REV, by git.",
)
@click.option("--shard", metavar="I/N", help="Only this part of the run: 2/3 is the second of three.")
@click.option(
    "--watch",
    is_flag=True,
    help="Test again each time a file is saved: what the edit concerns, the last failures first. Ctrl-C ends.",
)
@click.option("-v", "--verbose", is_flag=True, help="A row for each case, not for each network.")
@json_option
@click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Write an HTML page with pictures of what failed."
)
@click.option(
    "--history",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep what came of each case in DIR, for pluginkit history.",
)
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Write JUnit XML.")
def command(
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
    watch: bool,
    verbose: bool,
    json_file: Path | None,
    html: Path | None,
    history: Path | None,
    junit: Path | None,
) -> int:
    """Test PROJECT's plugin in networks, against its reference, and have NVIDIA's builder judge each network.

    Builds what changed first. Without --fp32, --fp16, --bf16, --int8 or --fp8 it tests all that pluginkit.toml
    declares. Of a library with several plugins (pluginkit add) it tests each; --only 'MyPlugin/*' is one of them.
    DIR/... as PROJECT is all projects below a folder, with one report.
    """
    for file in (json_file, html, junit):
        check_writable(file)
    if html is not None:
        page.check()
    kept = _history(history)
    project = _home(project, library)
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
    )
    to_stdout = json_file is not None and str(json_file) == "-"
    if watch and to_stdout:
        raise UsageError("--watch and --json - don't go together.", hint="Name a file: it is written at each run.")
    refused = {"--watch": (watch, "--watch tests on this machine."), "--jobs": (jobs, farms.FULL)}
    farms.check(farm, on, refused)
    console = table.console(stderr=to_stdout)
    several = _projects(options, since, watch=watch)
    if several is not None and not several:
        console.print(Text(f"Nothing of a project has changed since {since}: nothing is tested."))
        return _nothing(options, since, json_file, html, junit)
    command_ = messages.again(
        project, library, data, options.calibration, strict=strict, target=target, timeout=timeout, farm=farm, on=on
    )  # fmt: skip

    def once(options: Options) -> Report:
        with progress.bar("planning", console, elapsed=True) as step, farms.opened(farm, on) as executor:
            runs = _run(options, several, step, executor)
        report = runs.joined
        table.show_all(runs.reports, report, console, command=command_, every=verbose)
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
        kept(runs.reports)
        if runs.error is not None:
            raise runs.error
        return report

    if not watch:
        return once(options).exit_code
    screen = watching.Screen(once, lambda text: console.print(Text(text, style="bold")), show_error)
    with contextlib.suppress(KeyboardInterrupt):
        watching.watch(options, watching.saved_files(options), screen)
    console.print("Stopped.")
    return 0


def _history(folder: Path | None) -> Callable[[Sequence[Report]], None]:
    """What keeps reports in a folder; nothing where none is named."""
    if folder is None:
        return lambda _: None
    from pluginkit.history import History

    found = History(folder)
    found.check()
    return found.add


def _home(project: Path, library: Path | None) -> Path:
    """The project: of a library without one, the folder that it is in, where `pluginkit adopt` may have put one."""
    if library is not None and not (project / FILE_NAME).exists() and (library.parent / FILE_NAME).is_file():
        return library.parent
    return project


def _shard(text: str | None) -> Shard | None:
    return None if text is None else Shard.parse(text)


def _run(
    options: Options, several: Sequence[projects.RepositoryProject] | None, step: Step, executor: Executor | None
) -> several_plugins.Runs:
    """The run of one project, or of several."""

    def one_project(options: Options, step: Step) -> several_plugins.Runs:
        return _with_checks(options, several_plugins.run(options, step, executor), step, executor)

    return one_project(options, step) if several is None else projects.run(several, options, one_project, step)


def _with_checks(
    options: Options, runs: several_plugins.Runs, step: Step, executor: Executor | None
) -> several_plugins.Runs:
    """The runs with the checks of the library; where these can't be asked, what the runs have shown is kept."""
    if options.partial:
        return runs
    from pluginkit.run.project_checks import with_checks  # a quarter of what the command would import

    try:
        return replace(runs, reports=with_checks(options, runs.reports, step, executor))
    except PluginkitError as error:
        return replace(runs, errors=(*runs.errors, error))


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
    report = Report(f"{options.project}", "", "", options.seed, (), ())
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
        json_file.write_text(json.dumps(report.to_json(), indent=2) + "\n", encoding="utf-8")
    if junit is not None:
        report.write_junit(junit)
