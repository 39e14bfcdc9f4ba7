"""The shapes that a model is built for: those of --profile, and defaults for the others.

`name:min=1x3x224x224,opt=4x3x224x224,max=8x3x224x224`; one shape alone, `name:1x3x224x224`, stands for all three. For
an input whose values are shapes the numbers are its values: `trips:min=1,opt=4,max=8`. These may be negative
(NvInferRuntime.h, IOptimizationProfile::setShapeValuesV2): `shape:-1x64`, `starts:min=-4,opt=-1,max=-1`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import onnx

from pluginkit.errors import UsageError
from pluginkit.importing.onnx_graph import dims, type_name
from pluginkit.network.networks import Dims, NetworkProfile, Range
from pluginkit.runtimes.verdict import ModelInput

POINTS = ("min", "opt", "max")
DEFAULT = {"min": 1, "opt": 4, "max": 16}
"""For dynamic dimensions that --profile does not name."""
FORM = "name:min=1x3x224x224,opt=4x3x224x224,max=8x3x224x224"


@dataclass(frozen=True)
class Shapes:
    """One --profile: the shapes of one input."""

    name: str
    points: Range


def parse(text: str) -> Shapes:
    """Read one --profile.

    Raises:
        UsageError: it is not of the form, or min, opt and max do not rise.
    """
    # Names of tensors may have colons in them (TensorFlow's end in :0), shapes have none.
    name, _, rest = text.rpartition(":")
    if not name or not rest:
        raise UsageError(f"--profile {text!r} has no input's name before a colon.", hint=f"Write {FORM}.")
    given: dict[str, Dims] = {}
    parts = [part.strip() for part in rest.split(",")]
    for part in parts:
        point, equals, shape = part.rpartition("=")
        if equals and point not in POINTS:
            raise UsageError(f"--profile {text!r}: {point!r} is not one of min, opt, max.", hint=f"Write {FORM}.")
        if not equals and len(parts) > 1:
            raise UsageError(f"--profile {text!r}: {part!r} has no min=, opt= or max=.", hint=f"Write {FORM}.")
        if point in given:
            raise UsageError(f"--profile {text!r} gives {point} twice.", hint=f"Write {FORM}.")
        given[point or "opt"] = _shape(shape, text)
    best = given.get("opt") or given.get("max") or given.get("min") or ()
    low, high = given.get("min", best), given.get("max", best)
    if not len(low) == len(best) == len(high):
        raise UsageError(f"--profile {text!r}: min, opt and max have different numbers of dimensions.")
    if not all(a <= b <= c for a, b, c in zip(low, best, high, strict=True)):
        raise UsageError(f"--profile {text!r}: every dimension must rise from min over opt to max.")
    return Shapes(name, (low, best, high))


def _shape(text: str, whole: str) -> Dims:
    if not re.fullmatch(r"-?\d{1,20}(x-?\d{1,20})*", text):
        raise UsageError(f"--profile {whole!r}: {text!r} is not a shape.", hint="Write the dimensions as 1x3x224x224.")
    numbers = tuple(int(size) for size in text.split("x"))
    if large := [number for number in numbers if not -(2**63) <= number < 2**63]:
        raise UsageError(f"--profile {whole!r}: {large[0]} does not fit 64 bits, which a dimension or value has.")
    return numbers


def profile(inputs: Sequence[ModelInput], requested: Sequence[Shapes]) -> NetworkProfile:
    """One profile for a model's inputs.

    Raises:
        UsageError: --profile names no input of the model, or gives it another rank or another fixed dimension.
    """
    named = {one.name: one.points for one in requested}
    names = [one.name for one in inputs]
    for name in named:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"Is {close[0]} meant?" if close else f"The inputs are {', '.join(names) or 'none'}."
            raise UsageError(f"--profile: the model has no input {name!r}.", hint=hint)
    shapes: dict[str, Range] = {}
    values: dict[str, Range] = {}
    for one in inputs:
        points = named.get(one.name)
        if one.shape_tensor or (points is not None and not one.dims):
            # A number that no shape follows from has no place in a profile, but is what the run takes.
            values[one.name] = _values(one, points)
            shapes[one.name] = (one.dims, one.dims, one.dims)
        else:
            shapes[one.name] = _points(one, points)
    return NetworkProfile("default", shapes, values)


def defaulted(inputs: Sequence[ModelInput], requested: Sequence[Shapes]) -> list[str]:
    """The inputs with dynamic dimensions that --profile does not name."""
    named = {one.name for one in requested}
    return [one.name for one in inputs if one.name not in named and (one.shape_tensor or -1 in one.dims)]


def _points(one: ModelInput, points: Range | None) -> Range:
    if points is None:
        low, best, high = (tuple(DEFAULT[point] if dim < 0 else dim for dim in one.dims) for point in POINTS)
        return low, best, high
    for point, shape in zip(POINTS, points, strict=True):
        if len(shape) != len(one.dims):
            raise UsageError(f"--profile: {one.name} has {len(one.dims)} dimensions, {point} gives {len(shape)}.")
        for index, (have, want) in enumerate(zip(one.dims, shape, strict=True)):
            if have >= 0 and have != want:
                raise UsageError(
                    f"--profile: dimension {index} of {one.name} is fixed as {have}; {point} gives {want}."
                )
            if want < 0:
                raise UsageError(
                    f"--profile: {point} gives dimension {index} of {one.name} the size {want}.",
                    hint="Only the values of an input that shapes follow from may be negative.",
                )
    return points


def _values(one: ModelInput, points: Range | None) -> Range:
    count = 1
    for dim in one.dims:
        count *= max(dim, 0)
    if points is None:
        low, best, high = ((DEFAULT[point],) * count for point in POINTS)
        return low, best, high
    if len(points[0]) != count:
        raise UsageError(f"--profile: {one.name} has {count} values, {len(points[0])} are given.")
    return points


def given(proto: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs that are given: before IR version 4 those of the weights stand among them."""
    constants = {tensor.name for tensor in proto.graph.initializer}
    return [value for value in proto.graph.input if value.name not in constants]


def declared_inputs(proto: onnx.ModelProto) -> list[ModelInput]:
    """The inputs as the model declares them, where NVIDIA's parser can't be asked: none is a shape tensor.

    Raises:
        UsageError: an input has no shape.
    """
    found = []
    for value in given(proto):
        shape = dims(value.type.tensor_type)
        if shape is None:
            raise UsageError(f"{value.name} has no shape")
        sizes = tuple(dim if isinstance(dim, int) else -1 for dim in shape)
        kind = type_name(value.type.tensor_type.elem_type).upper()
        found.append(ModelInput(value.name, sizes, False, kind))
    return found
