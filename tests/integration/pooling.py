"""samples/pool_int8 by pluginkit's host alone: many layers in one process, and ONNX's own pooling beside them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnx import TensorProto, helper

from pluginkit.dtypes import DType
from pluginkit.host import Context, Library, TensorSpec, build
from pluginkit.host.bases.lifecycles import LIFECYCLES

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "pool_int8"
OPSET = 21

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Pooling:
    """The fields of a layer that are not scales."""

    mode: int = 0
    kernel_h: int = 2
    kernel_w: int = 2
    stride_h: int = 2
    stride_w: int = 2
    pad_h: int = 0
    pad_w: int = 0
    ceil_mode: int = 0
    count_include_pad: int = 0


def random_layers(count: int, seed: int) -> list[tuple[Pooling, tuple[int, ...]]]:
    """Layers and the shapes of their inputs: images of rank 2 to 5, every window with a part of the image in it."""
    rng = np.random.default_rng(seed)
    found: list[tuple[Pooling, tuple[int, ...]]] = []
    while len(found) < count:
        kernel, stride = rng.integers(1, 6, 2), rng.integers(1, 5, 2)
        pad = [int(rng.integers(0, size)) for size in kernel]
        flags = rng.integers(0, 2, 3)
        layer = Pooling(*map(int, (flags[0], *kernel, *stride, *pad, *flags[1:])))
        if rng.random() < 0.4:
            layer = halving(3 if rng.random() < 0.6 else 2, *map(int, flags))
        image = [int(size) for size in rng.integers(1, 40, 2)]
        if rng.random() < 0.5:
            image[1] = 16 * int(rng.integers(1, 4))
        shape = (*map(int, rng.integers(1, 4, rng.integers(0, 4))), *image)
        fits = all(size + 2 * p >= k for size, p, k in zip(image, pad, kernel, strict=True))
        if fits and min(image) >= 2:
            found.append((layer, shape))
    return found


def halving(window: int, mode: int, ceil_mode: int = 0, count_include_pad: int = 0) -> Pooling:
    """A layer of those that the fast kernels are for: 2 x 2, or 3 x 3 with padding, of every second element."""
    return Pooling(mode, window, window, 2, 2, window - 2, window - 2, ceil_mode, count_include_pad)


def onnx_pooling(layer: Pooling, x: Array) -> Array:
    """ONNX's MaxPool or AveragePool by onnxruntime, in FP32."""
    whole = x.reshape(-1, 1, *x.shape[-2:]).astype(np.float32)
    attributes: dict[str, Any] = {
        "kernel_shape": [layer.kernel_h, layer.kernel_w],
        "strides": [layer.stride_h, layer.stride_w],
        "pads": [layer.pad_h, layer.pad_w] * 2,
        "ceil_mode": layer.ceil_mode,
    }
    kind = "AveragePool" if layer.mode else "MaxPool"
    if layer.mode:
        attributes["count_include_pad"] = layer.count_include_pad
    graph = helper.make_graph(
        [helper.make_node(kind, ["x"], ["y"], **attributes)],
        "pooling",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None] * 4)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"x": whole})
    return np.asarray(y).reshape(*x.shape[:-2], *y.shape[-2:])


def reference() -> Callable[..., Array]:
    """The sample's `reference.py`."""
    spec = importlib.util.spec_from_file_location("pool_reference", SAMPLE / "reference.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference  # type: ignore[no-any-return]


def expected(layer: Pooling, x: Array) -> Array:
    """What `reference.py` says, in FP64."""
    return reference()(x.astype(np.float64), **asdict(layer))


def pool_at(
    library: Library,
    layer: Pooling,
    x: Array,
    *,
    offset: int,
    scales: tuple[float, float] = (1.0, 1.0),
) -> Array:
    """As `pool`, with the input and the output so many elements behind addresses that are multiples of 64."""
    creator = library.creators[0]
    fields: dict[str, tuple[DType, Any]] = {name: (DType.INT32, value) for name, value in asdict(layer).items()}
    fields |= {name: (DType.FLOAT32, value) for name, value in zip(("x_scale", "y_scale"), scales, strict=True)}
    spec = TensorSpec(DType(x.dtype.name), x.shape, x.shape, x.shape, x.shape)
    built = build(creator, "pool", fields, [[spec]])
    made = LIFECYCLES[built.base].restore(creator, built)
    (out,) = built.outputs[0]
    given, got = _behind(x.shape, x.dtype, offset), _behind(out.dims, x.dtype, offset)
    given[...] = x
    ins, outs = [spec.at(x.shape)], [out.at(out.dims)]
    made.reshape(ins, outs)
    made.enqueue(ins, outs, in_addresses=[given.ctypes.data], out_addresses=[got.ctypes.data], workspace=0, stream=0)
    made.close()
    return got


def _behind(shape: tuple[int, ...], dtype: np.dtype[Any], offset: int) -> Array:
    count = int(np.prod(shape))
    memory = np.zeros(count + offset + 64, dtype)
    start = -(memory.ctypes.data // dtype.itemsize) % (64 // dtype.itemsize) + offset
    part: Array = memory[start : start + count].reshape(shape)
    return part


def pool(
    library: Library,
    layer: Pooling,
    x: Array,
    *,
    scales: tuple[float, float] = (0.0, 0.0),
    by_field: bool = True,
    implicit_batch: bool = False,
) -> Array:
    """One run of a layer: built, serialized, deserialized, enqueued.

    INT8 scales are given by field, as explicit quantization needs it, or to configure, as in implicit quantization.
    """
    fields: dict[str, tuple[DType, Any]] = {name: (DType.INT32, value) for name, value in asdict(layer).items()}
    if by_field:
        fields |= {name: (DType.FLOAT32, value) for name, value in zip(("x_scale", "y_scale"), scales, strict=True)}
    message = (1.0, 1.0) if by_field else scales
    spec = TensorSpec(DType(x.dtype.name), x.shape, x.shape, x.shape, x.shape, message[0])
    creator = library.creators[0]
    built = build(creator, "pool", fields, [[spec]], output_scales=[message[1]], implicit_batch=implicit_batch)
    with Context(creator, built, [spec]) as context:
        (y,) = context.run([np.ascontiguousarray(x)])
    return y
