"""api-slice, -resize, -shapes: neighbours whose shapes come from shape tensors.

"Layer Extensions for Dynamic Shapes" of NVIDIA's documents lists the layers: Resize, Shuffle and Slice with the inputs
that give shapes; Shape, Concatenation, ElementWise, Gather, Identity and Reduce to compute them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from pluginkit import bases
from pluginkit.manifest import Tensor
from pluginkit.network import api_model as api
from pluginkit.network.networks import Array, Dims, Range
from pluginkit.testing.families.api.draft import Draft
from pluginkit.testing.families.api.family import ApiFamily, own
from pluginkit.testing.families.base import Applier, OracleResult, Setting
from pluginkit.testing.families.family import Runs
from pluginkit.testing.families.shaped import STATIC


class ShapedInputs(ApiFamily):
    """The plugin on inputs of which the network computes the shapes."""

    SHAPE_INPUTS = True
    NONE: ClassVar[str] = "no input has dimensions that a shape tensor could give"

    def refusal(self, setting: Setting) -> str:
        """There must be an input whose shape can be computed."""
        if not bases.BASES[setting.manifest.plugin.base].dynamic_shapes:
            return STATIC
        return "" if any(self.made(setting, tensor) for tensor in setting.manifest.execution_inputs()) else self.NONE

    def made(self, setting: Setting, tensor: Tensor) -> bool:
        """Whether an input's shape is computed; else it is a network input as it is."""
        del setting
        return bool(tensor.shape)

    def _computed(self, setting: Setting, tensor: Tensor) -> bool:
        return not tensor.is_shape_input and self.made(setting, tensor)

    @abstractmethod
    def feed(self, setting: Setting, tensor: Tensor, value: Array, point: str) -> dict[str, Array]:
        """The network inputs that make such an input of that value."""

    @abstractmethod
    def make(self, draft: Draft, tensor: Tensor) -> str:
        """Add the layers that make such an input."""

    @abstractmethod
    def value(self, setting: Setting, tensor: Tensor, feeds: Mapping[str, Array]) -> Array:
        """What they make, by NumPy."""

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """One."""
        given = dict(feeds)
        for tensor in setting.manifest.execution_inputs():
            if self.made(setting, tensor):
                given |= self.feed(setting, tensor, feeds[tensor.name], point)
        return [("", given)]

    def draft(self, draft: Draft) -> None:
        """The plugin on such inputs."""
        setting, manifest = draft.setting, draft.setting.manifest
        inside = [
            self.make(draft, tensor) if self._computed(setting, tensor) else draft.input(tensor)
            for tensor in manifest.inputs
        ]
        for tensor, name in zip(manifest.outputs, draft.plugin(inside), strict=True):
            self.show(draft, tensor, name)

    def show(self, draft: Draft, tensor: Tensor, name: str) -> None:
        """A plugin output as a network output."""
        draft.show(name, tensor.name)

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out."""
        setting, values = applier.setting, dict(feeds)
        for tensor in setting.manifest.execution_inputs():
            if self.made(setting, tensor):
                values[tensor.name] = self.value(setting, tensor, feeds)
        outputs: dict[str, Array] = {}
        for tensor, value in zip(setting.manifest.outputs, applier(own(setting, values)), strict=True):
            outputs |= self.shown(applier, tensor, value)
        return OracleResult(outputs, enqueues=1, chain=1)

    def shown(self, applier: Applier, tensor: Tensor, value: Array) -> dict[str, Array]:
        """The network outputs that show a plugin output."""
        del applier
        return {tensor.name: value}


class SliceByTensors(ShapedInputs):
    """Each input is every second element of a larger tensor, or its first ones."""

    NAME = "api-slice"
    DESCRIPTION = "The plugin's inputs are slices of larger tensors: start, size and stride are network inputs."
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ISliceLayer with start, size and stride as inputs",
        "IGatherLayer and IConcatenationLayer on shape tensors",
        "shape-tensor inputs with value profiles",
    )
    STARTS: ClassVar[tuple[int, int, int]] = (0, 1, 1)
    STRIDES: ClassVar[tuple[int, int, int]] = (1, 2, 2)

    def feed(self, setting: Setting, tensor: Tensor, value: Array, point: str) -> dict[str, Array]:
        """At the profile's min the first elements, else every second one."""
        at = 0 if point == "min" else 1
        start, stride = self.STARTS[at], self.STRIDES[at]
        wide = np.full(_wide(value.shape), 7, value.dtype)
        wide[tuple(slice(start, start + stride * size, stride) for size in value.shape)] = value
        return {
            tensor.name: wide,
            _named(setting, tensor, "start"): np.full(value.ndim, start, np.int64),
            _named(setting, tensor, "size"): np.array(value.shape, np.int64),
            _named(setting, tensor, "stride"): np.full(value.ndim, stride, np.int64),
        }

    def make(self, draft: Draft, tensor: Tensor) -> str:
        """The slice."""
        setting, ranges, rank = draft.setting, draft.setting.ranges(tensor), len(tensor.shape)
        wide = _input(draft, tensor, [(_wide(low), _wide(best), _wide(high)) for low, best, high in ranges])
        start, stride = (
            draft.shape_input(
                _named(setting, tensor, what), [((low,) * rank, (best,) * rank, (high,) * rank)] * len(ranges)
            )
            for what, (low, best, high) in (("start", self.STARTS), ("stride", self.STRIDES))
        )
        out, size = draft.name(f"{tensor.name}_slice"), _size(draft, tensor)
        draft.steps.append(api.Slice(wide, start, size, stride, out))
        return out

    def value(self, setting: Setting, tensor: Tensor, feeds: Mapping[str, Array]) -> Array:
        """By Python's slices."""
        start, size, stride = (feeds[_named(setting, tensor, what)] for what in ("start", "size", "stride"))
        bounds = zip(start.tolist(), (start + stride * size).tolist(), stride.tolist(), strict=True)
        found: Array = feeds[tensor.name][tuple(slice(*one) for one in bounds)]
        return found


class ResizeByTensor(ShapedInputs):
    """Each float input is a tensor of half its size, resized."""

    NAME = "api-resize"
    DESCRIPTION = "The plugin's float inputs are resized from half their size, to sizes that are network inputs."
    LAYERS: ClassVar[tuple[str, ...]] = (
        "IResizeLayer with its size as an input",
        "IGatherLayer and IConcatenationLayer on shape tensors",
        "shape-tensor inputs with value profiles",
    )
    NONE = "no float input has dimensions that are never 0: nothing is resized to or from no elements"

    def made(self, setting: Setting, tensor: Tensor) -> bool:
        """Floats that always have elements."""
        lows = [low for low, _, _ in setting.ranges(tensor)]
        return bool(tensor.shape) and setting.is_float(tensor) and all(min(low) > 0 for low in lows)

    def feed(self, setting: Setting, tensor: Tensor, value: Array, point: str) -> dict[str, Array]:
        """Every second element along each axis, and the size to come to."""
        del point
        small = np.ascontiguousarray(value[(slice(None, None, 2),) * value.ndim])
        return {tensor.name: small, _named(setting, tensor, "size"): np.array(value.shape, np.int64)}

    def make(self, draft: Draft, tensor: Tensor) -> str:
        """The resized tensor."""
        ranges = draft.setting.ranges(tensor)
        small = _input(draft, tensor, [(_half(low), _half(best), _half(high)) for low, best, high in ranges])
        out, size = draft.name(f"{tensor.name}_resized"), _size(draft, tensor)
        draft.steps.append(api.Resize(small, size, out))
        return out

    def value(self, setting: Setting, tensor: Tensor, feeds: Mapping[str, Array]) -> Array:
        """On an axis of n elements element i is the small tensor's i * ceil(n / 2) // n."""
        value = feeds[tensor.name]
        for axis, size in enumerate(feeds[_named(setting, tensor, "size")].tolist()):
            value = value.take([place * value.shape[axis] // size for place in range(size)], axis)
        return value


class ShapeArithmetic(ShapedInputs):
    """Shapes that are computed from other tensors' shapes, before the plugin and behind it."""

    NAME = "api-shapes"
    DESCRIPTION = (
        "The plugin's inputs come in a row and are reshaped to half of another tensor's shape; its outputs are "
        "reshaped to their dimensions in reverse and added to what is expanded to their shape."
    )
    LAYERS: ClassVar[tuple[str, ...]] = (
        "IShapeLayer",
        "IElementWiseLayer, IGatherLayer, IConcatenationLayer and IReduceLayer on shape tensors",
        "IShuffleLayer with its shape as an input",
        "ISliceLayer with its size as an input",
        "ICastLayer",
    )

    def feed(self, setting: Setting, tensor: Tensor, value: Array, point: str) -> dict[str, Array]:
        """The input in a row, and a tensor twice as large: of that the shape alone counts."""
        del point
        return {tensor.name: value.ravel(), _named(setting, tensor, "like"): np.zeros(_twice(value.shape), np.int32)}

    def make(self, draft: Draft, tensor: Tensor) -> str:
        """The reshaped input."""
        setting, rank, ranges = draft.setting, len(tensor.shape), draft.setting.ranges(tensor)
        counts = [((math.prod(low),), (math.prod(best),), (math.prod(high),)) for low, best, high in ranges]
        row = _input(draft, tensor, counts)
        twice = [(_twice(low), _twice(best), _twice(high)) for low, best, high in ranges]
        like = draft.network_input(_named(setting, tensor, "like"), "int32", twice)
        shape, half, out = draft.name("shape"), draft.name("half"), draft.name(f"{tensor.name}_shaped")
        draft.steps += [
            api.ShapeLayer(like, shape),
            api.Elementwise("FLOOR_DIV", shape, draft.vector([2] * rank), half),
        ]
        draft.steps.append(api.ReshapeTo(row, _gathered(draft, half, range(rank)), out))
        return out

    def value(self, setting: Setting, tensor: Tensor, feeds: Mapping[str, Array]) -> Array:
        """By NumPy's reshape."""
        like = feeds[_named(setting, tensor, "like")]
        return feeds[tensor.name].reshape([size // 2 for size in like.shape])

    def sources(self, setting: Setting) -> dict[str, str]:
        """Both tensors that are made of an output have its values."""
        found = {}
        for tensor in setting.manifest.outputs:
            made = [_named(setting, tensor, what) for what in ("turned", "plus")] if tensor.shape else [tensor.name]
            found.update(dict.fromkeys(made, tensor.name))
        return found

    def show(self, draft: Draft, tensor: Tensor, name: str) -> None:
        """An output with its dimensions in reverse, with ones added, and the number of its elements."""
        setting, rank = draft.setting, len(tensor.shape)
        if not rank:
            draft.show(name, tensor.name)
            return
        shape, turned, expanded, total = (draft.name(what) for what in ("shape", "turned", "expanded", "plus"))
        count, elements = draft.name("count"), draft.name("elements")
        draft.steps.append(api.ShapeLayer(name, shape))
        draft.steps.append(api.ReshapeTo(name, _gathered(draft, shape, range(rank - 1, -1, -1)), turned))
        one = draft.constant(setting.graph_type(tensor), 1, rank)
        still = draft.vector([0] * rank)
        draft.steps += [
            api.Slice(one, still, shape, still, expanded),
            api.Elementwise("SUM", name, expanded, total),
            api.ReduceProduct(shape, count),
            api.Cast(count, elements, "int32"),
        ]
        draft.show(turned, _named(setting, tensor, "turned"))
        draft.show(total, _named(setting, tensor, "plus"))
        draft.show(elements, _named(setting, tensor, "elements"))

    def shown(self, applier: Applier, tensor: Tensor, value: Array) -> dict[str, Array]:
        """The same by NumPy."""
        setting = applier.setting
        if not tensor.shape:
            return {tensor.name: value}
        return {
            _named(setting, tensor, "turned"): value.reshape(value.shape[::-1]),
            _named(setting, tensor, "plus"): (
                applier.state(value + np.float32(1)) if setting.is_float(tensor) else value + 1
            ),
            _named(setting, tensor, "elements"): np.array([value.size], np.int64),
        }


def _named(setting: Setting, tensor: Tensor, what: str) -> str:
    """A network input or output that goes with a tensor."""
    return setting.free_name(f"{tensor.name}_{what}")


def _input(draft: Draft, tensor: Tensor, ranges: Sequence[Range]) -> str:
    """A network input of a plugin tensor's type, and of other shapes."""
    return draft.network_input(tensor.name, draft.setting.graph_type(tensor), ranges)


def _size(draft: Draft, tensor: Tensor) -> str:
    """A plugin input's dimensions as a shape tensor: by a network input what is open, by constants what isn't.

    INT8 wants channels that are known when the engine is built.
    """
    ranges = draft.setting.ranges(tensor)
    given = draft.shape_input(_named(draft.setting, tensor, "size"), ranges)
    parts = []
    for axis in range(len(tensor.shape)):
        sizes = {shape[axis] for low_opt_high in ranges for shape in low_opt_high}
        parts.append(draft.vector([*sizes]) if len(sizes) == 1 else _element(draft, given, axis))
    return _together(draft, parts)


def _gathered(draft: Draft, shape: str, axes: Sequence[int]) -> str:
    """Elements of a shape tensor, one by one, put together."""
    return _together(draft, [_element(draft, shape, axis) for axis in axes])


def _element(draft: Draft, shape: str, axis: int) -> str:
    out = draft.name("element")
    draft.steps.append(api.Gather(shape, draft.vector([axis]), out))
    return out


def _together(draft: Draft, parts: Sequence[str]) -> str:
    out = draft.name("dims")
    draft.steps.append(api.Concat(tuple(parts), 0, out))
    return out


def _wide(dims: Dims) -> Dims:
    return tuple(2 * size + 1 for size in dims)


def _half(dims: Dims) -> Dims:
    return tuple((size + 1) // 2 for size in dims)


def _twice(dims: Dims) -> Dims:
    return tuple(2 * size for size in dims)
