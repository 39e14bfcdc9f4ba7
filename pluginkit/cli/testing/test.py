"""`pluginkit test`: its options. The compiler and the workers' server are at work before what a run needs is imported
(`test_session`)."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from pluginkit.cli import farms, targets
from pluginkit.cli.report_files import json_option
from pluginkit.process import early_build


@click.command("test")
@click.argument("project", type=click.Path(path_type=Path), default=".")
@click.option("--fp32", "precisions", flag_value="float32", multiple=True, help="Test in FP32 (kFLOAT).")
@click.option("--fp16", "precisions", flag_value="float16", multiple=True, help="Test in FP16 (kHALF).")
@click.option(
    "--int8",
    "precisions",
    flag_value="int8",
    multiple=True,
    help="Test in INT8, with explicit (Q/DQ) and implicit quantization (scales in descriptors).",
)
@click.option("--bf16", "precisions", flag_value="bfloat16", multiple=True, help="Test in BF16 (kBF16).")
@click.option("--fp8", "precisions", flag_value="float8", multiple=True, help="Test in FP8 (kFP8, E4M3), with Q/DQ.")
@click.option(
    "--network",
    "networks",
    multiple=True,
    metavar="NAME",
    help="Only this network, or all of a kind (for example loop). May be repeated.",
)
@click.option(
    "--only", multiple=True, metavar="ID", help="Only cases whose id matches; * and ? are wildcards. May be repeated."
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="FILE.npz",
    help="Also run on your own inputs; the arrays have the inputs' names.",
)
@click.option(
    "--calibration",
    type=click.Choice(["max", "entropy"]),
    help="INT8 calibration method. Default: max if the scales are plugin fields, both if they are in descriptors.",
)
@click.option(
    "--calibration-data",
    type=click.Path(path_type=Path),
    metavar="FILE.npz",
    help="Calibrate on your own samples: one array per input, with a leading sample dimension.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Random seed for shapes, values and orders.",
)
@click.option(
    "--target",
    type=click.Choice(["auto", "cpu", "gpu"]),
    default="auto",
    show_default=True,
    help="cpu: run the kernels on the CPU; gpu: run them on the GPU; auto: cpu, and gpu if a GPU and nvcc are found.",
)
@click.option(
    "--library",
    type=click.Path(path_type=Path),
    metavar="LIB.so",
    help="Test this library instead of building. If PROJECT has no pluginkit.toml, the one next to the library is "
    "used.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(1),
    default=60.0,
    show_default=True,
    help="Seconds before a call is reported as hung.",
)
@click.option(
    "--sanitize",
    "sanitize",
    multiple=True,
    metavar="CHECKS",
    help="Run with sanitizers, separated by commas. Target cpu: address, undefined, thread, memory (compiled in). "
    "Target gpu: memcheck, racecheck, initcheck, synccheck (compute-sanitizer).",
)
@click.option(
    "--schedules",
    type=click.IntRange(1),
    metavar="N",
    help="Also run each case with deferred streams, in reverse order and in N random orders of blocks and threads.",
)
@click.option(
    "--strict", is_flag=True, help="Treat warnings (recommendations that TensorRT does not require) as failures."
)
@click.option(
    "--large",
    is_flag=True,
    help="Also run a case with more than 2^31 elements, beyond 32-bit indices. Target gpu checks all of it; target "
    "cpu checks both ends, as every run does, without the usual limits of time and memory.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Number of parallel jobs.  [default: number of CPU cores; 8 on a GPU]",
)
@farms.farm_option
@farms.on_option
@click.option(
    "--changed-since",
    "since",
    metavar="REV",
    help="With DIR/... as PROJECT: only projects affected by changes since the git merge base with REV.",
)
@targets.option("[targets] of pluginkit.toml, or 10, 11 and rtx")
@click.option("--shard", metavar="I/N", help="Run one part of the tests: 2/3 is the second of three.")
@click.option(
    "--watch",
    is_flag=True,
    help="Test again whenever a file is saved: the affected cases, last failures first. Stop with Ctrl-C.",
)
@click.option("-v", "--verbose", count=True, help="Show a row for each network; -vv: for each case.")
@json_option
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write an HTML report with pictures of the failures.",
)
@click.option(
    "--history",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Record the results in DIR for pluginkit history.",
)
@click.option(
    "--record-behaviour",
    "behaviour",
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="Write what the full TensorRT found here does with plugins in loops and conditionals, to be contributed.",
)
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Write the results as JUnit XML.")
@click.pass_obj
def command(program: bool | None, /, project: Path, **options: Any) -> int:
    """Test PROJECT's plugin in networks, against its reference and with NVIDIA's builder.

    Builds what has changed first. Without --fp32, --fp16, --bf16, --int8 or --fp8 it tests all precisions declared in
    pluginkit.toml. In a library with several plugins (pluginkit add) it tests each; --only 'MyPlugin/*' selects one.
    DIR/... as PROJECT tests all projects below a folder and writes one report.

    Exit code 0 if everything passed, 1 if a case failed, 6 if the plugin crashed or hung.
    """
    plain = not options["sanitize"]
    # What is saved before --watch looks would be missed by a build that began earlier: its rounds begin their own.
    if plain and options["target"] != "gpu" and options["library"] is None and not options["watch"]:
        early_build.begin(project)
    from pluginkit.process import fork_server

    serves = plain and options["farm"] is None
    if serves and not program:
        fork_server.begin()
    try:
        from pluginkit.cli.testing import test_session

        if serves and program:
            with contextlib.suppress(OSError):  # the first worker says so
                fork_server.branch()
        return test_session.run(project=project, **options)
    finally:
        early_build.cancel()
