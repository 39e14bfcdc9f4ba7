"""Reads ELF shared libraries: exported symbols, needed libraries and symbol versions.

All that pluginkit reads of ELF files it reads here, by pyelftools.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection, GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

from pluginkit.errors import UsageError

MACHINES = {"x86_64": "EM_X86_64", "AMD64": "EM_X86_64", "aarch64": "EM_AARCH64", "arm64": "EM_AARCH64"}
"""Python's names of machines, and ELF's."""
DF_1_PIE = 0x08000000
"""elf.h; pyelftools has no name for it."""
_LOCAL, _ANY = 0, 1
"""The first two version numbers of a symbol mean that it has none."""


@dataclass(frozen=True)
class ElfSymbol:
    """A name in the dynamic symbol table.

    Attributes:
        name: mangled if it is C++.
        binding: `STB_GLOBAL`, `STB_WEAK` or `STB_LOOS` (GNU's unique).
        version: of an undefined symbol, as `GLIBC_2.34`; empty if it has none.
        file: the library that this version is expected of.
    """

    name: str
    binding: str
    version: str = ""
    file: str = ""


@dataclass(frozen=True)
class Elf:
    """What a shared library's ELF tables hold.

    Attributes:
        machine: as Python names machines: `x86_64`, `aarch64`; ELF's own name for others.
        soname: DT_SONAME.
        needed: DT_NEEDED, in order.
        runpath: the folders of DT_RUNPATH, or of DT_RPATH if there is none; `$ORIGIN` as it is written.
        exports: what it defines for others.
        undefined: what others must define.
    """

    machine: str
    soname: str
    needed: tuple[str, ...]
    runpath: tuple[str, ...]
    exports: tuple[ElfSymbol, ...]
    undefined: tuple[ElfSymbol, ...]

    def versions(self) -> dict[str, set[str]]:
        """Which versions it needs of which library."""
        found: dict[str, set[str]] = {}
        for symbol in self.undefined:
            if symbol.file:
                found.setdefault(symbol.file, set()).add(symbol.version)
        return found


def read(path: Path, *, any_machine: bool = False) -> Elf:
    """Read a shared library of this machine, or of any.

    Raises:
        UsageError: no such file, it cannot be read, or it is not a shared library for this machine (or any).
    """
    with _opened(path) as elf:
        _check_kind(path, elf, any_machine=any_machine)
        return _facts(elf)


def exports(path: Path, *, any_machine: bool = False) -> tuple[ElfSymbol, ...]:
    """What a shared library of this machine, or of any, defines for others: of `read` the part that is soonest read.

    Raises:
        UsageError: as of `read`.
    """
    with _opened(path) as elf:
        _check_kind(path, elf, any_machine=any_machine)
        return tuple(_defined(symbol) for _, symbol in _listed(elf) if symbol["st_shndx"] != "SHN_UNDEF")


def sections(path: Path, names: Sequence[str]) -> list[bytes]:
    """The bytes of those of the named sections that a library has.

    Raises:
        UsageError: no such file, it cannot be read, or it is damaged.
    """
    with _opened(path) as elf:
        return [section.data() for name in names if (section := elf.get_section_by_name(name))]


def defined_versions(path: Path) -> set[str]:
    """The symbol versions that a library has, as `GLIBCXX_3.4.30`.

    Raises:
        UsageError: no such file, it cannot be read, or it is damaged.
    """
    with _opened(path) as elf:
        found = [one for one in elf.iter_sections() if isinstance(one, GNUVerDefSection)]
        return {next(aux).name for section in found for _, aux in section.iter_versions()}


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """pyelftools' reader of a file; what goes wrong while it is used is a UsageError."""
    try:
        with path.open("rb") as file:
            _check_magic(path, file.read(20))
            file.seek(0)
            yield ELFFile(file)
    except FileNotFoundError:
        raise UsageError(f"There is no file {path}.", hint="pluginkit build makes a project's library.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001 - pyelftools answers damaged files with whatever exception comes of it
        what = str(error) if isinstance(error, ELFError) and str(error) else type(error).__name__
        raise UsageError(
            f"{path} is a damaged ELF file: {what}.", hint="Was it copied to its end? Rebuild it."
        ) from None


def _check_magic(path: Path, head: bytes) -> None:
    if head[:4] != b"\x7fELF":
        raise UsageError(
            f"{path} is not an ELF file: it starts with {head[:4]!r}.",
            hint="A plugin library for Linux is an ELF shared library (.so).",
        )
    if len(head) < 20:
        raise UsageError(f"{path} is a damaged ELF file: it ends after {len(head)} bytes.", hint="Rebuild it.")
    if head[4] != 2:
        raise UsageError(
            f"{path} is a 32-bit library; TensorRT and pluginkit are 64-bit.", hint="Build it without -m32."
        )


def _check_kind(path: Path, elf: Any, *, any_machine: bool) -> None:
    machine, ours = elf["e_machine"], platform.machine()
    if not any_machine and machine != MACHINES.get(ours, machine):
        raise UsageError(
            f"{path} is for {elf.get_machine_arch()}; this machine is {ours}.",
            hint="Inspect it on a machine of its own kind, or build it for this one.",
        )
    kind = elf["e_type"]
    if kind != "ET_DYN" or _is_program(elf):
        what = {"ET_REL": "an object file", "ET_EXEC": "a program", "ET_DYN": "a program", "ET_CORE": "a core dump"}
        raise UsageError(f"{path} is {what.get(kind, kind)}, not a shared library.", hint="Link it with -shared.")


def _is_program(elf: Any) -> bool:
    """A position-independent program is ET_DYN too; libc.so.6, which may be run, has no such flag."""
    return any(tag.entry.d_tag == "DT_FLAGS_1" and tag.entry.d_val & DF_1_PIE for tag in _tags(elf))


def _tags(elf: Any) -> Iterator[Any]:
    for section in elf.iter_sections():
        if isinstance(section, DynamicSection):
            yield from section.iter_tags()


def _facts(elf: Any) -> Elf:
    tags = list(_tags(elf))
    paths = {tag.entry.d_tag: tag for tag in tags if tag.entry.d_tag in {"DT_RUNPATH", "DT_RPATH"}}
    path = paths.get("DT_RUNPATH") or paths.get("DT_RPATH")
    folders = (path.runpath if path.entry.d_tag == "DT_RUNPATH" else path.rpath) if path else ""
    symbols = list(_symbols(elf))
    names = {theirs: ours for ours, theirs in reversed(MACHINES.items())}
    return Elf(
        machine=names.get(elf["e_machine"], str(elf["e_machine"])),
        soname=next((tag.soname for tag in tags if tag.entry.d_tag == "DT_SONAME"), ""),
        needed=tuple(tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"),
        runpath=tuple(folder for folder in folders.split(":") if folder),
        exports=tuple(symbol for symbol, defined in symbols if defined),
        undefined=tuple(symbol for symbol, defined in symbols if not defined),
    )


def _symbols(elf: Any) -> Iterator[tuple[ElfSymbol, bool]]:
    """The dynamic symbols, and whether each is defined here."""
    numbers, names = _version_tables(elf)
    for index, symbol in _listed(elf):
        if symbol["st_shndx"] != "SHN_UNDEF":
            yield _defined(symbol), True
            continue
        version, file = names.get(numbers[index], ("", "")) if index < len(numbers) else ("", "")
        yield ElfSymbol(symbol.name, symbol["st_info"]["bind"], version, file), False


def _listed(elf: Any) -> Iterator[tuple[int, Any]]:
    """What the dynamic symbol table has for others or of others, and its place there."""
    table = elf.get_section_by_name(".dynsym")
    if not isinstance(table, SymbolTableSection):
        return
    for index, symbol in enumerate(table.iter_symbols()):
        local = symbol["st_info"]["bind"] == "STB_LOCAL" or symbol["st_other"]["visibility"] == "STV_HIDDEN"
        # An absolute one is the name of a version, not of a thing.
        if symbol.name and not local and symbol["st_shndx"] != "SHN_ABS":
            yield index, symbol


def _defined(symbol: Any) -> ElfSymbol:
    return ElfSymbol(symbol.name, symbol["st_info"]["bind"])


def _version_tables(elf: Any) -> tuple[list[int], dict[int, tuple[str, str]]]:
    """Each symbol's version number, and what the numbers stand for: version and file."""
    numbers: list[int] = []
    names: dict[int, tuple[str, str]] = {}
    for section in elf.iter_sections():
        if isinstance(section, GNUVerSymSection):
            indices = (symbol.entry["ndx"] for symbol in section.iter_symbols())
            known = {"VER_NDX_LOCAL": _LOCAL, "VER_NDX_GLOBAL": _ANY}
            numbers = [known.get(ndx, _ANY) if isinstance(ndx, str) else ndx & 0x7FFF for ndx in indices]
        elif isinstance(section, GNUVerNeedSection):
            for need, versions in section.iter_versions():
                names.update({version["vna_other"] & 0x7FFF: (version.name, need.name) for version in versions})
    return numbers, names
