"""The GPU that a library of target gpu runs on: its memory, and the stream that enqueue is given.

The plugin's cudart works in the device's primary context, and so does pluginkit: what the driver says here of the
stream is what the plugin's kernels have done. A kernel that faults makes every later call in the process fail; the
finding says so, and whoever drives this ends the process and goes on in another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pluginkit import gpu
from pluginkit.host.buffers import DeviceBuffer
from pluginkit.host.device import Region
from pluginkit.host.errors import Finding, HostBug


class GpuDevice:
    """A GPU. Its context is made when it is first needed, so a process that only builds layers has none.

    `index` is the GPU's number.
    """

    def __init__(self, index: int = 0) -> None:
        self._index = index
        self._made: gpu.Context | None = None
        self._stream: gpu.Stream | None = None

    @property
    def context(self) -> gpu.Context:
        """The primary context, current in this thread.

        Raises:
            ToolMissing: there is no driver, or no such GPU.
        """
        if self._made is None:
            self._made = gpu.Context(self._index)
        self._made.make_current()
        return self._made

    def defer(self, on: bool) -> None:
        """A GPU's streams do what they do."""
        if on:
            raise HostBug("streams of a GPU can't be deferred")

    def allocate(self, size: int) -> DeviceBuffer:
        """Guarded device memory.

        Raises:
            CudaError: there is not so much.
        """
        return DeviceBuffer(self.context, size)

    @contextmanager
    def enqueueing(self, method: str, regions: Sequence[Region]) -> Iterator[int]:
        """Around a call of enqueue (`method` in findings): brings the memory to the GPU, gives a stream that does not
        wait for the default stream, waits for it and brings the memory back. As in TensorRT, nobody waits for work that
        the plugin has put elsewhere; it is only told when it fails.

        Raises:
            Finding: the work has failed. It names CUDA's error.
        """
        context = self.context
        try:
            for region in regions:
                region.buffer.push()
            self._stream = self._stream or context.stream()
        except gpu.CudaError as error:
            raise _finding(method, "the GPU had failed before it was called", error) from None
        try:
            yield self._stream.handle
        except Finding as finding:
            raise self._with_error(context, finding) from None
        try:
            self._stream.synchronize()
            for region in regions:
                region.buffer.pull()
            context.synchronize()
        except gpu.CudaError as error:
            raise _finding(method, "answered 0, but its work on the GPU failed", error) from None

    @staticmethod
    def _with_error(context: gpu.Context, finding: Finding) -> Finding:
        """What enqueue answered, with what the GPU says."""
        try:
            context.synchronize()
        except gpu.CudaError as error:
            words = finding.message.removeprefix(f"{finding.method}: ")
            return _finding(finding.method, words, error)
        return finding


def _finding(method: str, words: str, error: gpu.CudaError) -> Finding:
    return Finding(method, f"{words}: {error.name} ({error.code}), {error.text}", hint=error.hint)
