"""Imported before all else of the host: ends where the native module is not the one that these sources call.

A checkout that was pulled may have a module that was built of older sources: its functions take other arguments.
"""

from __future__ import annotations

import hashlib

from pluginkit import _native
from pluginkit.errors import native_stale
from pluginkit.paths import ROOT


def check(interface: str) -> None:
    """Compare what the module was built for with `_native.pyi`, which describes it.

    Args:
        interface: the SHA-256 of that file when the module was built; empty for a module that has none.

    Raises:
        ToolMissing: it was another file.
    """
    try:
        described = (ROOT / "_native.pyi").read_bytes()
    except FileNotFoundError:
        # Packagers leave out what only type checkers read; what they have made is of one piece.
        return
    if hashlib.sha256(described).hexdigest() != interface:
        raise native_stale()


check(getattr(_native, "INTERFACE", ""))
