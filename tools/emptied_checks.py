"""Empties the body of each check of `pluginkit check` in turn, and sees that its tests go red.

`.venv/bin/python tools/emptied_checks.py [ID ...] [-- ARGUMENT OF PYTEST ...]`. A check whose tests stay green has a
plugin that breaks it only by name. `tests/validation/emptied.py` is what does it, all in one run of pytest; checks that
loading the library asks, which have no body, are listed there.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main(arguments: Sequence[str]) -> int:
    """pytest's exit code: 0 where each check was missed."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    chosen = [part for name in arguments[:end] for part in ("--empty", name)]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.validation.emptied", "tests/validation", *chosen]
    return subprocess.run([*command, *arguments[end + 1 :]], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
