"""A run on the GPU: whether there can be one here, and whether a library has code for it, before a launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from packaging.version import Version

from pluginkit.build import build, toolchain
from pluginkit.build.gpus import DriverInfo, Gpu, find_driver
from pluginkit.errors import CheckFailed, ToolMissing
from pluginkit.library import gpu_code
from pluginkit.library.gpu_code import GpuCode


@dataclass(frozen=True)
class OnGpu:
    """A GPU that cases run on: of a machine, the first that the driver lists.

    Attributes:
        gpu: the GPU.
        cuda: the highest version of CUDA that its driver takes.
        which: what tells it from others of its kind, in a run on several.
    """

    gpu: Gpu
    cuda: str
    which: str = ""

    @property
    def description(self) -> str:
        """For people."""
        parts = (self.gpu.name, self.which, f"sm_{self.gpu.arch}", f"driver for CUDA {self.cuda}")
        return ", ".join(filter(None, parts))


def find() -> OnGpu:
    """The GPU of this machine.

    Raises:
        ToolMissing: there is none, or the driver does not answer.
    """
    driver = find_driver()
    if driver.gpus:
        return OnGpu(driver.gpus[0], driver.cuda)
    raise ToolMissing(
        f"Target gpu needs a GPU, and {_why_none(driver)}.", hint="pluginkit test --target cpu runs the kernels here."
    )


def _why_none(driver: DriverInfo) -> str:
    return f"there is none that can be used: {driver.problem}" if driver.problem else "the driver lists none"


def obstacle() -> str:
    """Why a run that was not asked for target gpu goes without it; empty if it can have it."""
    driver = find_driver()
    if not driver.gpus:
        return _why_none(driver)
    try:
        toolchain.nvcc().best()
    except ToolMissing as error:
        return f"{error.message} {error.hint}"
    return ""


def library(project: Path, there: Sequence[OnGpu], archs: Sequence[str] = ()) -> Path:
    """The project's library of target gpu, built for these GPUs.

    Args:
        project: the folder with `pluginkit.toml`.
        there: the GPUs that it is to run on.
        archs: as of `build`; none: those of this machine's GPUs.

    Raises:
        ToolMissing, BuildFailed: it can't be built; or a driver is too old for it.
        CheckFailed: it has no code for a GPU.
    """
    (artifact,) = build(project, "gpu", archs=archs)
    for one in there:
        check_driver(artifact.library, artifact.info, one)
        check(artifact.library, one)
    return artifact.library


def runs_on(code: GpuCode, capability: str) -> bool:
    """Whether a GPU of that compute capability (`9.0`) takes the code.

    Machine code runs on its own major architecture from its minor number on, PTX on its own architecture and all later
    ones; with the suffix a both are for one architecture alone, with f for the later ones of the same major.
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility
    """
    major, minor = (int(part) for part in capability.split("."))
    own_major, own_minor = divmod(code.arch, 10)
    if code.suffix == "a":
        return (own_major, own_minor) == (major, minor)
    if code.kind == "SASS" or code.suffix == "f":
        return own_major == major and own_minor <= minor
    return (own_major, own_minor) <= (major, minor)


def check(library: Path, here: OnGpu) -> None:
    """Whether the library has code for the GPU: CUDA itself reports that at the first launch only.

    Raises:
        CheckFailed: it has code, and none for this GPU.
        UsageError: the file is damaged.
    """
    found = gpu_code.read(library)
    if found is None or not found.known or any(runs_on(code, here.gpu.capability) for code in found.codes):
        return
    raise CheckFailed(
        f"{library} has no code for this GPU (CUDA's error would be: no kernel image is available for execution on the "
        f"device): it has {', '.join(map(str, found.codes)) or 'none that runs by itself'}, and {here.gpu.name} has "
        f"compute capability {here.gpu.capability}.",
        hint=f"pluginkit build --target gpu --arch {here.gpu.arch} (or --arch native)",
    )


def check_driver(library: Path, info: Mapping[str, Any], here: OnGpu) -> None:
    """Whether the driver is new enough for the CUDA runtime inside the library; minor versions of CUDA go together.

    Args:
        library: the file.
        info: its build record.
        here: where it is to run.

    Raises:
        ToolMissing: it is older.
    """
    made_by = str(info.get("cuda_compiler", {}).get("version", ""))
    if made_by and Version(made_by).major > Version(here.cuda).major:
        whose = f"the driver of {here.which}" if here.which else "this machine's driver"
        raise ToolMissing(
            f"{library} was made by nvcc {made_by}, and {whose} is for CUDA {here.cuda}.",
            hint=f"Install a driver for CUDA {Version(made_by).major}, or name an older toolkit by CUDA_HOME.",
        )


class GpuSource(Protocol):
    """The GPUs that a run's cases of target gpu run on, and the library for them."""

    def obstacle(self) -> str:
        """Why a run that was not asked for target gpu goes without it; empty if it can have it."""

    def find(self) -> Sequence[OnGpu]:
        """The GPUs: each case of target gpu runs once on each.

        Raises:
            ToolMissing: there is none.
        """

    def library(self, project: Path) -> Path:
        """The project's library of target gpu for all of them.

        Raises:
            PluginkitError: it can't be built, or has no code for one of them.
        """


class FirstGpu:
    """This machine's first GPU (a `GpuSource`)."""

    def obstacle(self) -> str:
        """As `on_gpu.obstacle`."""
        return obstacle()

    def find(self) -> Sequence[OnGpu]:
        """As `on_gpu.find`."""
        return (find(),)

    def library(self, project: Path) -> Path:
        """As `on_gpu.library`, for what nvcc makes by default."""
        return library(project, self.find())
