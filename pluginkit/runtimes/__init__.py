"""What judges and runs plugins: pluginkit's own host, and NVIDIA's libraries. One module each, behind `Runtime`.

Whatever loads a plugin or a library of NVIDIA's does it in a worker process: see `pluginkit.process.worker`.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol, cast

from typing_extensions import Self

from pluginkit.manifest import Manifest
from pluginkit.network.model import Network
from pluginkit.runtimes.verdict import Availability, BuildVerdict, Configured, Ran, SeenTensor, Target, Way


class Session(Protocol):
    """A runtime with a plugin library loaded. A context manager."""

    def build(self, network: Network) -> BuildVerdict:
        """Builds a network. Whatever the plugin does wrong is in the verdict."""

    def close(self) -> None:
        """Ends the worker processes."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc_info: object) -> None: ...


class Runtime(Protocol):
    """What each module of this package offers."""

    NAME: str

    def probe(self) -> Availability:
        """Whether it is on this machine. Loads nothing."""

    def open(self, library: Path, manifest: Manifest, *, timeout: float) -> Session:
        """Loads the plugin library.

        Raises:
            ToolMissing: the runtime isn't on this machine.
            CheckFailed: the runtime doesn't take the library.
            WorkerCrashed, WorkerTimeout: loading took the process down, or never ended.
        """


ALL_RUNTIMES = ("host", "rtx", "lean", "tensorrt")
"""The folders' names."""


def runtime(name: str) -> Runtime:
    """One of `ALL_RUNTIMES`, imported."""
    return cast("Runtime", importlib.import_module(f"pluginkit.runtimes.{name}.session"))


__all__ = [
    "ALL_RUNTIMES",
    "Availability",
    "BuildVerdict",
    "Configured",
    "Ran",
    "Runtime",
    "SeenTensor",
    "Session",
    "Target",
    "Way",
    "runtime",
]
