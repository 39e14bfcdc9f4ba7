"""Libraries by their content, so that a session is never kept for a file that has changed."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path


def digest(library: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits; empty if it cannot be read: opening it will say so better."""
    try:
        state = library.stat()
    except OSError:
        return ""
    return _digest(library, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=64)
def _digest(library: Path, changed: int, size: int) -> str:
    del changed, size  # they tell when the file must be read again
    try:
        return hashlib.sha256(library.read_bytes()).hexdigest()
    except OSError:
        return ""
