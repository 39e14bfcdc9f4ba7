"""Whether a variant of a bundle can be loaded, and its kernels run, on a system: each reason why not, as a sentence."""

from __future__ import annotations

from packaging.version import Version

from pluginkit.registry.bundles.bundle import BundleGpuCode, Variant
from pluginkit.registry.bundles.systems import System

TEGRA = frozenset({53, 62, 72, 87, 101, 110})
"""Compute capabilities of NVIDIA's systems on a chip: other GPUs of the same major version don't run their machine
code, nor they that of others (CUDA C++ Programming Guide, 'Binary Compatibility')."""


def misfits(variant: Variant, system: System) -> list[str]:
    """Why a variant doesn't fit a system; empty if it does. What isn't known of the system is not a reason."""
    found = []
    if variant.os != system.os:
        found.append(f"it is for {variant.os}, not {system.os}")
    if variant.machine != system.machine:
        found.append(f"it is for {variant.machine}, not {system.machine}")
    for kind, version in variant.floors.items():
        there = system.floors.get(kind)
        if there and Version(version) > Version(there):
            found.append(f"it needs {kind} {version}; there is {there}")
    if system.host and system.host not in variant.hosts:
        found.append(f"it is not a library for {_host(system)}: its creators were listed by {', '.join(variant.hosts)}")
    if system.target and variant.target != system.target:
        found.append(f"it is of target {variant.target}, not {system.target}")
    elif system.sm and variant.target == "cpu" and not system.target:
        found.append("its kernels run on the host (target cpu), and a GPU's memory is not the host's")
    if variant.target == "gpu" and system.sm:
        found += _gpu(variant, system)
    return found


def remarks(variant: Variant, system: System) -> list[str]:
    """What the user must know of a variant that fits: what couldn't be held against the system, or isn't run there."""
    unknown = [f"{kind} {version}" for kind, version in variant.floors.items() if kind not in system.floors]
    found = [f"needs {', '.join(unknown)}, of which nothing is known there"] if unknown else []
    if variant.target == "gpu" and system.sm == 0:
        found.append("no GPU is there: it can be loaded and built with, its kernels can't run")
    elif variant.target == "gpu" and system.sm is None:
        found.append(f"runs on {', '.join(map(str, variant.gpu_code)) or 'unknown GPUs'}; the GPU there is not known")
    if system.host is None:
        found.append(f"for {', '.join(variant.hosts)}; which TensorRT is there is not known")
    return found


def preference(variant: Variant, system: System) -> tuple[int, int, Version]:
    """Orders the fitting variants of one bundle, the best highest: of the kind that runs there, with machine code for
    the GPU rather than PTX, for the newest system.
    """
    wanted = "cpu" if system.sm == 0 else "gpu"
    exact = bool(system.sm) and any(code.kind == "SASS" and runs(code, system.sm or 0) for code in variant.gpu_code)
    return int(variant.target == wanted), int(exact), Version(variant.floors.get("GLIBC", "0"))


def runs(code: BundleGpuCode, sm: int) -> bool:
    """Whether a GPU of compute capability `sm` runs code for an architecture.

    Machine code runs on GPUs of the same major version and an equal or later minor one; with `a` on that very one, with
    `f` on those of its family. PTX runs on all later ones, but with those letters only where machine code would.
    Source: CUDA C++ Programming Guide, 'Compute Capability' and 'Application Compatibility'.
    """
    if code.suffix == "a":
        return code.arch == sm
    same_major = code.arch // 10 == sm // 10 and code.arch <= sm
    if code.kind == "PTX" and not code.suffix:
        return code.arch <= sm
    if code.arch in TEGRA or sm in TEGRA:
        return code.arch == sm
    return same_major


def _gpu(variant: Variant, system: System) -> list[str]:
    running = [code for code in variant.gpu_code if runs(code, system.sm or 0)]
    if not running:
        have = ", ".join(map(str, variant.gpu_code)) or "none that is known"
        return [f"it has no code for sm_{system.sm}: {have}"]
    if not variant.cuda or not system.cuda:
        return []
    built, there = Version(variant.cuda), Version(system.cuda)
    # Within a major version drivers run what a later toolkit made, but don't compile its PTX.
    old = there < built if all(code.kind == "PTX" for code in running) else there.major < built.major
    return [f"it was built with CUDA {variant.cuda}; the driver there supports {system.cuda}"] if old else []


def _host(system: System) -> str:
    return f"{'TensorRT-RTX' if system.host == 'tensorrt-rtx' else 'TensorRT'} {system.tensorrt}"
