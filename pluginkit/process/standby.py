"""Workers that are started before there is anything for them to load: NVIDIA's library takes a tenth of a second to
start, and a run has that time while its plugin is compiled.

Each is a fork of the server's, which outlives the thread that asked for it. Whoever takes one keeps it; those that are
left end with `close`, and with this process.
"""

from __future__ import annotations

import threading

from pluginkit.errors import PluginkitError
from pluginkit.process.worker import Worker

_ready: list[tuple[str, float, Worker]] = []
_changing = threading.Lock()


def begin(module: str, timeout: float) -> bool:
    """Starts a worker of a module whose `open` has no arguments; whether there is one more now.

    What goes wrong is left for who needs the worker: that one starts it again, and says so.
    """
    try:
        worker = Worker(module, {}, timeout=timeout)
    except (PluginkitError, OSError):
        return False
    if not worker.forked:
        worker.close()  # it would end with this thread
        return False
    with _changing:
        _ready.append((module, timeout, worker))
    return True


def worker(module: str, timeout: float) -> Worker:
    """A worker of that module, a standby one if there is one.

    Raises:
        WorkerCrashed, WorkerTimeout, PluginkitError: as of `Worker`.
    """
    while True:
        with _changing:
            found = next((one for one in _ready if one[:2] == (module, timeout)), None)
            if found is None:
                break
            _ready.remove(found)
        standby_worker = found[2]
        if standby_worker.alive:
            standby_worker.join_groups()
            return standby_worker
        standby_worker.close()
    return Worker(module, {}, timeout=timeout)


def close() -> None:
    """Ends those that nobody has taken."""
    while _ready:
        with _changing:
            _, _, standby_worker = _ready.pop()
        standby_worker.close()
