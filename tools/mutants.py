"""Mutation testing of what `pluginkit new` writes: how much of what can be wrong in a plugin does a test run find?

`.venv/bin/python tools/mutants.py -n 2` mutates each line of the sources that `new` writes for each base, one change at
a time, builds each mutant for target cpu, and tests it as `pluginkit test --target cpu` does, to the first finding. A
mutant that can't be told from the plugin stands in `mutation/equivalents.toml`, with the reason, and is not built.

What is done is kept in the folder of `--results`, so that a run that ended goes on where it was; `--seconds` ends one
in time. The table of survivors is printed, and `mutants.json` there has every mutant. Exit code 1: less than `--least`
of the mutants was found, or an entry of equivalents.toml fits no mutant.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

from mutation import trial
from mutation.mutants import BASES, Equivalents, Mutant, mutants

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the mutants that are asked for and not done yet; print what is known of all that are asked for."""
    options = _options(arguments)
    everything, equivalents = chosen(options)
    done = Results(options.results)
    waiting = [one for one in everything if one.id not in done.known and not equivalents.reason(one)]
    if waiting:
        run(waiting, done, options)
    plugin = trial.planned(trial.generated(options.results / "plan" / BASES[0], BASES[0]))
    report = Summary(everything, equivalents, done.known, sampled=options.sample is not None)
    report.write(options.results / "mutants.json", plugin.present, plugin.absent)
    print(report.text(plugin.present, plugin.absent))
    for one in equivalents.stale:
        print(f"stale in equivalents.toml, no mutant is so: {one}")
    return 1 if equivalents.stale or report.share < options.least else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes (%(default)s)")
    parser.add_argument("--base", choices=BASES, action="append", help="only this base; may be repeated")
    parser.add_argument("--only", default="", help="only mutants whose id contains this")
    parser.add_argument("--sample", type=int, help="so many of the mutants that are not equivalent")
    parser.add_argument("--seed", type=int, default=0, help="which ones --sample takes (%(default)s)")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one mutant (%(default)s)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no mutant after so many seconds")
    parser.add_argument("--least", type=float, default=0.0, help="the share that must be found, as in 0.95")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "mutants", help="folder (%(default)s)")
    return parser.parse_args(arguments)


def chosen(options: argparse.Namespace) -> tuple[list[Mutant], Equivalents]:
    """The mutants that are asked for, and the equivalents, held against all mutants there are."""
    equivalents = Equivalents()
    everything = []
    with tempfile.TemporaryDirectory() as folder:
        for base in BASES:
            for one in mutants(trial.generated(Path(folder) / base, base), base):
                equivalents.reason(one)
                if base in (options.base or BASES) and options.only in one.id:
                    everything.append(one)
    if options.sample is not None:
        real = [one for one in everything if not equivalents.reason(one)]
        taken = {one.id for one in random.Random(options.seed).sample(real, min(options.sample, len(real)))}
        everything = [one for one in everything if one.id in taken]
    return everything, equivalents


class Results:
    """What is known of mutants: a line of JSON each in `trials.jsonl`, written as soon as one is done."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "trials.jsonl"
        self.known: dict[str, trial.Outcome] = {}
        if self._file.exists():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                found = json.loads(line)
                name = found.pop("id")
                self.known[name] = trial.Outcome(**found)

    def add(self, mutant: Mutant, outcome: trial.Outcome) -> None:
        """Keep an outcome."""
        self.known[mutant.id] = outcome
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"id": mutant.id, **asdict(outcome)}) + "\n")


def run(waiting: Sequence[Mutant], done: Results, options: argparse.Namespace) -> None:
    """Try mutants, several at once, until all are done or the time is over."""
    end = time.monotonic() + options.seconds
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, context) as pool:
        ahead = iter(waiting)
        running: dict[Future[trial.Outcome], Mutant] = {}
        count = 0
        while True:
            while len(running) < options.jobs and time.monotonic() < end and (one := next(ahead, None)):
                running[pool.submit(_try, options.results, one, options.limit)] = one
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                mutant = running.pop(future)
                done.add(mutant, outcome := future.result())
                count += 1
                print(f"[{count}/{len(waiting)}] {outcome.result:13} {outcome.seconds:5.1f} s  {mutant.id}", flush=True)


@cache
def _bench(results: Path) -> trial.Bench:
    return trial.Bench(results)


def _try(results: Path, mutant: Mutant, limit: float) -> trial.Outcome:
    return _bench(results).plugin(mutant.base).trial(mutant, limit)


class Summary:
    """Mutants with what came of them."""

    def __init__(
        self,
        everything: Sequence[Mutant],
        equivalents: Equivalents,
        known: dict[str, trial.Outcome],
        *,
        sampled: bool = False,
    ) -> None:
        self._sampled = sampled
        self._reasons = {one.id: reason for one in everything if (reason := equivalents.reason(one))}
        self._everything = everything
        self._known = {one.id: known[one.id] for one in everything if one.id in known and one.id not in self._reasons}

    @property
    def share(self) -> float:
        """Of the mutants that compile, that are not equivalent and that were tried: how many were found."""
        results = Counter(one.result for one in self._known.values())
        tried = results.total() - results[trial.NOT_COMPILED]
        return results[trial.FOUND] / tried if tried else 0.0

    def text(self, present: Sequence[str], absent: dict[str, str]) -> str:
        """For people: the survivors, the numbers, who judged."""
        return "\n".join([*self._survivors(), *self._numbers(), *_evaluators(present, absent)])

    def write(self, file: Path, present: Sequence[str], absent: dict[str, str]) -> None:
        """All of it as JSON."""
        rows = []
        for one in self._everything:
            outcome = self._known.get(one.id)
            row: dict[str, Any] = {"id": one.id, **asdict(one)}
            row["equivalent"] = self._reasons.get(one.id, "")
            row["outcome"] = asdict(outcome) if outcome else None
            rows.append(row)
        text = json.dumps({"share": self.share, "evaluators": present, "absent": absent, "mutants": rows}, indent=1)
        file.with_suffix(".new").write_text(text + "\n", encoding="utf-8")
        file.with_suffix(".new").replace(file)

    def _survivors(self) -> Iterator[str]:
        for one in self._everything:
            outcome = self._known.get(one.id)
            if outcome and outcome.result in (trial.SURVIVED, trial.UNFINISHED):
                yield f"{outcome.result}: {one.base} {one.file}:{one.line} {one.function} ({one.operator})"
                yield f"  - {one.before}"
                yield f"  + {one.after}"

    def _numbers(self) -> Iterator[str]:
        yield f"{'base':10} {'mutants':>8} {'equivalent':>11} {'no build':>9} {'found':>6} {'missed':>7} {'share':>7}"
        for base in (*BASES, ""):
            ids = [one.id for one in self._everything if one.base == base or not base]
            if not ids:
                continue
            results = Counter(self._known[name].result for name in ids if name in self._known)
            equivalent = sum(name in self._reasons for name in ids)
            missed = results[trial.SURVIVED] + results[trial.UNFINISHED]
            found, broken = results[trial.FOUND], results[trial.NOT_COMPILED]
            share = f"{found / (found + missed):7.1%}" if found + missed else "      -"
            yield f"{base or 'all':10} {len(ids):8} {equivalent:11} {broken:9} {found:6} {missed:7} {share}"
        left = len(self._everything) - len(self._known) - len(self._reasons)
        if left:
            yield f"{left} are not tried yet: the same command goes on with them"
        if self._sampled and (tried := sum(one.result != trial.NOT_COMPILED for one in self._known.values())):
            low, high = interval(self.share, tried)
            yield f"a sample: with 95 % confidence the share of all mutants is {low:.1%} to {high:.1%}"


def interval(share: float, count: int) -> tuple[float, float]:
    """Between what a share of all lies with 95 % confidence, by that of `count` drawn ones: E. B. Wilson, Probable
    inference, the law of succession, and statistical inference, JASA 22 (1927)."""
    z = NormalDist().inv_cdf(0.975)
    middle = share + z * z / (2 * count)
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return (middle - spread) / (1 + z * z / count), (middle + spread) / (1 + z * z / count)


def _evaluators(present: Sequence[str], absent: dict[str, str]) -> Iterator[str]:
    yield f"judged by {', '.join(present)}"
    for name, why in absent.items():
        yield f"not by {name}: {why}"


if __name__ == "__main__":
    sys.exit(main())
