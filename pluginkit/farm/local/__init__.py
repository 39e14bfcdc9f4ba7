"""`local:N`: workers of this machine's own, for the length of a command."""

from __future__ import annotations

from pluginkit.errors import UsageError

LOCAL = "local:"
"""What the address of workers on this machine begins with; their number follows."""


def local_workers(address: str) -> int:
    """How many workers of its own an address asks for; 0 where it is a cluster's.

    Raises:
        UsageError: `local:` without a number.
    """
    if not address.startswith(LOCAL):
        return 0
    count = address.removeprefix(LOCAL)
    if not count.isdecimal() or int(count) == 0:
        raise UsageError(f"farm {address}: {LOCAL} wants a number of workers.", hint=f"{LOCAL}2")
    return int(count)
