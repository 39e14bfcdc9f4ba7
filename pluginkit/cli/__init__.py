"""The command line: `pluginkit new | build | test | inspect | import | ...`. Parse, call, print, exit code; no more."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import click

from pluginkit.cli import interrupts
from pluginkit.cli.errors import show, show_error
from pluginkit.errors import PluginkitError, UsageError, from_import, from_os
from pluginkit.installation import foreign

_GROUPS = {
    "Start": {
        "new": ("project.new", "Write a new plugin project."),
        "add": ("project.add", "Add a plugin to a project's library."),
        "demo": ("testing.demo", "Run new, build and test in a temporary folder."),
        "info": ("inspection.info", "Show all tools, headers, runtimes and GPUs found."),
    },
    "From a model": {
        "doctor": ("inspection.doctor", "Show what keeps TensorRT from accepting a model, and how to fix it."),
        "import": ("inspection.import_", "Parse, build and run a model with your plugins."),
        "graft": ("inspection.graft", "Replace subgraphs of a model with a plugin node."),
    },
    "Build and test": {
        "build": ("project.build", "Build a project's plugin library."),
        "test": ("testing.test", "Test a plugin in networks, against its reference and with NVIDIA's builder."),
        "check": ("inspection.check", "Check a plugin library against TensorRT's plugin contract."),
        "networks": ("testing.networks", "List the test networks, or write them as ONNX models."),
        "history": ("testing.history", "Show new failures and slower cases in the runs of test --history."),
    },
    "Existing libraries": {
        "inspect": ("inspection.inspect", "Show the contents and problems of a plugin library."),
        "adopt": ("inspection.adopt", "Draft pluginkit.toml for an existing plugin library."),
    },
    "GPU": {
        "bench": ("testing.bench", "Measure a plugin on a GPU and compare it with a memory copy."),
        "tune": ("testing.tune", "Choose launch parameters by measurement on this machine's GPU."),
        "farm": ("inspection.farm", "Show the workers of a Dask cluster and what each can test."),
    },
    "Ship": {
        "pack": ("store.pack", "Pack a project's builds into a bundle."),
        "wheel": ("store.wheel", "Make a Python wheel of a project's builds or of a bundle."),
        "registry": ("store.registry", "Manage bundles in local stores and OCI registries."),
        "resolve": ("store.resolve", "Show which bundle implements each node of a model."),
        "fetch": ("store.fetch", "Copy the bundles that a model needs into the store."),
        "engine": ("store.engine", "Record and check which plugins an engine needs."),
    },
    "Maintain": {
        "convert": ("project.convert", "Convert a project's plugin to IPluginV3."),
    },
}
"""The commands by group: each one's module below `pluginkit.cli`, and what it does."""
_COMMANDS = {name: module for group in _GROUPS.values() for name, (module, _) in group.items()}


_READER_GONE = 128 + signal.SIGPIPE
"""As of a program that SIGPIPE ends: there is no verdict."""


class _ReaderGone(Exception):
    """The reader of our output went away (`pluginkit info | head`)."""


@contextlib.contextmanager
def _reader() -> Iterator[None]:
    """In the block, before click and rich make of a reader that went away a failure: exit code 1."""
    try:
        yield
    except BrokenPipeError as error:
        raise _ReaderGone from error
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            raise _ReaderGone from end
        raise


class _Lazy(click.Group):
    """Imports a command's module when it is run, so that `pluginkit info` needs nothing that `test` needs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        command = importlib.import_module(f"pluginkit.cli.{_COMMANDS[cmd_name]}").command
        assert isinstance(command, click.Command)
        return command

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _reader():  # --help and --version
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _reader():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # As click's own, which looks for what is meant among the commands that are imported already.
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.exceptions.NoSuchCommand(name, possibilities=_COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        width = max(map(len, _COMMANDS))
        for title, group in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, (_, text) in group.items()])


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if value and not ctx.resilient_parsing:
        from pluginkit.paths import __version__  # of the package's metadata, which takes a third of a command's start

        click.echo(f"pluginkit, version {__version__}")
        ctx.exit()


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def command() -> None:
    """Write, build, test and ship NVIDIA TensorRT plugins.

    \b
    pluginkit new MyPlugin && cd my_plugin
    pluginkit build
    pluginkit test --int8
    """


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with the exit code that `pluginkit.errors` documents."""
    foreign.warn()  # that project's __init__.py may be in the place of ours, and say nothing
    code = run(args, program=True)
    # What is left is not garbage to look for: at a process's end that takes Python a fifth of a second.
    gc.freeze()
    sys.exit(code)


def run(  # noqa: PLR0911 - one way out for each kind of ending
    args: Sequence[str] | None = None, *, program: bool = False
) -> int:
    """Run the command line; the exit code.

    `program`: this process was started for it, and has no threads and nothing above. Commands get it as click's `obj`.
    """
    words = None if args is None else list(args)
    try:
        with interrupts.kept() if program else contextlib.nullcontext():
            result = command.main(words, prog_name="pluginkit", standalone_mode=False, obj=program)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return UsageError.exit_code
    except (click.Abort, KeyboardInterrupt):
        show("stopped", "Stopped.", "")
        return 130
    except PluginkitError as error:
        show_error(error)
        return error.exit_code
    except _ReaderGone:
        # Nothing left to print, and no traceback at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _READER_GONE
    except (OSError, ModuleNotFoundError) as error:
        known = from_os(error) if isinstance(error, OSError) else from_import(error)
        if known is None:
            return _bug()
        show_error(known)
        return known.exit_code
    except Exception:  # noqa: BLE001 - whatever is left is a bug of ours, and must differ from the user's errors
        return _bug()
    return result if isinstance(result, int) else 0


def _bug() -> int:
    """Print the exception that is being handled; the exit code."""
    traceback.print_exc()
    show("bug", "This is a bug in pluginkit.", "Please report it with the lines above.")
    return PluginkitError.exit_code
