"""`python -m tests.fidelity --cases 5000 --seed 0 --jobs 16`: prints the confusion table and every disagreement."""

from __future__ import annotations

import argparse
import sys
import time

from .parts import evaluate
from .report import describe, disagreements, summary, table


def main() -> int:
    """The exit code is 1 if there is a disagreement that no row explains."""
    parser = argparse.ArgumentParser(prog="python -m tests.fidelity", description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of one case, which is shown whole")
    parser.add_argument("--jobs", type=int, default=0, help="how many at once; as many as there are cores by default")
    asked = parser.parse_args()
    begun = time.monotonic()
    found = evaluate(asked.seed, range(asked.cases) if asked.only is None else [asked.only], asked.jobs)
    if asked.only is not None:
        print(describe(found[0]))
    print(table(found), summary(found), *map(describe, disagreements(found)), sep="\n\n")
    print(f"\nseed {asked.seed}, {time.monotonic() - begun:.0f} s")
    return int(bool(disagreements(found)))


if __name__ == "__main__":
    sys.exit(main())
