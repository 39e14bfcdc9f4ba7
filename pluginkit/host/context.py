"""The run of a built layer, in TensorRT's order, in a process that knows only the serialized bytes.

| step | what is called | why so |
| --- | --- | --- |
| engine | deserializePlugin, setPluginNamespace, initialize | S3, S6, L6 |
| context | clone, attachToContext on the clone | a clone of an initialized plugin needs no initialize (L2, L5) |
| new shapes | configurePlugin with the real dimensions as dims, min, opt and max | C11 |
| run | getWorkspaceSize, enqueue | the workspace has exactly that size, null for none |
| end | detachFromContext, destroy of the clone; terminate, destroy of the engine's | L6, L7 |
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from pluginkit import _native
from pluginkit.formats import Format
from pluginkit.host.device import Device, Region, Use
from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.library import Creator
from pluginkit.host.memory import Input, Tensor, check_guards, check_padding_unread, report_unwritten
from pluginkit.host.plugin import Desc, DynamicDesc, Plugin, name_of
from pluginkit.host.spec import BuiltPlugin, TensorSpec

if TYPE_CHECKING:
    from typing_extensions import Self

Array = np.ndarray[Any, Any]


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
        self._engine = creator.deserialize(built.layer, built.serialized)
        self._engine.set_plugin_namespace(built.namespace)
        _check_restored(self._engine, built)
        self._engine.initialize()
        self._plugin = self._engine.clone()
        self._plugin.attach_to_context()

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
            self._plugin.configure_plugin([_fixed(d) for d in ins], [_fixed(d) for d in outs])
            self._shapes = shapes
        self.enqueues += 1
        outputs = self._enqueue(arrays, ins, outs, turn=0)
        suspects = [o.unwritten(0) for o in outputs]
        padded = any(Format.from_code(s.format).pads(a.shape) for s, a in zip(self.specs, arrays, strict=True))
        if padded or any(mask.any() for mask in suspects):
            # The pattern can be a plugin's honest result: an element that keeps another one as well is not.
            again = self._enqueue(arrays, ins, outs, turn=1)
            for output, mask, other in zip(outputs, suspects, again, strict=True):
                both = mask & other.unwritten(1)
                if both.any():
                    report_unwritten(output, both)
                if padded:
                    check_padding_unread(output, other)
        return [o.array.copy() for o in outputs]

    def close(self) -> None:
        """Detaches, terminates and destroys."""
        self._plugin.detach_from_context()
        self._plugin.destroy()
        self._engine.terminate()
        self._engine.destroy()

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
        inputs = [
            Input(f"input {i}", s.dtype, a, Format.from_code(s.format), turn)
            for i, (s, a) in enumerate(zip(self.specs, arrays, strict=True))
        ]
        outputs = [
            Tensor(f"output {i}", s.dtype, d.dims, Format.from_code(s.format))
            for i, (s, d) in enumerate(zip(self.built.outputs[0], outs, strict=True))
        ]
        for output in outputs:
            output.poison(turn)
        size = self._plugin.workspace_size(ins, outs)
        if size > self.built.workspace:
            raise Finding(
                name_of("getWorkspaceSize"),
                f"answered {size} bytes for shapes of a profile for whose max it had answered {self.built.workspace}",
            )
        workspace = _native.Buffer(size)
        np.asarray(memoryview(workspace))[:] = 0xFF
        regions = [
            *(Region(t.buffer, Use.INPUT) for t in inputs),
            *(Region(t.buffer, Use.OUTPUT) for t in outputs),
            Region(workspace, Use.WORKSPACE),
        ]
        with self._device.enqueueing(regions) as stream:
            self._plugin.enqueue(
                ins,
                outs,
                in_addresses=[t.address for t in inputs],
                out_addresses=[t.address for t in outputs],
                workspace=workspace.address if size else 0,
                stream=stream,
            )
        for tensor in (*inputs, *outputs):
            tensor.check_guards()
        check_guards(workspace, "the workspace")
        for one in inputs:
            one.check_unmodified()
        return outputs


def _fixed(desc: Desc) -> DynamicDesc:
    return DynamicDesc(desc, desc.dims, desc.dims, desc.dims)


def _check_restored(plugin: Plugin, built: BuiltPlugin) -> None:
    again = plugin.serialize()
    if again != built.serialized:
        raise Finding(
            "IPluginCreator::deserializePlugin",
            f"the plugin made of {len(built.serialized)} bytes serializes to {len(again)} other bytes",
        )
    count = plugin.nb_outputs()
    if count != len(built.shapes):
        raise Finding(name_of("getNbOutputs"), f"answered {count} after deserialization, {len(built.shapes)} at build")
