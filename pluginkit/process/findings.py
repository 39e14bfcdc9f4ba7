"""What the CUDA-on-CPU runtime and the sanitizers in a library have found, and where in the project's sources it is.

The library appends a line of JSON for each finding to a file. A finding knows its place, or an address in a library,
which addr2line makes a place of: of the frames inlined there the innermost one in the project counts, since a defect in
a header of CUDA's is one of its caller.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pluginkit.errors import ToolMissing
from pluginkit.paths import include_dir
from pluginkit.process.programs import run

Index = tuple[int, int, int]
"""A block's or a thread's index: x, y, z."""

ADDR2LINE_SECONDS = 60


@dataclass(frozen=True)
class Frame:
    """A place in a source; `line` is 0 where it isn't known."""

    file: str
    line: int
    function: str = ""


@dataclass(frozen=True)
class Defect:
    """A finding.

    Attributes:
        kind: one of those in docs/cpu-target.md, as in `race`.
        text: what was found, a sentence.
        kernel: the kernel that ran; empty in host code.
        block, thread: their indices; None where the finding is not of a single one.
        place: `src/kernel.cu:42`, relative to the project; empty if it is not known.
        function: the function at that place; empty if it is not known.
        other: for a race, the place of the access that it collides with.
        count: how often it was found: in how many blocks, threads and runs.
    """

    kind: str
    text: str
    kernel: str = ""
    block: Index | None = None
    thread: Index | None = None
    place: str = ""
    function: str = ""
    other: str = ""
    count: int = 1


class Findings:
    """The findings of one library, in a file that processes with the library in them append to."""

    def __init__(self, file: Path, project: Path) -> None:
        self.file = file
        self._project = project.resolve()
        self._seen = 0
        self._frames: dict[tuple[str, int], list[Frame]] = {}
        self._no_lines = ""

    def take(self) -> tuple[Defect, ...]:
        """What has been found since the last call, each defect once."""
        try:
            with self.file.open("rb") as file:
                file.seek(self._seen)
                data = file.read()
        except FileNotFoundError:
            return ()
        self._seen += len(data)
        records = [_record(line) for line in data.decode(errors="replace").splitlines() if line.strip()]
        self._ask({code for one in records for code in _codes(one)})
        return unique(self._defect(one) for one in records)

    def look_up(self, places: Iterable[tuple[Path, Sequence[int]]]) -> None:
        """Has addr2line look up addresses in libraries at once, which `place` and `place_in_project` then know."""
        self._ask((str(library), offset) for library, offsets in places for offset in offsets)

    def place(self, library: Path, *offsets: int) -> str:
        """Where in the project's sources calls return to these addresses, innermost first: `src/plugin.cpp:42`, or
        empty."""
        codes = [(str(library), offset) for offset in offsets]
        self._ask(codes)
        return self._shown(self._choose([frame for code in codes for frame in self._frames.get(code, [])]))

    def place_in_project(self, library: Path, offsets: Sequence[int]) -> str:
        """Which line of the project has called what is called there, innermost first; empty if none has, or
        pluginkit's own code stands between. Headers of the compiler's are passed over."""
        codes = [(str(library), offset) for offset in offsets]
        self._ask(codes)
        for frame in (frame for code in codes for frame in self._frames.get(code, [])):
            file = self._file(frame)
            # The runtime of target cpu has no lines.
            if not frame.line or file.is_relative_to(include_dir().parent):
                return ""
            if file.is_relative_to(self._project):
                return self._shown(frame)
        return ""

    def _defect(self, record: dict[str, Any]) -> Defect:
        recorded = [Frame(str(record["file"]), int(record.get("line", 0)))] if record.get("file") else []
        code, other = _codes(record, "offset", "offsets"), _codes(record, "other_offset")
        frames = [frame for one in code for frame in self._frames.get(one, [])]
        if record.get("kernel") and "offsets" in record:
            # What nvcc makes of a launch is a function of the kernel's name, at the kernel's line.
            stub = re.compile(rf"(^|[ :]){re.escape(str(record['kernel']))}\(")
            frames = [frame for frame in frames if not stub.search(frame.function)]
        where = self._choose(recorded + frames)
        other_place = self._choose([frame for one in other for frame in self._frames.get(one, [])])
        return Defect(
            kind=str(record["kind"]),
            text=str(record["text"]) + ("" if where or not code else self._no_lines),
            kernel=str(record.get("kernel", "")),
            block=_index(record.get("block")),
            thread=_index(record.get("thread")),
            place=self._shown(where),
            # For code that is inlined addr2line may give the name of the function around it: the launch's, in kernels.
            function=where.function if where and not where.function.startswith("pluginkit_cpu::") else "",
            other=self._shown(other_place),
        )

    def _choose(self, frames: Sequence[Frame]) -> Frame | None:
        """The innermost frame in the project, or else in other code than pluginkit's; None if all are."""
        ours = include_dir().parent
        inside = [frame for frame in frames if self._file(frame).is_relative_to(self._project)]
        foreign = [frame for frame in frames if not self._file(frame).is_relative_to(ours)]
        chosen = next(iter(inside or foreign), None)
        if chosen is not None and not chosen.function:
            named = [frame.function for frame in frames if frame.file.endswith(Path(chosen.file).name)]
            return replace(chosen, function=next(filter(None, named), ""))
        return chosen

    def _file(self, frame: Frame) -> Path:
        return (self._project / frame.file).resolve()

    def _shown(self, frame: Frame | None) -> str:
        if frame is None:
            return ""
        file = self._file(frame)
        shown = file.relative_to(self._project) if file.is_relative_to(self._project) else Path(frame.file)
        return f"{shown}:{frame.line}" if frame.line else str(shown)

    def _ask(self, codes: Iterable[tuple[str, int]]) -> None:
        """Have addr2line look up the addresses that are new."""
        by_library: dict[str, list[int]] = {}
        for library, offset in sorted(set(codes) - set(self._frames)):
            by_library.setdefault(library, []).append(offset)
        for library, offsets in by_library.items():
            # The address is where a call returns to; the byte before it belongs to the call.
            addresses = [hex(max(0, offset - 1)) for offset in offsets]
            try:
                output = run(["addr2line", "-Cafie", library, *addresses], timeout=ADDR2LINE_SECONDS).stdout
            except ToolMissing:
                # Without binutils nothing is built here, so this library came from elsewhere.
                output, self._no_lines = "", " (Without its line: addr2line is missing here; apt-get install binutils.)"
            for offset, frames in zip(offsets, parse_addr2line(output), strict=False):
                self._frames[library, offset] = frames


def parse_addr2line(text: str) -> list[list[Frame]]:
    """The output of `addr2line -Cafi`: for each address the frames inlined there, innermost first, without unknown
    ones."""
    found: list[list[Frame]] = []
    function = ""
    for line in text.splitlines():
        place = re.fullmatch(r"(.+):(\d+|\?)(?: \(discriminator \d+\))?", line)
        if re.fullmatch(r"0x[0-9a-f]+", line):
            found.append([])
            function = ""
        elif not function:
            function = line
        else:
            if place and found and place[1] != "??":
                number = 0 if place[2] == "?" else int(place[2])
                found[-1].append(Frame(place[1], number, "" if function == "??" else function))
            function = ""
    return found


def unique(defects: Iterable[Defect]) -> tuple[Defect, ...]:
    """Each defect once, the first of its kind, place and kernel, with how many there were."""
    found: dict[tuple[str, ...], Defect] = {}
    for one in defects:
        key = (one.kind, one.kernel, one.place or one.text)
        before = found.get(key)
        found[key] = one if before is None else replace(before, count=before.count + one.count)
    return tuple(found.values())


def _record(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    # Whatever else stands in the file was put there by the plugin; it is shown, not dropped.
    return record if isinstance(record, dict) and {"kind", "text"} <= record.keys() else {"kind": "other", "text": line}


def _codes(record: dict[str, Any], *names: str) -> list[tuple[str, int]]:
    keys = names or ("offset", "other_offset", "offsets")
    if not record.get("library"):
        return []
    given = [record[key] for key in keys if key in record]
    offsets = [one for value in given for one in (value if isinstance(value, list) else [value])]
    return [(str(record["library"]), int(offset)) for offset in offsets]


def _index(value: Any) -> Index | None:
    return (int(value[0]), int(value[1]), int(value[2])) if isinstance(value, list) and len(value) == 3 else None
