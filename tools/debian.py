"""What another Debian release has, unpacked into a folder: an older compiler, another Python's headers.

Nothing is installed, and root isn't needed: apt fetches packages, checks their signatures and finds what they depend on
in lists of its own, dpkg-deb unpacks them. The programs of an older release run on this machine's C library.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from fresh_root import RootFailed, mirror

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
DEBIAN = "http://deb.debian.org/debian"
"""Debian's own mirror, for a machine whose apt has another distribution's alone."""
ARCHITECTURE, TRIPLET = "amd64", "x86_64-linux-gnu"

_LIBRARIES = ("bfd", "opcodes", "ctf", "isl", "mpc", "mpfr", "gmp", "z", "zstd")
"""The libraries of the release that its compiler is linked with; its C library would not fit this machine's loader."""
_BINUTILS = ("ar", "as", "ld", "ld.bfd", "nm", "objcopy", "ranlib", "readelf", "strip")
_WRAPPER = """#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH="$here/../libraries" exec "$here/../root/usr/bin/{program}" {options}"$@"
"""


class Unavailable(Exception):
    """A release, or a package of it, can't be had here; the message says why and what to do."""


def obstacle() -> str:
    """Why no Debian package can be unpacked on this machine; empty if one can."""
    if os.uname().machine != "x86_64":
        return f"this machine is {os.uname().machine}; the packages are for x86_64"
    if lacking := [tool for tool in ("apt-get", "dpkg-deb") if not shutil.which(tool)]:
        return f"there is no {' and no '.join(lacking)} here; Debian and Ubuntu have them"
    return "" if KEYRING.exists() else f"{KEYRING} is missing: apt-get install debian-archive-keyring"


class Release:
    """A Debian release, whose packages are kept below a folder.

    Args:
        suite: its name, such as `bullseye`.
        folder: where its lists and packages go.

    Raises:
        Unavailable: it could not be fetched: neither this machine's mirror has it nor Debian's own.
    """

    def __init__(self, suite: str, folder: Path) -> None:
        self.suite = suite
        self._folder = folder.resolve() / suite
        for name in ("state/lists/partial", "cache/archives/partial"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        (self._folder / "status").touch()
        try:
            site = mirror(suite)
        except RootFailed:
            site = DEBIAN
        sources = self._folder / "sources.list"
        sources.write_text(f"deb [arch={ARCHITECTURE} signed-by={KEYRING}] {site} {suite} main\n", encoding="utf-8")
        self._apt("update", "-q")

    def unpack(self, package: str, into: Path, *, dependencies: bool = False) -> None:
        """Unpack a package into a folder, with all that it depends on if so asked.

        Raises:
            Unavailable: the release doesn't have it, or it could not be fetched.
        """
        archives = self._folder / "cache/archives"
        for file in archives.glob("*.deb"):
            file.unlink()
        if dependencies:
            self._apt("install", "--yes", "--no-install-recommends", "--download-only", "-q", package)
        else:
            self._apt("download", "-q", package, cwd=archives)
        into.mkdir(parents=True, exist_ok=True)
        for file in sorted(archives.glob("*.deb")):
            _run("dpkg-deb", "--extract", str(file), str(into))
            file.unlink()

    def _apt(self, *message: str, cwd: Path | None = None) -> None:
        options = [
            f"Dir::State={self._folder}/state", f"Dir::State::status={self._folder}/status",
            f"Dir::Cache={self._folder}/cache", f"Dir::Etc::sourcelist={self._folder}/sources.list",
            "Dir::Etc::sourceparts=/dev/null", "Dir::Etc::preferences=/dev/null",
            "Dir::Etc::preferencesparts=/dev/null",
            f"APT::Architecture={ARCHITECTURE}", f"APT::Architectures::={ARCHITECTURE}", "APT::Sandbox::User=root",
            "Acquire::Languages=none", "Debug::NoLocking=1", "APT::Update::Error-Mode=any",
            # A release that moves is signed for a week; a mirror may lag, and what is fetched is for building only.
            "Acquire::Check-Valid-Until=false",
        ]  # fmt: skip
        _run("apt-get", *(word for option in options for word in ("-o", option)), *message, cwd=cwd)


def compiler(suite: str, version: int, folder: Path) -> Path:
    """The path of a release's g++, in a folder that can be moved; what is there already stays.

    Args:
        suite: the Debian release.
        version: which of its g++.
        folder: where it goes, with its C and C++ libraries and its binutils.

    Raises:
        Unavailable: it can't be had.
    """
    place = folder / f"{suite}-g++-{version}"
    program = place / "bin" / "g++"
    if program.exists():
        return program
    shutil.rmtree(place, ignore_errors=True)
    root, libraries = place / "root", place / "libraries"
    Release(suite, folder / "packages").unpack(f"g++-{version}", root, dependencies=True)
    _make_links_relative(root)
    libraries.mkdir()
    for name in _LIBRARIES:
        for file in [
            *root.glob(f"usr/lib/{TRIPLET}/lib{name}[.-]*so*"),
            *root.glob(f"lib/{TRIPLET}/lib{name}[.-]*so*"),
        ]:
            shutil.copy(file, libraries, follow_symlinks=False)
    program.parent.mkdir()
    for name in _BINUTILS:
        _write_wrapper(program.with_name(name), f"{TRIPLET}-{name}")
    own = '--sysroot="$here/../root" -B"$here/" '
    _write_wrapper(program.with_name("gcc"), f"{TRIPLET}-gcc-{version}", own)
    _write_wrapper(program, f"{TRIPLET}-g++-{version}", own)
    return program


def python_headers(suite: str, version: str, folder: Path) -> Path:
    """The folder with a release's headers of a Python: `python3.13` in it, and what that includes of the machine's.

    Raises:
        Unavailable: the release doesn't have that Python.
    """
    place = folder / f"{suite}-python{version}"
    include = place / "usr/include"
    if not (place / ".done").exists():
        shutil.rmtree(place, ignore_errors=True)
        Release(suite, folder / "packages").unpack(f"libpython{version}-dev", place)
        if not (include / f"python{version}/Python.h").exists():
            raise Unavailable(f"libpython{version}-dev of Debian {suite} has no Python.h")
        (place / ".done").touch()
    return include


def _make_links_relative(root: Path) -> None:
    """Turn links such as /lib/libdl.so.2 to what the root has there: this machine's file would be another one."""
    for folder, folders, files in os.walk(root):
        for path in (Path(folder, name) for name in (*folders, *files)):
            if path.is_symlink() and (target := path.readlink()).is_absolute():
                path.unlink()
                path.symlink_to(os.path.relpath(root / target.relative_to("/"), folder))


def _write_wrapper(path: Path, program: str, options: str = "") -> None:
    path.write_text(_WRAPPER.format(program=program, options=options), encoding="utf-8")
    path.chmod(0o755)


def _run(*command: str, cwd: Path | None = None) -> None:
    done = subprocess.run(
        command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise Unavailable(f"{command[0]} {command[-1]} failed (exit status {done.returncode}):\n{done.stdout.strip()}")
