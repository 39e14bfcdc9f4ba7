"""A profile with sizes that a model runs with, for inputs whose dynamic dimensions were not given."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import onnx

from pluginkit.errors import PluginkitError
from pluginkit.importing.files import external
from pluginkit.importing.onnx_graph import dims
from pluginkit.importing.sizes.search import Sizes
from pluginkit.network.networks import NetworkProfile, Range
from pluginkit.process.worker import Worker

CHILD = "pluginkit.importing.sizes.sizes_worker"
BATCH = "first dimension"
"""The group of all first dimensions that have no name: they are the batch, mostly."""


def least(
    model: onnx.ModelProto, profile: NetworkProfile, open_inputs: Collection[str], timeout: float
) -> NetworkProfile:
    """The profile, with sizes that onnxruntime runs the model with in the place of defaults.

    It is the same one if none were found: the model has operators that onnxruntime lacks, or no sizes fit.

    Args:
        model: the model.
        profile: with defaults for the dynamic dimensions.
        open_inputs: the inputs whose shapes were not given.
        timeout: seconds for the whole search.
    """
    inputs = {value.name: value.type.tensor_type for value in model.graph.input if value.name in profile.shapes}
    written = {name: _dims(name, tensor, profile, name in open_inputs) for name, tensor in inputs.items()}
    values = {name: f"values of {name}" for name in profile.values if name in open_inputs and name in inputs}
    found_in = {dim for shape in written.values() for dim in shape if isinstance(dim, str)}
    groups = sorted({*found_in, *values.values()}, key=_batch_first)
    if not groups or external.left_out(model):
        return profile
    given = {name: points for name, points in profile.values.items() if name not in values}
    kinds = {name: _kind(tensor, given.get(name), profile.shapes[name][1]) for name, tensor in inputs.items()}
    try:
        with Worker(CHILD, {}, timeout=timeout) as worker:
            proto = model.SerializeToString()
            found = worker.call("search", model=proto, groups=groups, dims=written, kinds=kinds, values=values)
    except PluginkitError:
        return profile
    if found is None:
        return profile
    shapes = {name: _range(shape, found) for name, shape in written.items()}
    low, best, high = found
    least_values = {
        name: ((low[group],) * count, (best[group],) * count, (high[group],) * count)
        for name, group in values.items()
        for count in [len(profile.values[name][0])]
    }
    return NetworkProfile(profile.name, {**profile.shapes, **shapes}, {**profile.values, **least_values})


def single(profile: NetworkProfile, size: int, open_inputs: Collection[str]) -> NetworkProfile:
    """The profile with one size at min, opt and max of all dynamic dimensions but the first of each input.

    For a model that takes few sizes, and a builder that refuses others than onnxruntime does.
    """
    shapes = dict(profile.shapes)
    for name in open_inputs:
        low, best, high = profile.shapes[name]
        opened = [axis for axis in range(1, len(low)) if low[axis] != high[axis]]
        fixed = tuple(size if axis in opened else best[axis] for axis in range(len(best)))
        first = (low[:1], best[:1], high[:1])
        shapes[name] = (first[0] + fixed[1:], first[1] + fixed[1:], first[2] + fixed[1:])
    return NetworkProfile(profile.name, shapes, profile.values)


def from_opt(profile: NetworkProfile, open_inputs: Collection[str]) -> NetworkProfile:
    """The profile whose min is its opt, for a builder that wants more than onnxruntime."""
    shapes = {
        name: (ends[1], ends[1], ends[2]) if name in open_inputs else ends for name, ends in profile.shapes.items()
    }
    return NetworkProfile(profile.name, shapes, profile.values)


def _dims(name: str, tensor: onnx.TypeProto.Tensor, profile: NetworkProfile, opened: bool) -> list[int | str]:
    opt = profile.shapes[name][1]
    if not opened or name in profile.values:
        return list(opt)
    declared = dims(tensor) or (None,) * len(opt)
    return [dim if isinstance(dim, int) and dim > 0 else _group(name, axis, dim) for axis, dim in enumerate(declared)]


def _group(name: str, axis: int, dim: int | str | None) -> str:
    if isinstance(dim, str) and dim.strip("?"):
        return f"dimension {dim}"
    return BATCH if axis == 0 else f"{name}, axis {axis}"


def _batch_first(group: str) -> tuple[bool, str]:
    return not (group == BATCH or any(word in group.lower() for word in ("batch", "dimension n"))), group


def _kind(tensor: onnx.TypeProto.Tensor, values: Range | None, shape: Sequence[int]) -> object:
    kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    return kind if values is None else np.array(values[1], kind).reshape(shape)


def _range(shape: Sequence[int | str], found: tuple[Sizes, Sizes, Sizes]) -> Range:
    low, best, high = (tuple(sizes[dim] if isinstance(dim, str) else dim for dim in shape) for sizes in found)
    return low, best, high
