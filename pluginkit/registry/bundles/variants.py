"""The systems that a library is for, read from its file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from packaging.version import InvalidVersion, Version

from pluginkit import elf
from pluginkit.elf import Elf
from pluginkit.errors import CheckFailed, PluginkitError
from pluginkit.library import gpu_code
from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.bundle import BundleGpuCode, Host, Variant

KINDS = ("GLIBC", "GLIBCXX", "CXXABI")
"""Version names that are ordered: a library that needs one runs where that or a later one is."""
CPU_MARK = "pluginkit_cpu_control"
"""What libraries of pluginkit's target cpu export."""


def floors(facts: Elf) -> dict[str, str]:
    """The newest version of each kind in `KINDS` that a library needs."""
    return newest(name for names in facts.versions().values() for name in names)


def newest(names: Iterable[str]) -> dict[str, str]:
    """Of symbol versions like `GLIBC_2.34` the newest of each kind in `KINDS`."""
    found: dict[str, Version] = {}
    for name in names:
        kind, _, number = name.partition("_")
        try:
            version = Version(number)
        except InvalidVersion:
            continue  # GLIBC_PRIVATE, GLIBC_ABI_DT_RELR
        if kind in KINDS and version > found.get(kind, Version("0")):
            found[kind] = version
    return {kind: str(found[kind]) for kind in KINDS if kind in found}


def facts_of(path: Path) -> dict[str, Any]:
    """The part of a `Variant` that the file itself shows.

    These are `digest`, `size`, `os`, `machine`, `floors`, `needed`, `target` and `gpu_code`.

    Raises:
        UsageError: it cannot be read, or is not a shared library for 64-bit Linux.
    """
    facts = elf.read(path, any_machine=True)
    codes = gpu_code.read(path)
    names = {symbol.name for symbol in facts.exports}
    target: Literal["cpu", "gpu", "unknown"] = "gpu" if codes else "cpu" if CPU_MARK in names else "unknown"
    listed = (
        tuple(BundleGpuCode(kind=one.kind, arch=one.arch, suffix=_suffix(one.suffix)) for one in codes.codes)
        if codes
        else ()
    )
    return {
        "digest": digests.of_file(path),
        "size": path.stat().st_size,
        "os": "linux",
        "machine": facts.machine,
        "floors": floors(facts),
        "needed": facts.needed,
        "target": target,
        "gpu_code": listed,
    }


def _suffix(text: str) -> Literal["", "a", "f"]:
    return "a" if text == "a" else "f" if text == "f" else ""


def of_library(path: Path, *, hosts: tuple[Host, ...], record: Mapping[str, Any] | None) -> Variant:
    """The variant of a library.

    Args:
        path: the library.
        hosts: the kinds of registries that listed its creators.
        record: the build record of that very file; None without one.

    Raises:
        UsageError: as `facts_of`.
    """
    record = record or {}
    compilers = {
        language: f"{value.get('id', '?')} {value.get('version', '?')}"
        for language, key in (("C++", "compiler"), ("CUDA", "cuda_compiler"))
        if (value := record.get(key))
    }
    cuda = str((record.get("cuda_compiler") or {}).get("version", ""))
    return Variant(
        **facts_of(path),
        file=path.name,
        cuda=".".join(cuda.split(".")[:2]),
        layouts=tuple(sorted(record.get("layouts") or {}, key=int)),
        hosts=hosts,
        toolchain=compilers,
    )


def check(variant: Variant, path: Path) -> None:
    """Compare a bundle's manifest with the library's file.

    Raises:
        CheckFailed: they differ; it names each difference. Or it is not a library.
    """
    try:
        found = facts_of(path)
    except PluginkitError as error:
        raise CheckFailed(f"{variant.file}: {error.message}", hint="The bundle must be repacked.") from None
    wrong = [
        f"{key}: the manifest says {_shown(getattr(variant, key))}, the file {_shown(value)}"
        for key, value in found.items()
        if getattr(variant, key) != value
    ]
    if wrong:
        raise CheckFailed(
            f"The bundle's manifest lies about {variant.file}:\n" + "\n".join(f"  {line}" for line in wrong),
            hint="Don't use this bundle; have it repacked by pluginkit pack.",
        )


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items()) or "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)
