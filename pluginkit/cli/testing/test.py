"""`pluginkit test`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

import click
from rich.console import Console

from pluginkit.cli import progress, table
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.manifest import FILE_NAME
from pluginkit.reporting import page
from pluginkit.run import messages, several_plugins
from pluginkit.run.options import Options
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
@click.option("--network", "networks", multiple=True, metavar="NAME", help="Only this network, or all of a kind: loop.")
@click.option("--only", multiple=True, metavar="ID", help="Only the cases with this id; * and ? stand for anything.")
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="FILE.npz", help="Also run on your own inputs, by name."
)
@click.option(
    "--calibration",
    type=click.Choice(METHODS),
    help="How INT8 scales are found: by the largest value or by entropy. Default: max where the plugin gets them by "
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
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Do so much at once.  [default: the number of cores, 8 on a GPU]",
)
@click.option("-v", "--verbose", is_flag=True, help="A row for each case, not for each network.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Write JSON (- : stdout).",
)
@click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Write an HTML page with pictures of what failed."
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
    jobs: int | None,
    verbose: bool,
    json_file: Path | None,
    html: Path | None,
    junit: Path | None,
) -> int:
    """Test PROJECT's plugin in networks, against its reference, and have NVIDIA's builder judge each network.

    Builds what changed first. Without --fp32, --fp16, --bf16 or --int8 it tests all that pluginkit.toml declares. Of a
    library with several plugins (pluginkit add) it tests each; --only 'MyPlugin/*' is one of them.
    """
    for file in (json_file, html, junit):
        check_writable(file)
    if html is not None:
        page.check()
    if library is not None and not (project / FILE_NAME).exists() and (library.parent / FILE_NAME).is_file():
        # The library's own manifest, as `pluginkit adopt` may have put it next to it.
        project = library.parent
    options = Options(
        project=project,
        precisions=tuple(DType(name) for name in dict.fromkeys(precisions)) or None,
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
    )
    to_stdout = json_file is not None and str(json_file) == "-"
    console = Console(stderr=to_stdout)
    if not console.is_terminal:
        console = Console(stderr=to_stdout, width=table.PIPE_WIDTH)
    with progress.bar("planning", console, elapsed=True) as step:
        runs = several_plugins.run(options, step)
    report = runs.joined
    command_ = messages.again(
        project, library, data, options.calibration, strict=strict, target=target, timeout=timeout
    )  # fmt: skip
    table.show_all(runs.reports, report, console, command=command_, every=verbose)
    _write(report, json_file, junit)
    if html is not None:
        names = [kind.short.lower() for kind in options.precisions or ()]
        whole = messages.whole(
            command_,
            precisions=names,
            networks=networks,
            only=only,
            sanitize=options.sanitize,
            schedules=options.schedules,
            seed=seed,
        )
        page.write(report, html, command=command_, whole=whole)
    if runs.error is not None:
        raise runs.error
    return report.exit_code


def check_writable(file: Path | None) -> None:
    """Refuse a report's path before the run, not after it."""
    if file is None or str(file) == "-":
        return
    folder = file.absolute().parent
    # A file that is there needs no right to its folder: /dev/stdout, for one.
    if file.is_dir() or not folder.is_dir() or not os.access(file if file.exists() else folder, os.W_OK):
        raise UsageError(f"{file} cannot be written.", hint=f"Is {folder} a folder that you may write to?")


def _write(report: Report, json_file: Path | None, junit: Path | None) -> None:
    """Write the files for machines that were asked for."""
    if json_file is not None and str(json_file) == "-":
        click.echo(json.dumps(report.to_json(), indent=2))
    elif json_file is not None:
        json_file.write_text(json.dumps(report.to_json(), indent=2) + "\n", encoding="utf-8")
    if junit is not None:
        report.write_junit(junit)
