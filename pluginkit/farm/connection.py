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
from distributed.utils import get_mp_context

from pluginkit.errors import ToolMissing, UsageError
from pluginkit.farm import worker
from pluginkit.judges import JUDGES

PREFIX = "local:"
WAIT = 10.0
"""Seconds until an address that doesn't answer is called dead."""
ASKED = ("pluginkit.judges.host.cases", "pluginkit.judges.rtx.build")
"""What the judges import when they are first asked."""
_DOCUMENT = "docs/farm.md"
_LOCAL = {
    "distributed.worker.multiprocessing-method": "forkserver",
    # What Dask shows on its dashboard, which isn't there: each process would ask itself fifty times a second how it is.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}


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
            stack.enter_context(dask.config.set(_LOCAL))
            cluster = stack.enter_context(_local(address))
            target: str | LocalCluster = cluster
        else:
            target = _reachable(address)
        try:
            client = Client(target, timeout=WAIT, set_as_default=False)
        except (OSError, TimeoutError, asyncio.TimeoutError, CommClosedError, ssl.SSLError, TypeError, ValueError) as e:
            raise _unreachable(address, e) from None
        yield stack.enter_context(client)


def _local(address: str) -> LocalCluster:
    count = address.removeprefix(PREFIX)
    if not count.isdecimal() or int(count) == 0:
        raise UsageError(f"farm {address}: {PREFIX} wants a number of workers.", hint=f"{PREFIX}2")
    # One process has the imports, and the workers are forks of it.
    get_mp_context().set_forkserver_preload(["distributed", worker.__name__, *JUDGES, *ASKED])
    return LocalCluster(
        n_workers=int(count),
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        worker_dashboard_address=None,
        silence_logs=logging.CRITICAL,
    )


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
