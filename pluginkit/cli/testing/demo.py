"""`pluginkit demo`: the main job from nothing, as the user would type it."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from pluginkit import cli

STEPS = (("new", "MyPlugin"), ("build",), ("test", "--int8"))
MODELS = ("networks", "--network", "plain", "--save", "models")
"""What is run besides where the folder is kept: models for the commands of the last lines."""


@click.command("demo")
@click.option("--keep", type=click.Path(path_type=Path), metavar="DIR", help="Work in this folder and keep it.")
def command(keep: Path | None) -> int:
    """Run `pluginkit new MyPlugin`, `pluginkit build` and `pluginkit test --int8` in a temporary folder."""
    before = Path.cwd()
    with contextlib.ExitStack() as stack:
        stack.callback(os.chdir, before)
        os.chdir(stack.enter_context(_folder(keep)))
        for step in (*STEPS, *([MODELS] if keep else [])):
            click.secho(f"$ pluginkit {' '.join(step)}", bold=True)
            code = cli.run(step)
            if code:
                return code
            if step[0] == "new":
                os.chdir("my_plugin")
            click.echo()
    click.echo("Next, from this folder, with names and files of your own:")
    lines = [(shlex.join([_program(), *words]), what) for words, what in _next(keep and keep / "my_plugin")]
    for line, what in lines:
        click.echo(f"  {line:<{max(len(one) for one, _ in lines)}}  # {what}")
    return 0


def _next(made: Path | None) -> list[tuple[tuple[str, ...], str]]:
    """What people do next, each a command that works as it stands; `made` is the demo's project, if it is kept."""
    model = str(made / "models" / "plain-float32.onnx") if made else "--help"
    library = str(made / "build" / "cpu" / "libmy_plugin.so") if made else "--help"
    return [
        (("new", "MyPlugin"), "a plugin of your own; new --help: signatures, types, kernels"),
        (("doctor", model), "your model: what keeps TensorRT from taking it"),
        (("inspect", library), "your library: what it holds, what is wrong with it"),
    ]


def _program() -> str:
    """How this pluginkit is called from the current folder."""
    script = Path(sys.executable).with_name("pluginkit")
    found = shutil.which("pluginkit")
    if found and script.exists() and script.samefile(found):
        return "pluginkit"
    return str(script.relative_to(Path.cwd()) if script.is_relative_to(Path.cwd()) else script)


@contextlib.contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
    else:
        with tempfile.TemporaryDirectory(prefix="pluginkit-demo-") as folder:
            yield Path(folder)
