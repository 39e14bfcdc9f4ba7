"""A case of more than 2^31 elements: which symbol is made so large, and what is compared.

No reference computes so many values. Where the layer treats the slices of a symbol apart from one another, as the
samples of a batch, a few slices are enough: the first, some in the middle and the last ones have values, and their
outputs are those of the same slices alone. Whether it does so is asked of the reference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pluginkit import shapes
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.field_types import Value
from pluginkit.manifest import Manifest, Profile, Tensor
from pluginkit.network.large import NAME, LargeCase, LargeTensor
from pluginkit.network.networks import Array
from pluginkit.testing import precision as precisions
from pluginkit.testing.families.base import Setting
from pluginkit.testing.families.plain import Plain
from pluginkit.testing.plan import calibrated
from pluginkit.testing.points import Point, points
from pluginkit.testing.reference import Reference

ELEMENTS = 2**31
"""What an index of 32 bits with a sign does not reach."""
_CONTROL_ELEMENTS = 2**24
"""Many times as many as a grid takes at once that is as large as a GPU; all indices fit into 32 bits, in bytes too."""
_SHORT, _GRID = 2**16, 2**20
"""What 16 bits count, as a grid's blocks in y and z; and the threads of a grid that many launches end at."""
_WHOLE_ELEMENTS = 2**25
"""So many elements take few seconds."""
_MOST = 2**31 - 1
"""Of one dimension: TensorRT 10 and 11 keep it in 64 bits, an IPluginV2IOExt's and many kernels in 32."""


def make(
    manifest: Manifest, reference: Reference, fields: Mapping[str, Value], kinds: Sequence[DType], seed: int
) -> LargeCase | str:
    """The case; or why there is none, a sentence.

    Args:
        manifest: the signature.
        reference: the project's.
        fields: the values of the fields that are not scales.
        kinds: the precisions to choose from.
        seed: what the values follow from.
    """
    tensors = (*manifest.inputs, *manifest.outputs)
    kind = next((one for one in kinds if not any(manifest.type_of(t, one).is_quantized for t in tensors)), kinds[0])
    tried = points(manifest, seed)
    opt = _typical(tried)
    usual = calibrated(Plain(), Setting(manifest, kind, dict(fields)), tried, reference)
    reasons = []
    for symbol in manifest.symbols():
        if not opt.symbols[symbol]:
            reasons.append(f"{symbol} is 0 at opt and max")
            continue
        if why := _apart(usual, reference, symbol, opt.feeds):
            reasons.append(f"{symbol} {why}")
            continue
        sizes = dict(opt.symbols)
        inner = max(math.prod(dims[1:]) for dims in _dims(manifest, fields, sizes).values())
        count = -(-ELEMENTS // max(1, inner)) + sizes[symbol]
        if count > _MOST:
            reasons.append(f"{symbol} would be {count}, more than 2^31 - 1")
            continue
        # Their pieces may not overlap.
        fewer = max(-(-_CONTROL_ELEMENTS // max(1, inner)) + sizes[symbol], 3 * sizes[symbol])
        values = _values(usual, reference, symbol, opt.feeds)
        case, control = (_case(manifest, usual, symbol, n, sizes, *values) for n in (count, fewer))
        wider = [
            replace(_case(manifest, usual, symbol, n, sizes, *values), whole=True)
            for n in _beyond(manifest, symbol, inner, sizes[symbol])
        ]
        return replace(case, control=control, wider=tuple(wider))
    return "no symbol can be made so large: " + "; ".join(reasons or ["there is none"])


def _beyond(manifest: Manifest, symbol: str, inner: int, few: int) -> list[int]:
    """The sizes of a symbol of which all blocks are run: beyond the profile, and just beyond the ends of indices."""
    most = max(profile.symbols[symbol][2] for profile in manifest.profiles)
    slices = [_SHORT, *(-(-elements // max(1, inner)) for elements in (_GRID, _CONTROL_ELEMENTS))]
    counts = [max(_SHORT, one) + few + 1 for one in slices]
    return [n for n in sorted(set(counts)) if max(most, 3 * few) < n and n * inner <= _WHOLE_ELEMENTS]


def _typical(tried: Sequence[Point]) -> Point:
    """The first opt that has elements, or else max; the first opt where neither has any."""
    named = [point for name in ("opt", "max") for point in tried if point.name == name]
    return next((point for point in named if all(point.symbols.values())), named[0])


def _dims(manifest: Manifest, fields: Mapping[str, Value], sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    inputs = {tensor.name: tensor.dims(sizes) for tensor in manifest.inputs}
    return {**inputs, **manifest.with_fields(dict(fields)).output_shapes(dict(sizes))}


def _apart(setting: Setting, reference: Reference, symbol: str, feeds: Mapping[str, Array]) -> str:
    """Why slices of a symbol can't be computed apart from one another, behind its name; empty if they can."""
    manifest = setting.manifest
    if any(symbol in shapes.symbols(shapes.parse(one)) for t in manifest.inputs for one in t.values or ()):
        return "is an element of an input"
    sliced = [tensor for tensor in manifest.inputs if tensor.shape and tensor.shape[0] == symbol]
    rest = [dim for t in manifest.inputs for dim in (t.shape[1:] if t in sliced else t.shape)]
    if not sliced or any(symbol in shapes.symbols(shapes.parse(dim)) for dim in rest):
        return "is not the first dimension of the inputs that have it"
    if any(not t.shape or t.shape[0] != symbol for t in manifest.outputs):
        return "is not the first dimension of each output"
    if any(t.scale_axis == 0 and setting.kind(t).is_quantized for t in (*manifest.inputs, *manifest.outputs)):
        return "has a scale for each element"
    twice = {t.name: np.concatenate([feeds[t.name], feeds[t.name][::-1]]) for t in sliced}
    try:
        whole = _outputs(setting, reference, {**feeds, **twice})
        size = next(iter(twice.values())).shape[0]
        alone = [
            _outputs(setting, reference, {**feeds, **{name: v[i : i + 1] for name, v in twice.items()}})
            for i in range(size)
        ]
    except CheckFailed:
        return "has sizes that the reference does not take"
    same = all(
        np.array_equal(want, np.concatenate([one[index] for one in alone]), equal_nan=True)
        for index, want in enumerate(whole)
    )
    return "" if same else "has slices that depend on one another"


def _outputs(setting: Setting, reference: Reference, feeds: Mapping[str, Array]) -> tuple[Array, ...]:
    inputs = [feeds[t.name] for t in setting.manifest.inputs]
    real = [feed.astype(np.int64 if feed.dtype.kind == "i" else np.float64) for feed in inputs]
    outputs = reference.masked(real, setting.fields)
    if any(np.ma.is_masked(one) for one in outputs):
        raise CheckFailed("masked outputs")
    return outputs


def _values(
    setting: Setting, reference: Reference, symbol: str, feeds: Mapping[str, Array]
) -> tuple[list[dict[str, Array]], list[dict[str, Array]]]:
    """Inputs and outputs by name, of each of the three pieces, as the tensors have them: INT8 and FP8 in steps."""
    manifest = setting.manifest
    given = [{t.name: _turned(t, symbol, feeds[t.name], number) for t in manifest.inputs} for number in range(3)]
    rounded = [
        {t.name: precisions.represent(values[t.name], setting.kind(t), setting.step(t)) for t in manifest.inputs}
        for values in given
    ]
    expected = [_outputs(setting, reference, values) for values in rounded]
    outputs = [{t.name: one for t, one in zip(manifest.outputs, each, strict=True)} for each in expected]

    def stored(tensors: Sequence[Tensor], pieces: Sequence[Mapping[str, Array]]) -> list[dict[str, Array]]:
        return [{t.name: _stored(setting, t, values[t.name]) for t in tensors} for values in pieces]

    return stored(manifest.inputs, rounded), stored(manifest.outputs, outputs)


def _stored(setting: Setting, tensor: Tensor, values: Array) -> Array:
    """What stands in the tensor's memory."""
    kind = setting.kind(tensor)
    return precisions.quantize(values, setting.step(tensor), kind) if kind.is_quantized else values


def _case(
    manifest: Manifest,
    usual: Setting,
    symbol: str,
    count: int,
    sizes: Mapping[str, int],
    given: Sequence[Mapping[str, Array]],
    expected: Sequence[Mapping[str, Array]],
) -> LargeCase:
    few = sizes[symbol]
    starts = (0, (count - few) // 2, count - few)
    large = {**sizes, symbol: count}
    least = few if manifest.static() == (manifest,) else count
    ranges = {name: (size, size, size) for name, size in sizes.items()} | {symbol: (least, count, count)}
    profile = Profile(name="default", symbols=ranges)
    at_size = manifest.model_copy(update={"profiles": (profile,)})
    setting = Setting(at_size, usual.precision, usual.fields, scales=usual.scales)
    dims = _dims(manifest, usual.fields, large)

    def large_of(tensor: Tensor, values: Sequence[Mapping[str, Array]]) -> LargeTensor:
        kind, shape = setting.kind(tensor), dims[tensor.name]
        if tensor.shape[:1] != (symbol,):
            return LargeTensor(tensor.name, kind, shape, ((0, values[0][tensor.name]),))
        inner = math.prod(shape[1:])
        pieces = tuple((start * inner, one[tensor.name]) for start, one in zip(starts, values, strict=True))
        return LargeTensor(tensor.name, kind, shape, pieces)

    network = Plain().build(setting)
    steps = {t.name: 1.0 for t in manifest.outputs if setting.kind(t).is_quantized}
    float8 = [t.name for t in manifest.outputs if setting.kind(t) is DType.FLOAT8]
    return LargeCase(
        id=f"{network.id}/{NAME}",
        network=network,
        symbols=large,
        inputs=tuple(large_of(t, given) for t in manifest.inputs),
        outputs=tuple(large_of(t, expected) for t in manifest.outputs),
        tolerance=precisions.tolerance(manifest, usual.precision, steps, chain=1, ratios=(), float8=float8),
    )


def _turned(tensor: Tensor, symbol: str, values: Array, number: int) -> Array:
    """Other values for each piece: those of the point, backwards along the symbol, and turned by one."""
    if tensor.shape[:1] != (symbol,):
        return values
    turned: Array = (values, values[::-1], np.roll(values, 1, axis=-1))[number].copy()
    return turned
