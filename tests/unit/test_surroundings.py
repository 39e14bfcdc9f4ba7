"""Results that change with what stands beside the inputs' memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

from pluginkit.dtypes import DType
from pluginkit.host.errors import Finding
from pluginkit.host.memory.buffers import HostBuffer
from pluginkit.host.memory.guarded_tensors import USUAL, GuardedTensor
from pluginkit.host.memory.surroundings import ROUNDS, Enqueue, check_padding_unread, check_surroundings_unread


def outputs_of(dtype: DType, *values: Sequence[float]) -> list[GuardedTensor]:
    """The same output in several runs."""
    tensors = [GuardedTensor(HostBuffer, "enqueue", "output 0", dtype, (len(each),)) for each in values]
    for tensor, each in zip(tensors, values, strict=True):
        tensor.stored[...] = each
    return tensors


def runs(beside: Callable[[], GuardedTensor], usual: Callable[[], GuardedTensor]) -> Enqueue:
    return lambda turn: [usual() if turn == USUAL else beside()]


EVERYTHING = [np.array([True])]


@pytest.mark.parametrize(
    ("second", "again", "read"),
    [
        ([1.0, -2.0, 0.5], [1.0, -2.0, 0.5], False),
        ([1.0, np.nan, 0.5], [1.0, -2.0, 0.5], True),
        ([1.0, 3e38, 0.5], [1.0, -2.0, 0.5], True),
        ([1.0, -2.0001, 0.5], [1.0, -2.0, 0.5], False),  # rounded in another order
        ([1.0, 7.0, 0.5], [1.0, 8.0, 0.5], False),  # differs each time, whatever is around
        ([1.0, -2.0, 9.0], [1.0, -2.0, 0.5], False),  # means nothing
    ],
)
def test_outputs_that_change_with_what_is_around(second: list[float], again: list[float], read: bool) -> None:
    first, other, same = outputs_of(DType.FLOAT32, [1.0, -2.0, 0.5], second, again)
    wanted = np.array([True, True, False])
    message = r"read beyond an input: 1 of 3 elements .* at index \(1,\): -2.0 and "
    with pytest.raises(Finding, match=message) if read else nullcontext() as found:
        check_surroundings_unread([first], [other], [wanted], runs(lambda: other, lambda: same))
    assert found is None or found.value.rule == "T17"


def test_padding_counts_to_the_last_bit() -> None:
    first, other = outputs_of(DType.FLOAT32, [1.0], [1.0000001])
    with pytest.raises(Finding, match=r"padding read: 1 of 1 elements .* at index \(0,\): 1.0 and 1.0000001") as found:
        check_padding_unread([first], [other], EVERYTHING, runs(lambda: other, lambda: first))
    assert found.value.rule == "E16"


@pytest.mark.parametrize("check", [check_padding_unread, check_surroundings_unread])
@pytest.mark.parametrize("wrong_round", range(ROUNDS))
@pytest.mark.parametrize("which", ["other", "usual"])
def test_sums_that_cancel_differ_by_chance(check: Callable[..., None], wrong_round: int, which: str) -> None:
    """Blocks that add in any order leave one rest or the other of about 0, whatever is around."""
    one, rest = outputs_of(DType.FLOAT32, [0.0], [-1.2e-7])
    others, usual = [rest] * ROUNDS, [one] * ROUNDS
    if which == "other":
        others[wrong_round] = one
    else:
        usual[wrong_round] = rest
    check([one], [others.pop(0)], EVERYTHING, runs(partial(next, iter(others)), partial(next, iter(usual))))


def test_what_does_not_differ_is_not_run_again() -> None:
    (one,) = outputs_of(DType.FLOAT32, [1.0])

    def enqueue(_: int) -> list[GuardedTensor]:
        raise AssertionError("run again")

    check_surroundings_unread([one], [one], EVERYTHING, enqueue)


@pytest.mark.parametrize(
    ("dtype", "second", "read"), [(DType.INT8, 3, False), (DType.INT8, -128, True), (DType.INT64, -(2**63), True)]
)
def test_integers_that_change_with_what_is_around(dtype: DType, second: int, read: bool) -> None:
    first, other, same = outputs_of(dtype, [2], [second], [2])
    with pytest.raises(Finding) if read else nullcontext():
        check_surroundings_unread([first], [other], EVERYTHING, runs(lambda: other, lambda: same))
