"""The device inside a library of target cpu: its stream, its memory and the rules of enqueue (pluginkit/cpu/control.h).

A library without such a device (made by hand, or by another pluginkit) gets the default stream and no rules.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import Protocol

from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.handles import NONE, Handles
from pluginkit.host.memory import concurrency
from pluginkit.host.memory.address_space import LargeBuffer, ReservedBuffer
from pluginkit.host.memory.buffers import Buffer, Bytes, HostBuffer

VERSION = 3
"""`PLUGINKIT_CPU_CONTROL_VERSION`; libraries of an older pluginkit have a smaller one, the beginning of it."""
_COUNTS, _TAKES_TURNS = 2, 3
"""From which version on it counts what the library takes, and has threads take turns."""

_DEFAULT_STREAM = 0


class Use(IntEnum):
    """`PluginkitCpuRegion`: what a plugin is given a piece of memory for."""

    INPUT = 0
    OUTPUT = 1
    WORKSPACE = 2


@dataclass(frozen=True)
class Region:
    """A buffer that enqueue is given. Only an input has values that may be read before they are written."""

    buffer: Buffer
    use: Use
    other: Callable[[], Bytes] | None = None
    """Of an input: other values in the same form, for a run whose results don't count."""
    whole: bool = True
    """Of an output: whether the plugin is to write all of it, also padded lanes and what lies beyond a size tensor."""

    @property
    def scratch(self) -> bool:
        """Whether its contents mean nothing after the run."""
        return self.use is Use.WORKSPACE


@dataclass(frozen=True)
class Job:
    """A call of enqueue.

    Attributes:
        regions: the memory that it is given.
        launch: makes the call, with a stream.
    """

    regions: Sequence[Region]
    launch: Callable[[int], None]


class AnyDevice(Protocol):
    """Where a library's kernels run: on the host (`Device`), or on a GPU (`GpuDevice`)."""

    @property
    def library(self) -> Path | None:
        """The plugin's, loaded in this process; None without one."""

    def defer(self, on: bool) -> None:
        """Whether streams do nothing before they are waited for."""

    def counting(self) -> AbstractContextManager[None]:
        """Around what is between a `mark` and `left`."""

    def mark(self) -> int:
        """A moment in the library's life, for `left`."""

    def left(self, since: int) -> tuple[Taken, ...]:
        """What the library has taken since a `mark` and not given back; nothing where nothing counts."""

    def allocate(self, size: int, *, around: bytes = b"") -> Buffer:
        """Guarded memory that its kernels can reach, as of `Allocate`."""

    def allocate_large(self, size: int) -> LargeBuffer:
        """Memory for a tensor of which only pieces are looked at.

        Raises:
            MemoryError, CudaError: there is not so much.
        """

    def make_handles(self) -> Handles:
        """Handles for a context, of those of cuDNN and cuBLAS that are there."""

    def destroy_handles(self, handles: Handles) -> tuple[str, ...]:
        """Ends them; the names of those that weren't handles any more."""

    def enqueue(self, method: str, job: Job) -> None:
        """Has the plugin's enqueue (`method` in findings) called with a stream, and its work done."""

    def enqueue_concurrently(self, method: str, job: Job, second: Job, *, in_place: bool) -> None:
        """As `enqueue`, while another thread has a second context enqueue on another stream.

        Args:
            method: enqueue, in findings.
            job: of the first context; its memory has its results afterwards.
            second: of the second context.
            in_place: whether an output has an input's memory, so that a second call would have other data.

        Raises:
            Finding: the work has failed; or what one gives is not what it gives alone (E10).
        """


_Stream = ctypes.c_void_p


@dataclass(frozen=True)
class Taken:
    """What a library has taken by a function of CUDA's, cuBLAS's or cuDNN's.

    Attributes:
        kind: for messages, as in "device memory".
        function: the one that gave it.
        size: of memory, in bytes; else 0.
        library, offset: where that was called, as addr2line takes it.
        callers: of host memory and on a GPU, where in the library that was called, further out.
    """

    kind: str
    function: str
    size: int
    library: Path
    offset: int
    callers: tuple[int, ...] = ()

    def __str__(self) -> str:
        what = f"{self.size} bytes of {self.kind}" if self.size else self.kind
        return f"{what} from {self.function}"


class _Object(ctypes.Structure):
    """`PluginkitCpuObject`"""

    _fields_ = (
        ("kind", ctypes.c_char_p),
        ("function", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("library", ctypes.c_char_p),
        ("offset", ctypes.c_size_t),
    )


class _Control(ctypes.Structure):
    """`PluginkitCpuControl`"""

    _fields_ = (
        ("enqueue_begin", ctypes.CFUNCTYPE(None, _Stream)),
        ("enqueue_end", ctypes.CFUNCTYPE(None)),
        ("drain", ctypes.CFUNCTYPE(ctypes.c_int)),
        ("set_deferred", ctypes.CFUNCTYPE(None, ctypes.c_int)),
        (
            "register_region",
            ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int),
        ),
        ("unregister_region", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)),
        ("make_stream", ctypes.CFUNCTYPE(_Stream)),
        ("destroy_stream", ctypes.CFUNCTYPE(ctypes.c_int, _Stream)),
        ("live_allocations", ctypes.CFUNCTYPE(ctypes.c_size_t)),
        ("live_bytes", ctypes.CFUNCTYPE(ctypes.c_size_t)),
        ("last_error", ctypes.CFUNCTYPE(ctypes.c_int)),
        ("clear_errors", ctypes.CFUNCTYPE(None)),
        # From version 2 on.
        ("last_object", ctypes.CFUNCTYPE(ctypes.c_uint64)),
        ("live_objects", ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_uint64, ctypes.POINTER(_Object), ctypes.c_size_t)),
        ("make_cublas", ctypes.CFUNCTYPE(ctypes.c_void_p)),
        ("destroy_cublas", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)),
        ("make_cudnn", ctypes.CFUNCTYPE(ctypes.c_void_p)),
        ("destroy_cudnn", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)),
        # From version 3 on.
        ("begin_turns", ctypes.CFUNCTYPE(None, ctypes.c_int)),
        ("enter_turns", ctypes.CFUNCTYPE(None, ctypes.c_int)),
        ("leave_turns", ctypes.CFUNCTYPE(None)),
        ("interleave", ctypes.CFUNCTYPE(ctypes.c_int)),
    )


class Device:
    """The device of a library that is loaded in this process; without a library one that has nothing."""

    def __init__(self, library: Path | None = None) -> None:
        self._control: _Control | None = None
        self._stream: int | None = None
        self._second_stream: int | None = None
        self._version = 0
        self.at_start = False
        """Whether memory that is allocated from now on begins behind a page that can't be accessed, and does not end
        before one."""
        self.library = library
        if library is None:
            return
        # The library is loaded: this only asks for its handle.
        loaded = ctypes.CDLL(str(library), mode=os.RTLD_NOW | os.RTLD_NOLOAD)
        try:
            ask = loaded.pluginkit_cpu_control
        except AttributeError:
            return
        ask.restype = ctypes.POINTER(_Control)
        for version in range(VERSION, 0, -1):
            if found := ask(version):
                self._control, self._version = found.contents, version
                return

    def defer(self, on: bool) -> None:
        """Whether its streams do nothing before they are waited for."""
        if self._control is not None:
            self._control.set_deferred(int(on))

    def counting(self) -> AbstractContextManager[None]:
        """The library counts by itself."""
        return nullcontext()

    def mark(self) -> int:
        """A moment in the library's life, for `left`."""
        return int(self._control.last_object()) if self._control is not None and self._version >= _COUNTS else 0

    def left(self, since: int) -> tuple[Taken, ...]:
        """What the library has taken since a `mark` and not given back; nothing of a library that doesn't count."""
        if self._control is None or self._version < _COUNTS:
            return ()
        self._control.drain()  # memory that is freed in a stream's order
        room = int(self._control.live_objects(since, None, 0))
        found = (_Object * room)()
        count = min(room, int(self._control.live_objects(since, found, room)))
        return tuple(
            Taken(each.kind.decode(), each.function.decode(), each.size, Path(os.fsdecode(each.library)), each.offset)
            for each in found[:count]
        )

    def make_handles(self) -> Handles:
        """Handles of target cpu's own libraries."""
        if self._control is None or self._version < _COUNTS:
            return NONE
        return Handles(self._control.make_cudnn() or 0, self._control.make_cublas() or 0)

    def destroy_handles(self, handles: Handles) -> tuple[str, ...]:
        """As `AnyDevice.destroy_handles`."""
        if self._control is None or handles == NONE:
            return ()
        codes = {
            "cudnn": self._control.destroy_cudnn(handles.cudnn),
            "cublas": self._control.destroy_cublas(handles.cublas),
        }
        return tuple(name for name, code in codes.items() if code)

    def allocate(self, size: int, *, around: bytes = b"") -> Buffer:
        """Guarded host memory."""
        return HostBuffer(size, at_start=self.at_start, around=around)

    def allocate_large(self, size: int) -> LargeBuffer:
        """As `AnyDevice.allocate_large`: address space."""
        return ReservedBuffer(size)

    def enqueue(self, method: str, job: Job) -> None:
        """Makes the memory the device's, and has all work done that enqueue (`method` in findings) put on the stream.

        Raises:
            Finding: the work has failed, and enqueue answered 0.
        """
        with self._enqueueing(method, job.regions) as stream:
            job.launch(stream)

    def enqueue_concurrently(self, method: str, job: Job, second: Job, *, in_place: bool) -> None:
        """As `AnyDevice.enqueue_concurrently`; a library without a device, or of an older pluginkit, enqueues the first
        alone. The two threads take turns at each call of CUDA, and the streams' work at each piece, so the same happens
        each time."""
        del in_place  # each is called once
        control = self._control
        if control is None or self._version < _TAKES_TURNS:
            self.enqueue(method, job)
            return
        self._stream = self._stream or control.make_stream()
        self._second_stream = self._second_stream or control.make_stream()
        jobs = [(job, self._stream or _DEFAULT_STREAM), (second, self._second_stream or _DEFAULT_STREAM)]
        before = [[region.buffer.contents.copy() for region in one.regions] for one, _ in jobs]
        control.set_deferred(1)

        def run(*numbers: int) -> list[list[Bytes]]:
            """Runs these contexts, and gives their results."""
            chosen = [jobs[number] for number in numbers]
            with self._registered(control, [region for one, _ in chosen for region in one.regions]):
                for number in numbers:
                    for region, contents in zip(jobs[number][0].regions, before[number], strict=True):
                        region.buffer.contents[:] = contents
                _take_turns(control, chosen)
                if error := int(control.interleave()):
                    raise _failed(method, error)
                return [concurrency.results(one.regions) for one, _ in chosen]

        try:
            alone = [run(number)[0] for number in range(2)]
            together = run(0, 1)
            for number in range(2):
                run_alone = partial(lambda which: run(which)[0], number)
                run_together = partial(lambda which: run(0, 1)[which], number)
                concurrency.check(method, number, alone[number], together[number], run_alone, run_together)
        finally:
            control.drain()
            control.set_deferred(0)

    @contextmanager
    def _enqueueing(self, method: str, regions: Sequence[Region]) -> Iterator[int]:
        control = self._control
        if control is None:
            yield _DEFAULT_STREAM
            return
        if self._stream is None:
            self._stream = control.make_stream()
        with self._registered(control, regions):
            control.enqueue_begin(self._stream)
            try:
                yield self._stream or _DEFAULT_STREAM
            finally:
                control.enqueue_end()
                error = int(control.drain())
        if error:
            raise _failed(method, error)

    @contextmanager
    def _registered(self, control: _Control, regions: Sequence[Region]) -> Iterator[None]:
        """Around a run: its memory is the device's."""
        for region in regions:
            self._register(control, region)
        try:
            yield
        finally:
            for region in regions:
                control.unregister_region(region.buffer.address)

    @staticmethod
    def _register(control: _Control, region: Region) -> None:
        written = int(region.use is Use.INPUT)
        refused = control.register_region(region.buffer.address, region.buffer.size, int(region.use), written)
        if refused and region.buffer.size:  # libraries of an older pluginkit know of no empty memory
            raise HostBug(f"a buffer of {region.buffer.size} bytes is not memory that target cpu can take")


def _failed(method: str, error: int) -> Finding:
    return Finding(method, f"answered 0, but its work on the stream failed: cudaError {error}", rule="E1")


def _take_turns(control: _Control, jobs: Sequence[tuple[Job, int]]) -> None:
    """Calls each in a thread of its own."""
    problems: list[Exception] = []

    def call(number: int, job: Job, stream: int) -> None:
        control.enter_turns(number)
        try:
            job.launch(stream)
        except Exception as problem:  # noqa: BLE001 (the thread that waits for this raises it)
            problems.append(problem)
        finally:
            control.leave_turns()

    control.begin_turns(len(jobs))
    threads = [threading.Thread(target=call, args=(number, *one)) for number, one in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
