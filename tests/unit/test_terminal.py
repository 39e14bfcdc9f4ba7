"""What the user copies from a terminal, a log or a pipe is one line, as it was printed."""

from __future__ import annotations

import ast
import os
import pty
import subprocess
import sys
import tty
from pathlib import Path

import pytest

import pluginkit.cli

CLI = Path(pluginkit.cli.__file__).parent
COMMAND = f"export PLUGINKIT_PLUGINS={':'.join(f'/a/store/blobs/{number:064x}' for number in range(4))}"
PROGRAM = f"""
from rich.console import Group
from rich.table import Table
from rich.text import Text
from pluginkit.cli import terminal
table = Table("one", "two")
table.add_row("word " * 30, "cell")
terminal.console().print(Group(table, Text.assemble(("Next: ", "bold"), {COMMAND!r})))
terminal.console().print({COMMAND!r})
"""


@pytest.mark.parametrize("columns", [0, 40])
def test_a_command_is_one_line(columns: int) -> None:
    """On a terminal of 40 columns, and in a pipe (0), whatever COLUMNS is there."""
    ours, theirs = pty.openpty() if columns else os.pipe()
    if columns:
        tty.setraw(theirs)
    env = {**os.environ, "COLUMNS": str(columns or 60), "TERM": "dumb"}
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, stdout=theirs, env=env)
    output = os.read(ours, 1 << 16).decode()
    os.close(ours)
    os.close(theirs)
    assert f"Next: {COMMAND}\n{COMMAND}\n" in output
    # Tables fold on a terminal alone.
    assert (("word " * 29 + "word") in output) == (columns == 0)


def test_every_command_prints_by_it() -> None:
    """A console made elsewhere would break lines at 80 columns, in pipes too."""
    for path in CLI.rglob("*.py"):
        if path.name == "terminal.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.func if isinstance(node, ast.Call) else None
            called = name.id if isinstance(name, ast.Name) else name.attr if isinstance(name, ast.Attribute) else ""
            assert called not in {"Console", "get_console"}, f"{path}:{node.lineno}"
            passed = {one.arg for one in node.keywords} if isinstance(node, ast.Call) else set()
            assert not passed & {"soft_wrap", "no_wrap", "width", "crop"} or called != "print", f"{path}:{node.lineno}"
