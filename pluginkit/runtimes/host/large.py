"""A run of one layer on tensors of more than 2^31 elements, in the worker: pieces of them are given and read."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from pluginkit import host
from pluginkit.dtypes import DType
from pluginkit.gpu import CudaError
from pluginkit.host.bases.lifecycles import LIFECYCLES
from pluginkit.host.memory.address_space import LargeBuffer, ReservedBuffer
from pluginkit.host.memory.device import Job, Region, Use
from pluginkit.host.memory.guarded_tensors import POISONS
from pluginkit.network.large import TOOK_TOO_MUCH, LargeCase, LargeRun, LargeTensor
from pluginkit.network.networks import Array

_ENDS = "PLUGINKIT_CPU_ENDS"
_WATCHED_SECONDS = 0.02


def run(
    creator: host.Creator,
    device: host.AnyDevice,
    case: LargeCase,
    built: host.BuiltPlugin,
    specs: list[host.TensorSpec],
    most_touched: int,
    cpu_seconds: float,
) -> LargeRun:
    """Runs the layer once. On target cpu only the blocks at the ends of each launch are run, and the process ends where
    more than `most_touched` bytes are touched, or enqueue takes more than `cpu_seconds` of the processor's time.

    Raises:
        Finding: enqueue has failed.
        HostBug: the device has no such memory.
    """
    shape_inputs, aliases = (built.v3.shape_inputs, built.v3.aliases) if built.v3 else ((), ())
    specs = [spec for index, spec in enumerate(specs) if index not in shape_inputs]
    inputs = [tensor for index, tensor in enumerate(case.inputs) if index not in shape_inputs]
    sources = aliases or (None,) * len(case.outputs)
    own = [tensor for tensor, source in zip(case.outputs, sources, strict=True) if source is None]
    tensors = (*inputs, *own)
    ins = [spec.at(tensor.shape) for spec, tensor in zip(specs, inputs, strict=True)]
    outs = [spec.at(tensor.shape) for spec, tensor in zip(built.outputs[0], case.outputs, strict=True)]
    on_cpu = isinstance(device, host.Device)
    with ExitStack() as stack:

        def allocate(size: int) -> LargeBuffer:
            buffer = device.allocate_large(size)
            stack.callback(buffer.free)
            return buffer

        try:
            buffers = [allocate(_bytes(tensor)) for tensor in tensors]
        except (MemoryError, CudaError) as error:
            return LargeRun(problem=f"{_bytes(max(tensors, key=_bytes))} bytes for a tensor: {error}")
        layer = LIFECYCLES[built.base].restore(creator, built)
        stack.callback(layer.close)
        layer.reshape(ins, outs, (specs, built.outputs[0]))
        workspace = allocate(size := layer.workspace_size(ins, outs))
        for tensor, buffer in zip(inputs, buffers, strict=False):
            for start, values in tensor.pieces:
                _write(tensor, buffer, start, values)
        for tensor, buffer in zip(own, buffers[len(inputs) :], strict=True):
            for start, values in tensor.pieces:
                _poison(tensor, buffer, start, values.size)
        fresh = iter(buffers[len(inputs) :])
        given = [next(fresh) if source is None else buffers[source] for source in sources]
        before = [_raw_pieces(tensor, buffer) for tensor, buffer in zip(case.outputs, given, strict=True)]

        def launch(stream: int) -> None:
            layer.enqueue(
                ins,
                outs,
                in_addresses=[one.address for one in buffers[: len(inputs)]],
                out_addresses=[one.address for one in given],
                workspace=workspace.address if size else 0,
                stream=stream,
            )

        uses = [Use.INPUT] * len(inputs) + [Use.OUTPUT] * len(own)
        regions = [Region(buffer, use) for buffer, use in zip(buffers, uses, strict=True)]
        job = Job([*regions, Region(workspace, Use.WORKSPACE)], launch)
        counts = sorted({int(np.prod(tensor.shape, dtype=np.int64)) for tensor in tensors})
        spread = _spread(given)
        begun = time.process_time()
        with _ends([] if case.whole else counts, most_touched, cpu_seconds) if on_cpu else ExitStack():
            device.enqueue(layer.name_of("enqueue"), job)
        seconds = time.process_time() - begun
        elsewhere = spread()
        outputs = [
            tuple(_read(tensor, piece, old, new) for piece, old, new in zip(tensor.pieces, *both, strict=True))
            for tensor, *both in zip(case.outputs, before, map(_raw_pieces, case.outputs, given), strict=True)
        ]
        if not on_cpu:
            # What an aliased output keeps is the input's value, which may be right.
            outputs = [
                one if source is None else tuple((values, np.ones_like(written)) for values, written in one)
                for one, source in zip(outputs, sources, strict=True)
            ]
    return LargeRun(tuple(outputs), elsewhere, seconds=seconds)


def _bytes(tensor: LargeTensor) -> int:
    return int(np.prod(tensor.shape, dtype=np.int64)) * tensor.dtype.itemsize


def _write(tensor: LargeTensor, buffer: LargeBuffer, start: int, values: Array) -> None:
    buffer.write(start * tensor.dtype.itemsize, _raw(values.astype(tensor.dtype.numpy)))


def _poison(tensor: LargeTensor, buffer: LargeBuffer, start: int, count: int) -> None:
    bits = np.full(count, _pattern(tensor.dtype), f"u{tensor.dtype.itemsize}")
    buffer.write(start * tensor.dtype.itemsize, _raw(bits))


def _raw_pieces(tensor: LargeTensor, buffer: LargeBuffer) -> list[Array]:
    """The bits of each piece's elements."""
    size = tensor.dtype.itemsize
    return [buffer.read(start * size, values.size * size).view(f"u{size}").copy() for start, values in tensor.pieces]


def _read(tensor: LargeTensor, piece: tuple[int, Array], before: Array, bits: Array) -> tuple[Array, Array]:
    """The values as the graph has them, and which of them were written: they are others than before."""
    values, shape = bits.view(tensor.dtype.numpy), piece[1].shape
    number = values.astype(values.dtype if tensor.dtype.is_integer else np.float32)
    return number.reshape(shape), np.asarray(bits != before).reshape(shape)


def _pattern(dtype: DType) -> int:
    return POISONS[dtype][0]


def _raw(values: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


def _spread(buffers: Sequence[LargeBuffer]) -> Callable[[], bool]:
    """Whether memory of outputs has been touched since, besides the pieces, which have been; where the kernel doesn't
    tell it may have been."""
    reserved = [one for one in buffers if isinstance(one, ReservedBuffer)]
    before = [one.present_pages() for one in reserved]

    def since() -> bool:
        return any(
            count == one.pages or one.present_pages() > count for one, count in zip(reserved, before, strict=True)
        )

    return since


@contextmanager
def _ends(counts: Sequence[int], most_touched: int, cpu_seconds: float) -> Iterator[None]:
    """Has target cpu run the blocks at the ends alone, all of them without `counts`, and ends the process where it
    takes too much nevertheless."""
    if counts:
        os.environ[_ENDS] = ",".join(map(str, counts))
    over = threading.Event()
    limits = (_resident() + most_touched, time.process_time() + cpu_seconds)
    watcher = threading.Thread(target=_watch, args=(over, *limits), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        os.environ.pop(_ENDS, None)


def _watch(over: threading.Event, most: int, cpu_end: float) -> None:
    while not over.wait(_WATCHED_SECONDS):
        if _resident() > most or time.process_time() > cpu_end:
            os._exit(TOOK_TOO_MUCH)


def _resident() -> int:
    """The bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
