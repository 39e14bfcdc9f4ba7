"""The worker's side of `pluginkit.tuning.measuring`: a library that has all candidates, and one case after another."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from pluginkit import host
from pluginkit.bench.bench_worker import BenchLibrary
from pluginkit.bench.measurements import BenchCase
from pluginkit.errors import CheckFailed
from pluginkit.manifest.tuning.section import Values
from pluginkit.process.worker_main import CallFile
from pluginkit.tuning.results import VARIABLE, Compared, named


def open(call_file: CallFile, **init: Any) -> TuningLibrary:  # noqa: A001
    """Loads the library and takes the GPU; arguments are TuningLibrary's."""
    host.set_call_file(call_file.path)
    return TuningLibrary(**init)


class TuningLibrary(BenchLibrary):
    """A loaded plugin library with all candidates, on a GPU.

    Args:
        candidates: their values, for messages.
        init: as BenchLibrary's.
    """

    def __init__(self, *, candidates: Sequence[Values], **init: Any) -> None:
        super().__init__(**init)
        self._candidates = candidates

    def compare(self, case: BenchCase, sets: Sequence[int], rounds: int) -> Compared:
        """Times sets of values in turn, as often as there are rounds, on a case that was prepared.

        Each set's outputs of the first round are compared with the reference: one that is wrong has no times.

        Raises:
            CheckFailed: the case can't be measured at all, or a set has left the GPU's context unusable.
        """
        times: dict[int, list[float]] = {number: [] for number in sets}
        wrong: dict[int, str] = {}
        with self._placed(case) as (_, measure, check):
            for turn in range(rounds):
                for number in [one for one in sets if one not in wrong]:
                    os.environ[VARIABLE] = str(number)
                    try:
                        measured, _ = measure()
                        if turn == 0:
                            check()
                    except CheckFailed as error:
                        if getattr(error, "sticky", False):  # else each later set would look wrong
                            what = named(self._candidates[number]) if number else "the usual values"
                            raise error.worded(f"{case.id}, with {what}: {error.message}") from error
                        wrong[number] = error.message
                        del times[number]
                    else:
                        times[number].append(measured.median)
        return Compared(times, wrong)
