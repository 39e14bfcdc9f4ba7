"""The baselines of a measurement: a torch expression, compiled or not, on the same inputs and stream, checked like
the plugin."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from pluginkit import gpu, installation
from pluginkit.bench import values
from pluginkit.bench.buffers import Buffers
from pluginkit.bench.measurements import Baseline
from pluginkit.bench.timing import Launchable, Timer, Work
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.field_types import Value
from pluginkit.manifest.bench_section import expression
from pluginkit.network.networks import Array

TORCH, COMPILED = "torch", "torch.compile"
"""The names of the baselines that torch computes."""


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
        compiled: whether `torch.compile` has its turn first, for these shapes alone.
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
        *,
        compiled: bool = False,
    ) -> None:
        import torch

        self._torch = torch
        self._stream = torch.cuda.ExternalStream(stream.handle)
        self._named = named
        self._compiled = compiled
        self._function = self._compile(text, fields) if compiled else _function(text, fields, self._named)
        self._buffers = buffers
        self._tensors = [self._inputs(i) for i in range(buffers.count)]

    def _compile(self, text: str, fields: Mapping[str, Value]) -> Callable[..., Any]:
        import torch._inductor.config

        # A pool of compilers would outlive the worker.
        torch._inductor.config.compile_threads = 1
        made: Callable[..., Any] = self._torch.compile(_function(text, fields, self._named), dynamic=False)
        return made

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
            made = self._function(**self._tensors[index])
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
                    self._function(**self._tensors[turn])
        except RuntimeError as error:
            raise CheckFailed(f"torch: {_first_line(error)}") from None
        return _Replayed(graph, self._on)

    def close(self) -> None:
        """Gives torch's memory back."""
        self._tensors = []
        self._torch.cuda.synchronize()
        self._torch.cuda.empty_cache()
        if self._compiled:
            self._torch.compiler.reset()


def _function(
    text: str, fields: Mapping[str, Value], named: Sequence[tuple[str, DType, tuple[int, ...]]]
) -> Callable[..., Any]:
    """The expression as a function of its inputs, as torch.compile takes it; fields are constants."""
    import torch

    names: dict[str, Any] = {"torch": torch, **fields}
    parameters = ", ".join(name for name, _, _ in named)
    exec(compile(f"def baseline({parameters}):\n    return (\n{expression(text)}\n)", "baseline", "exec"), names)
    function: Callable[..., Any] = names["baseline"]
    return function


def measure(
    text: str,
    fields: Mapping[str, Value],
    named: Sequence[tuple[str, DType, tuple[int, ...]]],
    kinds: Sequence[DType],
    right: Sequence[Array],
    allowed: values.Limits,
    buffers: Buffers,
    timer: Timer,
    *,
    compiled: bool = False,
) -> Baseline:
    """Times the expression, if what it gives is right. `kinds` and `right` are the outputs' types and values."""
    name, shown = COMPILED if compiled else TORCH, expression(text)
    if importlib.util.find_spec("torch") is None:
        return Baseline(name, shown, problem=f"torch is not installed ({installation.pip('torch')})")
    import torch

    if not torch.cuda.is_available():
        return Baseline(name, shown, problem="torch was built without CUDA, or finds no GPU")
    try:
        made = Torch(text, fields, named, buffers, timer.stream, compiled=compiled)
        try:
            _check(made, kinds, right, allowed)
            times, _ = timer.measure(Work(lambda turn: void(made.answer(turn)), buffers.count, made.capture))
        finally:
            made.close()
    except Exception as error:  # noqa: BLE001 - whatever the user's expression raises is reported with the plugin's times
        return Baseline(name, shown, problem=f"{type(error).__name__}: {_first_line(error)}")
    return Baseline(name, shown, times)


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
