"""Wheels for Linux on x86-64 that other machines can use: `python tools/wheels.py [--python 3.13] [--out dist]`.

Each is built from one sdist by the g++ of an old Debian release, against the headers of the Python that it is for. So
it needs no newer C or C++ library than manylinux_2_28 has, and its archives no newer compiler than g++ 9; nothing of
this machine's own compiler, C library or Python is in it. Each is looked at before it goes to `dist/`.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from os import environ
from pathlib import Path

import check_wheel
import debian

ROOT = Path(__file__).resolve().parents[1]
PLATFORM = "manylinux_2_28_x86_64"
COMPILER = ("bullseye", 10)
"""The oldest Debian release on the mirrors, and its g++."""
PYTHONS = {"3.11": "bookworm", "3.13": "trixie", "3.14": "forky"}
"""The Debian release that has each Python's headers."""
ELSEWHERE = ("3.10", "3.12")
"""What no Debian release on the mirrors has."""
OF_THE_MACHINE = ("CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "CXXFLAGS", "LDFLAGS", "CMAKE_ARGS")
FAILED, IMPOSSIBLE, STOPPED = 1, 4, 130
"""Exit statuses: a wheel is wrong or could not be built; none can be built here; Ctrl-C."""
FIX = "  fix: cibuildwheel builds them in a container; docs/wheels.md says how."


class WheelFailed(Exception):
    """A wheel could not be built, or is not what it should be."""


def main() -> int:
    """Build the wheels; the exit status."""
    parser = argparse.ArgumentParser(description=f"Wheels of pluginkit for {PLATFORM}.")
    parser.add_argument("--python", action="append", choices=PYTHONS, help="only this one; may stand several times")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the wheels go (%(default)s)")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # and the temporary folder goes
    if reason := debian.obstacle():
        print(f"error: no such wheel can be built here: {reason}.\n{FIX}", file=sys.stderr)
        return IMPOSSIBLE
    try:
        build_all(arguments.python or [*PYTHONS], arguments.out)
    except debian.Unavailable as error:
        print(f"error: {error}\n{FIX}", file=sys.stderr)
        return IMPOSSIBLE
    except WheelFailed as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return STOPPED
    return 0


def build_all(pythons: Sequence[str], out: Path) -> list[Path]:
    """Build and look at a wheel for each Python, and put them into a folder; their paths there.

    Raises:
        debian.Unavailable: the compiler or a Python's headers can't be had.
        WheelFailed: a build failed, or a wheel isn't what it should be; `out` has the wheels before it.
    """
    started = time.monotonic()
    cache = ROOT / "build" / "debian"
    suite, version = COMPILER
    say(f"g++ {version} of Debian {suite} ...")
    compiler = debian.compiler(suite, version, cache)
    made = []
    with tempfile.TemporaryDirectory(prefix="pluginkit-wheels-") as folder:
        say("The sdist ...")
        source = unpacked_sdist(Path(folder))
        for python in pythons:
            say(f"The wheel for Python {python} (headers of Debian {PYTHONS[python]}) ...")
            headers = debian.python_headers(PYTHONS[python], python, cache)
            wheel = build(source, python, headers, compiler, Path(folder) / "wheels")
            verdict = look_at(wheel)
            made.append(put(wheel, out))
            say(f"  {made[-1]}: {made[-1].stat().st_size / 1e6:.1f} MB; auditwheel: {verdict}")
    say(f"{len(made)} wheels after {time.monotonic() - started:.0f} s.")
    if len(pythons) == len(PYTHONS):
        say(
            f"Not here: Python {' and '.join(ELSEWHERE)}, whose headers no Debian release has; docs/wheels.md says how."
        )
    return made


def put(wheel: Path, folder: Path) -> Path:
    """Copy a wheel to a folder, where it is there as a whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    half = folder / f".{wheel.name}"
    shutil.copyfile(wheel, half)
    return half.replace(folder / wheel.name)


def unpacked_sdist(folder: Path) -> Path:
    """Make the sdist and unpack it: a wheel made from it proves it complete."""
    run([sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder, ROOT])
    (sdist,) = folder.glob("*.tar.gz")
    run(["tar", "-xzf", sdist, "-C", folder])
    return folder / sdist.name.removesuffix(".tar.gz")


def build(source: Path, python: str, headers: Path, compiler: Path, folder: Path) -> Path:
    """Build one wheel by the project's own build, and name it after the Python and the platform that it is for."""
    tag = f"cp{python.replace('.', '')}"
    settings = {
        # One folder for all: only what depends on the Python is compiled more than once.
        "build-dir": str(source.parent / "cmake"),
        "cmake.define.PLUGINKIT_PYTHON_INCLUDE_DIRS": f"{headers / f'python{python}'};{headers}",
        "cmake.define.PLUGINKIT_PYTHON_SUFFIX": f".cpython-{tag[2:]}-{debian.TRIPLET}.so",
    }
    # What else a compiler, or the build, would take from the environment may name this machine's headers and libraries.
    env = {name: value for name, value in environ.items() if name not in OF_THE_MACHINE} | {"CXX": str(compiler)}
    options = [f"-C{name}={value}" for name, value in settings.items()]
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, *options, source], env=env)
    (built,) = folder.glob("*-linux_x86_64.whl")
    tags = [f"--python-tag={tag}", f"--abi-tag={tag}", f"--platform-tag={PLATFORM}"]
    name = run([sys.executable, "-m", "wheel", "tags", "--remove", *tags, built]).split()[-1]
    return folder / name


def look_at(wheel: Path) -> str:
    """The oldest platform that a wheel fits, once it has been found to be what its name says.

    Raises:
        WheelFailed: it needs newer libraries than the platform has, lacks files, or has archives for newer compilers.
    """
    platform: str = json.loads(run([sys.executable, "-m", "auditwheel", "show", "--json", wheel]))["overall_tag"]
    if not is_manylinux(platform) or glibc(platform) > glibc(PLATFORM):
        raise WheelFailed(f"{wheel.name} is not for {PLATFORM}: auditwheel says {platform}")
    if problems := check_wheel.problems(wheel):
        raise WheelFailed("\n".join(problems))
    return platform


def is_manylinux(platform: str) -> bool:
    """Whether a platform is one of manylinux's (PEP 600), and not a plain Linux."""
    return re.fullmatch(r"manylinux_\d+_\d+_x86_64", platform) is not None


def glibc(platform: str) -> tuple[int, ...]:
    """The version of glibc that a platform of manylinux has."""
    return tuple(map(int, platform.split("_")[1:3]))


def run(command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> str:
    """What a program prints.

    Raises:
        WheelFailed: it failed; the message ends with the last lines of what it printed.
    """
    done = subprocess.run(
        command, env=env, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        message = "\n".join((done.stdout + done.stderr).strip().splitlines()[-40:])
        raise WheelFailed(f"{' '.join(map(str, command[1:4]))} failed (exit status {done.returncode}):\n{message}")
    return done.stdout


def say(text: str) -> None:
    """Print a line at once, also on a pipe."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
