"""One run: finds a GPU, builds the library, measures each case in a worker."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pluginkit.bench.baseline import COMPILED, TORCH
from pluginkit.bench.cases import case_of, cases, declared
from pluginkit.bench.measurements import Baseline, BenchCase, BenchReport, Machine, Result
from pluginkit.bench.sweep import Sweep, sizes
from pluginkit.build import build
from pluginkit.build.gpus import find_driver
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, NothingSelected, PluginkitError, ToolMissing, UsageError
from pluginkit.manifest import Manifest
from pluginkit.manifest.bench_section import expression
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerError, WorkerTimeout

CHILD = "pluginkit.bench.bench_worker"
SLOW = 10
"""So many times longer than a call of the plugin may the reference take for large tensors."""
COMPILING = 300.0
"""Seconds more that a case may take where torch.compile has its turn."""

Step = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class BenchOptions:
    """What is measured.

    Attributes:
        project: the folder with `pluginkit.toml`.
        precisions: None means all that the manifest declares.
        only: patterns of case ids, as `large/*`; none means all.
        library: a library to measure as it is; None means: build the project's for target gpu.
        archs: for which GPU architectures it is built; none means this GPU's.
        seed: what the values follow from.
        timeout: seconds until a plugin hangs.
        compare: what is measured beside it: `torch`, `torch.compile`, or another library with the same plugin.
        sweep: sizes instead of the manifest's shapes.
    """

    project: Path = Path()
    precisions: tuple[DType, ...] | None = None
    only: tuple[str, ...] = ()
    library: Path | None = None
    archs: tuple[str, ...] = ()
    seed: int = 0
    timeout: float = 60.0
    compare: tuple[str, ...] = ()
    sweep: Sweep | None = None


def run(options: BenchOptions, step: Step = lambda *_: None) -> BenchReport:
    """Measure a plugin.

    Raises:
        ToolMissing: there is no GPU here, or no nvcc.
        PluginkitError: the run could not take place otherwise. What the plugin does wrong is in the report.
    """
    manifest, chosen = asked(options)
    others = _others(options.compare, chosen)
    arch = _gpu()
    step("building", 0, None)
    library = _library(options, arch)
    with contextlib.ExitStack() as stack:
        session = stack.enter_context(contextlib.closing(_Session(library, manifest, options)))
        alone = replace(options, compare=(), sweep=None)
        rivals = {
            name: (other, stack.enter_context(contextlib.closing(_Session(other, manifest, alone))))
            for name, other in others.items()
        }
        for name, (_, rival) in rivals.items():
            rival.open(name)
        step("copying", 0, None)
        machine = session.machine()
        results = []
        for number, case in enumerate(chosen):
            step(case.id, number, len(chosen))
            found = session.case(case)
            found = replace(found, baselines=session.baselines(case)) if found.times else found
            more = [
                _compared(name, other, rival.case(replace(case, baseline="")))
                for name, (other, rival) in rivals.items()
            ]
            results.append(replace(found, baselines=(*found.baselines, *more)))
    sha256 = hashlib.sha256(library.read_bytes()).hexdigest()
    return BenchReport(manifest.plugin.name, str(library), sha256, machine, tuple(results))


def asked(options: BenchOptions) -> tuple[Manifest, list[BenchCase]]:
    """The project's manifest, and what is to be measured.

    Raises:
        UsageError, NothingSelected: there is nothing to measure.
    """
    manifest = Manifest.load(options.project)
    if late := [tensor.name for tensor in manifest.size_tensors()]:
        raise UsageError(
            f"pluginkit bench doesn't measure {manifest.plugin.name}: '{late[0]}' is a size that only enqueue knows, "
            "so how many bytes a call moves follows from no shape.",
            hint="pluginkit test runs it; measure its kernel with a profiler.",
        )
    if given := manifest.shape_inputs():
        raise UsageError(
            f"pluginkit bench doesn't measure {manifest.plugin.name}: '{given[0].name}' is a shape input, and it makes "
            "layers of shapes alone.",
            hint="pluginkit test runs it; measure its kernel with a profiler.",
        )
    if options.sweep is None:
        found = cases(manifest, options.precisions)
    else:
        kinds = declared(manifest, options.precisions)
        found = [case_of(manifest, shape, kind) for kind in kinds for shape in sizes(manifest, options.sweep, kind)]
    return manifest, select(found, options.only)


def _others(compare: Sequence[str], chosen: Sequence[BenchCase]) -> dict[str, Path]:
    """The other libraries, by a name each.

    Raises:
        UsageError: there is no such library, or no expression for torch.
    """
    of_torch = [one for one in compare if one in (TORCH, COMPILED)]
    if of_torch and not any(case.baseline for case in chosen):
        raise UsageError(
            f"--compare {of_torch[0]} needs an expression of torch, and pluginkit.toml has none for these shapes.",
            hint="In pluginkit.toml, with the inputs and fields by their names:\n\n[bench]\n"
            'baseline = "torch: torch.nn.functional.leaky_relu(x, alpha)"',
        )
    found: dict[str, Path] = {}
    for one in dict.fromkeys(compare):
        if one in of_torch:
            continue
        file = Path(one)
        if not file.is_file():
            raise UsageError(
                f"--compare {one}: there is no such library.",
                hint=f"It is {TORCH}, {COMPILED} or the path of a library.",
            )
        taken = file.name in (TORCH, COMPILED, *found)
        found[str(file.resolve()) if taken else file.name] = file.resolve()
    return found


def _compared(name: str, library: Path, result: Result) -> Baseline:
    return Baseline(name, str(library), result.times, result.problem)


def select(found: Sequence[BenchCase], only: Sequence[str]) -> list[BenchCase]:
    """Those that match one of the patterns; all if there are none.

    Raises:
        NothingSelected: a pattern matches none.
    """
    for pattern in only:
        if not any(fnmatchcase(case.id, pattern) for case in found):
            raise NothingSelected(
                f"No case matches '{pattern}'.", hint=f"There are: {', '.join(case.id for case in found)}."
            )
    return [case for case in found if not only or any(fnmatchcase(case.id, pattern) for pattern in only)]


def _gpu() -> str:
    """The architecture of the GPU here, as nvcc calls it."""
    driver = find_driver()
    if not driver.gpus:
        raise ToolMissing(
            f"pluginkit bench measures on a GPU, and there is none here: {driver.problem or 'the driver lists none'}.",
            hint="Run it on a machine with an NVIDIA GPU, its driver and nvcc; 'pluginkit info' shows what is found. "
            "pluginkit test runs without.",
        )
    return driver.gpus[0].arch


def _library(options: BenchOptions, arch: str) -> Path:
    if options.library is not None:
        if not options.library.is_file():
            raise UsageError(f"There is no library {options.library}.")
        return options.library.resolve()
    return build(options.project, "gpu", archs=options.archs or (arch,))[0].library


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Waits until no other bench of this user measures on this machine: two at once would measure each other."""
    with (Path(tempfile.gettempdir()) / f"pluginkit-bench-{os.getuid()}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _ReferenceFailed(Exception):
    """No plugin is to blame."""


class _Session:
    """The worker; another one after a crash, a hang or an error that the GPU does not forget."""

    def __init__(self, library: Path, manifest: Manifest, options: BenchOptions) -> None:
        self._init: dict[str, Any] = {
            "library": library,
            "manifest": manifest,
            "project": options.project,
            "seed": options.seed,
            "sweep": options.sweep is not None,
        }
        self._timeout = options.timeout
        self._compiled = COMPILED in options.compare
        self._worker: Worker | None = None

    def _call(self, method: str, *, timeout: float | None = None, **asked: Any) -> Any:
        if self._worker is None:
            self._worker = Worker(CHILD, self._init, timeout=self._timeout)
        return self._worker.call(method, timeout=timeout, **asked)

    def machine(self) -> Machine:
        """What is measured on."""
        with alone():
            found = self._call("machine")
        assert isinstance(found, Machine)
        return found

    def case(self, case: BenchCase) -> Result:
        """A case's measurement, or what came in its way."""
        try:
            self._prepare(case)
            with alone():
                found = self._call("measure", case=case)
        except _ReferenceFailed as error:
            self.close()
            return Result(case, problem=str(error))
        except (WorkerCrashed, WorkerTimeout) as error:
            self.close()
            return Result(case, problem=error.message, crashed=True)
        except (CheckFailed, WorkerError) as error:
            # Buffers and layers of the case are still held there, and a fault may have broken the context.
            self.close()
            return Result(case, problem=_message(error))
        assert isinstance(found, Result)
        return found

    def _prepare(self, case: BenchCase) -> None:
        try:
            self._call("prepare", case=case, timeout=SLOW * self._timeout)
        except WorkerTimeout:
            raise _ReferenceFailed(
                f"reference.py was not done after {SLOW * self._timeout:g} s: measure a smaller shape, or give it "
                "longer by --timeout."
            ) from None
        except WorkerCrashed as error:
            raise _ReferenceFailed(f"reference.py ended the process: {error.message}") from None

    def open(self, name: str) -> None:
        """Loads the library, before anything is measured.

        Raises:
            UsageError: it can't be loaded, or has no such plugin.
        """
        try:
            self._call("ready")
        except PluginkitError as error:
            raise UsageError(f"--compare {name}: {error.message}", hint=error.hint or "") from None

    def baselines(self, case: BenchCase) -> tuple[Baseline, ...]:
        """Those that torch computes. Whatever comes in torch's way, the plugin's times stay."""
        if not case.baseline:
            return ()
        return tuple(self._baseline(case, compiled) for compiled in ((False, True) if self._compiled else (False,)))

    def _baseline(self, case: BenchCase, compiled: bool) -> Baseline:
        try:
            self._prepare(case)
            with alone():
                timeout = self._timeout + COMPILING * compiled
                found = self._call("baseline", case=case, compiled=compiled, timeout=timeout)
        except (PluginkitError, _ReferenceFailed) as error:
            self.close()
            return Baseline(COMPILED if compiled else TORCH, expression(case.baseline), problem=str(error))
        assert isinstance(found, Baseline)
        return found

    def close(self) -> None:
        """Ends the worker."""
        if self._worker is not None:
            self._worker.close()
        self._worker = None


def _message(error: PluginkitError) -> str:
    if isinstance(error, WorkerError):
        return f"{error.message}\n{error.traceback}"
    return str(error)
