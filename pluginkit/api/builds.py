"""`pluginkit.build`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pluginkit.api.report import JsonReport, Progress, silent
from pluginkit.build.artifact import Artifact
from pluginkit.build.builder import build as build_project
from pluginkit.layouts import LayoutNumber


@dataclass(frozen=True)
class BuildReport(JsonReport):
    """The libraries that a build made.

    Attributes:
        artifacts: one for each target, with `library`, the path of the `.so`, and `module`, that of the Python module.
    """

    artifacts: tuple[Artifact, ...]
    schema: ClassVar[str] = "build-1"

    @property
    def exit_code(self) -> int:
        """0: a build that fails is an exception."""
        return 0

    @property
    def library(self) -> Path:
        """The first library: that of target cpu, where it was built."""
        return self.artifacts[0].library

    def to_json(self) -> list[dict[str, Any]]:
        """The build record of each library, with its path and that of the Python module."""
        return [
            {
                "library": str(one.library),
                "module": str(one.module) if one.module else None,
                **one.info,
                "fresh": one.fresh,
            }
            for one in self.artifacts
        ]

    def summary(self) -> str:
        """The libraries' names."""
        return ", ".join(f"{one.library.name} (target {one.target})" for one in self.artifacts)

    def rows(self) -> Iterator[Sequence[str]]:
        """A row for each library."""
        yield "library", "target", "KiB", "compiled now"
        for one in self.artifacts:
            yield str(one.library), one.target, f"{int(one.info['size']) // 1024}", "yes" if one.fresh else "no"


def build(
    project: str | os.PathLike[str] = ".",
    *,
    target: Literal["", "auto", "cpu", "gpu", "all"] = "",
    archs: Sequence[str] = (),
    werror: bool = False,
    layouts: Sequence[LayoutNumber] = (),
    progress: Progress = silent,
) -> BuildReport:
    """Build a project's plugin library and its Python module, as `pluginkit build`. Only changed files are compiled.

    Args:
        project: the folder with `pluginkit.toml`.
        target: `cpu`: the kernels run on the host; `gpu`: compiled by nvcc; `all`: both; `auto`: cpu, and gpu if nvcc
            and a GPU are found. Empty: `[build] target` in `pluginkit.toml`, else `auto`.
        archs: GPU architectures for target gpu: `90`, `native`, `all-major`.
        werror: whether compiler warnings in the project's sources are errors.
        layouts: TensorRT major versions besides the usual ones whose plugin classes the library gets: `8`.
        progress: called with each step, and with each line that the compiler prints.

    Raises:
        UsageError: no project there, or an unknown target.
        ToolMissing: a tool is missing or too old.
        BuildFailed: CMake, a compiler or the linker failed.
    """
    made = build_project(
        Path(project),
        target,
        archs=archs,
        werror=werror,
        python=True,
        chosen=layouts,
        progress=lambda line: progress(line, 0, None),
    )
    return BuildReport(tuple(made))
