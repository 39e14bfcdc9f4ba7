"""Checks a built wheel: `python tools/check_wheel.py WHEEL`.

It must hold every file of the package's folder; and if its name promises manylinux, its archives must suit users' older
compilers, which auditwheel doesn't look at.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DERIVED = {".pyc", ".so", ".o"}
"""Suffixes that git ignores: what a build or a run left in the folder."""
ARCHIVES = ("pluginkit/libpluginkit_cpu.a", "pluginkit/libpluginkit_cpu_checked.a")
TOO_NEW = {
    "__libc_single_threaded": "glibc 2.32, by g++ 11 and newer",
    "_ZSt28__throw_bad_array_new_lengthv": "libstdc++ of g++ 11",
    "__cxa_call_terminate": "libstdc++ of g++ 13",
    "__isoc23_strtol": "glibc 2.38",
    "__isoc23_strtoull": "glibc 2.38",
}
"""What an archive may not call, since g++ 9 and 10 could not link it, and where it comes from."""


def problems(wheel: Path) -> list[str]:
    """What is wrong with a wheel, each in a sentence."""
    found = []
    if lost := missing(wheel):
        found.append(f"{wheel} lacks {len(lost)} files of the package:\n  " + "\n  ".join(lost))
    if "manylinux" in wheel.name:
        found += [f"{wheel}: {sentence}" for sentence in unlinkable(wheel)]
    return found


def missing(wheel: Path) -> list[str]:
    """The package's files that the wheel lacks, as paths relative to the checkout."""
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    files = (path for path in (ROOT / "pluginkit").rglob("*") if path.is_file() and path.suffix not in DERIVED)
    return sorted(name for name in (path.relative_to(ROOT).as_posix() for path in files) if name not in packed)


def unlinkable(wheel: Path) -> list[str]:
    """Why users' older compilers can't link the wheel's archives; empty if they can."""
    found = []
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as packed:
        for name in ARCHIVES:
            try:
                file = packed.extract(name, folder)
            except KeyError:
                found.append(f"{name} is missing")
                continue
            if called := too_new(Path(file)):
                listed = ", ".join(f"{each} ({TOO_NEW[each]})" for each in called)
                found.append(f"{name} calls {listed}: build it by an older compiler")
    return found


def too_new(archive: Path) -> list[str]:
    """The names of TOO_NEW that an archive's objects call."""
    listing = subprocess.run(["nm", "-u", "-P", archive], check=True, capture_output=True, text=True).stdout
    return sorted(set(re.findall(r"^(\S+) U", listing, re.MULTILINE)) & set(TOO_NEW))


if __name__ == "__main__":
    (argument,) = sys.argv[1:]
    if wrong := problems(Path(argument)):
        sys.exit("\n".join(f"error: {sentence}" for sentence in wrong))
