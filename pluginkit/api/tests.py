"""`pluginkit.test`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from pluginkit.api.report import JsonReport, Progress, silent, values
from pluginkit.dtypes import DType
from pluginkit.errors import PluginkitError
from pluginkit.layouts import TargetName
from pluginkit.manifest import FILE_NAME
from pluginkit.run import several_plugins
from pluginkit.run.executors import Executor
from pluginkit.run.options import Options
from pluginkit.testing.calibration import Calibration, Method
from pluginkit.testing.report import CaseResult, Outcome, Report


class TestReport(Report, JsonReport):
    """A test run: every case in the host, and the verdicts of NVIDIA's builder and registries on every network."""

    __test__ = False  # for pytest, which takes a class of this name for tests
    schema: ClassVar[str] = "test-1"

    def to_json(self) -> dict[str, Any]:
        """The cases and verdicts; a number that JSON lacks (NaN, infinity) is null."""
        return {"schema": self.schema, **super().to_json()}

    def summary(self) -> str:
        """How many cases passed and failed, and what took no part."""
        counts = ", ".join(f"{self.count(one)} {one.value}" for one in Outcome if self.count(one))
        number = len(self.verdicts)
        asked = f"{number} verdict{'s' * (number != 1)} of NVIDIA's code"
        absent = f"; {', '.join(self.absent)} took no part" if self.absent else ""
        return f"{self.plugin}: {len(self.cases)} cases: {counts or 'none'}; {asked}{absent}"

    def rows(self) -> Iterator[Sequence[str]]:
        """What failed, then the warnings."""
        yield "result", "case", "what"
        for one in self.bad:
            name = one.id if isinstance(one, CaseResult) else f"{one.runtime}: {one.network}"
            yield one.outcome.value, name, one.message
        for warned in self.warnings:
            yield "warning", warned.where, warned.warning.text


def home(project: Path, library: Path | None) -> Path:
    """The project: of a library without one, the folder that it is in, where `pluginkit adopt` may have put one."""
    if library is not None and not (project / FILE_NAME).exists() and (library.parent / FILE_NAME).is_file():
        return library.parent
    return project


def run(options: Options, progress: Progress = silent, executor: Executor | None = None) -> several_plugins.Runs:
    """Test the plugins of a project, then check its library; if that can't be done, the runs are kept with the error.

    Raises:
        PluginkitError: as `several_plugins.run`.
    """
    runs = several_plugins.run(options, progress, executor)
    if options.partial:
        return runs
    from pluginkit.run.project_checks import with_checks  # a quarter of what the command would import

    try:
        return replace(runs, reports=with_checks(options, runs.reports, progress, executor))
    except PluginkitError as error:
        return replace(runs, errors=(*runs.errors, error))


def report_of(found: Report) -> TestReport:
    """The same run, as the public report."""
    return TestReport(**values(found))


def test(
    project: str | os.PathLike[str] = ".",
    *,
    precisions: Sequence[Literal["float32", "float16", "bfloat16", "int8", "float8"]] = (),
    networks: Sequence[str] = (),
    only: Sequence[str] = (),
    target: Literal["auto", "cpu", "gpu"] = "auto",
    library: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    calibration: Method | None = None,
    calibration_data: str | os.PathLike[str] | None = None,
    seed: int = 0,
    timeout: float = 60.0,
    sanitize: Sequence[str] = (),
    schedules: int = 0,
    strict: bool = False,
    large: bool = False,
    jobs: int = 0,
    targets: Sequence[TargetName] = (),
    progress: Progress = silent,
) -> TestReport:
    """Test a project's plugin in networks, against its reference and with NVIDIA's builder, as `pluginkit test`.

    Args:
        project: the folder with `pluginkit.toml`; it is built first.
        precisions: those to test; none: all in `pluginkit.toml`.
        networks: only these networks, or kinds of them: `loop`.
        only: only cases whose ids match; `*` and `?` are wildcards.
        target: where the kernels run; `auto`: on the CPU, and on the GPU if one and nvcc are found.
        library: test this library instead of building.
        data: an `.npz` with inputs of your own, by the inputs' names.
        calibration: the INT8 calibration method: `max` or `entropy`.
        calibration_data: an `.npz` with samples, one array per input, with a leading sample dimension.
        seed: what shapes, values and orders are drawn from.
        timeout: seconds before a call into the plugin is reported as hung.
        sanitize: sanitizers to compile in: `address`, `undefined`, `thread`, `memory`.
        schedules: in how many random orders of blocks and threads each case is run besides.
        strict: whether warnings count as failures.
        large: also run a case with more than 2^31 elements.
        jobs: workers at once; 0: one a core.
        targets: the TensorRT that it is for: `8.5`, `10`, `11`, `rtx`; none: those of `pluginkit.toml`.
        progress: called with each step.

    Raises:
        UsageError: no project there, or an option that doesn't fit it.
        NothingSelected: no case fits the options.
        BuildFailed, ToolMissing: the project doesn't build.
        PluginkitError: a plugin of the library couldn't be tested; `report` on the exception has the others' results.
    """
    path = None if library is None else Path(library)
    samples = None if calibration_data is None else Path(calibration_data)
    runs = run(
        Options(
            project=home(Path(project), path),
            precisions=tuple(map(DType, dict.fromkeys(precisions))) or None,
            families=tuple(networks) or None,
            only=tuple(only),
            data=None if data is None else Path(data),
            calibration=Calibration(calibration, samples),
            seed=seed,
            library=path,
            timeout=timeout,
            sanitize=tuple(sanitize),
            schedules=schedules,
            jobs=jobs,
            target=target,
            strict=strict,
            large=large,
            targets=tuple(targets),
        ),
        progress,
    )
    found = report_of(runs.joined)
    if runs.error is not None:
        error = runs.error
        error.__dict__["report"] = found
        raise error
    return found
