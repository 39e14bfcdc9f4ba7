"""`pluginkit test`: its options. The compiler and the workers' server are at work before what a run needs is imported
(`test_session`)."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from pluginkit.cli import farms, interrupts
from pluginkit.cli.report_files import json_option
from pluginkit.process import head_start


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
    type=click.Choice(["max", "entropy"]),
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
@click.pass_obj
def command(program: bool | None, /, project: Path, **options: Any) -> int:
    """Test PROJECT's plugin in networks, against its reference, and have NVIDIA's builder judge each network.

    Builds what changed first. Without --fp32, --fp16, --bf16, --int8 or --fp8 it tests all that pluginkit.toml
    declares. Of a library with several plugins (pluginkit add) it tests each; --only 'MyPlugin/*' is one of them.
    DIR/... as PROJECT is all projects below a folder, with one report.
    """
    plain = not options["sanitize"]
    # What is saved before --watch looks would be missed by a build that began earlier: its rounds begin their own.
    if plain and options["target"] != "gpu" and options["library"] is None and not options["watch"]:
        head_start.begin(project)
    from pluginkit.process import fork_server

    serves = plain and options["farm"] is None
    if serves and not program:
        fork_server.begin()
    try:
        with interrupts.held():
            from pluginkit.cli.testing import test_session

            if serves and program:
                fork_server.preload()  # what `branch` would import
        if serves and program:
            with contextlib.suppress(OSError):  # the first worker says so
                fork_server.branch()
        return test_session.run(project=project, **options)
    finally:
        head_start.cancel()
