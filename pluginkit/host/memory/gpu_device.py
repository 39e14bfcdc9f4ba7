"""The GPU that a library of target gpu runs on: its memory, and the stream that enqueue is given.

The plugin's cudart works in the device's primary context, and so does pluginkit: what the driver reports here of the
stream is what the plugin's kernels have done. A kernel that faults makes every later call in the process fail; the
finding has that, and whoever drives this ends the process and goes on in another.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pluginkit import gpu
from pluginkit.demands import warn
from pluginkit.gpu import library_handles
from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.handles import Handles
from pluginkit.host.memory import concurrency
from pluginkit.host.memory.address_space import LargeBuffer, LargeDeviceBuffer
from pluginkit.host.memory.buffers import GUARD_BYTES, Bytes, DeviceBuffer
from pluginkit.host.memory.device import Job, Region, Taken, Use
from pluginkit.host.memory.gpu_graph import Uncapturable, captured
from pluginkit.host.memory.gpu_objects import ObjectCount
from pluginkit.host.memory.gpu_watch import CHECK, Watch

_CALLS = 16
"""How often two contexts enqueue at once, so that each meets the other at work."""
_QUEUING_SECONDS = 2.0
"""How long two threads may take to queue what they enqueue at once; a plugin that waits in enqueue takes forever."""


class GpuDevice:
    """A GPU. Its context is made when it is first needed, so a process that only builds layers has none.

    `library` is the plugin's, for the places of findings; `index` is the GPU's number.
    """

    def __init__(self, library: Path = Path(), index: int = 0) -> None:
        self._index = index
        self.library = library
        self._made: gpu.GpuContext | None = None
        self._stream: gpu.Stream | None = None
        self._second: gpu.Stream | None = None
        self._check = os.environ.get(CHECK, "")
        self.watch = Watch(library)
        """What sees enqueue's calls of CUDA."""
        self._objects = ObjectCount(library, self.watch.offsets)
        self.in_graph = False
        """Whether enqueue is captured into a graph, which is replayed."""

    @property
    def context(self) -> gpu.GpuContext:
        """The primary context, current in this thread.

        Raises:
            ToolMissing: there is no driver, or no such GPU.
        """
        if self._made is None:
            self._made = gpu.GpuContext(self._index)
        self._made.make_current()
        return self._made

    def defer(self, on: bool) -> None:
        """A GPU's streams do what they do."""
        if on:
            raise HostBug("streams of a GPU can't be deferred")

    @contextmanager
    def counting(self) -> Iterator[None]:
        """As `AnyDevice.counting`, by CUPTI; without it nothing is counted."""
        with self.watch.calls(on_call=self._objects.see, on_return=self._objects.see_end):
            yield

    def mark(self) -> int:
        """As `AnyDevice.mark`."""
        return self._objects.mark()

    def left(self, since: int) -> tuple[Taken, ...]:
        """As `AnyDevice.left`."""
        return self._objects.left(since)

    def allocate(self, size: int, *, around: bytes = b"") -> DeviceBuffer:
        """Guarded device memory. For a check of every access it ends where the tensor ends: a guard is memory too.

        Raises:
            CudaError: there is not so much.
        """
        guard = 0 if self._check in ("memcheck", "initcheck") else GUARD_BYTES
        return DeviceBuffer(self.context, size, guard, around=around)

    def allocate_large(self, size: int) -> LargeBuffer:
        """As `AnyDevice.allocate_large`."""
        return LargeDeviceBuffer(self.context, size)

    def make_handles(self) -> Handles:
        """Handles of NVIDIA's libraries, of those that the plugin's library links."""
        self.context.make_current()
        return Handles(*(library_handles.make(self.library, name) for name in library_handles.LIBRARIES))

    def destroy_handles(self, handles: Handles) -> tuple[str, ...]:
        """NVIDIA's libraries don't say of a handle whether it is one: nothing is known."""
        for name, handle in zip(library_handles.LIBRARIES, (handles.cudnn, handles.cublas), strict=True):
            if handle:
                library_handles.destroy(self.library, name, handle)
        return ()

    def enqueue(self, method: str, job: Job) -> None:
        """Brings the memory to the GPU, has enqueue (`method` in findings) called with a stream that does not wait for
        the default stream, waits for it and brings the memory back. As in TensorRT, nothing waits for work that the
        plugin has put elsewhere; it is only reported when it fails. With `in_graph` it is captured and replayed, where
        it can be (E4).

        Raises:
            Finding: the work has failed. It names CUDA's error.
        """
        context = self.context
        with _failing(method, "the GPU had failed before it was called"):
            self._push(job.regions)
            self._stream = self._stream or context.stream()
        if self.in_graph:
            with self._failed(method):
                try:
                    captured(context, self.watch, method, job)
                except Uncapturable as why:
                    warn("E4", method, str(why))
                else:
                    return
        with self._failed(method):
            with self.watch.enqueue(self._stream.handle):
                job.launch(self._stream.handle)
            self._stream.synchronize()
            self._pull(job.regions)
            context.synchronize()

    def enqueue_concurrently(self, method: str, job: Job, second: Job, *, in_place: bool) -> None:
        """As `AnyDevice.enqueue_concurrently`; each is called several times, if it can be, and the GPU begins when all
        is queued. What the first one gives is compared with the reference."""
        context = self.context
        with _failing(method, "the GPU had failed before it was called"):
            streams = self._stream, self._second = self._stream or context.stream(), self._second or context.stream()
        with self._failed(method):
            alone = self._alone(second, streams[1])
            for one in (job, second):
                self._push(one.regions)
            self._at_once([(job, streams[0]), (second, streams[1])], 1 if in_place else _CALLS)
            self._pull(job.regions)
            self._pull(second.regions)
            context.synchronize()
            again = partial(self._alone, second, streams[1])
            concurrency.check(method, 1, alone, concurrency.results(second.regions), again)

    def _alone(self, job: Job, stream: gpu.Stream) -> list[Bytes]:
        self._push(job.regions)
        job.launch(stream.handle)
        stream.synchronize()
        self._pull(job.regions)
        return concurrency.results(job.regions)

    def _at_once(self, jobs: Sequence[tuple[Job, gpu.Stream]], times: int) -> None:
        """Queues both behind a gate, each from a thread of its own, and opens it."""
        context = self.context
        gate = context.flag()
        problems: list[Exception] = []

        def queue(job: Job, stream: gpu.Stream) -> None:
            try:
                context.make_current()
                stream.wait_until(gate.address, 1)
                for _ in range(times):
                    job.launch(stream.handle)
            except Exception as problem:  # noqa: BLE001 (the thread that waits for this raises it)
                problems.append(problem)

        threads = [threading.Thread(target=queue, args=one) for one in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_QUEUING_SECONDS)
        gate.set()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]
        for _, stream in jobs:
            stream.synchronize()
        gate.free()

    def _push(self, regions: Sequence[Region]) -> None:
        for region in regions:
            # To initcheck, memory that pluginkit has poisoned counts as initialized; and what the plugin need not write
            # would count as read by pluginkit's own copy of it.
            if self._check != "initcheck" or region.use is Use.INPUT or not (region.scratch or region.whole):
                region.buffer.push()

    def _pull(self, regions: Sequence[Region]) -> None:
        for region in regions:
            if self._check != "initcheck" or not region.scratch:
                region.buffer.pull()

    @contextmanager
    def _failed(self, method: str) -> Iterator[None]:
        """Makes a finding of an error of the GPU, and adds one to what enqueue answered."""
        with _failing(method, "answered 0, but its work on the GPU failed"):
            try:
                yield
            except Finding as finding:
                raise self._with_error(self.context, finding) from None

    @staticmethod
    def _with_error(context: gpu.GpuContext, finding: Finding) -> Finding:
        """What enqueue answered, with the GPU's error."""
        try:
            context.synchronize()
        except gpu.CudaError as error:
            text = finding.message.removeprefix(f"{finding.method}: ")
            return _finding(finding.method, text, error)
        return finding


@contextmanager
def _failing(method: str, text: str) -> Iterator[None]:
    try:
        yield
    except gpu.CudaError as error:
        raise _finding(method, text, error) from None


def _finding(method: str, text: str, error: gpu.CudaError) -> Finding:
    return Finding(method, f"{text}: {error.name} ({error.code}), {error.text}", rule="E1", hint=error.hint)
