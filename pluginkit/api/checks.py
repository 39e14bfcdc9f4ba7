"""`pluginkit.check`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pluginkit.api.report import JsonReport, Progress, silent, values
from pluginkit.errors import UsageError
from pluginkit.manifest import FILE_NAME
from pluginkit.run.executors import Executor
from pluginkit.run.project_checks import ProjectOptions, check_project
from pluginkit.validation import CHECKS, CheckReport, check_library, choose
from pluginkit.validation.catalog import DEFAULT_LEVEL, Check
from pluginkit.validation.checking import CheckLimits
from pluginkit.validation.reports import to_json


class ContractReport(CheckReport, JsonReport):
    """The checks of a plugin library against TensorRT's plugin contract."""

    schema: ClassVar[str] = "check-1"

    def to_json(self) -> dict[str, Any]:
        """Every check with its ending."""
        return {"schema": self.schema, **to_json(self)}

    def summary(self) -> str:
        """How many checks ended in which way."""
        return f"{self.library.name}: {self.counts}"

    def rows(self) -> Iterator[Sequence[str]]:
        """The findings."""
        yield "result", "check", "what was observed", "fix"
        for one in self.results:
            if one.is_finding:
                yield (
                    self.ending_of(one).value,
                    f"{one.check} {CHECKS[one.check].title}",
                    one.text,
                    CHECKS[one.check].fix,
                )


def located(
    subject: str | os.PathLike[str] | None, library: str | os.PathLike[str] | None
) -> tuple[Path | None, Path | None]:
    """The project, if a pluginkit.toml is there, and the library, unless the project's is to be built.

    Raises:
        UsageError: neither is named nor here.
    """
    path = None if subject is None else Path(subject)
    if path is None or path.is_dir() or path.name == FILE_NAME:
        project = (path.parent if path.is_file() else path) if path else Path()
        if not (project / FILE_NAME).is_file():
            raise UsageError(
                f"pluginkit check needs a library or a project, and there is no {FILE_NAME} in {project.resolve()}.",
                hint="pluginkit check build/.../libmy_plugin.so",
            )
        return project, None if library is None else Path(library)
    if library is not None:
        raise UsageError("--library is for a project's folder.", hint=f"pluginkit check {os.fspath(library)}")
    beside = path.resolve().parent
    return (beside if (beside / FILE_NAME).is_file() else None), path


def run(
    project: Path | None,
    library: Path | None,
    asked: ProjectOptions,
    chosen: Sequence[Check],
    progress: Progress = silent,
    executor: Executor | None = None,
) -> ContractReport:
    """Run checks of what `located` gave.

    Raises:
        PluginkitError: as `check_project` and `check_library`.
    """
    if project is not None:
        return ContractReport(**values(check_project(asked, chosen, progress, executor)))
    assert library is not None  # located() gives one of them
    found = check_library(
        library,
        chosen,
        wanted=asked.creators,
        model=asked.model,
        limits=asked.limits,
        strict=asked.strict,
        in_process=asked.in_process,
        asker=executor.asker(library, jobs=0) if executor else None,
        step=progress,
    )
    return ContractReport(**values(found))


def check(
    subject: str | os.PathLike[str] = ".",
    *,
    library: str | os.PathLike[str] | None = None,
    level: int = DEFAULT_LEVEL,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    creators: Sequence[str] = (),
    model: str | os.PathLike[str] | None = None,
    strict: bool = False,
    timeout: float = 10.0,
    memory: float = 4.0,
    jobs: int = 0,
    progress: Progress = silent,
) -> ContractReport:
    """Check a plugin library against TensorRT's plugin contract, as `pluginkit check`.

    Args:
        subject: a plugin library, or a project, which is built first.
        library: a library to check instead of building the project's.
        level: the highest level of checks to run, 1 to 10.
        include, exclude: patterns of checks' ids or groups: `S*`, `shapes`.
        creators: only these plugins of the library: `NAME` or `NAME:VERSION`.
        model: an ONNX model whose nodes give values of fields, and sizes.
        strict: whether warnings count as failures.
        timeout: seconds for each check.
        memory: GiB that the process of a check may use.
        jobs: workers at once; 0: one a core.
        progress: called with each group of checks.

    Raises:
        UsageError: no such library, project, creator or check.
        BuildFailed, ToolMissing: the project doesn't build.
    """
    project, path = located(subject, library)
    limits = CheckLimits(timeout, int(memory * 2**30), jobs)
    nodes = None if model is None else Path(model)
    asked = ProjectOptions(project or Path(), path, nodes, tuple(creators), limits, strict)
    return run(project, path, asked, choose(level, tuple(include), tuple(exclude)), progress)
