"""Connects to a Dask cluster, and says in words what keeps it from it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import ssl
from collections.abc import Iterator
from pathlib import Path

import dask
from distributed import Client, LocalCluster
from distributed.comm.core import CommClosedError

from pluginkit.errors import ToolMissing, UsageError
from pluginkit.farm import local

PREFIX = "local:"
WAIT = 10.0
"""Seconds until an address that doesn't answer is called dead."""
_DOCUMENT = "docs/farm.md"


@contextlib.contextmanager
def connect(address: str) -> Iterator[Client]:
    """A client of the cluster at an address.

    Args:
        address: `tcp://HOST:PORT`, `tls://HOST:PORT`, a scheduler file (`dask scheduler --scheduler-file`), or
            `local:N`: N worker processes of one thread each on this machine, for as long as this lasts.

    Raises:
        UsageError: it is none of these.
        ToolMissing: nothing answers there, or it won't talk to us.
    """
    # Warnings would stand between the lines of a progress bar; what matters of them comes as an exception.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}), contextlib.ExitStack() as stack:
        if address.startswith(PREFIX):
            wanted = _count(address)
            target: str | LocalCluster = stack.enter_context(local.local_cluster(wanted))
        else:
            wanted, target = 0, _reachable(address)
        try:
            client = Client(target, timeout=WAIT, set_as_default=False)
        except (OSError, TimeoutError, asyncio.TimeoutError, CommClosedError, ssl.SSLError, TypeError, ValueError) as e:
            raise _unreachable(address, e) from None
        stack.enter_context(client)
        if wanted:
            _wait_for(client, wanted)
        yield client


def _wait_for(client: Client, count: int) -> None:
    try:
        client.wait_for_workers(count, timeout=local.START)
    except (TimeoutError, asyncio.TimeoutError):
        raise ToolMissing(
            f"The {count} workers of this machine aren't there after {local.START:g} s.",
            hint="Has it memory and processes enough for them? Try fewer.",
        ) from None


def _count(address: str) -> int:
    count = address.removeprefix(PREFIX)
    if not count.isdecimal() or int(count) == 0:
        raise UsageError(f"farm {address}: {PREFIX} wants a number of workers.", hint=f"{PREFIX}2")
    return int(count)


def _reachable(address: str) -> str:
    """The address itself, or that in a scheduler file."""
    if "://" in address:
        scheme = address.partition("://")[0]
        if scheme not in ("tcp", "tls"):
            raise UsageError(
                f"farm {address}: {scheme}:// is no address of a Dask scheduler.",
                hint="tcp://HOST:PORT, tls://HOST:PORT, a scheduler file, or local:N.",
            )
        return address
    file = Path(address)
    if not file.is_file():
        raise UsageError(
            f"farm {address}: there is no such file, and it is no address.",
            hint="tcp://HOST:PORT, tls://HOST:PORT, a scheduler file, or local:N.",
        )
    return _address_in(file)


def _address_in(file: Path) -> str:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))["address"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{file} is no scheduler file: {error}",
            hint="`dask scheduler --scheduler-file FILE` writes one.",
        ) from None
    return str(found)


def _unreachable(address: str, error: BaseException) -> ToolMissing:
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    if address.startswith("tls://"):
        return ToolMissing(
            f"The farm at {address} can't be reached by TLS ({said}).",
            hint="Name the CA, certificate and key: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, "
            f"..__CLIENT__CERT, ..__CLIENT__KEY ({_DOCUMENT}).",
        )
    return ToolMissing(
        f"Nothing answers at the farm's address {address} ({said}).",
        hint="Start one: `dask scheduler --host IP --dashboard-address IP:8787` on one machine, "
        "`dask worker ADDRESS --host IP --dashboard-address IP:0` on each other, IP being the machine's own "
        f"({_DOCUMENT}); or --farm {PREFIX}2 for two workers on this machine.",
    )
