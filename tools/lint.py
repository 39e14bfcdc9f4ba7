"""Run every static check: ruff, mypy, clang-format, clang-tidy, words.

clang-tidy takes half a minute of CPU, so `build/lint` keeps what it was last content with: a file is looked at again
when it, a header, the checks, the flags or a tool's version has changed. (mypy keeps the same in .mypy_cache.)
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import pybind11

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
CPP = ("native", "pluginkit/include", "pluginkit/cuda_cpu", "pluginkit/validation", "samples", "tests")
RECORDED = ("tests/compatibility/projects/", "tests/classes/")
"""Projects as an earlier version made them: no later tool may have a say in them."""
TIDIED = ("native/", "samples/bar_plugin/src/")
SUFFIXES = {".h", ".hpp", ".cpp", ".cu", ".cuh"}
CONTENT = ROOT / "build" / "lint"
"""A file for each that clang-tidy found nothing in, with the hash of all it read."""
SIGNATURES = "build/lint/signature"
READ = ("clang-tidy", "pybind11", "nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-cccl")
"""Distributions that clang-tidy's findings depend on. The machine's own headers are not part of the hash: a finding
never stands in them."""


def main() -> int:
    """Run the checks, each to its end; 1 when one of them found something."""
    names = {str(f.relative_to(ROOT)) for f in tracked() if f.suffix in SUFFIXES}
    cpp = sorted(name for name in names if name.startswith(CPP) and not name.startswith(RECORDED))
    tidied = [f for f in cpp if f.startswith(TIDIED) and f.endswith(".cpp")]
    tidied.sort(key=lambda name: (ROOT / name).stat().st_size, reverse=True)
    flags = tidy_flags()
    common = hash_of([*flags, *(f"{name} {metadata.version(name)}" for name in READ)], [*headers(names), *signatures()])
    untidy = {name: key for name in tidied if (key := hash_of([common], [ROOT / name])) != known(name)}
    checks: dict[str, list[list[str]]] = {
        "mypy": [[sys.executable, "-m", "mypy", "--no-error-summary"]],
        "clang-tidy": [["clang-tidy", "--quiet", name, "--", *flags] for name in untidy],
        "clang-format": [["clang-format", "--dry-run", "--Werror", *cpp]],
        "ruff check": [["ruff", "check", "--quiet", "."]],
        "ruff format": [["ruff", "format", "--check", "--quiet", "."]],
        "words": [[sys.executable, "tools/words.py"]],
    }
    # What takes longest begins first, and a process a core runs until the last.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        started = {name: [pool.submit(findings, command) for command in commands] for name, commands in checks.items()}
        try:
            failed = [name for name, runs in started.items() if not say(name, [run.result() for run in runs])]
            for (name, key), run in zip(untidy.items(), started["clang-tidy"], strict=True):
                if run.result() is None:
                    remember(name, key)
        except BaseException:  # Ctrl-C, too: what hasn't begun doesn't
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return 1 if failed else 0


def headers(names: Iterable[str]) -> list[Path]:
    """The project's headers and the list of checks: what any of its sources may read besides itself."""
    return [ROOT / ".clang-tidy", *(ROOT / name for name in sorted(names) if not name.endswith((".cpp", ".cu")))]


def signatures() -> list[Path]:
    """The headers that a build makes of the samples' pluginkit.toml, made again."""
    manifests = [str(file) for name in TIDIED if (file := ROOT / name / ".." / "pluginkit.toml").exists()]
    command = [sys.executable, "-m", "pluginkit.build.signature", str(ROOT / SIGNATURES), *manifests]
    if manifests:
        subprocess.run(command, check=True)
    return sorted((ROOT / SIGNATURES).glob("*.h"))


def hash_of(words: Iterable[str], files: Iterable[Path]) -> str:
    """Of words, and of the files' names and contents."""
    parts = [*(word.encode() for word in words), *(part for f in files for part in (bytes(f), f.read_bytes()))]
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).hexdigest()


def known(name: str) -> str:
    """The hash with which clang-tidy found nothing in a file; empty if it has not."""
    record = CONTENT / f"{name}.sha256"
    return record.read_text(encoding="ascii", errors="replace") if record.exists() else ""


def remember(name: str, key: str) -> None:
    """For `known`."""
    record = CONTENT / f"{name}.sha256"
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(key, encoding="ascii")


def tidy_flags() -> list[str]:
    """What clang-tidy compiles with: our headers, and others', whose warnings don't count."""
    cuda = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "include"
    outside = (pybind11.get_include(), sysconfig.get_path("include"), str(cuda), SIGNATURES)
    return ["-std=c++17", "-Ipluginkit/include", *(flag for folder in outside for flag in ("-isystem", folder))]


def tracked() -> list[Path]:
    """The files that git knows; without git or a repository (an unpacked sdist), all that no command made."""
    try:
        git = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        git = None
    if git is not None and git.returncode == 0:
        return [ROOT / name for name in git.stdout.split("\0") if name and (ROOT / name).exists()]
    made = {*ROOT.glob(".venv*"), ROOT / "build", ROOT / "dist", *ROOT.glob("samples/**/build")}
    return [path for path in ROOT.rglob("*") if path.is_file() and made.isdisjoint(path.parents)]


def findings(command: list[str]) -> str | None:
    """Run one check: its words if it finds something, and None if it does not."""
    program = [str(BIN / command[0]) if (BIN / command[0]).exists() else command[0], *command[1:]]
    result = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    return result.stdout + result.stderr if result.returncode else None


def say(name: str, found: list[str | None]) -> bool:
    """A line for a check, and what its runs found; whether that is nothing."""
    words = [text for text in found if text is not None]
    print(f"{name:14} {'FAILED' if words else 'ok'}", flush=True)
    for text in words:
        print(text, flush=True)
    return not words


if __name__ == "__main__":
    sys.exit(main())
