"""INT8 calibration: which range of a tensor's values its 255 steps cover, by the largest value or by entropy.

Entropy calibration follows Szymon Migacz, "8-bit Inference with TensorRT" (GTC 2017, session S7310): of all thresholds
the one is taken at which the histogram of magnitudes, clipped there, loses least information (Kullback-Leibler
divergence) by quantization to 128 levels. TensorRT's own calibrators are closed source; this is a model of them, which
gives the scales that 8.5.3 wrote into its caches (tests/fidelity/tensorrt8/test_calibrators.py).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from pluginkit.bases import BASES
from pluginkit.errors import NothingSelected, UsageError
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Array
from pluginkit.testing.points import Point, convert, is_integer, place, read_arrays

Method: TypeAlias = Literal["max", "entropy"]

METHODS: tuple[Method, ...] = ("max", "entropy")

BINS = 2048
LEVELS = 128
"""Magnitudes that INT8 distinguishes."""
SMOOTHING = 1e-4
"""Of a value, for each bin of a histogram."""


@dataclass(frozen=True)
class Calibration:
    """How scales are found.

    Attributes:
        method: for all networks with scales; None means `max` where the plugin gets them by fields, and both where it
            gets them by descriptors.
        data: an .npz with samples of the plugin's inputs; None means the values that the networks are run on.
    """

    method: Method | None = None
    data: Path | None = None

    @property
    def explicit(self) -> Method:
        """The method for scales that the plugin gets by fields."""
        return self.method or "max"

    @property
    def implicit(self) -> tuple[Method, ...]:
        """The methods for scales that the plugin gets by descriptors."""
        return (self.method,) if self.method else METHODS


BY_DEFAULT = Calibration()


def by_descriptor(manifest: Manifest) -> bool:
    """Whether a plugin can take its INT8 scales from `desc.scale`: it has no scale fields, or their default is 0.

    An IPluginV2 and an IPluginV2Ext get no descriptors.
    """
    if BASES[manifest.plugin.base].one_format:
        return False
    scales = manifest.scale_fields()
    return all(field.default == 0 for field in manifest.fields if field.name in scales)


def covered(values: Sequence[Array], method: Method) -> tuple[float, float]:
    """The range that a tensor's scale is to cover, 0 included.

    Args:
        values: what the tensor held, run by run; what isn't finite is left out.
        method: `max` takes the smallest and the largest value, `entropy` ends the wider side at `threshold` and clips
            the other one there.
    """
    flat = [np.asarray(one, np.float64).ravel() for one in values]
    finite = [one[np.isfinite(one)] for one in flat]
    low = min((float(one.min()) for one in finite if one.size), default=0.0)
    high = max((float(one.max()) for one in finite if one.size), default=0.0)
    low, high = min(0.0, low), max(0.0, high)
    if method == "entropy":
        clip = threshold([np.abs(one) for one in finite])
        return (max(low, -clip), clip) if high >= -low else (-clip, min(high, clip))
    return low, high


def threshold(magnitudes: Sequence[Array]) -> float:
    """The magnitude above which values are clipped, by entropy calibration of batches.

    It can be above all values: by half a bin of the histogram, or by more where a later batch has made that wider.
    Among thresholds that lose the same the largest is taken: it clips least. 0 for no values or zeros only.
    """
    counts, width = _histogram(magnitudes)
    return (_best_kept(counts.tobytes()) + 0.5) * width if width else 0.0


def _histogram(magnitudes: Sequence[Array]) -> tuple[Array, float]:
    """The counts of BINS bins, and a bin's width: the first batch that isn't zero sets it, and where a later one has a
    larger value, it doubles, as often as needed. The first bin counts as the second: zeros tell nothing."""
    counts, width = np.zeros(BINS), 0.0
    for batch in magnitudes:
        largest = float(batch.max()) if batch.size else 0.0
        if not width and not largest:
            continue
        width = width or largest / BINS
        while largest > width * BINS:
            counts = np.concatenate([counts.reshape(-1, 2).sum(axis=1), np.zeros(BINS // 2)])
            width *= 2
        counts += np.bincount(np.minimum(batch / width, BINS - 1).astype(np.int64).ravel(), minlength=BINS)
    counts[0] = counts[1]
    return counts, width


@functools.lru_cache(maxsize=64)
def _best_kept(histogram: bytes) -> int:
    """How many bins lose the least, of float64 counts. Networks of one plan have the same ones, and it takes long."""
    counts = np.frombuffer(histogram)
    best, least = BINS, np.inf
    for kept in range(BINS, LEVELS - 1, -1):
        loss = divergence(counts, kept)
        if loss < least:
            best, least = kept, loss
    return best


def divergence(counts: Array, kept: int) -> float:
    """What is lost when the first `kept` bins are quantized to `LEVELS` levels, and all above is clipped to the last.

    The Kullback-Leibler divergence, in nats, of the clipped histogram from the quantized one: a level's
    count, spread evenly over those of its bins that hold something. `SMOOTHING` is added to each bin of both, since
    clipping may fill a bin that was empty, where the quantized histogram has none.
    """
    seen = counts[:kept]
    clipped = seen.copy()
    clipped[-1] += counts[kept:].sum()
    level = np.arange(kept) * LEVELS // kept
    holding = seen > 0
    mass = np.bincount(level, weights=seen, minlength=LEVELS)
    share = np.bincount(level, weights=holding, minlength=LEVELS)
    quantized = np.where(holding, mass[level] / np.maximum(share[level], 1.0), 0.0)
    clipped, quantized = clipped + SMOOTHING, quantized + SMOOTHING
    p, q = clipped / clipped.sum(), quantized / quantized.sum()
    return float(np.sum(p * np.log(p / q)))


def read_samples(manifest: Manifest, file: Path) -> list[Point]:
    """The samples of the user's calibration data: an .npz with an array for each input, all with as many samples.

    An array has the input's dimensions, with one more in front that counts the samples, or without it for one sample.

    Raises:
        UsageError: as `points.read_data`; no samples or different numbers of them, an empty array, or a quantized input
            with the same value everywhere.
        NothingSelected: no tensor is INT8 or FP8.
    """
    if not any(kind.is_quantized for kind in manifest.precisions()):
        raise NothingSelected(
            f"{file} is for calibration, and no input of {manifest.plugin.name} is int8 or float8.",
            hint="Leave out --calibration-data.",
        )
    arrays = read_arrays(manifest, file)
    batched = {t.name: _samples(file, arrays[t.name], len(t.shape), t.name) for t in manifest.inputs}
    counts = {name: len(array) for name, array in batched.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"'{name}' has {count}" for name, count in counts.items())
        raise UsageError(f"{file}: every input needs as many samples; {listed}.")
    for tensor in manifest.inputs:
        array = batched[tensor.name] = convert(file, tensor, batched[tensor.name])
        if not array.size:
            raise UsageError(f"{file}: '{tensor.name}' is empty: shape {list(array.shape)}.", hint="Give it values.")
        if not is_integer(tensor) and any(kind.is_quantized for kind in tensor.types) and array.min() == array.max():
            raise UsageError(
                f"{file}: '{tensor.name}' is {array.flat[0]:g} everywhere, which says nothing about its range.",
                hint="Give samples like those that the network will see.",
            )
    count = next(iter(counts.values()))
    return [
        place(manifest, file, {name: array[index] for name, array in batched.items()}, f"sample-{index + 1}")
        for index in range(count)
    ]


def _samples(file: Path, array: Array, rank: int, name: str) -> Array:
    if array.ndim not in (rank, rank + 1):
        raise UsageError(
            f"{file}: '{name}' has shape {list(array.shape)}; expected {rank} dimension(s) for one sample, or one more "
            "in front for several."
        )
    return array if array.ndim == rank + 1 else array[np.newaxis]


def ranges(seen: Mapping[str, Sequence[Array]], method: Method) -> dict[str, tuple[float, float]]:
    """Tensor -> the range that its scale is to cover."""
    return {name: covered(values, method) for name, values in seen.items()}
