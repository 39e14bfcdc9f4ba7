"""Input values of a measurement, and the expected outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pluginkit.bench.measurements import BenchCase
from pluginkit.dtypes import QUANTIZED, DType
from pluginkit.field_types import Value, each
from pluginkit.float8 import place
from pluginkit.host import Finding
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Array, Scale
from pluginkit.testing import precision
from pluginkit.testing.plan import field_values
from pluginkit.testing.points import generator, is_integer
from pluginkit.testing.reference import Reference

PERIOD = 4_194_301
"""Values of large tensors repeat after so many: a prime, so that no place a power of two away has the same."""
PIECE = 1 << 22
"""How many elements are compared at once."""
STEP = 0.05
"""The INT8 scale of inputs in the calibration: values from -6.4 to 6.35, for FP8 too."""
SMALL = 1 << 16
"""Elements of the largest input that a calibration is made on, where the signature's profiles have one so small."""


@dataclass(frozen=True)
class Values:
    """A case's tensors as they lie in memory (quantized ones in steps), and each one's scale, or its channels'."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    scales: Mapping[str, Scale]


@dataclass(frozen=True)
class Limits:
    """How far off an output may be: in steps, or as `|got - expected| <= max(atol, rtol * |expected|)`."""

    rtol: float
    atol: float
    steps: int


def fields_of(manifest: Manifest, case: BenchCase) -> dict[str, Value]:
    """The values of the fields that are not scales, as the reference gets them."""
    others = {
        field.name: each(case.fields[field.name], field.type.exact)
        for field in manifest.plain_fields()
        if field.name in case.fields
    }
    return {**field_values(manifest), **others}


def make(manifest: Manifest, reference: Reference, case: BenchCase, seed: int) -> Values:
    """Random inputs, and the reference's outputs for them.

    Raises:
        CheckFailed: the reference is wrong.
    """
    fields = fields_of(manifest, case)
    scales = _of_channels(manifest, case, _scales(manifest, reference, case, fields, seed))
    sizes = manifest.input_shapes(case.symbols)
    inputs, real = [], []
    for tensor in manifest.inputs:
        kind = manifest.type_of(tensor, case.precision)
        size = sizes[tensor.name]
        bound = max(1, min(size, default=1)) if is_integer(tensor) else 0
        array = _drawn(kind, size, bound, generator(seed, case.id, tensor.name))
        inputs.append(array)
        real.append(precision.dequantize(array, scales[tensor.name]) if kind.is_quantized else _wide(array))
    outputs = []
    for tensor, answered in zip(manifest.outputs, reference.masked(real, fields), strict=True):
        kind, answer = manifest.type_of(tensor, case.precision), np.ma.filled(answered, 0)
        steps = precision.quantize(answer, scales[tensor.name], kind) if kind.is_quantized else answer
        with np.errstate(over="ignore"):
            array = np.asarray(steps.astype(kind.numpy), order="C")
        outputs.append(np.ma.MaskedArray(array, np.ma.getmaskarray(answered)) if np.ma.is_masked(answered) else array)
    return Values(tuple(inputs), tuple(outputs), scales)


def _wide(array: Array) -> Array:
    return array.astype(np.int64 if array.dtype in (np.int32, np.int64) else np.float64)


def _drawn(kind: DType, size: Sequence[int], bound: int, rng: np.random.Generator) -> Array:
    count = math.prod(size)
    few = min(count, PERIOD)
    if kind is DType.INT8:
        values: Array = rng.integers(-128, 128, few, np.int8)
    elif kind is DType.FLOAT8:
        values = (QUANTIZED[kind] / 4 * rng.standard_normal(few, np.float32)).clip(-448, 448).astype(kind.numpy)
    elif kind.is_integer:
        values = rng.integers(0, bound, few).astype(kind.numpy)
    else:
        values = (2 * rng.standard_normal(few, np.float32)).astype(kind.numpy)
    return np.resize(values, count).reshape(size)


def _scales(
    manifest: Manifest, reference: Reference, case: BenchCase, fields: Mapping[str, Value], seed: int
) -> dict[str, float]:
    """Each quantized tensor's scale: the case's field's, else by calibration on a small shape."""
    tensors = (*manifest.inputs, *manifest.outputs)
    wanted = [t for t in tensors if manifest.type_of(t, case.precision).is_quantized]
    given = {t.name: _scale(case.fields.get(t.scale or "", 0)) for t in wanted}
    if all(scale > 0 for scale in given.values()):
        return given
    symbols = _small(manifest, case)
    ranges: dict[str, tuple[float, float]] = {}
    entered: list[Array] = []
    for tensor in manifest.inputs:
        size = tensor.dims(symbols)
        rng = generator(seed, "calibration", case.id, tensor.name)
        if is_integer(tensor):
            entered.append(rng.integers(0, max(1, min(size, default=1)), size))
            continue
        entered.append(rng.uniform(-128 * STEP, 127 * STEP, size))
        ranges[tensor.name] = (-128 * STEP, 127 * STEP)
    for tensor, answer in zip(manifest.outputs, reference(entered, fields), strict=True):
        finite = answer[np.isfinite(answer)]
        ranges[tensor.name] = (float(finite.min(initial=0.0)), float(finite.max(initial=0.0)))
    found = precision.scales(manifest, case.precision, ranges)
    return {name: given[name] or scale for name, scale in found.items()}


def _of_channels(manifest: Manifest, case: BenchCase, scales: Mapping[str, float]) -> dict[str, Scale]:
    """The same, with the scales of channels for tensors that have such: the case's field's, else drawn."""
    found: dict[str, Scale] = dict(scales)
    for tensor in (*manifest.inputs, *manifest.outputs):
        if tensor.scale_axis is not None and tensor.scale is not None and tensor.name in scales:
            count = tensor.dims({**manifest.shape_values(case.fields), **case.symbols})[tensor.scale_axis]
            given = case.fields.get(tensor.scale)
            drawn = precision.channel_scales(tensor.scale, scales[tensor.name], count)
            numbers = given if isinstance(given, tuple) else drawn
            found[tensor.name] = precision.along(numbers, tensor.scale_axis, len(tensor.shape))
    return found


def _scale(value: Value) -> float:
    return float(np.float32(value)) if isinstance(value, (int, float)) else 0.0


def _small(manifest: Manifest, case: BenchCase) -> Mapping[str, int]:
    """The largest shape that is small, of the case's and the profiles'; the smallest where none is."""
    known = [case.symbols, *(profile.at("opt") for profile in manifest.profiles)]
    sizes = [max(math.prod(dims) for dims in manifest.input_shapes(env).values()) for env in known]
    small = [(size, index) for index, size in enumerate(sizes) if 0 < size <= SMALL]
    _, index = max(small) if small else min((size, index) for index, size in enumerate(sizes))
    return known[index]


def limits(manifest: Manifest, case: BenchCase) -> Limits:
    """How far off the case's outputs may be."""
    if case.allowed is not None:
        return Limits(case.allowed.rtol, case.allowed.atol, case.allowed.steps)
    tolerance = precision.close(manifest, case.precision)
    return Limits(tolerance.rtol, tolerance.atol, precision.steps_of(manifest, case.precision))


def check(name: str, got: Array, want: Array, allowed: Limits, method: str) -> None:
    """Compares an output with what it must be, both as they lie in memory. Masked elements mean nothing.

    Raises:
        Finding: it is something else; `method` is who wrote it.
    """
    flat, right = got.reshape(-1), np.ma.getdata(want).reshape(-1)  # bytes of a 0-D array can't be looked at
    meaningless = np.ma.getmaskarray(want).reshape(-1)
    if np.array_equal(flat.view(np.uint8), right.view(np.uint8)):
        return
    float8 = got.dtype == DType.FLOAT8.numpy
    steps = float8 or got.dtype == np.int8
    wrong, worst = 0, (-1.0, 0)
    for start in range(0, flat.size, PIECE):
        here, there = _wide(flat[start : start + PIECE]), _wide(right[start : start + PIECE])
        with np.errstate(invalid="ignore"):
            same = (here == there) | (np.isnan(here) & np.isnan(there))
            apart = place(here) - place(there) if float8 else here - there
            off = np.where(same | meaningless[start : start + PIECE], 0.0, np.abs(apart))
            bound = np.full(off.shape, float(allowed.steps)) if steps else _bound(there, allowed)
        off = np.nan_to_num(off, nan=np.inf)
        wrong += int(np.count_nonzero(off > bound))
        excess = np.where(off > bound, off, -1.0)
        at = int(np.argmax(excess))
        if excess[at] > worst[0]:
            worst = (float(excess[at]), start + at)
    if not wrong:
        return
    index = [int(axis) for axis in np.unravel_index(worst[1], got.shape)]
    mine, its = float(flat[worst[1]]), float(right[worst[1]])
    raise Finding(
        method,
        f"output '{name}' is {mine:g} at {index}, expected {its:g}: off by {worst[0]:.4g}"
        f"{' steps' if steps else ''} ({wrong} of {flat.size} values are off)",
        rule="E7",
        hint="pluginkit test finds out more.",
    )


def _bound(want: Array, allowed: Limits) -> Array:
    if want.dtype.kind in "iu":
        return np.zeros(want.shape)
    bound: Array = np.where(np.isfinite(want), np.maximum(allowed.atol, allowed.rtol * np.abs(want)), 0.0)
    return bound
