"""The GPUs of a farm: the places where cases of target gpu run, and the library that is built for all of them."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pluginkit.build import toolchain
from pluginkit.build.gpus import Gpu
from pluginkit.errors import ToolMissing
from pluginkit.farm.conditions import NO_GPU, GpuChoice
from pluginkit.farm.facts import Facts
from pluginkit.farm.fleet import Fleet
from pluginkit.library import build_record
from pluginkit.run import on_gpu
from pluginkit.run.on_gpu import OnGpu


@dataclass(frozen=True)
class GpuPlace:
    """Where cases of target gpu run once: on any GPU of an architecture, or on one GPU.

    Attributes:
        here: the GPU that stands for it.
        key: what a worker's kinds call it.
        choice: what a GPU must be.
    """

    here: OnGpu
    key: str
    choice: GpuChoice

    def takes(self, facts: Facts) -> bool:
        """Whether a worker's GPU is of this place, on a machine that libraries which are built here are for."""
        gpu = facts.gpu
        if gpu is None or facts.machine != platform.machine():
            return False
        return _key(gpu, facts, self.choice) == self.key and self.choice.takes(gpu, facts)


class FarmGpus:
    """The chosen GPUs of a fleet (a `run.on_gpu.GpuSource`).

    Args:
        fleet: the workers. Who comes later takes part in the places that there are.
        choice: what `--on` says.
        build: what builds a project's library of target gpu for architectures on a worker that has nvcc; None: no
            worker has it.
    """

    def __init__(
        self, fleet: Fleet, choice: GpuChoice, build: Callable[[Path, Sequence[str]], Path] | None = None
    ) -> None:
        self._choice = choice
        self._build = build
        self._there = [one.facts for one in fleet.ready if one.facts and one.facts.gpu]
        self.places = tuple(self._places())

    def _places(self) -> Sequence[GpuPlace]:
        found: dict[str, GpuPlace] = {}
        for facts in self._there:
            gpu = facts.gpu
            # Libraries that are built here are for this machine's kind alone.
            if gpu is None or facts.machine != platform.machine() or not self._choice.takes(gpu, facts):
                continue
            key = _key(gpu, facts, self._choice)
            which = f"{facts.host} {gpu.uuid[:12]}".strip() if self._choice.each else ""
            found.setdefault(key, GpuPlace(OnGpu(gpu, facts.cuda, which), key, self._choice))
        return sorted(found.values(), key=lambda one: (int(one.here.gpu.arch), one.key))

    def check(self) -> None:
        """Whether `--on` finds a GPU: said at once, not waited for.

        Raises:
            ToolMissing: no GPU of the farm is one of those.
        """
        if (self._choice.conditions or self._choice.each) and not self.places:
            raise ToolMissing(self._none(), hint="pluginkit farm ADDRESS shows the GPUs that are there.")

    def obstacle(self) -> str:
        """Why a run that was not asked for target gpu goes without it."""
        if not self.places:
            return NO_GPU
        if self._build is None and not _has_nvcc():
            return "nvcc is neither here nor on a worker of the farm"
        return ""

    def find(self) -> Sequence[OnGpu]:
        """One for each place.

        Raises:
            ToolMissing: no worker has one of those.
        """
        if not self.places:
            raise ToolMissing(self._none(), hint="pluginkit test --target cpu runs the kernels on the workers' CPUs.")
        return tuple(one.here for one in self.places)

    def library(self, project: Path, archs: Sequence[str] = ()) -> Path:
        """The library for the architectures of all places, or for others, built here or on a worker with nvcc.

        Raises:
            PluginkitError: as of `on_gpu.library`.
        """
        there = self.find()
        archs = archs or sorted({one.gpu.arch for one in there}, key=int)
        if self._build is None or _has_nvcc():
            return on_gpu.library(project, there, archs)
        library = self._build(project, archs)
        record = json.loads(build_record.path(library).read_text(encoding="utf-8"))
        for one in there:
            on_gpu.check_driver(library, record, one)
            on_gpu.check(library, one)
        return library

    def _none(self) -> str:
        names = sorted({f"{facts.gpu.name}, sm_{facts.gpu.arch}" for facts in self._there if facts.gpu})
        wanted = f" of {self._choice}" if self._choice.conditions else ""
        has = f"; it has {'; '.join(names)}" if names else ""
        return f"No worker of the farm has a GPU{wanted}{has}."


def _key(gpu: Gpu, facts: Facts, choice: GpuChoice) -> str:
    """By the GPU's own number; where the driver gives none, a machine has one GPU."""
    return (gpu.uuid or f"GPU of {facts.host}") if choice.each else f"sm_{gpu.arch}"


def _has_nvcc() -> bool:
    return any(one.usable for one in toolchain.nvcc().found())
