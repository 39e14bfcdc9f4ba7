"""Times by CUDA's events: of launches one by one, or of a graph of many where one is too short for that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pluginkit import gpu
from pluginkit.bench.measurements import Times
from pluginkit.errors import CheckFailed

WARM_UP = 10
SAMPLES = 50
REPLAYS = 30
SHORT = 100e-6
"""Seconds: what is shorter is timed in a graph. Between two events Python takes about 20 microseconds a launch."""
NODES = 32
"""A graph has at least so many enqueues: compared with them the events cost little."""
L2_TIMES = 4
"""Between two uses of a buffer more than so much of the L2 cache is used otherwise."""
COPY_BYTES = 1 << 30
ALIGNMENT = 256
"""As cudaMalloc's."""


class Launchable(Protocol):
    """Something captured that can be launched."""

    def launch(self, stream: gpu.Stream) -> None:
        """Puts its work on a stream."""


@dataclass(frozen=True)
class Work:
    """What is timed.

    Attributes:
        run: enqueues on the buffers with this number.
        sets: how many sets of buffers there are, taken in turn.
        capture: makes a graph of `run` on these sets; None: by `capture` below.
    """

    run: Callable[[int], None]
    sets: int
    capture: Callable[[Sequence[int]], Launchable] | None = None


def capture(stream: gpu.Stream, run: Callable[[int], None], turns: Sequence[int]) -> gpu.Executable:
    """A graph of what `run` puts on the stream.

    Raises:
        CheckFailed: something in it can't be captured. The stream works again.
    """
    stream.begin_capture()
    try:
        for turn in turns:
            run(turn)
    finally:
        graph = stream.end_capture()
    try:
        return graph.instantiate()
    finally:
        graph.close()


class Timer:
    """Times work on a stream of a GPU. `scratch` is overwritten to empty the L2 cache."""

    def __init__(self, context: gpu.GpuContext, stream: gpu.Stream) -> None:
        self._context = context
        self.stream = stream
        self.scratch = context.alloc(L2_TIMES * context.l2_bytes + context.l2_bytes // 2)

    def measure(self, work: Work, before: Callable[[], None] = lambda: None) -> tuple[Times, str]:
        """Warms up, then times, on each set at least once; `before` is called between.

        Answers the times, and why no graph was replayed where it should have been.

        Raises:
            CheckFailed: what `work.run` raises, or a kernel has failed.
        """
        for turn in range(WARM_UP):
            work.run(turn % work.sets)
        self.stream.synchronize()
        estimate = self._each(work, WARM_UP).median
        if estimate >= SHORT:
            before()
            return self._each(work, max(SAMPLES, work.sets)), ""
        try:
            graph, count = self._graph(work)
        except CheckFailed as error:
            self.stream.synchronize()
            before()
            return self._each(work, max(SAMPLES, work.sets)), f"not captured into a graph: {error.message}"
        before()
        return self._replayed(graph, count), ""

    def _graph(self, work: Work) -> tuple[Launchable, int]:
        turns = list(range(work.sets)) * -(-NODES // work.sets)
        graph = work.capture(turns) if work.capture else capture(self.stream, work.run, turns)
        return graph, len(turns)

    def flush(self) -> None:
        """Overwrites more than four times the L2 cache. It also keeps the GPU busy while Python puts work behind it."""
        self._context.fill(self.scratch.address, 0x5A, self.scratch.size, self.stream)

    def _each(self, work: Work, samples: int) -> Times:
        begins = [self._context.event() for _ in range(samples)]
        ends = [self._context.event() for _ in range(samples)]
        self.flush()
        for turn, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            begin.record(self.stream)
            work.run(turn % work.sets)
            end.record(self.stream)
        self.stream.synchronize()
        return _times([end.seconds_since(begin) for begin, end in zip(begins, ends, strict=True)])

    def _replayed(self, graph: Launchable, count: int) -> Times:
        begin, end = self._context.event(), self._context.event()
        seconds = []
        for turn in range(REPLAYS + 3):
            self.flush()
            begin.record(self.stream)
            graph.launch(self.stream)
            end.record(self.stream)
            self.stream.synchronize()
            if turn >= 3:
                seconds.append(end.seconds_since(begin) / count)
        return _times(seconds, count)

    def copy_rate(self) -> tuple[float, int]:
        """Bytes a second, read and written, of device-to-device copies, and the bytes of one copy."""
        size = min(COPY_BYTES, self._context.free_bytes() // 8)
        return 2 * size / self.copy(size, 2).median, size

    def copy(self, size: int, sets: int) -> Times:
        """Times of device-to-device copies of so many bytes, between so many pairs of buffers in turn."""
        step = -(-size // ALIGNMENT) * ALIGNMENT
        memory = self._context.alloc(2 * sets * step)
        self._context.fill(memory.address, 0x3C, memory.size, self.stream)

        def copy(turn: int) -> None:
            source = memory.address + 2 * turn * step
            self._context.copy(source + step, source, size, self.stream)

        times, _ = self.measure(Work(copy, sets))
        memory.free()
        return times


def _times(seconds: Sequence[float], enqueues: int = 1) -> Times:
    low, median, high = np.quantile(seconds, (0.1, 0.5, 0.9))
    return Times(float(median), float(low), float(high), len(seconds), enqueues)
