"""Streams, events, and graphs that are captured from streams."""

from __future__ import annotations

import ctypes
from ctypes import c_float, c_int, c_size_t, c_void_p
from typing import Literal

from pluginkit.gpu.driver import Driver

_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
_NOT_READY = 600  # CUDA_ERROR_NOT_READY
_AT_LEAST = 0  # CU_STREAM_WAIT_VALUE_GEQ
_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}  # CUstreamCaptureMode
_NODES = (
    *("kernel", "memcpy", "memset", "host", "graph", "empty", "wait event", "event record"),
    *("semaphores signal", "semaphores wait", "allocation", "free", "batched memory operations", "conditional"),
)
"""`CUgraphNodeType`"""

CaptureStatus = Literal["no", "active", "invalidated"]


class Stream:
    """A stream that does not wait for the legacy default stream, unless it is `blocking`. `handle` is its
    `cudaStream_t`."""

    def __init__(self, driver: Driver, *, blocking: bool = False) -> None:
        self._driver = driver
        handle = c_void_p()
        driver.call("cuStreamCreate", ctypes.byref(handle), 0 if blocking else _NON_BLOCKING)
        self.handle: int = handle.value or 0

    def synchronize(self) -> None:
        """Waits for its work.

        Raises:
            CudaError: some of it, or of what was launched elsewhere before, has failed.
        """
        self._driver.call("cuStreamSynchronize", self.handle)

    def done(self) -> bool:
        """Whether all its work is done.

        Raises:
            CudaError: some of it has failed.
        """
        code = self._driver.ask("cuStreamQuery", self.handle)
        if code not in (0, _NOT_READY):
            raise self._driver.error(code, "cuStreamQuery")
        return code == 0

    def wait(self, event: Event) -> None:
        """Has later work wait for an event."""
        self._driver.call("cuStreamWaitEvent", self.handle, event.handle, 0)

    def wait_until(self, address: int, value: int) -> None:
        """Has later work wait until the 4 bytes at a device address are at least `value`."""
        self._driver.call("cuStreamWaitValue32_v2", self.handle, address, value, _AT_LEAST)

    def begin_capture(self, mode: Literal["global", "thread_local", "relaxed"] = "thread_local") -> None:
        """From now on its work is not done but put into a graph.

        `mode` decides whose calls are refused that a capture does not allow: any thread's, this thread's, none.
        """
        self._driver.call("cuStreamBeginCapture_v2", self.handle, _MODES[mode])

    def capturing(self) -> CaptureStatus:
        """Whether it is being captured."""
        status = c_int()
        self._driver.call("cuStreamIsCapturing", self.handle, ctypes.byref(status))
        names: tuple[CaptureStatus, ...] = ("no", "active", "invalidated")
        return names[status.value]

    def end_capture(self) -> Graph:
        """The graph of what was put on it since `begin_capture`.

        Raises:
            CudaError: a call since then was not allowed. The stream works again.
        """
        graph = c_void_p()
        self._driver.call("cuStreamEndCapture", self.handle, ctypes.byref(graph))
        return Graph(self._driver, graph)

    def close(self) -> None:
        """Destroys it, when its work is done."""
        if self.handle:
            self._driver.ask("cuStreamDestroy_v2", self.handle)
        self.handle = 0


class Event:
    """A point in a stream's work, with its time."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        handle = c_void_p()
        driver.call("cuEventCreate", ctypes.byref(handle), 0)
        self.handle: int = handle.value or 0

    def record(self, stream: Stream) -> None:
        """Puts it behind the stream's work so far."""
        self._driver.call("cuEventRecord", self.handle, stream.handle)

    def synchronize(self) -> None:
        """Waits until the stream has come to it."""
        self._driver.call("cuEventSynchronize", self.handle)

    def seconds_since(self, begin: Event) -> float:
        """The time between two events that have been reached, to about half a microsecond."""
        milliseconds = c_float()
        self._driver.call("cuEventElapsedTime", ctypes.byref(milliseconds), begin.handle, self.handle)
        return milliseconds.value / 1000

    def close(self) -> None:
        """Destroys it."""
        if self.handle:
            self._driver.ask("cuEventDestroy_v2", self.handle)
        self.handle = 0


class Graph:
    """A captured graph."""

    def __init__(self, driver: Driver, handle: c_void_p) -> None:
        self._driver = driver
        self._handle = handle

    def nodes(self) -> list[str]:
        """What kinds of nodes it has, as `kernel`, `memcpy` or `allocation`."""
        count = c_size_t()
        self._driver.call("cuGraphGetNodes", self._handle, None, ctypes.byref(count))
        handles = (c_void_p * count.value)()
        if count.value:
            self._driver.call("cuGraphGetNodes", self._handle, handles, ctypes.byref(count))
        return [self._kind(handle or 0) for handle in handles]

    def _kind(self, node: int) -> str:
        kind = c_int()
        self._driver.call("cuGraphNodeGetType", node, ctypes.byref(kind))
        return _NODES[kind.value] if 0 <= kind.value < len(_NODES) else f"node type {kind.value}"

    def instantiate(self) -> Executable:
        """A graph that can be launched."""
        executable = c_void_p()
        self._driver.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), self._handle, 0)
        return Executable(self._driver, executable)

    def close(self) -> None:
        """Destroys it; what was instantiated from it lives on."""
        self._driver.ask("cuGraphDestroy", self._handle)


class Executable:
    """An instantiated graph."""

    def __init__(self, driver: Driver, handle: c_void_p) -> None:
        self._driver = driver
        self._handle = handle

    def launch(self, stream: Stream) -> None:
        """Puts its work on a stream."""
        self._driver.call("cuGraphLaunch", self._handle, stream.handle)

    def close(self) -> None:
        """Destroys it."""
        self._driver.ask("cuGraphExecDestroy", self._handle)
