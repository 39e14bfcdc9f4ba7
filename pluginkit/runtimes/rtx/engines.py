"""TensorRT-RTX's engines, run on a GPU: in the process that built them, and in another.

Where RTX runs no engine, it fails before it calls the plugin; docs/proved.md has where this was run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pluginkit.build.gpus import DriverInfo
from pluginkit.errors import ToolMissing
from pluginkit.manifest import Manifest
from pluginkit.runtimes.nvidia.engines import EngineSession
from pluginkit.runtimes.rtx.session import probe

NAME = "tensorrt-rtx engines"
"""RTX's builder's verdict on a network is another one, of `session.NAME`."""
CAPABILITIES = ("8.0", "8.6", "8.9")
"""Compute capabilities that RTX 1.7.1 runs engines on, in addition to those from 12.0 on: from its error with which
it refuses others."""
NEWEST = 12


def obstacle(driver: DriverInfo) -> str:
    """Why engines can't be run with this driver's first GPU; empty if they can."""
    if not driver.gpus:
        return "no GPU here"
    capability = driver.gpus[0].capability
    if capability in CAPABILITIES or int(capability.partition(".")[0]) >= NEWEST:
        return ""
    return f"compute capability {capability}, and RTX runs engines on {', '.join(CAPABILITIES)} and {NEWEST}.x"


def open(library: Path, manifest: Manifest, *, timeout: float = 60.0) -> RtxEngines:  # noqa: A001
    """Has RTX's registry load a library built for target gpu, and checks that it lists the plugin.

    Raises:
        ToolMissing: RTX isn't installed.
        CheckFailed: the registry doesn't load the library, or lists no creator of the manifest's plugin.
        WorkerCrashed, WorkerTimeout: loading took the process down, or never ended.
    """
    found = probe()
    if not found.found:
        raise ToolMissing(f"TensorRT-RTX: {found.reason}", hint=found.remedy)
    session = RtxEngines(library.resolve(), manifest, timeout)
    try:
        session.check()
    except BaseException:
        session.close()
        raise
    return session


class RtxEngines(EngineSession):
    """One plugin library in TensorRT-RTX, on a GPU."""

    CHILD = "pluginkit.runtimes.nvidia.engine_worker"
    WHO = "TensorRT-RTX"
    MODULE = "tensorrt_rtx"

    def _environment(self) -> Mapping[str, str]:
        return {"POLYGRAPHY_USE_TENSORRT_RTX": "1"}
