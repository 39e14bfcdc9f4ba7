"""The libraries that a test run takes: where its cases are to run, and what is built for that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pluginkit.build import PLAIN, Instrumentation, build, instrumentations
from pluginkit.build.exports import exported
from pluginkit.build.sources import build_checked, built_here
from pluginkit.errors import BuildFailed, ToolMissing, UsageError
from pluginkit.evaluators.protocol import ON_CPU, Build
from pluginkit.library import gpu_code
from pluginkit.run import on_gpu
from pluginkit.run.on_gpu import FirstGpu, GpuSource, OnGpu
from pluginkit.run.options import Options, Step
from pluginkit.runtimes import Target

FIRST_GPU = FirstGpu()


@dataclass(frozen=True)
class BuiltLibrary:
    """A library that cases run on, and what it was built for."""

    path: Path
    build: Build = ON_CPU


def targets(options: Options, gpus: GpuSource = FIRST_GPU) -> tuple[tuple[Target, ...], str]:
    """Where the cases run; and of a run without --target, why not on the GPU.

    Raises:
        UsageError: options that contradict each other.
    """
    wanted = options.target
    compiled_in = options.sanitize and wanted != "gpu"
    only_cpu = "--sanitize" if compiled_in else "--schedules" if options.schedules else ""
    if only_cpu and wanted == "gpu":
        raise UsageError(f"{only_cpu} is for target cpu.", hint="Leave out --target gpu.")
    if options.library is not None:
        own = _built_for(options.library)
        if wanted not in ("auto", own) and (own == "gpu" or _has_control(options.library)):
            raise UsageError(f"{options.library} is built for target {own}.", hint=f"--target {own}")
        return (own if wanted == "auto" else wanted,), ""
    if wanted != "auto":
        return (wanted,), ""
    if only_cpu:
        return ("cpu",), f"target gpu took no part: {only_cpu} is for target cpu"
    why = gpus.obstacle()
    return (("cpu",), f"target gpu took no part: {why}") if why else (("cpu", "gpu"), "")


def make(
    options: Options, wanted_targets: Sequence[Target], step: Step, gpus: GpuSource = FIRST_GPU
) -> list[BuiltLibrary]:
    """The library of each build that the run takes.

    Raises:
        UsageError: a check that isn't there, or one for a library that is not built here, or not for target cpu.
        ToolMissing: no GPU for target gpu.
        CheckFailed: the library has no code for the GPU.
    """
    wanted = instrumentations(options.sanitize, "gpu" if list(wanted_targets) == ["gpu"] else "cpu")
    for instrumentation in wanted:
        # Before a library is compiled for nothing.
        instrumentation.environment()
    if options.schedules < 0:
        raise UsageError(f"--schedules is {options.schedules}; it must be 1 or more.")
    there = gpus.find() if "gpu" in wanted_targets and not _missing(options.library) else ()
    if options.library is None:
        made = []
        for instrumentation in wanted if "cpu" in wanted_targets else ():
            step(f"building {instrumentation.name}".rstrip(), 0, None)
            made.append(
                BuiltLibrary(
                    build(options.project, "cpu", instrumentation=instrumentation)[0].library,
                    Build("cpu", instrumentation),
                )
            )
        if there:
            step("building for the GPU", 0, None)
            made += _under(gpus.library(options.project), wanted, there)
        return made
    if options.sanitize and not there:
        return list(_checked(options.library, wanted, step))
    if options.schedules and not on_cpu(options.library):
        raise UsageError(
            f"--schedules is for target cpu, and {options.library} was not built for it by this pluginkit.",
            hint="pluginkit build --target cpu",
        )
    if not there:
        return [BuiltLibrary(options.library)]
    for one in there:
        on_gpu.check(options.library, one)
    return _under(options.library, wanted, there)


def _checked(library: Path, wanted: Sequence[Instrumentation], step: Step) -> Iterator[BuiltLibrary]:
    """A library of `pluginkit build --sources`, whose sources are compiled with each of the checks.

    Raises:
        UsageError: another build made it, or its folder isn't there.
    """
    if not built_here(library):
        raise UsageError(
            f"--sanitize compiles its checks in, and {library} is tested as it is.",
            hint="Leave out --library, or --sanitize where [library] in pluginkit.toml names another build's library; "
            f"one of pluginkit build --sources needs the folder {library.stem}.build beside it.",
        )
    for instrumentation in wanted:
        step(f"building {library.name} with {instrumentation.name}", 0, None)
        yield BuiltLibrary(build_checked(library, instrumentation).library.resolve(), Build("cpu", instrumentation))


def _under(library: Path, wanted: Sequence[Instrumentation], there: Sequence[OnGpu]) -> list[BuiltLibrary]:
    """A library of target gpu on each GPU, under each tool of compute-sanitizer that is asked for, or by itself."""
    tools = [instrumentation for instrumentation in wanted if instrumentation.tool] or [PLAIN]
    return [
        BuiltLibrary(library, Build("gpu", instrumentation, one.description))
        for one in there
        for instrumentation in tools
    ]


def _missing(library: Path | None) -> bool:
    """Whether a library was named that isn't there; the host reports that."""
    return library is not None and not library.is_file()


def _built_for(library: Path) -> Target:
    """By what is in it: the control of target cpu, or code for GPUs; cpu if there is neither."""
    return "gpu" if not on_cpu(library) and gpu_code.read(library) is not None else "cpu"


def _has_control(library: Path) -> bool:
    """Whether it is one of target cpu for sure."""
    try:
        return library.exists() and "pluginkit_cpu_control" in exported(library)
    except BuildFailed:
        return False


def on_cpu(library: Path) -> bool:
    """Whether a library is one of target cpu. If it is none at all, the host's message is better."""
    try:
        return not library.exists() or "pluginkit_cpu_control" in exported(library)
    except BuildFailed:
        return True


def gpu_library(options: Options) -> Path:
    """The library built for target gpu, for what runs engines: what is built for target cpu takes device memory for
    its own.

    Raises:
        ToolMissing: there is none, and none can be built here.
        BuildFailed: it can't be built.
    """
    if options.library is None:
        return build(options.project, "gpu")[0].library
    if on_cpu(options.library):
        raise ToolMissing(f"{options.library} is built for target cpu", hint="pluginkit build --target gpu")
    return options.library
