"""The run of a built layer, in TensorRT's order, in a process that knows only the serialized bytes.

Buffers are poisoned before and checked after each run here; which methods of the plugin are called around that is its
layer's to know: `dynamic` and its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pluginkit import _native, bases
from pluginkit.host import dynamic, ioext
from pluginkit.host.descs import Desc
from pluginkit.host.device import Device, Region, Use
from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.library import Creator
from pluginkit.host.memory import Input, Tensor, check_guards, report_unwritten
from pluginkit.host.spec import BuiltPlugin, TensorSpec

if TYPE_CHECKING:
    from typing_extensions import Self

Array = np.ndarray[Any, Any]


class Layer(Protocol):
    """A layer of an engine in a context: what differs from interface to interface."""

    def name_of(self, method: str) -> str:
        """The C++ name of a method, for findings."""

    def reshape(self, inputs: Sequence[Desc], outputs: Sequence[Desc]) -> None:
        """Called before the first run, and before each whose shapes are others than the last one's."""

    def workspace_size(self, inputs: Sequence[Desc], outputs: Sequence[Desc]) -> int:
        """The workspace of a run, in bytes."""

    def enqueue(
        self,
        inputs: Sequence[Desc],
        outputs: Sequence[Desc],
        *,
        in_addresses: Sequence[int],
        out_addresses: Sequence[int],
        workspace: int,
        stream: int,
    ) -> None:
        """Runs the plugin."""

    def close(self) -> None:
        """Ends the context, then the engine."""


LAYERS: dict[bases.Name, Callable[[Creator, BuiltPlugin], Layer]] = {"dynamic": dynamic.Layer, "ioext": ioext.Layer}
"""Making one deserializes the plugin, initializes it, and attaches a clone."""


class Context:
    """An execution context of one layer; a context manager. `enqueues` counts the calls of `run`.

    Raises:
        Finding: deserialize, initialize, clone, ... answer wrongly, or the plugin serializes to other bytes than it was
            made of (rule S3).
    """

    def __init__(
        self, creator: Creator, built: BuiltPlugin, input_specs: Sequence[TensorSpec], device: Device | None = None
    ) -> None:
        self.built = built
        self._device = device or Device()
        self.specs = tuple(input_specs)
        self.enqueues = 0
        self._shapes: list[tuple[int, ...]] = []
        self._layer = LAYERS[built.base](creator, built)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Runs the layer once on arrays of the specs' types, and returns its outputs.

        Raises:
            Finding: enqueue fails, writes where it must not, or leaves elements of an output unwritten.
            HostBug: an array's type or shape is not what the specs say.
        """
        arrays = [self._checked(spec, value) for spec, value in zip(self.specs, inputs, strict=True)]
        shapes = [a.shape for a in arrays]
        ins = [s.at(a.shape) for s, a in zip(self.specs, arrays, strict=True)]
        outs = [
            spec.at(shape.at(self.built.input_dims, shapes))
            for spec, shape in zip(self.built.outputs[0], self.built.shapes, strict=True)
        ]
        if shapes != self._shapes:
            self._layer.reshape(ins, outs)
            self._shapes = shapes
        self.enqueues += 1
        outputs = self._enqueue(arrays, ins, outs, turn=0)
        suspects = [o.unwritten(0) for o in outputs]
        if any(mask.any() for mask in suspects):
            # The pattern can be a plugin's honest result: an element that keeps another one as well is not.
            again = self._enqueue(arrays, ins, outs, turn=1)
            for output, mask, other in zip(outputs, suspects, again, strict=True):
                both = mask & other.unwritten(1)
                if both.any():
                    report_unwritten(output, both)
        return [o.array.copy() for o in outputs]

    def close(self) -> None:
        """Detaches, terminates and destroys."""
        self._layer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        # After a finding the plugin may be in any state: it goes with its process.
        if kind is None:
            self.close()

    @staticmethod
    def _checked(spec: TensorSpec, value: Array) -> Array:
        fits = value.dtype == spec.dtype.numpy and len(value.shape) == len(spec.dims)
        inside = fits and all(low <= n <= high for low, n, high in zip(spec.min, value.shape, spec.max, strict=True))
        if not inside:
            raise HostBug(f"an input of type {value.dtype} and shape {value.shape} for {spec}")
        return value

    def _enqueue(self, arrays: Sequence[Array], ins: list[Desc], outs: list[Desc], turn: int) -> list[Tensor]:
        method = self._layer.name_of("enqueue")
        inputs = [
            Input(method, f"input {i}", s.dtype, a) for i, (s, a) in enumerate(zip(self.specs, arrays, strict=True))
        ]
        outputs = [
            Tensor(method, f"output {i}", s.dtype, d.dims)
            for i, (s, d) in enumerate(zip(self.built.outputs[0], outs, strict=True))
        ]
        for output in outputs:
            output.poison(turn)
        size = self._layer.workspace_size(ins, outs)
        if size > self.built.workspace:
            raise Finding(
                self._layer.name_of("getWorkspaceSize"),
                f"answered {size} bytes for shapes of a profile for whose max it had answered {self.built.workspace}",
            )
        workspace = _native.Buffer(size)
        np.asarray(memoryview(workspace))[:] = 0xFF
        regions = [
            *(Region(t.buffer, Use.INPUT) for t in inputs),
            *(Region(t.buffer, Use.OUTPUT) for t in outputs),
            Region(workspace, Use.WORKSPACE),
        ]
        with self._device.enqueueing(method, regions) as stream:
            self._layer.enqueue(
                ins,
                outs,
                in_addresses=[t.address for t in inputs],
                out_addresses=[t.address for t in outputs],
                workspace=workspace.address if size else 0,
                stream=stream,
            )
        for tensor in (*inputs, *outputs):
            tensor.check_guards()
        check_guards(workspace, method, "the workspace")
        for one in inputs:
            one.check_unmodified()
        return outputs
