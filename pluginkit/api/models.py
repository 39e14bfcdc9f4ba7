"""`pluginkit.doctor`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pluginkit.api.report import JsonReport, Progress, silent, values
from pluginkit.importing.importer import Imported, ImportOptions, run
from pluginkit.layouts import TargetName


class ModelReport(Imported, JsonReport):
    """What TensorRT makes of a model: its unsupported nodes, problems, NVIDIA's build, a run on the CPU."""

    schema: ClassVar[str] = "doctor-1"

    def to_json(self) -> dict[str, Any]:
        """The nodes, problems, build and run."""
        return {"schema": self.schema, **super().to_json()}

    def summary(self) -> str:
        """How many problems there are, and how build and run ended."""
        return self.last_line

    def rows(self) -> Iterator[Sequence[str]]:
        """The operators without an implementation, then the problems."""
        yield "what", "where", "what to do"
        for one in self.unserved:
            yield f"{one.operator} is not implemented", one.where, one.expressible
        for problem in self.problems:
            yield f"{problem.level}: {problem.text}", problem.node, problem.fix


def read(options: ImportOptions, progress: Progress = silent) -> ModelReport:
    """As `importer.run`."""
    return ModelReport(**values(run(options, lambda what: progress(what, 0, None))))


def doctor(
    model: str | os.PathLike[str],
    *,
    plugins: Sequence[str | os.PathLike[str]] = (),
    profiles: Sequence[str] = (),
    seed: int = 0,
    timeout: float = 60.0,
    strict: bool = False,
    targets: Sequence[TargetName] = (),
    progress: Progress = silent,
) -> ModelReport:
    """Find what keeps TensorRT from taking an ONNX model, as `pluginkit doctor`; with plugins, as `pluginkit import`.

    Args:
        model: the ONNX file.
        plugins: plugin libraries, and folders of projects, which are built first.
        profiles: shapes of inputs: `x:4x3x8x8`, or `x:min=1x3x8x8,opt=4x3x8x8,max=8x3x8x8`.
        seed: what the inputs of the run are drawn from.
        timeout: seconds before a step is stopped.
        strict: whether warnings, and a build or run that did not take place, count as wrong.
        targets: the TensorRT that it is for, `8.5`, `10`, `11` or `rtx`, of which tables are asked. None: those that
            the plugins' projects name in `[targets]`.
        progress: called with each step.

    Raises:
        UsageError: the model, a library or a profile can't be read, or they don't fit.
        BuildFailed, ToolMissing: a project doesn't build.
        PluginCrashed: a library ends the process that loads it, or hangs.
        CheckFailed: no host takes a library.
    """
    options = ImportOptions(
        Path(model), tuple(map(Path, plugins)), tuple(profiles), seed, timeout, strict, targets=tuple(targets)
    )
    return read(options, progress)
