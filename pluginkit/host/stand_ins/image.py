"""A shared library of thunks, as an ELF file: System V ABI, with GNU's symbol versions (Linux Standard Base)."""

from __future__ import annotations

import platform
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

PAGE = 0x10000
"""The largest that x86-64 and AArch64 have."""
_MACHINES = {"x86_64": 62, "aarch64": 183}
_PT_LOAD, _PT_DYNAMIC, _PT_GNU_STACK = 1, 2, 0x6474E551
_NULL, _HASH, _STRTAB, _SYMTAB, _STRSZ, _SYMENT, _SONAME = 0, 4, 5, 6, 10, 11, 14
_VERSYM, _VERDEF, _VERDEFNUM = 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFD
_CODE = 32
"""Bytes of a thunk."""


@dataclass(frozen=True)
class Thunk:
    """A function that passes `argument` to the function at `target`, and answers what that does.

    Attributes:
        name: what it is exported as.
        version: the symbol's; empty for none.
        target: an address in the process that loads the library.
        argument: a pointer or number of 64 bits.
    """

    name: str
    version: str
    target: int
    argument: int = 0


def image(soname: str, thunks: Sequence[Thunk], machine: str = "") -> bytes:
    """A shared library of that name, for this machine or one of the given kind (`x86_64`, `aarch64`).

    Raises:
        KeyError: of another kind of machine.
    """
    machine = machine or platform.machine()
    strings = _Strings()
    versions = list(dict.fromkeys(one.version for one in thunks if one.version))
    names = [strings.add(one.name) for one in thunks]
    definitions = _definitions([soname, *versions], strings)
    name = strings.add(soname)
    headers = 64 + 4 * 56
    table, code = headers, b"".join(_ENCODERS[machine](one) for one in thunks)
    parts: dict[int, bytes] = {}
    for tag, size in (
        (_SYMTAB, 24 * (len(thunks) + 1)),
        (_HASH, 4 * (2 + 1 + len(thunks) + 1)),
        (_VERSYM, 2 * (len(thunks) + 1)),
        (_VERDEF, len(definitions)),
        (_STRTAB, len(strings.data)),
    ):
        parts[tag] = table.to_bytes(8, "little")
        table = (table + size + 7) & ~7
    at = {tag: int.from_bytes(value, "little") for tag, value in parts.items()}
    text = table
    symbols = b"\0" * 24 + b"".join(
        struct.pack("<IBBHQQ", where, 0x12, 0, 1, text + _CODE * place, _CODE) for place, where in enumerate(names)
    )
    # One chain of all.
    chain = struct.pack(f"<{4 + len(thunks)}I", 1, len(thunks) + 1, min(1, len(thunks)), 0, *_links(len(thunks)))
    # ld.so takes a symbol of the base version for any, of those that are defined.
    marks = struct.pack(f"<{len(thunks) + 1}H", 0, *(1 for _ in thunks))
    body = bytearray(text)
    for tag, data in ((_SYMTAB, symbols), (_HASH, chain), (_VERSYM, marks), (_VERDEF, definitions)):
        body[at[tag] : at[tag] + len(data)] = data
    body[at[_STRTAB] : at[_STRTAB] + len(strings.data)] = strings.data
    body += code
    dynamic = -(-len(body) // PAGE) * PAGE
    tags = [(_SONAME, name), (_STRSZ, len(strings.data)), (_SYMENT, 24), (_VERDEFNUM, len(versions) + 1)]
    entries = b"".join(struct.pack("<QQ", *one) for one in [*tags, *at.items(), (_NULL, 0)])
    body[:headers] = _header(machine) + b"".join(
        (
            _segment(_PT_LOAD, 5, 0, len(body)),
            _segment(_PT_LOAD, 6, dynamic, len(entries)),
            _segment(_PT_DYNAMIC, 6, dynamic, len(entries)),
            _segment(_PT_GNU_STACK, 6, 0, 0),
        )
    )
    return bytes(body.ljust(dynamic, b"\0") + entries)


class _Strings:
    """A string table."""

    def __init__(self) -> None:
        self.data = b"\0"

    def add(self, text: str) -> int:
        """Where the text is."""
        place = len(self.data)
        self.data += text.encode() + b"\0"
        return place


def _links(count: int) -> list[int]:
    """Of each symbol the next of the chain; the last has none."""
    return [*range(2, count + 1), 0][:count]


def _definitions(names: Sequence[str], strings: _Strings) -> bytes:
    """Version definitions; the first is the library's own name."""
    found = b""
    for place, name in enumerate(names):
        last = place == len(names) - 1
        found += struct.pack("<HHHHIII", 1, int(place == 0), place + 1, 1, _hash(name), 20, 0 if last else 28)
        found += struct.pack("<II", strings.add(name), 0)
    return found


def _hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


def _header(machine: str) -> bytes:
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    return ident + struct.pack("<HHIQQQIHHHHHH", 3, _MACHINES[machine], 1, 0, 64, 0, 0, 64, 56, 4, 64, 0, 0)


def _segment(kind: int, flags: int, offset: int, size: int) -> bytes:
    align = PAGE if kind == _PT_LOAD else 16
    return struct.pack("<IIQQQQQQ", kind, flags, offset, offset, offset, size, size, align)


def _x86_64(one: Thunk) -> bytes:
    # movabs rdi, argument; movabs rax, target; jmp rax
    code = b"\x48\xbf" + struct.pack("<Q", one.argument) + b"\x48\xb8" + struct.pack("<Q", one.target) + b"\xff\xe0"
    return code.ljust(_CODE, b"\xcc")


def _aarch64(one: Thunk) -> bytes:
    # ldr x0, 16; ldr x16, 20; br x16; nop; then the two
    return struct.pack("<IIIIQQ", 0x58000080, 0x580000B0, 0xD61F0200, 0xD503201F, one.argument, one.target)


_ENCODERS: dict[str, Callable[[Thunk], bytes]] = {"x86_64": _x86_64, "aarch64": _aarch64}
