"""What compute-sanitizer writes to its log, as findings.

Its text, not its XML: the XML is written when the program ends, the text while it runs, so that a finding can be shown
of the case in which it was found. A record begins at the margin, its other lines are indented, an empty line ends it:

    ========= Invalid __global__ read of size 4 bytes
    =========     at addKernel+0x90 in /project/src/kernel.cu:14
    =========     by thread (100,0,0) in block (0,0,0)
    =========     Access to 0x7fda7aa00390 is out of bounds

https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pluginkit.process.findings import Defect, Index, unique

PREFIX = "========= "

_KINDS = (
    (r"Race reported|hazard", "race"),
    (r"Uninitialized .*(read|write|access)", "uninitialized-read"),
    (r"Host API uninitialized|[Uu]ninitialized access .* on access by", "uninitialized-copy"),
    (r"Barrier error", "divergent-barrier"),
    (r"Invalid __(global|shared|local)__|Misaligned|out of bounds|Address", "address"),
)
_OUTER = (
    *("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "LEAK SUMMARY", "Target application terminated"),
    *("Tracking kernels", "Error: couldn't find exit code", "Error: process didn't terminate", "No attachable process"),
    *("Target application returned", "Saved", "Failed to write"),
)
"""Lines on how the run went, not on what is wrong."""

_AT = re.compile(r"at (?P<function>.+?)\+0x[0-9a-f]+(?: in (?P<file>.+):(?P<line>\d+))?(?: \[\d+ hazards\])?$")
_WHO = re.compile(r"by thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
_FRAME = re.compile(r"Device Frame: ?(?P<function>.+?)(?:\+0x[0-9a-f]+)?(?: in .+| \[0x[0-9a-f]+\])?$")
_HOST = "Saved host backtrace"


class Logs:
    """The logs in a folder that compute-sanitizer's runs write, read as they grow."""

    def __init__(self, folder: Path, project: Path) -> None:
        self._folder = folder
        self._project = project.resolve()
        self._read: dict[Path, int] = {}

    def take(self) -> tuple[Defect, ...]:
        """What was found since the last call, each defect once."""
        found: list[Defect] = []
        for file in sorted(self._folder.glob("sanitizer-*.log")):
            data = file.read_bytes()
            new = data[self._read.get(file, 0) :].decode(errors="replace")
            self._read[file] = len(data)
            found += parse(new, self._project)
        return unique(found)


def parse(text: str, project: Path) -> Iterator[Defect]:
    """The findings of a log."""
    for record in _records(text):
        yield _defect(record, project)


def _records(text: str) -> Iterator[list[str]]:
    record: list[str] = []
    for line in text.splitlines():
        if not line.startswith(PREFIX.rstrip()):
            continue
        entry = line[len(PREFIX) :].rstrip()
        begins = entry and not entry.startswith(" ")
        if (begins or not entry) and record:
            yield record
            record = []
        if begins and not entry.startswith(_OUTER):
            record = [entry]
        elif record and entry:
            record.append(entry.strip())
    if record:
        yield record


def _defect(record: list[str], project: Path) -> Defect:
    lines = record[: next((i for i, line in enumerate(record) if line.startswith(_HOST)), len(record))]
    places = [match for line in lines if (match := _AT.search(line))]
    frames = [match["function"] for line in lines if (match := _FRAME.match(line))]
    who = next((match for line in lines if (match := _WHO.search(line))), None)
    numbers = [int(number) for number in who.groups()] if who else []
    texts = [line for line in lines if not _WHO.search(line) and not _FRAME.match(line)]
    head = re.sub(r"^(Error|Warning): ", "", texts[0])
    kind = next((kind for pattern, kind in _KINDS if re.search(pattern, head)), "compute-sanitizer")
    if kind == "race":
        message = " ".join(line.partition(" at ")[0] for line in (head, *texts[1:]))
    else:
        message = ", ".join([head, *(line for line in texts[1:] if not line.startswith("at "))])
    shown = [_shown(match, project) for match in places]
    return Defect(
        kind=kind,
        text=message,
        kernel=frames[-1] if frames else places[0]["function"] if places else "",
        block=_index(numbers[3:]),
        thread=_index(numbers[:3]),
        place=shown[0] if shown else "",
        function=places[0]["function"] if frames and places else "",
        other=shown[1] if kind == "race" and len(shown) > 1 else "",
    )


def _index(numbers: list[int]) -> Index | None:
    return (numbers[0], numbers[1], numbers[2]) if numbers else None


def _shown(match: re.Match[str], project: Path) -> str:
    if not match["file"]:
        return ""
    file = Path(match["file"])
    inside = file.is_relative_to(project)
    return f"{file.relative_to(project) if inside else file}:{match['line']}"
