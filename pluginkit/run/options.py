"""What a test run is asked to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pluginkit.dtypes import DType
from pluginkit.runtimes import Target
from pluginkit.testing.calibration import BY_DEFAULT, Calibration

Step = Callable[[str, int, int | None], None]
"""Told what is being done, how many are done, and of how many (None: not known)."""


@dataclass(frozen=True)
class Options:
    """What a run is asked to do.

    Attributes:
        project: the folder with `pluginkit.toml`.
        precisions: None means all that the manifest declares.
        families: networks by name; None means all.
        only: patterns of case ids; none means all.
        data: an .npz with the person's own inputs.
        calibration: how INT8 scales are found.
        seed: what random shapes and values follow from.
        library: a library to test as it is; None means: build the project's.
        timeout: seconds that any one call into the plugin may take; more where checks are compiled in.
        sanitize: checks to be compiled in, of `pluginkit.build.SANITIZERS`; none: the plain build.
        schedules: in how many random orders of blocks and threads each case is run besides.
        jobs: how much is done at once; 0: as much as there are cores, on a GPU at most `ON_GPU`.
        strict: whether a warning is a failure, whatever pluginkit.toml has.
        target: where the kernels run: on the host (`cpu`), on the GPU (`gpu`), or `auto`: on the host, and on the GPU
            too where there are one and nvcc; a library that is not built here runs where it was built for.
    """

    project: Path = Path()
    precisions: tuple[DType, ...] | None = None
    families: tuple[str, ...] | None = None
    only: tuple[str, ...] = ()
    data: Path | None = None
    calibration: Calibration = BY_DEFAULT
    seed: int = 0
    library: Path | None = None
    timeout: float = 60.0
    sanitize: tuple[str, ...] = ()
    schedules: int = 0
    jobs: int = 0
    target: Target | Literal["auto"] = "cpu"
    strict: bool = False
