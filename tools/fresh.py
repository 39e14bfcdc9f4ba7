"""The project in a Debian root that has nothing: `python3 tools/fresh.py [--suite trixie] [--only bare]`.

Two passes in a clone of HEAD. In the first the root has the packages that README names, and no others: set-up, the
demo, and the tests that start the tools of the machine; tests that need more are skipped. In the second it has those
of ci-packages.txt too: all that .ci/here does, with the environment that the first has made, and a test may only be
skipped for a reason that stands in tests/skips.toml.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fresh_root import FreshRoot, RootFailed, fresh_root, machine_suite, mirror, obstacle

ROOT = Path(__file__).resolve().parents[1]
PROJECT = "/home/project"
"""Where the clone lies in the root."""

BARE = [
    "tests/abi/test_layout.py::test_no_difference",
    "tests/abi/test_sizes.py",
    *(f"tests/build/test_{name}.py" for name in ("info", "plain_cmake", "project", "toolchain", "unwritable")),
    *(f"tests/unit/test_{name}.py" for name in ("bare_machine", "command_line", "fresh_root", "layers", "monorepo",
                                                "setup_venv", "shape_code", "skips")),
    "tests/unit/test_scaffold_compile.py::test_the_plugin_compiles[g++-default]",
]  # fmt: skip
"""Tests that start what the machine has or lacks: compilers, CMake, make, git. What asks nothing of it gives no other
answer in the second pass; of tests that start the same tool alike, with other inputs, those of one input are here."""

PASSES = {
    "bare": [
        "make demo",
        f"make test TESTS='{' '.join(BARE)}'",
    ],
    "equipped": ["PYTEST='--strict-skips --durations=40' .ci/here"],
}
"""What runs in each pass."""

FAILED, IMPOSSIBLE, STOPPED = 1, 4, 130
"""Exit statuses: something failed in the root; no root can be made on this machine; Ctrl-C."""


def main() -> int:
    """Run the passes; 0 when all is right."""
    parser = argparse.ArgumentParser(description="Demo and tests in a Debian root that has nothing of this machine.")
    parser.add_argument("--suite", default=machine_suite() or "stable", help="the Debian release (%(default)s)")
    parser.add_argument("--only", choices=PASSES, help="one of the two passes")
    parser.add_argument("--obstacle", action="store_true", help="only print why no root can be made here, if so")
    arguments = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda signum, _: sys.exit(128 + signum))
    reason, site = obstacle(), ""
    try:
        site = "" if reason else mirror(arguments.suite)
    except RootFailed as error:
        reason = str(error)
    if arguments.obstacle:
        print(reason)
        return 0
    if reason:
        print(f"error: no fresh root can be made here: {reason}.", file=sys.stderr)
        return IMPOSSIBLE
    return run(arguments.suite, site, [arguments.only] if arguments.only else [*PASSES])


def run(suite: str, site: str, passes: list[str]) -> int:
    """Make a root, go through the passes in it, and say what took how long; the exit status."""
    steps = Steps()
    status = FAILED
    say(f"fresh root: Debian {suite} from {site}, with {head()}")
    try:
        with ExitStack() as stack:
            with steps.step("the root"):
                root = stack.enter_context(fresh_root(suite, site))
                root.bring(ROOT, PROJECT)
            for name in passes:
                one_pass(name, root, steps)
        status = 0
    except (RootFailed, StepFailed) as error:
        say(f"error: {error}")
    except KeyboardInterrupt:
        status = STOPPED
    for line in steps.table():
        say(line)
    say(f"fresh root: Debian {suite}: " + {0: "passed", STOPPED: "stopped"}.get(status, "FAILED"))
    return status


def one_pass(name: str, root: FreshRoot, steps: Steps) -> None:
    """Give the root the packages of a pass, and run its commands in the clone.

    Raises:
        RootFailed: the packages could not be installed.
        StepFailed: a command failed.
    """
    packages = readme_packages((ROOT / "README.md").read_text(encoding="utf-8"))
    if name == "equipped":
        packages += listed_packages((ROOT / "tools/ci-packages.txt").read_text(encoding="utf-8"))
    with steps.step(f"{name}: apt-get install {' '.join(packages)}"):
        root.install(packages)
        say(" ".join(root.output("python3 --version; g++ --version | head -n 1").splitlines()))
    for command in PASSES[name]:
        with steps.step(f"{name}: {command}"):
            if status := root.run(command, cwd=PROJECT):
                raise StepFailed(f"{name}: '{command}' ended with exit status {status}")


class StepFailed(Exception):
    """A command in the root ended with another exit status than 0."""


class Steps:
    """Says when each step begins and ends, and keeps its seconds."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._done: list[tuple[str, float]] = []

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time what happens in the block; a step that fails is kept too."""
        begun = time.monotonic()
        say(f"--- {name} (at {begun - self._started:.0f} s)")
        try:
            yield
        finally:
            seconds = time.monotonic() - begun
            self._done.append((name, seconds))
            say(f"--- {name}: {seconds:.0f} s")

    def table(self) -> list[str]:
        """A line for each step, and one for all."""
        rows = [*self._done, ("all", time.monotonic() - self._started)]
        return [f"{seconds:6.0f} s  {name}" for name, seconds in rows]


def head() -> str:
    """Which commit the root gets, in words, and how much that is changed stays outside."""
    git = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT)]
    commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    if commit.returncode:
        return f"no commit: {commit.stderr.strip()}"
    changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=False).stdout
    files = len(changed.splitlines())
    return f"commit {commit.stdout.strip()}" + (f" (without {files} files that aren't committed)" if files else "")


def readme_packages(readme: str) -> list[str]:
    """The Debian packages of README's line, word for word.

    Raises:
        RootFailed: there is no such line, or more than one.
    """
    lines = re.findall(r"`sudo apt-get install ([^`\n]+)`", readme)
    if len(lines) != 1:
        raise RootFailed(f"README.md has {len(lines)} lines '`sudo apt-get install ...`', and one is expected")
    return str(lines[0]).split()


def listed_packages(text: str) -> list[str]:
    """The packages of a file with one on each line; `#` begins a comment."""
    return [name for line in text.splitlines() for name in line.partition("#")[0].split()]


def say(text: str) -> None:
    """Print a line at once, also on a pipe."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
