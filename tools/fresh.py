"""The project in a Debian root that has nothing: `python3 tools/fresh.py [--suite trixie] [--only bare]`.

Two passes, each on a clone of HEAD. In the first the root has the packages that README names, and no others: the demo,
and the tests of `BARE`; tests that need more are skipped. In the second it has those of ci-packages.txt too: all that
.ci/here does, where a test may only be skipped for a reason that stands in tests/skips.toml.
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
PASSES = {
    "bare": ["make demo", "make test TESTS='tests/unit tests/build tests/abi'"],
    "equipped": ["PYTEST='--strict-skips --durations=40' .ci/here"],
}
"""What runs in each pass. The bare one's tests start every tool that the project does."""

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
    """Give the root the packages of a pass and a clone of its own, and run its commands there.

    Raises:
        RootFailed: the packages could not be installed, or git failed.
        StepFailed: a command failed.
    """
    packages = readme_packages((ROOT / "README.md").read_text(encoding="utf-8"))
    if name == "equipped":
        packages += listed_packages((ROOT / "tools/ci-packages.txt").read_text(encoding="utf-8"))
    with steps.step(f"{name}: apt-get install {' '.join(packages)}"):
        root.install(packages)
        say(" ".join(root.output("python3 --version; g++ --version | head -n 1").splitlines()))
    project = f"/home/{name}"
    root.bring(ROOT, project)
    for command in PASSES[name]:
        with steps.step(f"{name}: {command}"):
            if status := root.run(command, cwd=project):
                raise StepFailed(f"{name}: '{command}' ended with exit status {status}")
    root.output(f"rm -rf {project}")  # the next pass has its own, and the disk may be small


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
