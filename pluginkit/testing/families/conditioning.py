"""How far a network's outputs move if what its plugin reads is off by some roundings.

A computation is as good as its type allows if its result is the exact one for inputs that are off by a few roundings
(backward stability: Higham, Accuracy and Stability of Numerical Algorithms, second edition, 1.5). Where large terms
cancel, that result is farther from the exact one than any constant times the result says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.manifest import Tensor
from pluginkit.network.networks import Array, Tolerance
from pluginkit.testing.families.base import Applier, OracleResult, Setting
from pluginkit.testing.families.family import Family
from pluginkit.testing.points import generator
from pluginkit.testing.reference import Reference

_WORTH = 1.25
"""By how much a movement exceeds the tolerance, if it does: a result in proportion to an input moves by as much as the
tolerance, and by its own rounding."""
_NEARER = 16.0
"""By how much smaller the second step is that tells a slope from a jump."""
_SLOPE = 4.0
"""By how much less an output moves in that step at least: 16 times where it moves in proportion, not at all at a jump
(floor, a comparison), which allows nothing."""
_OTHER_ORDER = 2.0
"""By how much more a plugin may be off than the reference in the plugin's type: it adds in another order."""


@dataclass
class _InHalf(Applier):
    """The oracle's plugin, which gets FP16's numbers as such: NumPy then rounds each operation to FP16."""

    def _at(self, tensor: Tensor, value: Array) -> Array:
        found = super()._at(tensor, value)
        # float16 turns into float64 in what the reference returns.
        given = self.setting.kind(tensor) is DType.FLOAT16 and tensor in self.setting.manifest.inputs
        return found.astype(np.float16) if given else found


@dataclass
class _Moved(Applier):
    """The oracle's plugin, one of whose inputs is off in each element: by `by` times its value, up or down.

    At random, or all up (`upward`): that moves a sum farthest, in which random signs may cancel.
    """

    name: str = ""
    by: float = 0.0
    upward: bool = False

    def _at(self, tensor: Tensor, value: Array) -> Array:
        found = super()._at(tensor, value)
        if tensor.name != self.name:
            return found
        random = generator(0, "conditioning", tensor.name).choice((-1.0, 1.0), found.shape)
        signs = np.where(found < 0, -1.0, 1.0) if self.upward else random
        return np.asarray(found * (1.0 + self.by * signs))


def moved(
    family: Family,
    setting: Setting,
    reference: Reference,
    feeds: Mapping[str, Array],
    answer: OracleResult,
    tolerance: Tolerance,
    by: float,
) -> dict[str, Array]:
    """Graph output -> how far each element moves, 0 where the tolerance allows that; without outputs that are all 0.

    Args:
        family: whose network it is.
        setting: the plugin's.
        reference: the layer.
        feeds: the network's inputs.
        answer: what comes out for them.
        tolerance: of the outputs, those compared in steps left out.
        by: how far the plugin's inputs are off, relative to each element.

    One input at a time is off, as two could hide one another, and the largest movement counts: a product of several
    moves no farther than by one. An input adds nothing where the reference is not defined for it then, or gives another
    shape.
    """
    outputs = {
        name: value
        for name, value in answer.outputs.items()
        if value.dtype.kind == "f" and name not in tolerance.scales
    }
    if not outputs:
        return {}
    with np.errstate(invalid="ignore"):
        least = {
            name: _WORTH * np.fmax(tolerance.atol, tolerance.rtol * np.abs(value)) for name, value in outputs.items()
        }
    far = dict(_movements(family, setting, reference, feeds, outputs, by))
    if not any((one[name] > least[name]).any() for one in far.values() for name in outputs):
        return {}
    found = {name: np.zeros(value.shape) for name, value in outputs.items()}
    for tensor, near in _movements(family, setting, reference, feeds, outputs, by / _NEARER):
        for name, whole in far.get(tensor, {}).items():
            sloping = (whole > least[name]) & (near[name] * _SLOPE <= whole)
            found[name] = np.maximum(found[name], np.where(sloping, whole, 0.0))
    return {name: value for name, value in found.items() if value.any()}


def in_half(
    family: Family,
    setting: Setting,
    reference: Reference,
    feeds: Mapping[str, Array],
    answer: OracleResult,
    tolerance: Tolerance,
) -> dict[str, Array]:
    """Graph output -> how far a plugin may be off that rounds each operation to FP16, as `moved` has it.

    That is how far the reference is, at most, if its operations round so; NumPy's means of FP16 add in FP32. Nothing
    where the reference computes in another type of its own, or has no finite result in FP16.
    """
    if not any(setting.kind(tensor) is DType.FLOAT16 for tensor in setting.manifest.inputs):
        return {}
    try:
        rounded = family.oracle(_InHalf(setting, reference), feeds).outputs
    except CheckFailed:
        return {}
    found = {}
    for name, value in answer.outputs.items():
        if value.dtype.kind == "f" and name not in tolerance.scales and rounded[name].shape == value.shape:
            with np.errstate(invalid="ignore"):
                off = np.abs(rounded[name] - value)
            most = off[np.isfinite(off)].max(initial=0.0)
            if most > tolerance.atol:
                found[name] = np.full(value.shape, _OTHER_ORDER * most)
    return found


def _movements(
    family: Family,
    setting: Setting,
    reference: Reference,
    feeds: Mapping[str, Array],
    outputs: Mapping[str, Array],
    by: float,
) -> Iterator[tuple[str, dict[str, Array]]]:
    """Each input, with graph output -> |difference|, 0 where that isn't finite."""
    for tensor in setting.manifest.inputs:
        if setting.kind(tensor).is_integer:
            continue
        found = {name: np.zeros(value.shape) for name, value in outputs.items()}
        for upward in (False, True):
            moving = _Moved(setting, reference, name=tensor.name, by=by, upward=upward)
            try:
                other = family.oracle(moving, feeds).outputs
            except CheckFailed:
                continue
            if any(other[name].shape != value.shape for name, value in outputs.items()):
                continue
            for name, value in outputs.items():
                with np.errstate(invalid="ignore"):
                    far = np.abs(other[name] - value)
                found[name] = np.maximum(found[name], np.where(np.isfinite(far), far, 0.0))
        yield tensor.name, found
