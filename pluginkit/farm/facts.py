"""What a machine has: pluginkit and Python, GPUs, evaluators. Each worker of a farm is asked for it."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

from pluginkit.build import toolchain
from pluginkit.build.gpus import Gpu, find_driver
from pluginkit.errors import ToolMissing
from pluginkit.evaluators import evaluators
from pluginkit.paths import __version__
from pluginkit.run.executors import cores
from pluginkit.runtimes import Availability


@dataclass(frozen=True)
class Kind:
    """What a worker must be for an evaluator's question: answers of two workers of one kind are the same.

    Attributes:
        evaluator: the evaluator's name.
        version: the evaluator's, empty where it comes with pluginkit.
        machine: what libraries it loads, as `platform.machine()` has it.
        gpu: of target gpu, the `gpus.GpuPlace`'s key.
    """

    evaluator: str
    version: str
    machine: str
    gpu: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.evaluator, self.version, f"on {self.gpu or self.machine}")))


@dataclass(frozen=True)
class Facts:
    """What a worker has.

    Attributes:
        host: the machine's name.
        machine: as `platform.machine()` has it.
        python: the interpreter's version.
        pluginkit: pluginkit's version.
        cores: how many the worker may use.
        memory: bytes of the machine's memory.
        gpus: what the driver lists; cases run on the first.
        cuda: the highest version of CUDA that the driver supports.
        driver: the driver's version.
        nvcc: whether libraries can be built for GPUs there.
        evaluators: by name, whether each is there.
    """

    host: str
    machine: str
    python: str
    pluginkit: str
    cores: int
    memory: int
    gpus: tuple[Gpu, ...] = ()
    cuda: str = ""
    driver: str = ""
    nvcc: bool = False
    evaluators: Mapping[str, Availability] = field(default_factory=dict)

    @property
    def gpu(self) -> Gpu | None:
        """The one that cases run on. CUDA_VISIBLE_DEVICES of the worker chooses it on a machine with several."""
        return self.gpus[0] if self.gpus else None

    @property
    def kinds(self) -> frozenset[Kind]:
        """What it can be asked without a GPU: of an evaluator that is there in several versions, each is one."""
        return frozenset(
            Kind(name, version, self.machine)
            for name, one in self.evaluators.items()
            if one.found
            for version in one.version.split(", ")
        )


def of_this_machine() -> Facts:
    """Asks the driver, and each judge whether it is here; loads none."""
    driver = find_driver()
    return Facts(
        socket.gethostname(),
        platform.machine(),
        platform.python_version(),
        __version__,
        cores(),
        os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        driver.gpus,
        driver.cuda,
        driver.version,
        _has_nvcc(),
        {evaluator.NAME: evaluator.probe() for evaluator in evaluators()},
    )


def _has_nvcc() -> bool:
    try:
        toolchain.nvcc().best()
    except ToolMissing:
        return False
    return True
