"""What two contexts give at once, against what each gives alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest

from pluginkit.host.errors import Finding
from pluginkit.host.memory.buffers import Bytes
from pluginkit.host.memory.concurrency import ROUNDS, check

ALONE, SPOILT = [np.array([1, 2, 3], np.uint8)], [np.array([1, 9, 9], np.uint8)]


def always(result: Sequence[Bytes]) -> Callable[[], Sequence[Bytes]]:
    return lambda: result


def test_what_differs_each_time_is_spoilt_by_the_other() -> None:
    with pytest.raises(Finding, match="two contexts at once: 2 bytes of what the second one writes differ") as found:
        check("enqueue", 1, ALONE, SPOILT, always(ALONE), always(SPOILT))
    assert found.value.rule == "E10"


def test_the_same_bytes_must_differ_each_time() -> None:
    other = [np.array([9, 2, 9], np.uint8)]
    together = iter([other] * ROUNDS)
    with pytest.raises(Finding, match="two contexts at once: 1 bytes"):
        check("enqueue", 0, ALONE, SPOILT, always(ALONE), partial(next, together))


def test_nothing_is_run_again_that_is_alike() -> None:
    def fail() -> Sequence[Bytes]:
        raise AssertionError("run again")

    check("enqueue", 0, ALONE, ALONE, fail, fail)


@pytest.mark.parametrize("wrong_round", range(ROUNDS))
@pytest.mark.parametrize("which", ["alone", "together"])
def test_sums_that_cancel_differ_by_chance(wrong_round: int, which: str) -> None:
    alone, together = [ALONE] * ROUNDS, [SPOILT] * ROUNDS
    if which == "alone":
        alone[wrong_round] = SPOILT
    else:
        together[wrong_round] = ALONE
    check("enqueue", 0, ALONE, together.pop(0), partial(next, iter(alone)), partial(next, iter(together)))


def test_where_one_run_need_not_be_as_another_only_what_is_alone_is_repeated() -> None:
    """On a GPU two streams overlap as they like."""
    with pytest.raises(Finding):
        check("enqueue", 0, ALONE, SPOILT, always(ALONE))
    alone = iter([ALONE] * (ROUNDS - 1) + [SPOILT])
    check("enqueue", 0, ALONE, SPOILT, partial(next, alone))
