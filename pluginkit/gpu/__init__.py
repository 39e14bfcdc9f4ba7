"""CUDA's driver, opened at run time: contexts, memory, streams, events and graphs, on machines that have a GPU.

pluginkit links no CUDA, so one wheel serves machines with and without. A plugin brings its own static cudart, which
works in the device's primary context; so does this, and the two see each other's memory and streams.
"""

from __future__ import annotations

from pluginkit.gpu.context import GpuContext
from pluginkit.gpu.driver import CudaError, Driver, load
from pluginkit.gpu.memory import Flag, Memory
from pluginkit.gpu.module import Module
from pluginkit.gpu.stream import Event, Executable, Graph, Stream

__all__ = [
    "CudaError",
    "Driver",
    "Event",
    "Executable",
    "Flag",
    "GpuContext",
    "Graph",
    "Memory",
    "Module",
    "Stream",
    "load",
]
