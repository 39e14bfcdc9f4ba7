"""Refuse words that are not terms of the field: codespell with our list, over documents and the commands' help.

`words.txt` has the words; docs/glossary.md says what to write instead. The packages, tests and native code are held to
the list without IN_CODE.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from pluginkit import cli

ROOT = Path(__file__).resolve().parent.parent
WORDS = ROOT / "tools" / "words.txt"
HELP = ROOT / "build" / "lint" / "help.txt"
IN_CODE = "nobody,serve,served,serves,serving,tells,told,unserved"
"""Words that comments and docstrings still have, or that are right there: a process serves, JSON has `unserved`."""
LATER = {"docs/glossary.md", "docs/checks.md", "docs/demands.md"}
"""The page that lists the words, and those whose tables come from the packages."""


def helps(command: click.Command, context: click.Context) -> Iterator[str]:
    """The help of a command, and of those below it."""
    yield f"{context.command_path}\n{command.get_help(context)}"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from helps(found, click.Context(found, info_name=name, parent=context))


def main() -> int:
    """Run codespell; 1 where it finds something."""
    HELP.parent.mkdir(parents=True, exist_ok=True)
    HELP.write_text(
        "\n\n".join(helps(cli.command, click.Context(cli.command, info_name="pluginkit"))), encoding="utf-8"
    )
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    files = [str(one) for one in pages if str(one.relative_to(ROOT)) not in LATER]
    codespell = [sys.executable, "-m", "codespell_lib", "--dictionary", str(WORDS), "--disable-colors"]
    # Code is passed over, in backquotes and in blocks: outputs are the packages' words.
    options = ["--ignore-regex", r"`[^`\n]*`", "--ignore-multiline-regex", r"(?s)\n```.*?\n```"]
    code = ["pluginkit", "tests", "native", "samples", "--skip=*.json", f"--ignore-words-list={IN_CODE}"]
    runs = ([*codespell, *options, *files, str(HELP)], [*codespell, *code])
    return max(subprocess.run(one, cwd=ROOT, check=False).returncode for one in runs)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
