"""What a test run is asked to do."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.layouts import TargetName
from pluginkit.runtimes import Target
from pluginkit.testing.calibration import BY_DEFAULT, Calibration

Step = Callable[[str, int, int | None], None]
"""Told what is being done, how many are done, and of how many (None: not known)."""


@dataclass(frozen=True)
class Shard:
    """A part of a run: which of its networks, with all that is asked of them, by a stable hash of their ids.

    Attributes:
        index: which part, from 1 on.
        count: how many parts there are.
        lead: what ids are counted with: the project's and the plugin's name, where a run has several.
    """

    index: int
    count: int
    lead: str = ""

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From `2/3`.

        Raises:
            UsageError: it is none, as 3/2 is.
        """
        matched = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if matched is None or not 1 <= int(matched[1]) <= int(matched[2]):
            raise UsageError(f"--shard {text}: that is not part of a run.", hint="--shard 2/3 is the second of three.")
        return cls(int(matched[1]), int(matched[2]))

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def within(self, name: str) -> Shard:
        """The part of what is called by that name in the run."""
        return replace(self, lead=f"{self.lead}{name}/")

    def takes(self, name: str) -> bool:
        """Whether a network, or what else has an id, is of this part. Of all parts exactly one takes it."""
        number = int.from_bytes(hashlib.sha256(f"{self.lead}{name}".encode()).digest()[:8], "big")
        return number % self.count == self.index - 1


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
        large: whether a case of more than 2^31 elements is run too.
        evaluators: by name, those that take part; None means all that are here.
        shard: the part of the run that is done; None: all of it.
        targets: the TensorRT that the plugin is for; none: those of pluginkit.toml.
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
    large: bool = False
    evaluators: tuple[str, ...] | None = None
    shard: Shard | None = None
    targets: tuple[TargetName, ...] = ()

    @property
    def partial(self) -> bool:
        """Whether it is of chosen cases, with checks compiled in, or of a GPU alone: then the library isn't checked."""
        chosen = self.only or self.families or self.precisions
        return bool(chosen or self.sanitize) or self.target == "gpu"
