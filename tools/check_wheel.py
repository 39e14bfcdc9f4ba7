"""Checks that a built wheel holds every file of the package's folder: `python tools/check_wheel.py WHEEL`."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DERIVED = {".pyc", ".so", ".o"}
"""Suffixes that git ignores: what a build or a run left in the folder."""


def missing(wheel: Path) -> list[str]:
    """The package's files that the wheel lacks, as paths relative to the checkout."""
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    files = (path for path in (ROOT / "pluginkit").rglob("*") if path.is_file() and path.suffix not in DERIVED)
    return sorted(name for name in (path.relative_to(ROOT).as_posix() for path in files) if name not in packed)


if __name__ == "__main__":
    (argument,) = sys.argv[1:]
    if lost := missing(Path(argument)):
        sys.exit(f"error: {argument} lacks {len(lost)} files of the package:\n  " + "\n  ".join(lost))
