"""The worker's side of `pluginkit bench --engine`: engines of TensorRT 8 timed in turns, and looked into."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from pluginkit.errors import CheckFailed
from pluginkit.gpu import GpuContext, Stream
from pluginkit.network.networks import Array
from pluginkit.process.worker_main import CallFile
from pluginkit.runtimes.nvidia.bindings import trt
from pluginkit.runtimes.nvidia.engine_contexts import Engine
from pluginkit.runtimes.tensorrt.model_worker import ModelChild

WARM_UP = 10
L2_TIMES = 4
"""Before each run so many times the L2 cache is overwritten, which also keeps the GPU busy while Python enqueues."""


def open(  # noqa: A001
    call_file: CallFile,  # noqa: ARG001 (NVIDIA's calls, not the host's)
    libraries: Sequence[tuple[str, Sequence[str], str]],
) -> TimingChild:
    """Loads NVIDIA's libraries with their plugins, and `libraries`: path, init functions, and their namespace.

    Raises:
        CheckFailed: one can't be opened, or registers nothing.
    """
    return TimingChild(libraries)


class TimingChild(ModelChild):
    """TensorRT 8 in this process, and the GPU's driver beside it."""

    def __init__(self, libraries: Sequence[tuple[str, Sequence[str], str]]) -> None:
        super().__init__(libraries)
        self._gpu = GpuContext()
        self._stream = self._gpu.stream()
        self._scratch = self._gpu.alloc(L2_TIMES * self._gpu.l2_bytes)

    def turns(self, files: Sequence[str], feeds: dict[str, Array], rounds: int) -> list[list[float]]:
        """The milliseconds of an enqueue of each engine, which run in turns on the same inputs.

        Args:
            files: the engines'.
            feeds: graph input -> array; shape tensors' values too.
            rounds: how often each is timed, after `WARM_UP` runs.

        Raises:
            CheckFailed: NVIDIA doesn't deserialize one, refuses the shapes, or an output's size isn't known before.
        """
        bound = [_Bound(self.engine(file), feeds, self._gpu) for file in files]
        for one in bound * WARM_UP:
            one.enqueue(self._stream)
        times: list[list[float]] = [[] for _ in files]
        begin, end = self._gpu.event(), self._gpu.event()
        for turn in range(rounds):
            # Which one comes first alternates: what is first in a turn may find another clock.
            for index in sorted(range(len(bound)), reverse=bool(turn % 2)):
                self._gpu.fill(self._scratch.address, 0x5A, self._scratch.size, self._stream)
                begin.record(self._stream)
                bound[index].enqueue(self._stream)
                end.record(self._stream)
                end.synchronize()
                times[index].append(1e3 * end.seconds_since(begin))
        return times

    def inspected(self, file: str) -> tuple[list[dict[str, Any]], int]:
        """What the engine inspector tells of each layer of an engine that has run, and its contexts' device memory."""
        context: Any = self.engine(file).context(0)
        inspector = context.engine.create_engine_inspector()
        inspector.execution_context = context
        text = inspector.get_engine_information(trt.LayerInformationFormat.JSON)
        told = json.loads(text)["Layers"] if text else []
        return [one for one in told if isinstance(one, dict)], int(context.engine.device_memory_size)


class _Bound:
    """A context with its buffers."""

    def __init__(self, engine: Engine, feeds: dict[str, Array], gpu: GpuContext) -> None:
        self._context: Any = engine.context(0)
        self._held: list[Any] = []
        names = [self._context.engine.get_tensor_name(i) for i in range(self._context.engine.num_io_tensors)]
        inputs = [name for name in names if self._context.engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT]
        for name in inputs:
            kind = trt.nptype(self._context.engine.get_tensor_dtype(name))
            array = np.ascontiguousarray(np.asarray(feeds[name], kind).reshape(np.shape(feeds[name])))
            if not self._context.set_input_shape(name, array.shape):
                raise CheckFailed(f"TensorRT refuses shape {list(array.shape)} for input {name!r}")
            if self._context.engine.is_shape_inference_io(name):
                self._address(name, array.ctypes.data, array)
                continue
            memory = gpu.alloc(max(array.nbytes, 1))
            gpu.write(memory.address, array)
            self._address(name, memory.address, memory)
        for name in names:
            if name in inputs:
                continue
            shape = tuple(self._context.get_tensor_shape(name))
            if min(shape, default=0) < 0:
                raise CheckFailed(f"the shape of output {name!r} is known after a run alone, and isn't measured")
            kind = trt.nptype(self._context.engine.get_tensor_dtype(name))
            size = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
            if self._context.engine.is_shape_inference_io(name):
                array = np.zeros(shape, kind)
                self._address(name, array.ctypes.data, array)
                continue
            memory = gpu.alloc(max(size, 1))
            self._address(name, memory.address, memory)

    def _address(self, name: str, address: int, owner: Any) -> None:
        self._held.append(owner)
        if not self._context.set_tensor_address(name, address):
            raise CheckFailed(f"TensorRT refuses an address for {name!r}")

    def enqueue(self, stream: Stream) -> None:
        """Puts a run on a stream.

        Raises:
            CheckFailed: TensorRT refuses it.
        """
        if not self._context.execute_async_v3(stream_handle=stream.handle):
            raise CheckFailed("TensorRT's enqueue answers false")
