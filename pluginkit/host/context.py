"""The run of a built layer, in TensorRT's order, in a process that knows only the serialized bytes.

Buffers are poisoned before and checked after each run here; which methods of the plugin are called around that is its
layer's to know: `bases`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from pluginkit.formats import Format
from pluginkit.host.bases.lifecycles import LIFECYCLES, Layer
from pluginkit.host.descriptors import Desc
from pluginkit.host.errors import Finding, HostBug
from pluginkit.host.handles import NONE
from pluginkit.host.library import Creator
from pluginkit.host.memory.buffers import Allocate, Buffer, Bytes, HostBuffer
from pluginkit.host.memory.device import AnyDevice, Device, Job, Region, Use
from pluginkit.host.memory.guarded_tensors import (
    OTHER_LANES,
    OTHER_SURROUNDINGS,
    USUAL,
    GuardedInput,
    GuardedTensor,
    check_guards,
    report_unwritten,
)
from pluginkit.host.memory.surroundings import check_padding_unread, check_surroundings_unread
from pluginkit.host.spec import BuiltPlugin, TensorSpec

if TYPE_CHECKING:
    from typing_extensions import Self

Array = np.ndarray[Any, Any]


class Context:
    """An execution context of one layer; a context manager. `enqueues` counts the calls of `run`.

    With `concurrent` a second context of the same engine is at work in every run, on other data. `with_handles` gives
    the plugin handles of cuDNN and cuBLAS. With `surrounded` each run whose inputs have bytes beside them that can be
    read unnoticed is made with other such bytes too. With `own_bounds` a plugin that is configured at run time gets
    each shape as its own min and max, as of TensorRT 8.5.3 (docs/behaviours.md, `configured-again`). `times` is how
    often a run calls enqueue. `initialize_clones` is that of `Lifecycle.restore`.

    Raises:
        Finding: deserialize, initialize, clone, ... answer wrongly, or the plugin serializes to other bytes than it was
            made of (rule S3).
    """

    def __init__(
        self,
        creator: Creator,
        built: BuiltPlugin,
        input_specs: Sequence[TensorSpec],
        device: AnyDevice | None = None,
        *,
        concurrent: bool = False,
        with_handles: bool = False,
        surrounded: bool = False,
        own_bounds: bool = False,
        initialize_clones: bool = False,
    ) -> None:
        self.built = built
        self._own_bounds = own_bounds
        self.times = 1
        self._surrounded = surrounded
        self._device: AnyDevice = device or Device()
        self.specs = tuple(input_specs)
        self.enqueues = 0
        self._shapes: list[tuple[int, ...]] = []
        self._changed = False  # of the profile, since the last run
        self._whole = True  # whether the plugin is to write each element of its outputs, in this run
        self._open_around = False  # in the last enqueue: whether bytes beside an input can be read unnoticed
        self._shape_inputs = built.v3.shape_inputs if built.v3 else ()
        self._aliases = built.v3.aliases if built.v3 else (None,) * len(built.shapes)
        self._profile = built.profile_of(self._tensor_specs())
        self._handles = self._device.make_handles() if with_handles else NONE
        self._layer = LIFECYCLES[built.base].restore(creator, built, self._handles, initialize_clones=initialize_clones)
        self._second = self._layer.second_context() if concurrent else None

    def run(self, inputs: Sequence[Array], free: Sequence[Array] = (), *, used: bool = True) -> list[Array]:
        """Runs the layer once on arrays of the specs' types, and returns its outputs.

        `free` has for each output a mask of the elements that mean nothing; empty means that none do. What is not
        `used` may hold anything, and isn't counted.

        Raises:
            Finding: enqueue fails, writes where it must not, or leaves elements unwritten that mean something (E6).
            HostBug: an array's type or shape is not that of its spec.
        """
        given = list(enumerate(zip(self.specs, inputs, strict=True)))
        arrays = [self._checked(spec, value) for i, (spec, value) in given if i not in self._shape_inputs]
        values = [self._values(spec, value) for i, (spec, value) in given if i in self._shape_inputs]
        shapes = [*(a.shape for a in arrays), *values]
        ins = [s.at(a.shape) for s, a in zip(self._tensor_specs(), arrays, strict=True)]
        # As large as they may be, where only enqueue will know.
        outs = [
            spec.at(shape.at(self.built.input_dims, shapes))
            for spec, shape in zip(self.built.outputs[0], self.built.shapes, strict=True)
        ]
        self._check_aliases(ins, outs)
        if shapes != self._shapes or self._changed:
            self._reshape(ins, outs)
            self._shapes, self._changed = shapes, False
        self.enqueues += used
        self._whole = used and not self.built.shapes[0].sizes and all(mask is None for mask in free)
        enqueue = partial(self._enqueue, arrays, ins, outs)
        outputs = enqueue(USUAL)
        dims = self._settled(shapes, outputs)
        if not used:
            return [_part(o.array, d).copy() for o, d in zip(outputs, dims, strict=True)]
        masks: list[Array | None] = list(free) or [None] * len(dims)
        meant = [_wanted(mask, d) for mask, d in zip(masks, dims, strict=True)]
        suspects = [
            self._unwritten(i, o, d, 0) & m for i, (o, d, m) in enumerate(zip(outputs, dims, meant, strict=True))
        ]
        wanted = [_padded(m, o.shape) for m, o in zip(meant, outputs, strict=True)]
        specs = zip(self._tensor_specs(), arrays, strict=True)
        padded = any(Format.from_code(s.format).pads(a.shape) for s, a in specs)
        if padded or any(mask.any() for mask in suspects):
            # The pattern can be a plugin's honest result: an element that keeps another one as well is not.
            again = enqueue(OTHER_LANES)
            for i, (output, mask, other, there) in enumerate(zip(outputs, suspects, again, dims, strict=True)):
                both = mask & self._unwritten(i, other, there, 1)
                if both.any():
                    report_unwritten(output, both)
            if padded:
                check_padding_unread(outputs, again, wanted, enqueue)
        if self._surrounded and self._open_around:
            check_surroundings_unread(outputs, enqueue(OTHER_SURROUNDINGS), wanted, enqueue)
        return [_part(o.array, d).copy() for o, d in zip(outputs, dims, strict=True)]

    def switch_profile(self, built: BuiltPlugin, input_specs: Sequence[TensorSpec]) -> None:
        """The runs that follow are in another profile, as after setOptimizationProfileAsync.

        Args:
            built: the same layer, with the tactic of that profile.
            input_specs: of the inputs in that profile.
        """
        self.built, self.specs = built, tuple(input_specs)
        profile = built.profile_of(self._tensor_specs())
        self._changed = self._changed or profile != self._profile
        self._profile = profile
        for layer in filter(None, (self._layer, self._second)):
            layer.select_tactic(built)

    def close(self) -> None:
        """Detaches, terminates and destroys."""
        if self._second is not None:
            self._second.close()
        self._layer.close()
        if gone := self._device.destroy_handles(self._handles):
            raise Finding(
                self._layer.name_of("detachFromContext"),
                f"has destroyed what attachToContext was given as {' and '.join(gone)}: the context owns its handles",
                rule="L11",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        # After other findings the plugin may be in any state: it goes with its process.
        if kind is None or (isinstance(value, Finding) and value.contained):
            self.close()

    def _reshape(self, ins: Sequence[Desc], outs: Sequence[Desc]) -> None:
        """Passes the plugin the shapes; in a new context those of the profile's opt first, as IBuilder does (C11)."""
        bounds = self._tensor_specs(), self.built.outputs[self._profile]
        calls = [(ins, self._described(outs))]
        if not self._shapes and not self._shape_inputs:
            opt = [spec.at(spec.opt) for spec in bounds[0]], [spec.at(spec.opt) for spec in bounds[1]]
            if [desc.dims for desc in opt[0]] != [desc.dims for desc in ins]:
                calls.insert(0, (opt[0], self._described(opt[1])))
        for layer in filter(None, (self._layer, self._second)):
            for given in calls:
                layer.reshape(*given, None if self._own_bounds else bounds)

    def _tensor_specs(self) -> list[TensorSpec]:
        return [spec for i, spec in enumerate(self.specs) if i not in self._shape_inputs]

    @staticmethod
    def _values(spec: TensorSpec, value: Array) -> tuple[int, ...]:
        """A shape input's values: what stands in its spec instead of a shape."""
        values = tuple(int(number) for number in value.ravel())
        fits = value.dtype == spec.dtype.numpy and len(values) == len(spec.dims)
        if not fits or any(not a <= n <= b for a, n, b in zip(spec.min, values, spec.max, strict=True)):
            raise HostBug(f"a shape input of type {value.dtype} and values {values} for {spec}")
        return values

    def _check_aliases(self, ins: Sequence[Desc], outs: Sequence[Desc]) -> None:
        for index, source in enumerate(self._aliases):
            if source is not None and (outs[index].dims, outs[index].type) != (ins[source].dims, ins[source].type):
                raise Finding(
                    "IPluginV3OneBuildV2::getAliasedInput",
                    f"output {index} of type {outs[index].type} and shape {outs[index].dims} shares the memory of "
                    f"input {source} of type {ins[source].type} and shape {ins[source].dims}: they must be alike",
                    rule="V4",
                )

    def _settled(self, shapes: Sequence[tuple[int, ...]], outputs: Sequence[GuardedTensor]) -> list[tuple[int, ...]]:
        """The outputs' shapes, now that the size tensors have been written."""
        sizes = {size.output: int(outputs[size.output].array[()]) for size in self.built.shapes[0].sizes}
        for index, most in self.built.shapes[0].most(self.built.input_dims, shapes).items():
            if not 0 <= sizes[index] <= most:
                raise Finding(
                    self._layer.name_of("enqueue"),
                    f"wrote {sizes[index]} to output {index}, a size tensor whose upper bound is {most}",
                    rule="T14",
                )
        return [shape.at(self.built.input_dims, shapes, sizes) for shape in self.built.shapes]

    def _described(self, outs: Sequence[Desc]) -> list[Desc]:
        """As the plugin sees them: -1 where the dimension depends on what it will compute."""
        return [
            replace(
                desc, dims=tuple(-1 if hidden else n for n, hidden in zip(desc.dims, shape.data_dependent, strict=True))
            )
            for desc, shape in zip(outs, self.built.shapes, strict=True)
        ]

    def _unwritten(self, index: int, output: GuardedTensor, dims: tuple[int, ...], turn: int) -> np.ndarray[Any, Any]:
        if self._aliases[index] is not None:
            return np.zeros(dims, bool)  # what is not written keeps the input's value
        return _part(output.unwritten(turn), dims)

    @staticmethod
    def _checked(spec: TensorSpec, value: Array) -> Array:
        fits = value.dtype == spec.dtype.numpy and len(value.shape) == len(spec.dims)
        inside = fits and all(low <= n <= high for low, n, high in zip(spec.min, value.shape, spec.max, strict=True))
        if not inside:
            raise HostBug(f"an input of type {value.dtype} and shape {value.shape} for {spec}")
        return value

    def _enqueue(self, arrays: Sequence[Array], ins: list[Desc], outs: list[Desc], turn: int) -> list[GuardedTensor]:
        method = self._layer.name_of("enqueue")
        prepared = self._prepare(self._layer, arrays, ins, outs, turn)
        if self._second is None:
            self._device.enqueue(method, prepared.job)
        else:
            second = self._prepare(self._second, [changed(array) for array in arrays], ins, outs, turn)
            in_place = any(source is not None for source in self._aliases)
            self._device.enqueue_concurrently(method, prepared.job, second.job, in_place=in_place)
        for tensor in (*prepared.inputs, *prepared.outputs):
            tensor.check_guards()
        check_guards(prepared.workspace, method, "the workspace")
        for index, one in enumerate(prepared.inputs):
            if index not in self._aliases:
                one.check_unmodified()
        self._open_around = any(one.buffer.open_around for one in prepared.inputs)
        return prepared.outputs

    def _prepare(
        self, layer: Layer, arrays: Sequence[Array], ins: list[Desc], outs: list[Desc], turn: int
    ) -> _Prepared:
        method, allocate = layer.name_of("enqueue"), self._device.allocate

        def given(allocate: Allocate, index: int, spec: TensorSpec, value: Array) -> GuardedInput:
            form = Format.from_code(spec.format)
            return GuardedInput(allocate, method, f"input {index}", spec.dtype, value, form, turn)

        given_inputs = list(enumerate(zip(self._tensor_specs(), arrays, strict=True)))
        inputs = [given(allocate, i, s, a) for i, (s, a) in given_inputs]
        own = [
            GuardedTensor(allocate, method, f"output {i}", s.dtype, d.dims, Format.from_code(s.format))
            if source is None
            else None
            for i, (s, d, source) in enumerate(zip(self.built.outputs[0], outs, self._aliases, strict=True))
        ]
        for output in own:
            if output is not None:
                output.poison(turn % 2)
        outputs = [inputs[source or 0] if one is None else one for one, source in zip(own, self._aliases, strict=True)]
        size = layer.workspace_size(ins, outs)
        if size > self.built.workspace:
            raise Finding(
                layer.name_of("getWorkspaceSize"),
                f"answered {size} bytes for shapes of a profile for whose max it had answered {self.built.workspace}",
                rule="C14",
            )
        workspace = allocate(size)
        workspace.contents[:] = 0xFF

        def launch(stream: int) -> None:
            layer.enqueue(
                ins,
                self._described(outs),
                in_addresses=[t.address for t in inputs],
                out_addresses=[t.address for t in outputs],
                workspace=workspace.address if size else 0,
                stream=stream,
                times=self.times,
            )

        def other(index: int) -> Callable[[], Bytes]:
            spec, value = given_inputs[index][1]
            return lambda: given(HostBuffer, index, spec, changed(value)).buffer.contents

        regions = [
            *(Region(t.buffer, Use.INPUT, other(i)) for i, t in enumerate(inputs)),
            *(Region(t.buffer, Use.OUTPUT, whole=self._whole and not t.padded) for t in own if t is not None),
            Region(workspace, Use.WORKSPACE),
        ]
        return _Prepared(inputs, outputs, workspace, Job(regions, launch))


@dataclass(frozen=True)
class _Prepared:
    """A call of enqueue with its tensors."""

    inputs: list[GuardedInput]
    outputs: list[GuardedTensor]
    workspace: Buffer
    job: Job


def changed(array: Array) -> Array:
    """Other data for a plugin that takes this: the same values, in the opposite order. Integers of 32 and 64 bits stay
    as they are, since they may be indices, whose order has a meaning."""
    if array.dtype.kind == "i" and array.dtype.itemsize > 1:
        return array
    backwards: Array = array.ravel()[::-1].reshape(array.shape).copy()
    return backwards


def _wanted(free: Array | None, dims: tuple[int, ...]) -> Array:
    """Which elements of an output of that shape must be written: all of a shape that the mask is not of."""
    return ~free if free is not None and free.shape == dims else np.ones(dims, bool)


def _padded(part: Array, dims: tuple[int, ...]) -> Array:
    """The opposite of `_part` for a mask: what comes after its elements is left out."""
    whole = np.zeros(math.prod(dims), bool)
    whole[: part.size] = part.ravel()
    return whole.reshape(dims)


def _part(array: Array, dims: tuple[int, ...]) -> Array:
    """The first elements of a larger array, as an array of that shape: dense, as a plugin writes them."""
    return array if array.shape == dims else array.ravel()[: math.prod(dims)].reshape(dims)
