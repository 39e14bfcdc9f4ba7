"""Make the virtual environment that the Makefile's targets run in: `python3 tools/setup_venv.py .venv [--demo]`.

With --demo it has what `make demo` uses, else also what tests and lint need. Run again, it only updates what changed.
Uses nothing but Python's standard library. What the machine lacks is said before anything is downloaded.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LEAN = {"lean10": "tensorrt-lean-cu12==10.16.1.11", "lean11": "tensorrt-lean-cu13==11.4.0.106"}
"""NVIDIA's plugin registries, for the tests; both are called tensorrt_lean, so each has a folder of its own."""

BINDINGS = {"bindings10": "tensorrt-cu12-bindings==10.16.1.11", "bindings11": "tensorrt-cu13-bindings==11.4.0.106"}
"""The full TensorRT's bindings, whose names and signatures runtimes/tensorrt*.py are held against; some 6 MB each."""

TESTED = ("html", "model", "pytest")
"""The extras that tests use, besides rtx, which the demo uses too."""

RTX_BUILT_WITH = ("setuptools>=61", "wheel")
"""What tensorrt-rtx's two sdists ask for; with it here, pip makes no environment to build each of them in."""

COMPILED = (
    "CMakeLists.txt", "native/*", "pluginkit/_native.pyi", "pluginkit/layouts.py", "pluginkit/cuda_cpu/runtime/*",
    "pluginkit/include/*.h", "pluginkit/include/pluginkit/*.h", "pluginkit/include/pluginkit/cpu/*",
)  # fmt: skip
"""What pluginkit's compiled part is made of; CMakeLists.txt has the same list."""


def main(folder: Path, *, demo: bool) -> None:
    """Make or update the environment in `folder`."""
    check_machine()
    started = time.monotonic()
    python = folder / "bin" / "python"
    if not python.exists():
        shutil.rmtree(folder, ignore_errors=True)
        follow(Step(f"a virtual environment in {folder}", [sys.executable, "-m", "venv", str(folder)]))
    project = pyproject(python)
    # Of before this distribution had a name of its own: its files are those of ours.
    if list(folder.glob("lib/python*/site-packages/pluginkit-*.dist-info")):
        follow(pip(python, "pluginkit's old name", "uninstall", "--yes", "pluginkit"))
    needed = [*project["project"]["dependencies"]]
    tools = [one for one in needed if one.startswith(("cmake", "ninja"))]
    follow(
        pip(python, "what compiles pluginkit", "install", *project["build-system"]["requires"]),
        pip(python, "CMake, Ninja and setuptools", "install", *tools, *RTX_BUILT_WITH),  # they share no dependency
    )
    extras = project["project"]["optional-dependencies"]
    if not demo:
        needed += [*(one for name in TESTED for one in extras[name]), *project["dependency-groups"]["dev"]]
    with tempfile.TemporaryDirectory(prefix="pluginkit-setup-") as scratch:
        # Without isolation, so that a build after a change compiles only what changed; packages are fetched meanwhile.
        taken = f"--config-settings=cmake.define.PLUGINKIT_PREBUILT={prebuilt(Path(scratch), python)}"
        options = ["--no-build-isolation", "--no-deps", taken, "--editable", str(ROOT)]
        compiled = pip(python, "pluginkit's compiled part", "install", "--verbose", *options)
        optional: list[Step | None] = [pip(python, "TensorRT-RTX", "install", "--no-build-isolation", *extras["rtx"])]
        if not demo:
            optional += [beside(python, name, requirement) for name, requirement in LEAN.items()]
            optional += [beside(python, name, requirement, "--no-deps") for name, requirement in BINDINGS.items()]
        follow(compiled, pip(python, "packages", "install", *needed), optional=[one for one in optional if one])
    if not demo:
        (folder / ".ready").touch()
    (folder / ".demo").touch()
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


def pyproject(python: Path) -> dict[str, Any]:
    """pyproject.toml as plain data, read by the environment's Python: before 3.11 only its pip has a reader."""
    code = (
        "import json, sys\n"
        "try: import tomllib\n"
        "except ModuleNotFoundError: from pip._vendor import tomli as tomllib\n"
        "print(json.dumps(tomllib.loads(sys.stdin.read())))"
    )
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    read = subprocess.run([python, "-c", code], input=text, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(read.stdout)
    return found


def digest(root: Path) -> str:
    """The SHA-256 of the digests of all that the compiled part is made of, as CMakeLists.txt computes it."""
    files = sorted({str(file) for pattern in COMPILED for file in root.glob(pattern) if file.is_file()})
    digests = (hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files)
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def prebuilt(scratch: Path, python: Path) -> str:
    """A folder with the compiled part of a wheel in dist/; empty where none is of these sources and loads here."""
    for wheel in sorted((ROOT / "dist").glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if re.fullmatch(r"pluginkit/[^/]+\.(so|a|txt)", name)]
            if "pluginkit/compiled.txt" not in names:
                continue
            compiler, sources = archive.read("pluginkit/compiled.txt").decode().split()
            if sources == digest(ROOT) and not older_than(compiler):
                archive.extractall(scratch, names)
        module = scratch / f"pluginkit/_native{sysconfig.get_config_var('EXT_SUFFIX')}"
        code = (
            "import sys; from importlib import util\n"
            "util.module_from_spec(util.spec_from_file_location('_native', sys.argv[1]))"
        )
        load = [str(python), "-c", code, str(module)]
        if module.exists() and not subprocess.run(load, stderr=subprocess.DEVNULL, check=False).returncode:
            say(f"pluginkit's compiled part is that of {wheel.relative_to(ROOT)}.")
            return str(scratch)
        shutil.rmtree(scratch / "pluginkit", ignore_errors=True)
    return ""


def older_than(version: str) -> bool:
    """Whether this machine's g++ is older than one that compiled archives: it could not link them."""
    try:
        done = subprocess.run(["g++", "-dumpversion"], stdout=subprocess.PIPE, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return True
    return int(done.stdout.split(".")[0]) < int(version.split(".", maxsplit=1)[0])


def beside(python: Path, name: str, requirement: str, *options: str) -> Step | None:
    """Start to install a requirement into a folder of its own; None where that very version is there already."""
    folder = ROOT / ".venv-nvidia" / name
    done = folder / ".requirement"
    if done.exists() and done.read_text() == requirement:
        return None
    shutil.rmtree(folder, ignore_errors=True)
    step = pip(python, requirement, "install", *options, "--target", str(folder), requirement)
    step.then = lambda: done.write_text(requirement)
    return step


class NoWheel(Exception):
    """pip's index has nothing for this Python that fits a requirement; the message is its line that says so."""


def skip(what: str, error: NoWheel) -> None:
    """Say what is left out where NVIDIA has published nothing for this Python: only what tests it needs it."""
    python = f"Python {sys.version_info.major}.{sys.version_info.minor} on {platform.machine()}"
    say(f"  skipped: {what} has no wheel for {python}; tests that need it are skipped. pip: {error}")


class Step:
    """A program that runs, and the last line that it printed.

    Attributes:
        name: what it makes.
        command: its words.
        lines: all that it printed.
        then: called when it has ended well.
    """

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self.command = command
        self.lines: list[str] = []
        self.then: Callable[[], object] = lambda: None
        self._begun = time.monotonic()
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                self.lines.append(line.rstrip())

    def running(self) -> bool:
        """Whether it has not ended."""
        return self._reader.is_alive()

    def seconds(self) -> float:
        """For how long it has been running."""
        return time.monotonic() - self._begun

    def check(self) -> None:
        """End with the program's own words where it has failed.

        Raises:
            NoWheel: as `follow`.
        """
        if not self._process.wait():
            self.then()
            return
        text = "\n".join(self.lines)
        if found := re.search(r"No matching distribution found for .+", text):
            raise NoWheel(found[0])
        say("\n".join(self.lines[-LAST_WORDS:]))
        words = " ".join(self.command[:6])
        sys.exit(f"error: {words} ... failed (exit code {self._process.returncode}); its own words stand above.")

    def __str__(self) -> str:
        """What it does at this moment, and for how long."""
        found = next((one for one in map(NEWS.match, reversed(self.lines[-40:])) if one), None)
        return f"{self.name}: {self.seconds():.0f} s" + (f", {' '.join(found[0].split())[:48]}" if found else "")


NEWS = re.compile(r"\s*(\[\d+/\d+\]|(Collecting|Downloading|Building|Installing|Preparing|Using cached) .+)")
"""What pip says that it does, and how far Ninja is."""
LAST_WORDS = 60
"""Lines of a program that has failed."""
EVERY = 4.0
"""Seconds between two lines where there is no terminal."""


def follow(*needed: Step, optional: Sequence[Step] = ()) -> None:
    """Show what programs do until all have ended: on a terminal one line that changes, elsewhere a line now and then.

    Raises:
        NoWheel: pip found no release that fits for this Python, of what is needed; what else runs goes on.
    """
    steps = [*needed, *optional]
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns - 1
    ended: list[Step] = []
    shown = time.monotonic()
    while len(ended) < len(steps):
        time.sleep(0.1)
        running = [one for one in steps if one.running()]
        if time.monotonic() - shown > (0.5 if terminal else EVERY) and running:
            shown = time.monotonic()
            text = "; ".join(map(str, running))
            print(f"\r{text[:width]:<{width}}" if terminal else f"  {text}", end="" if terminal else "\n", flush=True)
        for one in [one for one in steps if one not in ended and one not in running]:
            if terminal:
                print(f"\r{'':<{width}}\r", end="", flush=True)
            ended.append(one)
            try:
                one.check()
                say(f"{one.name}: {one.seconds():.0f} s")
            except NoWheel as error:
                if one not in optional:
                    raise
                skip(one.name, error)


def pip(python: Path, name: str, *args: str) -> Step:
    """Start pip.

    Bytecode comes when a module is first imported: of all that is installed it takes a minute, and most is never read.
    """
    lazily = ["--no-compile"] if args[0] == "install" and not sys.dont_write_bytecode else []
    quiet = ["--progress-bar=off"] if args[0] == "install" else []
    return Step(name, [str(python), "-m", "pip", "--disable-pip-version-check", args[0], *lazily, *quiet, *args[1:]])


def say(text: str) -> None:
    """Print a line at once, also on a pipe."""
    print(text, flush=True)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), demo="--demo" in sys.argv[2:])
    except NoWheel as error:
        sys.exit(f"error: pip: {error}.")
    except KeyboardInterrupt:
        sys.exit(130)
