"""Computes the layers of networks made by NVIDIA's API that are neither plugins nor loops nor conditionals, by NumPy.

Source: NvInfer.h on each layer's interface, which `pluginkit.network.api_model` names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.interpreter import walker
from pluginkit.network import api_model as api
from pluginkit.network.networks import Array


def compute(step: api.Step, values: Sequence[Array]) -> Array:
    """What a layer gives.

    Args:
        step: the layer.
        values: of the tensors that it reads, in the order of `api_structure.reads`.

    Raises:
        CheckFailed: a slice leaves its tensor.
    """
    found: Array = _LAYERS[type(step)](step, *values)
    return found


_OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "SUM": np.add,
    "PROD": np.multiply,
    "LESS": np.less,
    "DIV": np.divide,
    "FLOOR_DIV": np.floor_divide,
}


def _slice(step: api.Slice, x: Array, starts: Array, sizes: Array, strides: Array) -> Array:
    places = [first + stride * np.arange(size) for first, size, stride in zip(starts, sizes, strides, strict=True)]
    for axis, (at, length) in enumerate(zip(places, x.shape, strict=True)):
        if at.size and not (at.min() >= 0 and at.max() < length):
            raise CheckFailed(
                f"slice {step.out!r} reads the elements {at.min()} to {at.max()} of axis {axis}, which has {length}",
                hint="Start, size and stride must stay within the tensor.",
            )
    found: Array = x[np.ix_(*places)]
    return found


def _resize(step: api.Resize, x: Array, sizes: Array) -> Array:
    del step
    places = [np.arange(size) * length // max(size, 1) for length, size in zip(x.shape, sizes, strict=True)]
    found: Array = x[np.ix_(*places)]
    return found


def _quantize(step: api.Quantize, x: Array, scale: Array) -> Array:
    return walker.quantized(x, scale, np.zeros((), DType(step.dtype).numpy))


_LAYERS: dict[type, Callable[..., Any]] = {
    api.ConstantLayer: lambda step: np.array(step.values, step.dtype).reshape(step.dims),
    api.Cast: lambda step, x: x.astype(step.dtype),
    api.Elementwise: lambda step, left, right: _OPERATIONS[step.op](left, right),
    api.MatrixMultiply: lambda _, left, right: left @ right,
    api.Concat: lambda step, *inputs: np.concatenate(inputs, step.axis),
    api.ShapeLayer: lambda _, x: np.array(x.shape, np.int64),
    api.Reshape: lambda step, x: x.reshape(step.dims),
    api.ReshapeTo: lambda _, x, size: x.reshape(tuple(size)),
    api.Slice: _slice,
    api.Resize: _resize,
    api.Gather: lambda _, x, indices: x.take(indices, 0),
    api.ReduceProduct: lambda _, x: x.prod(keepdims=True),
    api.Quantize: _quantize,
    api.Dequantize: lambda _, x, scale: walker.dequantized(x, scale),
    api.IdentityLayer: lambda _, x: x,
    api.BranchInput: lambda _, x: x,
}
