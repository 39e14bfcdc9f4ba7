"""Run every static check: ruff, mypy, clang-format, clang-tidy."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pybind11

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
CPP = ("native", "pluginkit/include", "pluginkit/cuda_cpu", "pluginkit/validation", "samples", "tests")
RECORDED = "tests/update/projects/"
"""Projects as an earlier version made them: no later tool may have a say in them."""
TIDIED = ("native/", "samples/bar_plugin/src/")
SUFFIXES = {".h", ".hpp", ".cpp", ".cu", ".cuh"}


def main() -> int:
    """Run the checks, each to its end; 1 when one of them found something."""
    names = {str(f.relative_to(ROOT)) for f in tracked() if f.suffix in SUFFIXES}
    cpp = sorted(name for name in names if name.startswith(CPP) and not name.startswith(RECORDED))
    tidied = [f for f in cpp if f.startswith(TIDIED) and f.endswith(".cpp")]
    checks = {
        "ruff check": ["ruff", "check", "--quiet", "."],
        "ruff format": ["ruff", "format", "--check", "--quiet", "."],
        "mypy": [sys.executable, "-m", "mypy", "--no-error-summary"],
        "clang-format": ["clang-format", "--dry-run", "--Werror", *cpp],
        "clang-tidy": ["clang-tidy", "--quiet", *tidied, "--", *tidy_flags()],
    }
    failed = [name for name, command in checks.items() if not passes(name, command)]
    return 1 if failed else 0


def tidy_flags() -> list[str]:
    """What clang-tidy compiles with: our headers, and others', whose warnings don't count."""
    cuda = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "include"
    outside = (pybind11.get_include(), sysconfig.get_path("include"), str(cuda))
    return ["-std=c++17", "-Ipluginkit/include", *(flag for folder in outside for flag in ("-isystem", folder))]


def tracked() -> list[Path]:
    """The files that git knows; without git or a repository (an unpacked sdist), all that no command made."""
    try:
        git = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        git = None
    if git is not None and git.returncode == 0:
        return [ROOT / name for name in git.stdout.split("\0") if name and (ROOT / name).exists()]
    made = {*ROOT.glob(".venv*"), ROOT / "build", ROOT / "dist", *ROOT.glob("samples/*/build")}
    return [path for path in ROOT.rglob("*") if path.is_file() and made.isdisjoint(path.parents)]


def passes(name: str, command: list[str]) -> bool:
    """Run one check and show its words if it finds something."""
    program = [str(BIN / command[0]) if (BIN / command[0]).exists() else command[0], *command[1:]]
    result = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    print(f"{name:14} {'ok' if result.returncode == 0 else 'FAILED'}", flush=True)
    if result.returncode:
        print(result.stdout + result.stderr, flush=True)
    return result.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
