"""Times of candidates on a GPU. What `runner` needs of it is the protocol: a test has recorded times instead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from pluginkit.bench.measurements import BenchCase
from pluginkit.bench.runner import SLOW, alone
from pluginkit.build import build
from pluginkit.build.cmake import Progress, put_changed
from pluginkit.build.gpus import Gpu
from pluginkit.build.tuning import measuring_header
from pluginkit.errors import UsageError
from pluginkit.manifest import FILE_NAME, Manifest
from pluginkit.manifest.project import root
from pluginkit.manifest.tuning.section import Values
from pluginkit.process.worker import Worker
from pluginkit.tuning.results import VARIABLE, Compared, TuneOptions

FOLDER = "tune"
"""Below the project's build folder."""


class Measuring(Protocol):
    """Times on one GPU.

    Attributes:
        identity: what the times are of: other sources, another compiler or another GPU have another one.
    """

    identity: str

    def compare(self, case: BenchCase, sets: Sequence[int], rounds: int) -> Compared:
        """As of `child.TuningLibrary`."""

    def close(self) -> None:
        """Ends what it has started."""


class GpuMeasuring:
    """Builds a library that has all candidates, and measures in a worker.

    Raises:
        BuildFailed: a candidate can't be compiled.
        ToolMissing: there is no nvcc.
        UsageError: the build doesn't take the candidates.
    """

    def __init__(
        self, options: TuneOptions, manifest: Manifest, gpu: Gpu, candidates: Sequence[Values], progress: Progress
    ) -> None:
        project = options.project.resolve()
        home = root(project)
        header = home / "build" / FOLDER / f"candidates-{manifest.slug}.h"
        put_changed(header, measuring_header(manifest.tuning, candidates))
        made = build(home, "gpu", archs=(gpu.arch,), tuning=(project / FILE_NAME, header), progress=progress)[0]
        _check_candidates(made.library)
        self._init: dict[str, Any] = {
            "library": made.library,
            "manifest": manifest,
            "project": project,
            "seed": 0,
            "candidates": tuple(candidates),
        }
        self._timeout = options.timeout
        self._gpu = gpu
        self._worker: Worker | None = None
        self.identity = f"{made.info['sha256']} {gpu.uuid or gpu.name}"

    def compare(self, case: BenchCase, sets: Sequence[int], rounds: int) -> Compared:
        """In a worker, alone on this machine's GPUs."""
        if self._worker is None:
            env = {"CUDA_VISIBLE_DEVICES": self._gpu.uuid} if self._gpu.uuid else {}
            self._worker = Worker("pluginkit.tuning.tuning_worker", self._init, timeout=self._timeout, env=env)
        self._worker.call("prepare", case=case, timeout=SLOW * self._timeout)
        with alone():
            found = self._worker.call(
                "compare", case=case, sets=tuple(sets), rounds=rounds, timeout=self._timeout * max(2, len(sets))
            )
        assert isinstance(found, Compared)
        return found

    def close(self) -> None:
        """Ends the worker."""
        if self._worker is not None:
            self._worker.close()
        self._worker = None


def _check_candidates(library: Path) -> None:
    """Without them all sets would be equally fast, and nothing a gain."""
    if VARIABLE.encode() not in library.read_bytes():
        raise UsageError(
            f"{library} was built without the candidates: it doesn't ask for {VARIABLE}. Nothing can be compared.",
            hint="The launch in the .cu source must be compiled, by pluginkit_add_plugin of CMakeLists.txt, and lie in "
            "the folder of pluginkit.toml or below. A library that the command of [library] builds can't be tuned.",
        )


def folder(project: Path) -> Path:
    """Where the candidates' library and what was measured lie."""
    return root(project.resolve()) / "build" / FOLDER
