"""The native frames of a process that has ended, as native/backtrace.h leaves them: names, and lines where they are
known.

binutils' addr2line reads a library's debug information and its symbol table. Without it there are the names of exported
functions, and offsets.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 10.0
"""For reading a library's debug information."""
HOST, LOADER = "_native.", "ld-linux"
"""How the files of pluginkit's own module and of the dynamic loader begin: what lies behind them is not a plugin's."""
MOST = 20
"""Frames that are shown: an endless recursion has thousands."""


@dataclass(frozen=True)
class NativeFrame:
    """A function that was under way.

    Attributes:
        file: of its library.
        offset: in the library: of the instruction, or for all but the innermost frame of the one behind the call.
        symbol: its name as the dynamic loader knows it; empty where it knows none.
    """

    file: str
    offset: int
    symbol: str


def beside(call_file: Path) -> Path:
    """The file of a worker's frames."""
    return call_file.with_name("backtrace")


def read(path: Path) -> tuple[NativeFrame, ...]:
    """The frames in a file, the innermost first, without those of the host or loader that made the call; none where
    there is no file."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    parts = [line.split("\t") for line in lines]
    frames = [
        NativeFrame(one[0], int(one[1], 16), one[2]) for one in parts if len(one) == len(("file", "offset", "symbol"))
    ]
    own = [Path(one.file).name.startswith((HOST, LOADER)) for one in frames]
    # A method of the host that the plugin has called may be the innermost one.
    begin = next((at for at, mine in enumerate(own) if not mine), len(own))
    end = next((at for at in range(begin, len(own)) if own[at]), len(own))
    return tuple(frames[:end])


def describe(frames: Sequence[NativeFrame]) -> tuple[str, ...]:
    """A line for each frame: function, and the source's line or the library."""
    shown = frames[:MOST]
    places = {file: _places(file, shown) for file in dict.fromkeys(one.file for one in shown) if file}
    lines = [_line(one, places.get(one.file, {}).get(_address(at, one))) for at, one in enumerate(shown)]
    more = len(frames) - len(shown)
    return (*lines, *([f"... and {more} more"] if more else []))


def _address(at: int, one: NativeFrame) -> int:
    return one.offset if at == 0 else one.offset - 1


def _line(one: NativeFrame, place: tuple[str, str] | None) -> str:
    function, line = place or ("", "")
    name = function or one.symbol or f"{one.offset:#x}"
    return f"{bare(name)} at {line}" if line else f"{name} in {Path(one.file).name or 'no library'}"


def bare(signature: str) -> str:
    """`kernel<my::Type>` of `void my::kernel<my::Type>(Arguments)`, `Plugin::enqueue` of a class's method.

    Without result, namespaces and parameters; a scope that begins with a capital letter is taken for a class.
    """
    name = signature.replace("(anonymous namespace)::", "")
    depth = begin = scope = 0
    end = len(name)
    for at, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if depth == 0 and letter == "(":
            end = at
            break
        if depth == 0 and letter in ": ":
            if letter == " ":
                scope = at + 1
            elif name[at - 1] != ":":
                scope = begin
            begin = at + 1
    return name[scope if name[scope : scope + 1].isupper() else begin : end]


def _places(file: str, frames: Sequence[NativeFrame]) -> dict[int, tuple[str, str]]:
    """By address the function and `file:line`, each empty where it is not known; nothing without addr2line."""
    tool = shutil.which("addr2line")
    wanted = [_address(at, one) for at, one in enumerate(frames) if one.file == file]
    if tool is None:
        return {}
    try:
        done = subprocess.run(
            [tool, "-C", "-f", "-e", file, *map(hex, wanted)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    lines = done.stdout.splitlines()
    pairs = zip(lines[::2], lines[1::2], strict=False)
    return {address: _known(*pair) for address, pair in zip(wanted, pairs, strict=False)}


def _known(function: str, place: str) -> tuple[str, str]:
    file, _, line = place.split(" ", maxsplit=1)[0].rpartition(":")
    return "" if function == "??" else function, "" if "??" in file or not line.isdigit() else f"{file}:{line}"
