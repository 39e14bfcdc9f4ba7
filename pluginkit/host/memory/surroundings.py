"""Whether a plugin's results depend on what stands around its inputs' elements and means nothing: padded lanes (E16),
and the bytes beside their memory (T17).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pluginkit import float8
from pluginkit.dtypes import DType
from pluginkit.host.errors import Finding
from pluginkit.host.memory.guarded_tensors import OTHER_LANES, OTHER_SURROUNDINGS, USUAL, GuardedTensor

ROUNDS = 10
"""How often a difference must come and go with what stands there. Sums in which blocks add in any order, and which
cancel to about 0, differ by chance, at most as likely as not: in all rounds that is once in 2^20."""

Array = np.ndarray[Any, Any]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
Outputs = Sequence[GuardedTensor]
Enqueue = Callable[[int], Outputs]
"""Runs the plugin in a turn, on the same inputs, and gives its outputs."""


def check_padding_unread(first: Outputs, other: Outputs, wanted: Sequence[Mask], enqueue: Enqueue) -> None:
    """Raises a Finding when the inputs' padded lanes have an effect.

    Args:
        first, other: the outputs of a run in the turn `USUAL`, and of one in `OTHER_LANES`.
        wanted: of each output, which elements mean something.
        enqueue: makes more such runs, where these two differ.
    """
    effect = (
        "padding read: {} change with what stands in the inputs' padded lanes, {}; channels beyond the tensor's own "
        "mean nothing and must be left out"
    )
    _check(first, other, wanted, enqueue, turn=OTHER_LANES, differ=_unequal, effect=effect, rule="E16")


def check_surroundings_unread(first: Outputs, other: Outputs, wanted: Sequence[Mask], enqueue: Enqueue) -> None:
    """As `check_padding_unread`, of what stands beside the inputs' memory, with `other` in `OTHER_SURROUNDINGS`. Blocks
    that add in another order give other last places: a difference counts that is not rounding."""
    effect = (
        "read beyond an input: {} change with what stands before or behind the inputs' memory, {}; what is there "
        "belongs to others"
    )
    _check(first, other, wanted, enqueue, turn=OTHER_SURROUNDINGS, differ=_apart, effect=effect, rule="T17")


def _check(
    first: Outputs,
    other: Outputs,
    wanted: Sequence[Mask],
    enqueue: Enqueue,
    *,
    turn: int,
    differ: Callable[[Array, Array], Mask],
    effect: str,
    rule: str,
) -> None:
    """Raises a Finding for the elements that differ in each run of that turn, and in no usual one."""
    suspects = list(wanted)
    for number in range(ROUNDS):
        other = enqueue(turn) if number else other
        suspects = [m & differ(a.array, b.array) for m, a, b in zip(suspects, first, other, strict=True)]
        if not any(mask.any() for mask in suspects):
            return
        again = enqueue(USUAL)
        suspects = [m & ~differ(a.array, b.array) for m, a, b in zip(suspects, first, again, strict=True)]
    for mask, one, changed in zip(suspects, first, other, strict=True):
        if mask.any():
            index = tuple(int(i) for i in np.argwhere(mask)[0])
            elements = f"{int(mask.sum())} of {math.prod(one.shape)} elements of {one.what}"
            values = f"the first at index {index}: {one.array[index]} and {changed.array[index]}"
            raise Finding(one.method, effect.format(elements, values), rule=rule, contained=True)


def _unequal(one: Array, other: Array) -> Mask:
    """Which elements have other bits."""
    bits = f"u{one.dtype.itemsize}"
    return np.asarray(one.view(bits) != other.view(bits))


def _apart(one: Array, other: Array) -> Mask:
    """Which elements differ by more than rounding: by a thousandth, INT8 and FP8 by more than a step, other integers at
    all."""
    if one.dtype.kind == "i":
        far = one != other if one.dtype.itemsize > 1 else np.abs(one.astype(int) - other.astype(int)) > 1
        return np.asarray(far)
    a, b = one.astype(np.float64), other.astype(np.float64)
    if one.dtype == DType.FLOAT8.numpy:
        a, b = float8.place(a), float8.place(b)
    with np.errstate(invalid="ignore", over="ignore"):
        bound = 1.0 if one.dtype == DType.FLOAT8.numpy else 1e-3 * (np.abs(a) + np.abs(b))
        near = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= bound)
    return np.asarray(~near)
