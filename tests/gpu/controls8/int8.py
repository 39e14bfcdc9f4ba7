"""Types, precisions, INT8 and vectorized formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorrt as trt

from pluginkit.runtimes.nvidia.copying.layout import CHW4, CHW32, HWC8, LANES
from pluginkit.runtimes.nvidia.copying.plugin import CALLS, CopyingSetup, calls

from .engine import Network, compared, control, copying, creator_of, data, driver, loaded, run

WIDTH = 3.0
"""Of each dynamic range; a step is WIDTH / 127."""
STEP = WIDTH / 127
IMAGE = (2, 3, 4, 4)
FLAGS = {"HALF": trt.BuilderFlag.FP16, "INT8": trt.BuilderFlag.INT8}


def _rounded(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(np.round(x / STEP), -128, 127) * STEP)


def _one(
    kind: str, flags: Sequence[Any], width: float = 0, *, forced: bool = False, behind: bool = False
) -> tuple[Network, Any]:
    """x to y through a copying plugin of one type, and through a Clip in FP32 if something stands behind it."""
    creator_of(CopyingSetup(types=[kind]))
    made = Network()
    for flag in flags:
        made.config.set_flag(flag)
    layer = made.plugin(copying(), made.input("x", IMAGE, width=width))
    tensor = layer.get_output(0)
    if forced:
        made.config.set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
        layer.precision = trt.int8
        layer.set_output_type(0, trt.int8)
    if width:
        tensor.dynamic_range = (-width, width)
    if behind:
        clip = made.api.add_activation(tensor, trt.ActivationType.CLIP)
        clip.alpha, clip.beta, clip.precision = -1e3, 1e3, trt.float32
        clip.set_output_type(0, trt.float32)
        tensor = clip.get_output(0)
    made.output(tensor, "y", trt.float32, width)
    return made, layer


@control
def int8_at_end() -> str:
    made, _ = _one("INT8", [trt.BuilderFlag.INT8], WIDTH)
    made.build()
    return "built"


def _scales(method: str, since: int = 0) -> str:
    found = {f"{tensor.scale:.4g}" for call in calls(method, since) for tensor in call.tensors}
    return ", ".join(sorted(found)) or "-"


def _with_ranges(kind: str) -> str:
    flags = [trt.BuilderFlag.INT8, *([trt.BuilderFlag.FP16] if kind == "HALF" else [])]
    int8 = kind == "INT8"
    made, _ = _one(kind, flags, WIDTH, forced=int8, behind=int8)
    engine = loaded(made.build())
    given = data(*IMAGE, scale=2.5)
    right = _rounded(given) if int8 else given
    same = compared(run(engine, {"x": given}), {"y": right}, 1e-4 if int8 else 2e-3)
    methods = ("supportsFormatCombination", "configurePlugin", "enqueue")
    return f"built, {same}; {', '.join(f'{method} {_scales(method)}' for method in methods)}"


@control
def scale_float() -> str:
    return _with_ranges("FLOAT")


@control
def scale_half() -> str:
    return _with_ranges("HALF")


@control
def scale_int8() -> str:
    return _with_ranges("INT8")


@control
def scale_without_int8() -> str:
    made, _ = _one("FLOAT", [])
    made.build()
    return f"configurePlugin {_scales('configurePlugin')}"


@control
def type_half_without_flag() -> str:
    _one("HALF", [])[0].build()
    return "built"


@control
def type_int8_without_flag() -> str:
    _one("INT8", [])[0].build()
    return "built"


@control
def precision_of_a_layer() -> str:
    creator_of(CopyingSetup(types=["FLOAT", "HALF"]))
    made = Network()
    made.config.set_flag(trt.BuilderFlag.FP16)
    made.config.set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
    layer = made.plugin(copying(), made.input("x", IMAGE))
    layer.precision = trt.float16
    layer.set_output_type(0, trt.float16)
    made.output(layer.get_output(0), "y", trt.float32)
    engine = loaded(made.build())
    before, given = len(CALLS), data(*IMAGE)
    same = compared(run(engine, {"x": given}), {"y": given}, 2e-3)
    return f"built, {same}; enqueue in {calls('enqueue', before)[0].tensors[0].type}"


@control
def explicit_quantization() -> str:
    creator_of(CopyingSetup(types=["INT8"]))
    made = Network()
    made.config.set_flag(trt.BuilderFlag.INT8)
    scale = made.constant(STEP)
    quantized = made.api.add_quantize(made.input("x", IMAGE), scale).get_output(0)
    made.output(made.api.add_dequantize(made.copy(quantized), scale).get_output(0), "y")
    engine = loaded(made.build())
    given = data(*IMAGE, scale=2.5)
    same = compared(run(engine, {"x": given}), {"y": _rounded(given)}, 1e-4)
    kinds = {tensor.type for call in calls("configurePlugin") for tensor in call.tensors}
    return f"built, {same}; configurePlugin {', '.join(sorted(kinds))} {_scales('configurePlugin')}"


class _Entropy(trt.IInt8EntropyCalibrator2):
    """Four batches, and the cache that TensorRT writes."""

    def __init__(self) -> None:
        trt.IInt8EntropyCalibrator2.__init__(self)
        self.left = [driver().upload(data(*IMAGE, scale=1 + index)) for index in range(4)]
        self.cache = b""

    def get_batch_size(self) -> int:
        return IMAGE[0]

    def get_batch(self, names: Sequence[str]) -> list[int] | None:
        return [self.left.pop()] if self.left else None

    def read_calibration_cache(self) -> None:
        return None

    def write_calibration_cache(self, cache: Any) -> None:
        self.cache = bytes(cache)


def _calibrated(types: Sequence[str], *, dynamic: bool = False) -> str:
    creator_of(CopyingSetup(types=types))
    made, calibrator = Network(), _Entropy()
    made.config.set_flag(trt.BuilderFlag.INT8)
    made.config.int8_calibrator = calibrator
    x = made.input("x", (-1, *IMAGE[1:]) if dynamic else IMAGE)
    relu = made.api.add_activation(made.copy(x), trt.ActivationType.RELU)
    made.output(relu.get_output(0), "y", trt.float32)
    if dynamic:
        made.profile(x=((1, *IMAGE[1:]), IMAGE, (4, *IMAGE[1:])))
        only = made.builder.create_optimization_profile()
        only.set_shape("x", IMAGE, IMAGE, IMAGE)
        made.config.set_calibration_profile(only)
    made.build()
    configured = [index for index, call in enumerate(CALLS) if call.method == "configurePlugin"]
    first = CALLS[configured[0]].tensors[0]
    quantized = (index for index in configured if CALLS[index].tensors[0].type == "INT8")
    ran = any(call.method == "enqueue" for call in CALLS[: next(quantized, len(CALLS))])
    began = calibrator.cache.partition(b"\n")[0].decode()
    return f"{began}; first {first.type} {first.scale:.4g}, {'enqueued' if ran else 'not enqueued'}, then INT8"


@control
def calibration() -> str:
    return _calibrated(["FLOAT", "INT8"])


@control
def calibration_of_a_profile() -> str:
    return _calibrated(["FLOAT", "INT8"], dynamic=True)


@control
def calibration_without_float() -> str:
    return _calibrated(["INT8"])


def _vectors(kind: str, form: int) -> str:
    """Between two convolutions that change nothing: the format, and what stands in the input's lanes."""
    creator_of(CopyingSetup(types=[kind], format=form, keep=True))
    made = Network(sources=[trt.TacticSource.EDGE_MASK_CONVOLUTIONS])
    made.config.set_flag(FLAGS[kind])
    first = made.one_by_one(made.input("x", IMAGE, width=WIDTH if kind == "INT8" else 0))
    layer = made.plugin(copying(), first)
    if kind == "INT8":
        layer.precision = trt.int8
        made.config.set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
        first.dynamic_range = layer.get_output(0).dynamic_range = (-WIDTH, WIDTH)
    made.output(made.one_by_one(layer.get_output(0)), "y", trt.float32, WIDTH if kind == "INT8" else 0)
    engine = loaded(made.build())
    before, given = len(CALLS), data(*IMAGE, scale=2.5)
    same = compared(run(engine, {"x": given}), {"y": given}, 1.1 * STEP)
    call = calls("enqueue", before)[0]
    number = np.int8 if kind == "INT8" else np.float16
    batch, channels, high, wide = IMAGE
    # One vector holds all channels, so the formats differ in its length alone.
    kept = np.frombuffer(call.value["bytes"], number).reshape(batch, high, wide, LANES[form])[..., channels:]
    return f"built, {same}; lanes {'0' if not kept.any() else 'not 0'}"


@control
def vectors_chw4() -> str:
    return _vectors("INT8", CHW4)


@control
def vectors_chw32() -> str:
    return _vectors("INT8", CHW32)


@control
def vectors_hwc8() -> str:
    return _vectors("HALF", HWC8)


@control
def int8_bindings() -> str:
    creator_of(CopyingSetup(types=["INT8"]))
    made = Network()
    made.config.set_flag(trt.BuilderFlag.INT8)
    made.output(made.copy(made.input("x", IMAGE, trt.int8, WIDTH)), "y", trt.int8, WIDTH)
    engine = loaded(made.build())
    before = len(CALLS)
    given = np.random.default_rng(7).integers(-128, 128, IMAGE).astype(np.int8)
    same = compared(run(engine, {"x": given}), {"y": given}, 0)
    return f"built, {same}; enqueue {_scales('enqueue', before)}"


@control
def timing() -> str:
    creator_of(CopyingSetup(types=["FLOAT", "HALF"]))
    made = Network()
    made.config.set_flag(trt.BuilderFlag.FP16)
    made.output(made.copy(made.input("x", IMAGE)), "y")
    made.build()
    return f"enqueue while building: {'many times' if len(calls('enqueue')) > 10 else len(calls('enqueue'))}"
