"""Make the virtual environment that the Makefile's targets run in; run again, it only updates what changed.

Uses nothing but Python's standard library. What the machine lacks is said before anything is downloaded.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = "pluginkit"
LEAN = {"lean10": "tensorrt-lean-cu12==10.16.1.11", "lean11": "tensorrt-lean-cu13==11.4.0.106"}
"""NVIDIA's plugin registries, for the tests; both are called tensorrt_lean, so each has a folder of its own."""

BINDINGS = {"bindings10": "tensorrt-cu12-bindings==10.16.1.11", "bindings11": "tensorrt-cu13-bindings==11.4.0.106"}
"""The full TensorRT's bindings, whose names and signatures runtimes/tensorrt*.py are held against; some 6 MB each."""


def main(folder: Path) -> None:
    """Make or update the environment in `folder`."""
    check_machine()
    started = time.monotonic()
    python = folder / "bin" / "python"
    if not python.exists():
        say(f"Making a virtual environment in {folder} ...")
        venv.create(folder, with_pip=True, clear=folder.exists())
    say("Installing pluginkit and what it needs from PyPI (the first time takes a few minutes) ...")
    pip(python, "install", "--quiet", "--upgrade", "pip>=25.1")
    pip(python, "install", "--quiet", "--group", f"{ROOT / 'pyproject.toml'}:dev")
    # Without isolation, so that a build after a change compiles only what changed.
    isolation = ("--no-build-isolation", "--check-build-dependencies")
    pip(python, "install", "--quiet", *isolation, "--no-deps", "--editable", str(ROOT))
    pip(python, "install", "--quiet", f"{PROJECT}[html,model,pytest]")
    say("Installing TensorRT-RTX ...")
    with skipped_without_wheel("TensorRT-RTX"):
        pip(python, "install", "--quiet", f"{PROJECT}[rtx]")
    say("Installing NVIDIA's plugin registries for the tests ...")
    for name, requirement in LEAN.items():
        with skipped_without_wheel(requirement):
            install_into(python, ROOT / ".venv-nvidia" / name, requirement)
    say("Installing the full TensorRT's Python bindings for the tests (without its libraries) ...")
    for name, requirement in BINDINGS.items():
        with skipped_without_wheel(requirement):
            install_into(python, ROOT / ".venv-nvidia" / name, requirement, "--no-deps")
    (folder / ".ready").touch()
    say(f"Ready after {time.monotonic() - started:.0f} s.")


def check_machine() -> None:
    """End with a sentence and the remedy where the machine lacks what can't come from PyPI."""
    lacks = []
    if sys.version_info < (3, 10):  # noqa: UP036 - this script also meets the Pythons that are too old
        lacks.append((f"Python 3.10 or newer (this is {sys.version.split()[0]})", "python3"))
    if not any(shutil.which(name) for name in ("g++", "clang++", "c++")):
        lacks.append(("a C++ compiler", "g++"))
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        lacks.append(("Python's C headers (Python.h)", "python3-dev"))
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        lacks.append(("Python's venv module with pip", "python3-venv"))
    if lacks:
        for what, _ in lacks:
            say(f"error: this machine lacks {what}.")
        sys.exit("  fix: on Debian and Ubuntu: sudo apt-get install " + " ".join(package for _, package in lacks))


def install_into(python: Path, folder: Path, requirement: str, *options: str) -> None:
    """Install a requirement into a folder of its own, unless that very version is there already."""
    done = folder / ".requirement"
    if done.exists() and done.read_text() == requirement:
        return
    shutil.rmtree(folder, ignore_errors=True)
    pip(python, "install", "--quiet", *options, "--target", str(folder), requirement)
    done.write_text(requirement)


class NoWheel(Exception):
    """pip's index has nothing for this Python that fits a requirement; the message is its line that says so."""


@contextmanager
def skipped_without_wheel(what: str) -> Iterator[None]:
    """Go on with a sentence where NVIDIA has published nothing for this Python: only what tests it needs it."""
    try:
        yield
    except NoWheel as error:
        python = f"Python {sys.version_info.major}.{sys.version_info.minor} on {platform.machine()}"
        say(f"  skipped: {what} has no wheel for {python}; tests that need it are skipped. pip: {error}")


def pip(python: Path, *args: str) -> None:
    """Run pip; end with its own words when it fails.

    Bytecode comes when a module is first imported: of all that is installed it takes a minute, and most is never read.

    Raises:
        NoWheel: no release that fits has a wheel for this Python.
    """
    lazily = [] if sys.dont_write_bytecode else ["--no-compile"]
    command = [str(python), "-m", "pip", "--disable-pip-version-check", args[0], *lazily, *args[1:]]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stderr is not None
        message = []
        for line in process.stderr:
            message.append(line)
            sys.stderr.write(line)
    if process.returncode:
        found = re.search(r"No matching distribution found for .+", "".join(message))
        if found:
            raise NoWheel(found[0])
        sys.exit(f"error: pip {' '.join(args)} failed (exit code {process.returncode}); its own words stand above.")


def say(text: str) -> None:
    """Print a line at once, also on a pipe."""
    print(text, flush=True)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except NoWheel as error:
        sys.exit(f"error: {error}; pip's own words stand above.")
