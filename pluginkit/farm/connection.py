"""Connects to a Dask cluster, and says in words what keeps it from it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dask
from distributed import Client, LocalCluster
from distributed.comm.core import CommClosedError

from pluginkit.errors import ToolMissing, UsageError
from pluginkit.farm.local import LOCAL, local_workers
from pluginkit.farm.local.cluster import local_farm

WAIT = 10.0
"""Seconds until an address that doesn't answer is called dead."""
_DOCUMENT = "docs/farm.md"


@dataclass(frozen=True)
class Connection:
    """To a cluster.

    Attributes:
        client: Dask's.
        trouble: says why workers that are missing have ended, where that is known.
    """

    client: Client
    trouble: Callable[[], str] = field(default=lambda: "")


@contextlib.contextmanager
def connect(address: str) -> Iterator[Connection]:
    """A connection to the cluster at an address.

    Args:
        address: `tcp://HOST:PORT`, `tls://HOST:PORT`, a scheduler file (`dask scheduler --scheduler-file`), or
            `local:N`: N worker processes of one thread each on this machine, for as long as this lasts.

    Raises:
        UsageError: it is not one of these.
        ToolMissing: nothing answers there, or it won't talk to us.
    """
    # Warnings would stand between the lines of a progress bar; what matters of them comes as an exception.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}), contextlib.ExitStack() as stack:
        if count := local_workers(address):
            here = stack.enter_context(local_farm(count))
            target: str | LocalCluster = here.cluster
        else:
            here, target = None, _reachable(address)
        try:
            client = Client(target, timeout=WAIT, set_as_default=False)
        except (OSError, TimeoutError, asyncio.TimeoutError, CommClosedError, ssl.SSLError, TypeError, ValueError) as e:
            raise _unreachable(address, e) from None
        stack.enter_context(client)
        if here is None:
            yield Connection(client)
            return
        here.wait(client)
        yield Connection(client, here.trouble)


def _reachable(address: str) -> str:
    """The address itself, or that in a scheduler file."""
    if "://" in address:
        scheme = address.partition("://")[0]
        if scheme not in ("tcp", "tls"):
            raise UsageError(
                f"farm {address}: {scheme}:// is not an address of a Dask scheduler.",
                hint="tcp://HOST:PORT, tls://HOST:PORT, a scheduler file, or local:N.",
            )
        return address
    file = Path(address)
    if not file.is_file():
        raise UsageError(
            f"farm {address}: there is no such file, and it is not an address.",
            hint="tcp://HOST:PORT, tls://HOST:PORT, a scheduler file, or local:N.",
        )
    return _address_in(file)


def _address_in(file: Path) -> str:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))["address"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{file} is not a scheduler file: {error}",
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
        f"({_DOCUMENT}); or --farm {LOCAL}2 for two workers on this machine.",
    )
