"""What each element type can represent, scales by calibration, and how far a right plugin may be off."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from pluginkit.dtypes import QUANTIZED, DType
from pluginkit.manifest import Close, Manifest, Tensor
from pluginkit.network.networks import Array, Scale, Tolerance
from pluginkit.testing.points import generator

INPUT_HEADROOM = 1.24
"""An input's scale covers more than the calibrated range, so that spikes reach the plugin unclipped."""
OUTPUT_HEADROOM = 1.0131
"""An output's scale covers about the calibrated range: spikes saturate in the plugin. The odd number keeps
input and output scales from a simple ratio, which would put many values on rounding ties."""
SPIKES = (1.2, -1.2, 1.6, -1.6)
"""Values put into quantized feeds, in calibrated ranges: the first two saturate outputs, the others inputs too."""
_SMALL_SIDE = 0.25

_EPSILONS = {DType.FLOAT32: 2.0**-23, DType.FLOAT16: 2.0**-10, DType.BFLOAT16: 2.0**-7}
_ROUNDINGS = {DType.FLOAT32: 16, DType.FLOAT16: 4, DType.BFLOAT16: 4}


def quantize(values: Array, scale: Scale, kind: DType = DType.INT8) -> Array:
    """Real values -> steps (float64), rounded half to even and saturated in float32 like QuantizeLinear.

    Steps of INT8 are -128 to 127; those of FP8 are the numbers that FP8 has, -448 to 448, and NaN, which stays NaN.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.asarray(values, np.float32) / np.asarray(scale, np.float32)
        if kind is DType.FLOAT8:
            return np.asarray(np.clip(steps, -QUANTIZED[kind], QUANTIZED[kind])).astype(kind.numpy).astype(np.float64)
        clipped: Array = np.clip(np.rint(steps), -128.0, 127.0).astype(np.float64)
    return clipped


def dequantize(steps: Array, scale: Scale) -> Array:
    """Quantization steps -> real values as DequantizeLinear's float32 gives them (in float64)."""
    values: Array = (np.asarray(steps, np.float32) * np.asarray(scale, np.float32)).astype(np.float64)
    return values


def channel_scales(field: str, scale: float, count: int) -> tuple[float, ...]:
    """A scale for each channel: half to twice what the whole tensor would have, drawn for the field.

    No two channels are quantized alike, so that a plugin that takes another channel's scale is off by many steps.
    """
    factors = np.exp2(generator(0, "channels", field).uniform(-1.0, 1.0, count))
    return tuple(float(np.float32(scale * factor)) for factor in factors)


def along(numbers: Sequence[float], axis: int, rank: int) -> Array:
    """Numbers along an axis of a tensor, as an array that broadcasts to its shape."""
    return np.asarray(numbers, np.float64).reshape(-1, *[1] * (rank - axis - 1))


def represent(values: Array, kind: DType, scale: Scale = 0.0) -> Array:
    """The nearest values that a type holds, in float64 (int64 for integers). INT8 and FP8 need the scale."""
    if kind.is_integer:
        return np.asarray(values).astype(np.int64)
    if kind.is_quantized:
        return dequantize(quantize(values, scale, kind), scale)
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(kind.numpy).astype(np.float64)


def scales(manifest: Manifest, precision: DType, ranges: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """Scales from calibrated ranges, for the tensors that are INT8 or FP8 at a precision.

    Args:
        manifest: the signature.
        precision: what the plugin computes in.
        ranges: tensor -> (smallest, largest) value to cover (`calibration.ranges`).

    Inputs: `INPUT_HEADROOM * max(|range|) / most`, most being the type's largest number of steps: 127, or 448 of FP8.
    Outputs: `OUTPUT_HEADROOM * side / most`, side being the smaller of the two ends, if it is at least a quarter of the
    larger (so both ends saturate), else the larger. Tensors that name the same scale field share the largest
    input-like scale, and so do all quantized tensors when the manifest has no scale fields (such a plugin only moves
    values). Scales are float32 values.
    """
    groups: dict[str, list[tuple[Tensor, bool]]] = {}
    for tensors, is_input in ((manifest.inputs, True), (manifest.outputs, False)):
        for tensor in tensors:
            if manifest.type_of(tensor, precision).is_quantized:
                key = (tensor.scale or f"{tensor.name} alone") if manifest.scale_fields() else "all"
                groups.setdefault(key, []).append((tensor, is_input))
    found: dict[str, float] = {}
    for members in groups.values():
        most = min(QUANTIZED[manifest.type_of(tensor, precision)] for tensor, _ in members)
        if len(members) == 1 and not members[0][1]:
            scale = OUTPUT_HEADROOM * _side(ranges[members[0][0].name]) / most
        else:
            scale = INPUT_HEADROOM * max(_largest(ranges[tensor.name]) for tensor, _ in members) / most
        usable = scale if math.isfinite(scale) and scale > 0 else INPUT_HEADROOM / most
        found.update({tensor.name: float(np.float32(usable)) for tensor, _ in members})
    return found


def _largest(ends: tuple[float, float]) -> float:
    return max(abs(ends[0]), abs(ends[1]))


def _side(ends: tuple[float, float]) -> float:
    low, high = max(0.0, -ends[0]), max(0.0, ends[1])
    small, large = sorted((low, high))
    return small if small >= _SMALL_SIDE * large else large


def add_spikes(feed: Array, scale: float, rng: np.random.Generator, kind: DType = DType.INT8) -> Array:
    """A copy of a quantized input's feed with `SPIKES` at random places, as many as there is room for.

    A tensor of one element gets one spike; which end is then random.
    """
    out: Array = feed.copy()
    room = min(len(SPIKES), feed.size)
    reach = scale * QUANTIZED[kind] / INPUT_HEADROOM
    chosen = SPIKES if feed.size > 1 else (SPIKES[int(rng.integers(2))],)
    for index, spike in zip(rng.choice(feed.size, room, replace=False) if room else [], chosen, strict=False):
        out.flat[index] = spike * reach
    return out


def coarsest(manifest: Manifest, precision: DType) -> DType:
    """The floating-point type with the fewest bits that a plugin reads or writes at a precision."""
    types = {manifest.type_of(tensor, precision) for tensor in (*manifest.inputs, *manifest.outputs)}
    return next((kind for kind in (DType.BFLOAT16, DType.FLOAT16) if kind in types), DType.FLOAT32)


def input_error(manifest: Manifest, precision: DType) -> float:
    """How far off, relative to each element, inputs may be for which a right plugin's outputs are the exact ones.

    The roundings of `close`, where all is computed in FP32. 0 where the manifest has a tolerance for that, and where a
    16-bit type's own tolerance is far above it.
    """
    if manifest.tolerances.float32 or coarsest(manifest, precision) is not DType.FLOAT32:
        return 0.0
    return _ROUNDINGS[DType.FLOAT32] * _EPSILONS[DType.FLOAT32]


def close(manifest: Manifest, kind: DType) -> Close:
    """One application's floating-point tolerance: the manifest's, or `r` roundings of the type's epsilon.

    r is 16 for FP32 (epsilon 2^-23), 4 for FP16 (2^-10) and BF16 (2^-7), for the relative and absolute part alike.
    """
    tolerances = manifest.tolerances
    declared = {DType.FLOAT16: tolerances.float16, DType.BFLOAT16: tolerances.bfloat16}.get(kind, tolerances.float32)
    allowed = _ROUNDINGS.get(kind, 16) * _EPSILONS.get(kind, 2.0**-23)
    return declared or Close(rtol=allowed, atol=allowed)


def steps_of(manifest: Manifest, kind: DType = DType.INT8) -> int:
    """One application's tolerance in steps of INT8 or FP8: the manifest's; else 1, or 0 without scale fields."""
    declared = manifest.tolerances.float8 if kind is DType.FLOAT8 else manifest.tolerances.int8
    if declared is not None:
        return declared.steps
    return 1 if manifest.scale_fields() else 0


def chained_steps(steps: int, chain: int, ratios: Iterable[float]) -> int:
    """The tolerance in steps after `chain` applications, each fed the one before.

    An output that is t steps off moves the next input by ceil(t / r) of its steps, r being input scale / output
    scale, and a reference that doesn't amplify moves the next output by r times that, plus its own `steps`.
    """
    ratio_list = list(ratios)
    total = float(steps)
    for _ in range(chain - 1 if ratio_list else 0):
        total = steps + max(math.ceil(total / r - 1e-9) * r for r in ratio_list)
    return math.ceil(total - 1e-9)


def tolerance(
    manifest: Manifest,
    precision: DType,
    step_scales: Mapping[str, Scale],
    *,
    chain: int,
    ratios: Sequence[float],
    float8: Collection[str] = (),
) -> Tolerance:
    """How far a network's outputs may be off.

    Args:
        manifest: the signature.
        precision: what the plugin computes in.
        step_scales: graph output -> scale, for those that come from INT8 or FP8; all others compare as floats.
        chain: how many applications follow one another; floating-point tolerances are multiplied by it.
        ratios: input scale / output scale of each quantized feedback (see `chained_steps`).
        float8: which of `step_scales` are compared by their places among the numbers of FP8.
    """
    types = {manifest.type_of(tensor, precision) for tensor in (*manifest.inputs, *manifest.outputs)}
    steps = max((steps_of(manifest, kind) for kind in types if kind.is_quantized), default=0)
    floats = close(manifest, coarsest(manifest, precision))
    return Tolerance(
        kind="steps" if step_scales else "close",
        rtol=floats.rtol * chain,
        atol=floats.atol * chain,
        steps=chained_steps(steps, chain, ratios) if step_scales else 0,
        scales=dict(step_scales),
        float8=frozenset(float8),
    )
