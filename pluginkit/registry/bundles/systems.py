"""The system that plugins are to be loaded on: this machine, or one that the user describes."""

from __future__ import annotations

import os
import platform
import re
import sys
from dataclasses import dataclass, field, replace
from importlib import metadata
from importlib.util import find_spec
from typing import Literal

from packaging.version import InvalidVersion, Version

from pluginkit import elf, layouts
from pluginkit.errors import UsageError
from pluginkit.installation import tensorrt8
from pluginkit.layouts import TARGETS
from pluginkit.library import linkage
from pluginkit.registry.bundles.bundle import Host, host_of_layout

KEYS = {
    "tensorrt": "TensorRT's version, as 10.13 or 11",
    "rtx": "TensorRT-RTX's version, as 1.7",
    "sm": "the GPU's compute capability, as 89 or 8.9; none: no GPU",
    "cuda": "the CUDA version that the driver supports, as 13.0",
    "glibc": "as 2.31",
    "glibcxx": "libstdc++'s newest symbol version, as 3.4.28",
    "machine": "as x86_64 or aarch64",
    "target": "cpu or gpu: that kind of library alone",
}
"""The keys of a system: `--for tensorrt=10.13,sm=89`."""
_SHORT: dict[str, str] = {name: "rtx=1.7.1" if name == "rtx" else f"tensorrt={name}" for name in TARGETS}
"""What a TensorRT's name in `[targets]` of pluginkit.toml is short for."""
_MODULES: dict[str, str] = {"tensorrt": "tensorrt", "rtx": "tensorrt_rtx", "lean": "tensorrt_lean"}


@dataclass(frozen=True)
class System:
    """What is known of a system; what isn't (None, or a floor that is not there) decides nothing.

    Attributes:
        name: for the user: `this machine`, or the text of `--for`.
        os, machine: as `linux`, `x86_64`.
        floors: `{"GLIBC": "2.36", "GLIBCXX": "3.4.30", "CXXABI": "1.3.13"}`: the newest that is there.
        host: the kind of registry.
        tensorrt: its version.
        sm: the GPU's compute capability, as 89; 0: there is no GPU.
        cuda: the newest CUDA version that the driver supports.
        target: the only kind of library that is wanted.
    """

    name: str
    os: str = "linux"
    machine: str = "x86_64"
    floors: dict[str, str] = field(default_factory=dict)
    host: Host | None = None
    tensorrt: str = ""
    sm: int | None = None
    cuda: str = ""
    target: Literal["cpu", "gpu"] | None = None

    @property
    def key(self) -> str:
        """The system as `--for` would describe it, always in the same order."""
        kind = "rtx" if self.host == "tensorrt-rtx" else "tensorrt"
        facts = {
            kind: self.tensorrt,
            "sm": "" if self.sm is None else str(self.sm or "none"),
            "cuda": self.cuda,
            "glibc": self.floors.get("GLIBC", ""),
            "glibcxx": self.floors.get("GLIBCXX", ""),
            "machine": self.machine,
            "target": self.target or "",
        }
        return ",".join(f"{key}={value}" for key, value in facts.items() if value)


def this_machine(host: tuple[Host, str] | None = None) -> System:
    """What is here.

    Args:
        host: the kind of registry and its version; None: the TensorRT 8 that the environment names, else the first that
            is installed of tensorrt, tensorrt_rtx and tensorrt_lean.
    """
    from pluginkit.build.gpus import find_driver

    driver = find_driver()
    sm = max((int(gpu.arch) for gpu in driver.gpus), default=0)
    kind, version = host or _installed()
    return System(
        "this machine", sys.platform, platform.machine(), _floors(), kind, version, sm, driver.cuda if sm else ""
    )


def described(text: str) -> System:
    """The system that `--for` describes: `key=value` by commas, of `KEYS`.

    Raises:
        UsageError: an unknown key, or a value that makes no sense.
    """
    system = System(text)
    parts = (_SHORT.get(one.strip(), one.strip()) for one in text.split(","))
    for part in filter(None, parts):
        key, equals, value = (one.strip() for one in part.partition("="))
        if not equals or key not in KEYS:
            known = "".join(f"\n  {name}: {what}" for name, what in KEYS.items())
            raise UsageError(f"--for: '{part}' is not one of a system's keys.", hint=f"key=value, of{known}")
        system = _with(system, key, value)
    if system.host is None and not text:
        raise UsageError("--for: nothing is said.", hint="--for tensorrt=10.13,sm=89")
    return system


def _with(system: System, key: str, value: str) -> System:
    if key == "machine":
        return replace(system, machine=value)
    if key == "target":
        if value not in {"cpu", "gpu"}:
            raise UsageError(f"--for: target={value}: cpu or gpu is expected.")
        return replace(system, target="cpu" if value == "cpu" else "gpu")
    if key == "sm":
        return replace(system, sm=_capability(value))
    try:
        version = Version(value)
    except InvalidVersion:
        raise UsageError(f"--for: {key}={value} is not a version.", hint=f"{key}: {KEYS[key]}") from None
    if key in {"glibc", "glibcxx"}:
        return replace(system, floors={**system.floors, key.upper(): value})
    if key == "cuda":
        return replace(system, cuda=value)
    return replace(system, host=host_of(key, version), tensorrt=value)


def _capability(text: str) -> int:
    if text == "none":
        return 0
    found = re.fullmatch(r"(?:sm_?)?(\d{1,2})\.?(\d)", text)
    if not found:
        raise UsageError(f"--for: sm={text} is not a compute capability.", hint=f"sm: {KEYS['sm']}")
    return int(found[1] + found[2])


def host_of(kind: str, version: Version) -> Host:
    """The kind of registry of `tensorrt`, `lean` or `rtx` in a version.

    Raises:
        UsageError: pluginkit knows no such TensorRT.
    """
    if kind == "rtx":
        return "tensorrt-rtx"
    if (chosen := layouts.of(version.major, version.minor)) is not None:
        return host_of_layout(chosen.number)
    served = "; ".join(f"TensorRT {one.serves}" for one in reversed(layouts.LAYOUTS))
    raise UsageError(f"pluginkit makes no library for TensorRT {version}.", hint=f"It makes them for {served}.")


def _installed() -> tuple[Host | None, str]:
    eight = tensorrt8.find() if tensorrt8.named() else None
    if eight is not None and not eight.problem:
        return host_of("tensorrt", Version(eight.version)), eight.version
    for kind, module in _MODULES.items():
        if find_spec(module) is not None and (version := _version(module)):
            return host_of(kind, Version(version)), version
    return None, ""


def _version(module: str) -> str:
    for name in metadata.packages_distributions().get(module, ()):
        return metadata.version(name)
    return ""


def _floors() -> dict[str, str]:
    """The newest symbol versions of libc and libstdc++ here."""
    from pluginkit.registry.bundles.variants import newest

    version = os.confstr("CS_GNU_LIBC_VERSION") or ""
    names = [f"GLIBC_{version.split()[-1]}"] if version.startswith("glibc ") else []
    library = linkage.find("libstdc++.so.6")
    names += elf.defined_versions(library) if library else []
    return newest(names)
