"""`pluginkit demo`: the main job from nothing, as a person would type it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from pluginkit import cli

STEPS = (("new", "MyPlugin"), ("build",), ("test", "--int8"))


@click.command("demo")
@click.option("--keep", type=click.Path(path_type=Path), metavar="DIR", help="Work in this folder and keep it.")
def command(keep: Path | None) -> int:
    """Run `pluginkit new MyPlugin`, `pluginkit build` and `pluginkit test --int8` in a temporary folder."""
    before = Path.cwd()
    with contextlib.ExitStack() as stack:
        stack.callback(os.chdir, before)
        os.chdir(stack.enter_context(_folder(keep)))
        for step in STEPS:
            click.secho(f"$ pluginkit {' '.join(step)}", bold=True)
            code = cli.run(step)
            if code:
                return code
            if step[0] == "new":
                os.chdir("my_plugin")
            click.echo()
    click.echo("Next, in a folder of your own: pluginkit new MyPlugin --help")
    return 0


@contextlib.contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
    else:
        with tempfile.TemporaryDirectory(prefix="pluginkit-demo-") as folder:
            yield Path(folder)
