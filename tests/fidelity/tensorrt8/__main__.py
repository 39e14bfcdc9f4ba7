"""`python -m tests.fidelity.tensorrt8 replay FILE`: the host held against what TensorRT 8.5.3 was recorded to do."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from .answers import gathered, read
from .replaying import replay
from .report import describe, explained, left, summary, table


def main() -> int:
    """The exit code is 1 if there is a disagreement that no row explains."""
    parser = argparse.ArgumentParser(prog="python -m tests.fidelity.tensorrt8", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    replaying = commands.add_parser("replay", help="the table, and each disagreement that no row explains")
    replaying.add_argument("file", type=Path)
    replaying.add_argument("--cases", type=int, help="so many from the beginning; all by default")
    replaying.add_argument("--only", type=int, help="the number of one case, which is shown whole")
    replaying.add_argument("--rows", action="store_true", help="the table of rows of docs/fidelity.md, too")
    replaying.add_argument("--jobs", type=int, default=1, help="how many at once")
    gathering = commands.add_parser("gather", help="make a file of what recorders wrote")
    gathering.add_argument("out", type=Path)
    gathering.add_argument("parts", type=Path, nargs="+")
    gathering.add_argument("--tensorrt", required=True, help="its version")
    gathering.add_argument("--gpu", required=True)
    gathering.add_argument("--seed", type=int, required=True, help="of the cases")
    given = parser.parse_args()
    if given.command == "gather":
        gathered(given.parts, given.tensorrt, given.gpu, given.seed).write(given.out)
        return 0
    begun = time.monotonic()
    recording = read(given.file)
    numbers = sorted(recording.answers)[: given.cases] if given.only is None else [given.only]
    found = replay(recording, numbers, given.jobs)
    shown = found if given.only is not None else left(found)
    print(table(found), summary(found), *map(describe, shown), sep="\n\n")
    if given.rows:
        print("", explained(found), sep="\n")
    print(
        f"\nTensorRT {recording.tensorrt} on {recording.gpu}, seed {recording.seed}, {time.monotonic() - begun:.0f} s"
    )
    return int(bool(left(found)))


if __name__ == "__main__":
    sys.exit(main())
