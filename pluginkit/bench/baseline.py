"""The baseline of a measurement: a torch expression on the same inputs and stream, checked like the plugin."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from pluginkit import gpu
from pluginkit.bench import values
from pluginkit.bench.buffers import Buffers
from pluginkit.bench.model import Baseline
from pluginkit.bench.timing import Launchable, Timer, Work
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.field_types import Value
from pluginkit.manifest.bench_section import expression
from pluginkit.network.model import Array

MISSING = "torch is not installed (pip install torch)"


class _Bytes:
    """Device memory as torch.as_tensor takes it."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}


class _Replayed:
    """A graph of torch's, which it replays on its current stream: that is made to be ours."""

    def __init__(self, graph: Any, current: Callable[[], AbstractContextManager[None]]) -> None:
        self._graph = graph
        self._current = current

    def launch(self, stream: gpu.Stream) -> None:
        """Puts its work on the stream."""
        del stream
        with self._current():
            self._graph.replay()


class Torch:
    """An expression of torch on the buffers' inputs.

    Args:
        text: the manifest's baseline.
        fields: the fields' values, by name.
        named: the inputs' names, types and shapes.
        buffers: where they lie.
        stream: where it runs.
    """

    def __init__(
        self,
        text: str,
        fields: Mapping[str, Value],
        named: Sequence[tuple[str, DType, tuple[int, ...]]],
        buffers: Buffers,
        stream: gpu.Stream,
    ) -> None:
        import torch

        self._torch = torch
        self._stream = torch.cuda.ExternalStream(stream.handle)
        self._code = compile(expression(text), "baseline", "eval")
        self._fields = {"torch": torch, **fields}
        self._named = named
        self._buffers = buffers
        self._tensors = [self._inputs(i) for i in range(buffers.count)]

    def _inputs(self, index: int) -> dict[str, Any]:
        found = {}
        for address, (name, kind, shape) in zip(self._buffers.inputs[index], self._named, strict=True):
            size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
            raw = self._torch.as_tensor(_Bytes(address, size), device="cuda")
            found[name] = raw.view(getattr(self._torch, kind.value)).view(shape)
        return found

    def answer(self, index: int) -> list[Any]:
        """Computes it on a set of inputs."""
        with self._on():
            made = eval(self._code, {**self._fields, **self._tensors[index]})
        return list(made) if isinstance(made, (tuple, list)) else [made]

    @contextmanager
    def _on(self) -> Iterator[None]:
        with self._torch.no_grad(), self._torch.cuda.stream(self._stream):
            yield

    def array(self, tensor: Any, kind: DType) -> Array:
        """An answer as NumPy has it."""
        with self._on():
            raw = tensor.detach().contiguous().view(-1).view(self._torch.uint8).cpu().numpy()
        found: Array = raw.view(kind.numpy).reshape(tuple(tensor.shape))
        return found

    def is_of(self, tensor: Any, kind: DType) -> bool:
        """Whether an answer has a type."""
        return bool(tensor.dtype == getattr(self._torch, kind.value))

    def capture(self, turns: Sequence[int]) -> Launchable:
        """A graph of so many."""
        graph = self._torch.cuda.CUDAGraph()
        try:
            with self._torch.no_grad(), self._torch.cuda.graph(graph, stream=self._stream):
                for turn in turns:
                    eval(self._code, {**self._fields, **self._tensors[turn]})
        except RuntimeError as error:
            raise CheckFailed(f"torch: {_first_line(error)}") from None
        return _Replayed(graph, self._on)

    def close(self) -> None:
        """Gives torch's memory back."""
        self._tensors = []
        self._torch.cuda.synchronize()
        self._torch.cuda.empty_cache()


def measure(
    text: str,
    fields: Mapping[str, Value],
    named: Sequence[tuple[str, DType, tuple[int, ...]]],
    kinds: Sequence[DType],
    right: Sequence[Array],
    allowed: values.Limits,
    buffers: Buffers,
    timer: Timer,
) -> Baseline:
    """Times the expression, if what it gives is right. `kinds` and `right` are the outputs' types and values."""
    if importlib.util.find_spec("torch") is None:
        return Baseline(expression(text), problem=MISSING)
    import torch

    if not torch.cuda.is_available():
        return Baseline(expression(text), problem="torch was built without CUDA, or finds no GPU")
    try:
        made = Torch(text, fields, named, buffers, timer.stream)
        try:
            _check(made, kinds, right, allowed)
            times, _ = timer.measure(Work(lambda turn: void(made.answer(turn)), buffers.count, made.capture))
        finally:
            made.close()
    except Exception as error:  # noqa: BLE001 - whatever a person's expression raises is reported with the plugin's times
        return Baseline(expression(text), problem=f"{type(error).__name__}: {_first_line(error)}")
    return Baseline(expression(text), times)


def void(_: object) -> None:
    """Drops an answer, so that torch has its memory again before the next."""


def _check(made: Torch, kinds: Sequence[DType], right: Sequence[Array], allowed: values.Limits) -> None:
    answers = made.answer(0)
    if len(answers) != len(right):
        raise CheckFailed(f"gives {len(answers)} tensors, and the plugin has {len(right)} outputs")
    for number, (tensor, kind, want) in enumerate(zip(answers, kinds, right, strict=True)):
        if not made.is_of(tensor, kind) or tuple(tensor.shape) != want.shape:
            raise CheckFailed(
                f"gives {tensor.dtype} of {list(tensor.shape)}, expected {kind.value} of {list(want.shape)}"
            )
        values.check(str(number), made.array(tensor, kind), want, allowed, "the baseline")


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
