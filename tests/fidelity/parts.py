"""Many cases, judged by several processes at once."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from .generator import case
from .judging import Judgement, evaluators


def _judge(seed: int, numbers: Sequence[int]) -> list[Judgement]:
    """These cases; without the cases themselves, whose functions don't travel between processes."""
    with tempfile.TemporaryDirectory() as folder, evaluators(Path(folder)) as both:
        return [replace(both.evaluate(case(seed, number)), case=None) for number in numbers]  # type: ignore[arg-type]


def evaluate(seed: int, numbers: Sequence[int], jobs: int = 0) -> list[Judgement]:
    """Each case of a seed, in this order.

    Args:
        jobs: how many processes; 0: as many as there are cores.
    """
    jobs = jobs or os.cpu_count() or 1
    # Several parts a process, so that all end together; not many, since each compiles the plugin and opens sessions.
    parts = [numbers[first :: 4 * jobs] for first in range(min(4 * jobs, len(numbers)))]
    found: dict[int, Judgement] = {}
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        tasks = {pool.submit(_judge, seed, part): part for part in parts}
        for task in as_completed(tasks):
            found |= dict(zip(tasks[task], task.result(), strict=True))
            print(f"{len(found)} of {len(numbers)} cases", file=sys.stderr, flush=True)
    return [replace(found[number], case=case(seed, number)) for number in numbers]
