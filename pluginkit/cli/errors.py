"""How an error looks on a terminal, whichever command it ends."""

from __future__ import annotations

from pluginkit.errors import PluginkitError
from pluginkit.process.escapes import shown


def show_error(error: PluginkitError) -> None:
    """Print the message and what to do, to stderr."""
    show("error", error.message, error.hint)


def show(kind: str, message: str, hint: str) -> None:
    """Print a message of a kind (`error`, `bug`), and the hint on a line of its own, to stderr."""
    from rich.text import Text  # what has no error to show needs none

    from pluginkit.cli import terminal

    console = terminal.console(stderr=True)
    console.print(Text.assemble((f"{kind}: ", "bold red"), shown(message, "\n\t")))
    if hint:
        console.print(Text.assemble(("  fix: ", "bold"), shown(hint, "\n\t")))
