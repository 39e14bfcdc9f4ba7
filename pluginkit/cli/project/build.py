"""`pluginkit build`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import click
from rich.console import Console

from pluginkit import layouts
from pluginkit.api.builds import BuildReport, build
from pluginkit.build import Artifact
from pluginkit.build.artifact import ASKED
from pluginkit.build.output import Step
from pluginkit.build.signature.emit import emit as write_headers
from pluginkit.build.sources import LAYOUTS, SourceSet, build_sources, find
from pluginkit.cli import progress, terminal
from pluginkit.errors import UsageError
from pluginkit.manifest import FILE_NAME


@click.command("build")
@click.argument("project", type=click.Path(path_type=Path), default=".")
@click.option(
    "--target",
    type=click.Choice(["auto", *ASKED]),
    default=None,
    help="What to compile the kernels for: cpu, to run on the host; gpu, by nvcc; all, both; auto, cpu, and gpu if "
    f"nvcc and a GPU are found. Default: [build] target in {FILE_NAME}, else auto.",
)
@click.option(
    "--arch",
    "archs",
    multiple=True,
    metavar="SM",
    help="GPU architectures for target gpu: 90, '80;90', native (this machine's GPUs) or all-major. May be "
    "repeated. Default: native, or a common set on a machine without a GPU.",
)
@click.option("--werror", is_flag=True, help="Treat compiler warnings in the project's sources as errors.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option(
    "--sources",
    metavar="PATTERNS",
    help="Without a project: build these sources for target cpu, for example 'plugin/foo/*.cpp,*.cu'.",
)
@click.option(
    "--include", "include", type=click.Path(path_type=Path), multiple=True, metavar="FOLDER",
    help="With --sources: add a header folder. It is searched before pluginkit's own headers. May be repeated.",
)  # fmt: skip
@click.option(
    "--define", multiple=True, metavar="NAME[=VALUE]", help="With --sources: define a macro. May be repeated."
)
@click.option(
    "--layout",
    type=click.Choice([*LAYOUTS]),
    help="TensorRT major version whose plugin classes the library has; a project's library always has both, 10 and "
    f"11. Default: [build] layouts in {FILE_NAME}; with --sources that of the NvInfer.h found, else 11.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="LIB.so",
    help="With --sources: output library. Default: build/cpu/lib<folder of the first source>.so.",
)
@click.option(
    "--emit",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Build nothing: write the headers that the project's layers are compiled with into FOLDER, for a build "
    "without pluginkit.",
)
def command(
    *,
    project: Path,
    target: Literal["auto", "cpu", "gpu", "all"] | None,
    archs: tuple[str, ...],
    werror: bool,
    as_json: bool,
    sources: str | None,
    include: tuple[Path, ...],
    define: tuple[str, ...],
    layout: str | None,
    output: Path | None,
    emit: Path | None,
) -> None:
    """Build PROJECT's plugin library and its Python module (default: the current folder).

    Only changed files are compiled. --sources needs no project: it compiles sources that were written without pluginkit
    for target cpu, to try them. `pluginkit adopt` then drafts what tests need.
    """
    if emit is not None:
        _emit(project, emit)
        return
    console = terminal.console(stderr=as_json)
    wanted = [one for one in layouts.NUMBERS if layout and str(one) in LAYOUTS[layout].split()]
    if sources is None:
        if include or define or output:
            raise UsageError(
                "--include, --define and --output go with --sources.",
                hint="A project says these in its CMakeLists.txt.",
            )
        with _shown_progress(console) as show:
            report = build(project, target=target or "", archs=archs, werror=werror, layouts=wanted, progress=show)
    else:
        if archs or werror or target in ("gpu", "all") or project != Path():
            raise UsageError(
                "--sources builds for target cpu, without a project.",
                hint="Leave PROJECT, --target, --arch and --werror out.",
            )
        chosen = SourceSet(find(sources, Path.cwd()), include, define, layout or "")
        with _shown_progress(console) as show:
            report = BuildReport((build_sources(chosen, output, progress=show),))
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2))
        return
    for one in report.artifacts:
        console.print(_sentence(one), highlight=False)
        if one.module is not None:
            name = one.module.name.split(".")[0]
            console.print(f"Python: import {name}, from {_shown(one.module.parent)}", highlight=False)
    if sources is not None:
        adopt = f"pluginkit adopt {shlex.quote(str(_shown(report.library)))}"
        console.print(f"Next: {'pluginkit test' if Path(FILE_NAME).exists() else adopt}", highlight=False)
    elif any(one.target == "cpu" for one in report.artifacts):
        console.print("Next: pluginkit test", highlight=False)


def _emit(project: Path, folder: Path) -> None:
    for path in write_headers(project, folder):
        click.echo(f"Wrote {_shown(path)}")
    click.echo(f"pluginkit's headers lie beside it: a compiler takes -I {_shown(folder)}.")


@contextmanager
def _shown_progress(console: Console) -> Iterator[progress.Say]:
    """Progress in one line, and a compiler's output as it is."""
    with progress.steps("configuring", console) as step:

        def show(line: str, _done: int = 0, _total: int | None = None, /) -> None:
            if isinstance(line, Step):
                step(line, line.since)
            else:
                console.print(line, markup=False, highlight=False)

        yield show


def _sentence(artifact: Artifact) -> str:
    library = artifact.library
    size = f"{int(artifact.info['size']) / 1024:.0f} KiB"
    headers = {
        one: facts["headers"] for one, facts in sorted(artifact.info["layouts"].items(), key=lambda x: int(x[0]))
    }
    layouts = ", ".join(
        f"TensorRT {layout} ({'own headers' if h == 'pluginkit' else h})" for layout, h in headers.items()
    )
    if not layouts:
        return f"Found {_shown(library)} (target {artifact.target}; {size}; sha256 {artifact.info['sha256'][:12]})"
    archs = artifact.info.get("architectures")
    what = f"target gpu, SM {', '.join(archs)}" if archs else f"target {artifact.target}"
    state = "Built" if artifact.fresh else "Up to date:"
    return f"{state} {_shown(library)} ({what}; {size}; sha256 {artifact.info['sha256'][:12]}; {layouts})"


def _shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
