"""GPU code in a library: the fat binaries that nvcc puts there.

The layout is that of CUDA 13's tools, seen in what they make (a header of 16 bytes, then entries): NVIDIA documents the
tools that read it (cuobjdump), not the bytes. What does not look like it is reported as unknown, never guessed at.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pluginkit import elf

SECTIONS = (".nv_fatbin", "__nv_relfatbin")
"""Code that is whole, and code that is linked on the GPU's side (-rdc)."""
_MAGIC = struct.pack("<I", 0xBA55ED50)
_HEADER = struct.Struct("<IHHQ")
"""Magic, version, size of this header, size of the entries after it."""
_ENTRY = struct.Struct("<HHIQ8xHHI8xQ")
"""Kind, version, size of this header, size of the code; ...; code version (minor, major), architecture; ...; flags."""
_SUFFIXES = {1 << 20: "a", 1 << 21: "f"}
"""Flags of code for one architecture alone (sm_90a), and for those of its family (sm_120f)."""
_KINDS: dict[int, Literal["SASS", "PTX"]] = {1: "PTX", 2: "SASS"}


@dataclass(frozen=True)
class GpuCode:
    """Code for one architecture.

    Attributes:
        kind: `SASS` (machine code) or `PTX` (compiled by the driver).
        arch: its number, as 90.
        suffix: `a` for code that runs on no other architecture, `f` for code of a family; mostly empty.
    """

    kind: Literal["SASS", "PTX"]
    arch: int
    suffix: str = ""

    def __str__(self) -> str:
        return f"{'sm' if self.kind == 'SASS' else 'compute'}_{self.arch}{self.suffix} {self.kind}"


@dataclass(frozen=True)
class GpuCodes:
    """All GPU code of a library.

    Attributes:
        codes: without repetitions, by architecture.
        known: False if there is a fat binary that this module cannot read.
    """

    codes: tuple[GpuCode, ...]
    known: bool = True


def read(path: Path) -> GpuCodes | None:
    """The GPU code of a library; None if it has none.

    Raises:
        UsageError: no such file, it cannot be read, or it is damaged.
    """
    data = elf.sections(path, SECTIONS)
    if not any(data):
        return None
    found: set[GpuCode] = set()
    known = True
    for part in data:
        codes = list(_fat_binaries(part))
        known = known and bool(codes) and None not in codes
        found.update(code for code in codes if code is not None)
    return GpuCodes(tuple(sorted(found, key=lambda code: (code.arch, code.suffix, code.kind))), known)


def _fat_binaries(data: bytes) -> Iterator[GpuCode | None]:
    """The code of all fat binaries in a section; None for what is of no known form."""
    at = data.find(_MAGIC)
    while at >= 0 and at + _HEADER.size <= len(data):
        _, version, header, size = _HEADER.unpack_from(data, at)
        begin, end = at + header, at + header + size
        if version != 1 or header < _HEADER.size or end > len(data):
            yield None
            at = data.find(_MAGIC, at + 4)
            continue
        yield from _entries(data, begin, end)
        at = data.find(_MAGIC, end)


def _entries(data: bytes, at: int, end: int) -> Iterator[GpuCode | None]:
    while at + _ENTRY.size <= end:
        kind, _, header, size, _, _, arch, flags = _ENTRY.unpack_from(data, at)
        if header < _ENTRY.size or at + header + size > end or not 10 <= arch < 1000:
            yield None
            return
        # Other kinds (LTO's intermediate code) do not run by themselves.
        if kind in _KINDS:
            suffix = next((letter for flag, letter in _SUFFIXES.items() if flags & flag), "")
            yield GpuCode(_KINDS[kind], arch, suffix)
        at += header + size
