"""Counts the faults of the second set that a run finds, by class: `python -m tests.planted.second DIR`."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from math import sqrt
from pathlib import Path

from pluginkit.build import build
from pluginkit.run import runner
from pluginkit.run.options import Options
from tests.planted import CHOSEN
from tests.planted.second import PROJECTS, RIGHT, write

ALL = ("plain/*",)
FIRST = {
    "types": ("plain/float32/opt",),
    "fields": ("plain/float32-field*",),
    "values": ("plain/*/values-*",),
    "sizes": ("plain/float32/opt",),
    "device": ("plain/float32/opt",),
    "alignment": ("plain/*/count-*",),
    "barriers": ("plain/float32/opt", "plain/float32/max", "plain/float32/random-1"),
}
"""The cases of each class that find most."""


def interval(found: int, of: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for a proportion."""
    z, p = 1.96, found / of
    middle, half = p + z * z / (2 * of), z * sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    return (middle - half) / (1 + z * z / of), (middle + half) / (1 + z * z / of)


def main(folder: Path, *only: str) -> None:
    """Builds what isn't there, runs all networks `plain` with each fault, and prints."""
    found: Counter[str] = Counter()
    of: Counter[str] = Counter()
    for key, project in PROJECTS.items():
        if only and key not in only:
            continue
        place = next(folder.glob(f"{key}/*/pluginkit.toml"), None)
        if place is None:
            (folder / key).mkdir(parents=True)
            place = write(key, folder / key) / "pluginkit.toml"
        build(place.parent, "cpu")
        library = next((place.parent / "build" / "cpu").glob("lib*.so"))
        for number, (kind, what) in {0: (RIGHT, "nothing planted"), **project.faults}.items():
            os.environ[CHOSEN] = str(number)
            begun = time.monotonic()
            found_one = False
            # What some cases find all find: the others need not be run.
            for cases in (FIRST.get(kind, ()), ALL) if kind != RIGHT else (ALL,):
                if cases and not found_one:
                    options = Options(project=place.parent, library=library, only=cases, evaluators=("host",), jobs=2)
                    report = runner.run(options)
                    found_one = bool(report.bad)
            good = found_one is (kind != RIGHT)
            of[kind] += 1
            found[kind] += good
            first = next((one.id + ": " + one.message.replace("\n", " | ")[:300] for one in report.bad), "")
            word = ("ok  " if good else "RED ") if kind == RIGHT else ("found" if good else "MISSED")
            print(f"{word} {key}/{number} {kind}: {what} [{time.monotonic() - begun:.1f} s] {first}", flush=True)
    kinds = [kind for kind in of if kind != RIGHT]
    for kind in (*kinds, RIGHT):
        print(f"{kind}: {found[kind]} of {of[kind]}")
    total, all_of = sum(found[k] for k in kinds), sum(of[k] for k in kinds)
    low, high = interval(total, all_of)
    print(f"{total} of {all_of}: {total / all_of:.0%}, 95 % interval {low:.0%} to {high:.0%}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
