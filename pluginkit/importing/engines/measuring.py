"""`pluginkit bench MODEL.onnx --engine`: a model's engine by TensorRT 8, in turns with one without the plugin."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx

from pluginkit import parser_operators
from pluginkit.build.gpus import find_driver
from pluginkit.errors import PluginkitError, ToolMissing, UsageError
from pluginkit.importing import onnx_graph, profiles, running
from pluginkit.importing.engines import measured, whole
from pluginkit.importing.engines.measured import EngineBench, EnginePoint, EngineSide
from pluginkit.importing.files import libraries
from pluginkit.importing.files.recorded import NOTHING
from pluginkit.importing.implementations import Implementation, find_implementations
from pluginkit.importing.running import Drawn
from pluginkit.installation import tensorrt8
from pluginkit.installation.tensorrt8 import TensorRT8
from pluginkit.network.networks import Array, NetworkProfile
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerError, WorkerTimeout
from pluginkit.runtimes.tensorrt import behaviours
from pluginkit.runtimes.tensorrt.session import worker_of

CHILD = "pluginkit.runtimes.tensorrt.timing_worker"
ROUNDS = 100
"""Runs of each engine of which a time is the median."""
PRECISIONS: dict[str, tuple[str, ...]] = {"float32": (), "float16": ("float16",), "int8": ("float16", "int8")}
"""What is asked for, and the types that the builder is then allowed besides FP32."""
LOOSE = {"float16": 0.02, "int8": 0.1}
"""How far an output may be from the expected one where the builder may choose lower precisions, in parts of the largest
magnitude that is expected: faults of a whole tensor are found, and rounding isn't one."""
POINTS = ("min", "opt", "max")
Progress = Callable[[str], None]


@dataclass(frozen=True)
class EngineOptions:
    """What is measured.

    Attributes:
        model: the ONNX file with the plugin.
        plugins: libraries, and folders of projects, which are built first.
        without: the same model without the plugin, as before `pluginkit graft`; None if there is none.
        profiles: of --profile.
        precisions: keys of `PRECISIONS`; empty means float32.
        seed: what the inputs follow from.
        timeout: seconds for each step that may hang.
    """

    model: Path
    plugins: tuple[Path, ...] = ()
    without: Path | None = None
    profiles: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    seed: int = 0
    timeout: float = 300.0


@dataclass(frozen=True)
class _MeasuredModel:
    path: Path
    proto: onnx.ModelProto
    implementations: Sequence[Implementation]
    drawn: dict[str, Drawn]
    """By the point's name."""


def run(options: EngineOptions, progress: Progress = lambda _: None) -> EngineBench:
    """Build, run, compare, and time in turns.

    Raises:
        ToolMissing: there is no TensorRT 8 here, or no GPU.
        UsageError: a model can't be read, or the two have other inputs.
        PluginkitError: a project doesn't build, or a library can't be loaded.
    """
    eight, gpu = _found()
    precisions = options.precisions or ("float32",)
    protos = {path: onnx_graph.load(path) for path in (options.model, options.without) if path is not None}
    _same_inputs(protos)
    if "int8" in precisions:
        _quantized(protos)
    profile = profiles.profile(
        profiles.declared_inputs(protos[options.model]), [profiles.parse(text) for text in options.profiles]
    )
    plugins = libraries.read(options.plugins, (), options.timeout, progress)
    loaded = [whole.loaded(where, one, progress) for where, one in zip(options.plugins, plugins, strict=True)]
    points = _points(profile)
    models: list[_MeasuredModel] = []
    for path, proto in protos.items():
        found = find_implementations(proto, plugins, parser_operators.OF_RTX.__contains__)
        drawn = {name: running.drawn(proto, found, one, NOTHING, options.seed) for name, one in points.items()}
        if models:
            # What the plugin is drawn, the other model gets.
            drawn = {name: replace(one, feeds=models[0].drawn[name].feeds) for name, one in drawn.items()}
        models.append(_MeasuredModel(path, proto, found, drawn))
    done: list[EnginePoint] = []
    with tempfile.TemporaryDirectory(prefix="pluginkit-engine-") as folder:
        for precision in precisions:
            measurer = _Measurer(eight, loaded, Path(folder), precision, profile, options.timeout, progress)
            done += measurer.points(models, points)
    with Worker(CHILD, {"libraries": []}, timeout=options.timeout, **worker_of(eight)) as worker:
        lacking = tuple(worker.call("lacking"))
    return EngineBench(eight.version, gpu, lacking, tuple(done))


def _found() -> tuple[TensorRT8, str]:
    eight = tensorrt8.find()
    if eight is None or eight.problem:
        raise ToolMissing(
            f"bench --engine measures engines of TensorRT 8.5 or 8.6: {eight.problem if eight else 'none is here'}.",
            hint=(eight.remedy if eight else "")
            or f"Set {tensorrt8.PYTHON} to a Python 3.10 that has tensorrt 8.5.3.1; docs/gpu.md says how to get it.",
        )
    driver = find_driver()
    if not driver.gpus:
        raise ToolMissing(
            "bench --engine runs engines on a GPU, and there is none here: "
            f"{driver.problem or 'the driver lists none'}.",
            hint="pluginkit import builds and runs the model without one.",
        )
    return eight, driver.gpus[0].name


def _same_inputs(protos: dict[Path, onnx.ModelProto]) -> None:
    """The same inputs are given to both.

    Raises:
        UsageError: they have others.
    """
    inputs = {path: [one.name for one in profiles.given(proto)] for path, proto in protos.items()}
    if len({tuple(sorted(names)) for names in inputs.values()}) > 1:
        said = "; ".join(f"{path} has {', '.join(names)}" for path, names in inputs.items())
        raise UsageError(
            f"--without: the two models have other inputs: {said}.", hint="Give the model before the graft."
        )


def _quantized(protos: dict[Path, onnx.ModelProto]) -> None:
    """INT8 needs scales, and a model has them as QuantizeLinear nodes.

    Raises:
        UsageError: one has none.
    """
    for path, proto in protos.items():
        if "int8" not in whole.types_of(proto):
            raise UsageError(
                f"--int8: {path} has no QuantizeLinear node, so nothing says the scales of INT8.",
                hint="Quantize the model (onnxruntime.quantization, pytorch-quantization), or leave --int8 out.",
            )


def _points(profile: NetworkProfile) -> dict[str, NetworkProfile]:
    """The profile with each of its points as opt, and each of the same shapes once; opt stands for all it equals."""
    found: dict[str, NetworkProfile] = {}
    for index in (1, 0, 2):
        shapes = {
            name: (low, several[index], high) for name, several in profile.shapes.items() for low, _, high in [several]
        }
        values = {
            name: (low, several[index], high) for name, several in profile.values.items() for low, _, high in [several]
        }
        one = replace(profile, shapes=shapes, values=values)
        if one not in found.values():
            found[POINTS[index]] = one
    return {name: found[name] for name in POINTS if name in found}


@dataclass(frozen=True)
class _Measurer:
    """All points in a precision."""

    eight: TensorRT8
    libraries: Sequence[tuple[str, tuple[str, ...], str]]
    folder: Path
    precision: str
    profile: NetworkProfile
    timeout: float
    progress: Progress

    def _worker(self) -> Worker:
        return Worker(CHILD, {"libraries": self.libraries}, timeout=self.timeout, **worker_of(self.eight))

    def points(self, models: Sequence[_MeasuredModel], points: dict[str, NetworkProfile]) -> list[EnginePoint]:
        """Builds each model once, and measures it at each point."""
        built = [self._built(number, one) for number, one in enumerate(models)]
        done = []
        for name, profile in points.items():
            self.progress(f"TensorRT {self.eight.version}: measuring {name} in {self.precision}")
            sides, times = self._measured(models, built, name)
            ratio = None
            if len(times) == len(models) == 2:
                ratio = measured.interval([other / mine for mine, other in zip(*times, strict=True)])
            shapes = tuple(f"{key}:{'x'.join(map(str, dims[1])) or 'scalar'}" for key, dims in profile.shapes.items())
            done.append(EnginePoint(self.precision, name, shapes, sides[0], sides[1] if sides[1:] else None, ratio))
        return done

    def _built(self, number: int, model: _MeasuredModel) -> tuple[EngineSide, str]:
        """A model's engine, in a process of its own, and its file; an empty one where there is none."""
        self.progress(f"TensorRT {self.eight.version}: building {model.path.name} in {self.precision}")
        file = str(self.folder / f"{number}-{self.precision}.engine")
        name, begun = model.path.name, time.monotonic()
        types = tuple(dict.fromkeys((*PRECISIONS[self.precision], *whole.types_of(model.proto))))
        try:
            with self._worker() as builder:
                ok, message, log = builder.call(
                    "build_file", path=str(model.path), profile=self.profile, types=types, file=file
                )
        except (WorkerError, PluginkitError) as error:
            return EngineSide(name, _status(error), error.message), ""
        seconds = time.monotonic() - begun
        if not ok:
            row = behaviours.recognise(whole.groups_of(model.proto), message, *log)
            return EngineSide(name, "refused", message, seconds, fix=row.instead if row else ""), ""
        return EngineSide(name, "ran", "", seconds, Path(file).stat().st_size), file

    def _measured(
        self, models: Sequence[_MeasuredModel], built: Sequence[tuple[EngineSide, str]], point: str
    ) -> tuple[list[EngineSide], list[list[float]]]:
        """Each model's side, and the times of those that are right, which are as many as the models where all are."""
        sides = [side for side, _ in built]
        files = {index: file for index, (_, file) in enumerate(built) if file}
        times: list[list[float]] = []
        try:
            with self._worker() as runner:
                for index, file in files.items():
                    drawn = models[index].drawn[point]
                    outputs, each = runner.call("timed", file=file, feeds=drawn.feeds, times=whole.TIMES)
                    told, memory = runner.call("inspected", file=file)
                    status, message = self._compared(outputs, models[index], point)
                    sides[index] = replace(
                        sides[index],
                        status=status,
                        message=message,
                        memory_bytes=memory,
                        layers=measured.layers(each, told),
                    )
                right = [index for index in files if sides[index].status in {"compared", "ran"}]
                if right:
                    feeds = models[right[0]].drawn[point].feeds
                    times = runner.call("turns", files=[files[i] for i in right], feeds=feeds, rounds=ROUNDS)
                for index, samples in zip(right, times, strict=True):
                    sides[index] = replace(sides[index], times=measured.interval(samples))
        except (WorkerError, PluginkitError) as error:
            return [
                side if index not in files else replace(side, status=_status(error), message=error.message, times=None)
                for index, side in enumerate(sides)
            ], []
        return sides, times

    def _compared(self, outputs: dict[str, Array], model: _MeasuredModel, point: str) -> tuple[whole.Status, str]:
        """Whether the outputs are right: closely in FP32, else as far as `LOOSE` has it."""
        drawn = model.drawn[point]
        allowed = max(
            (LOOSE[kind] for kind in LOOSE if kind in (*PRECISIONS[self.precision], *whole.types_of(model.proto))),
            default=0,
        )
        if not allowed:
            ran = running.held(outputs, drawn, NOTHING, self.timeout)
            return whole.HELD.get(ran.status, "ran"), ran.message
        try:
            expected = running.expected(model.proto, model.implementations, drawn.feeds, self.timeout).outputs
        except PluginkitError as error:
            return "ran", f"not compared: {error.message}"
        for name, wanted in expected.items():
            got = np.asarray(outputs[name], np.float64)
            most = float(np.max(np.abs(np.nan_to_num(wanted)), initial=0.0)) or 1.0
            if got.shape != wanted.shape or not np.all(np.isfinite(got) == np.isfinite(wanted)):
                return "failed", f"output {name}: another shape, or other elements that are not finite"
            off = float(np.max(np.abs(np.nan_to_num(got - wanted)), initial=0.0)) / most
            if off > allowed:
                return "failed", f"output {name}: off by {off:.3g} of its largest magnitude; {allowed} is allowed"
        return (
            "compared",
            f"{len(expected)} output{'s' if len(expected) != 1 else ''} within {allowed} of the largest magnitude",
        )


def _status(error: Exception) -> whole.Status:
    return "hung" if isinstance(error, WorkerTimeout) else "crashed" if isinstance(error, WorkerCrashed) else "failed"
