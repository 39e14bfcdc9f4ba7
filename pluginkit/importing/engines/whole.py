"""A model in an engine of TensorRT 8, where one is here with a GPU: built, run, and timed layer by layer."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import onnx

from pluginkit import elf
from pluginkit.build import build
from pluginkit.build.gpus import find_driver
from pluginkit.errors import CheckFailed, PluginkitError
from pluginkit.importing import running
from pluginkit.importing.files.libraries import project_of
from pluginkit.importing.files.recorded import Recorded
from pluginkit.importing.implementations import Implementation, PluginLibrary
from pluginkit.importing.onnx_graph import FLOW, Place
from pluginkit.importing.onnx_graph import places as places_of
from pluginkit.importing.running import Drawn
from pluginkit.installation import tensorrt8
from pluginkit.installation.tensorrt8 import TensorRT8
from pluginkit.library.origin import INIT_FUNCTION
from pluginkit.manifest import FILE_NAME
from pluginkit.network.networks import NetworkProfile
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerError, WorkerTimeout
from pluginkit.runtimes.tensorrt import behaviours
from pluginkit.runtimes.tensorrt.behaviours import Group
from pluginkit.runtimes.tensorrt.session import worker_of

CHILD = "pluginkit.runtimes.tensorrt.model_worker"
TIMES = 50
"""Runs, after the first, of which a layer's time is the median."""
Status = Literal["compared", "ran", "failed", "refused", "crashed", "hung", "not asked"]
HELD: dict[str, Status] = {"compared": "compared", "failed": "failed"}
"""Of comparisons."""
REST: tuple[Group, ...] = ("types", "calls", "shapes", "batch", "registry")
TYPES = {
    onnx.TensorProto.FLOAT16: "float16",
    onnx.TensorProto.INT8: "int8",
}


@dataclass(frozen=True)
class LayerTime:
    """A layer of an engine, the median of its milliseconds, and whether it is one of a plugin's nodes."""

    name: str
    milliseconds: float
    plugin: bool


@dataclass(frozen=True)
class EngineOutcome:
    """What came of it.

    Attributes:
        status: `compared`: built and run, and as expected; `ran`: built and run, and compared with nothing; `failed`:
            other values than expected, or no run; `refused`, `crashed`, `hung`; `not asked`.
        version: TensorRT's.
        message: what happened, or why not.
        seconds: those of the build.
        layers: those of the engine, in its order.
        fix: what to do about a refusal; empty where that isn't known.
    """

    status: Status
    version: str = ""
    message: str = ""
    seconds: float = 0.0
    layers: tuple[LayerTime, ...] = ()
    fix: str = ""

    @property
    def wrong(self) -> bool:
        """Whether the model can't be used there as it is."""
        return self.status in {"failed", "refused", "crashed", "hung"}

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def ask(
    path: Path,
    proto: onnx.ModelProto,
    implementations: Sequence[Implementation],
    plugins: Sequence[tuple[Path, PluginLibrary]],
    profile: NetworkProfile | None,
    given: Recorded,
    *,
    seed: int,
    timeout: float,
    progress: Callable[[str], None],
) -> EngineOutcome | None:
    """Build and run it.

    Args:
        path: the model's file.
        proto: what it holds.
        implementations: its nodes, and what implements them.
        plugins: what was given by --plugins, and the library that it is.
        profile: the inputs' shapes; None if they aren't known.
        given: inputs and outputs from files.
        seed: what random inputs follow from.
        timeout: seconds for each step.
        progress: called with what is done.

    Returns:
        None where no TensorRT 8 is here, or no GPU.
    """
    eight = tensorrt8.find()
    if eight is None or eight.problem or not find_driver().gpus:
        return None

    try:
        if profile is None:
            raise CheckFailed("its inputs have no known shapes: give them by --profile")
        libraries = [loaded(where, library, progress) for where, library in plugins]
        drawn = running.drawn(proto, implementations, profile, given, seed)
    except PluginkitError as error:
        return EngineOutcome("not asked", eight.version, str(error))
    with tempfile.TemporaryDirectory(prefix="pluginkit-engine-") as folder:
        engine = _Engine(eight, libraries, str(Path(folder) / "model.engine"), timeout, progress)
        try:
            return engine.outcome(path, proto, profile, drawn, given)
        except WorkerTimeout as error:
            return EngineOutcome(
                "hung", eight.version, f"no end within {error.seconds:g} s; give it longer by --timeout"
            )
        except WorkerCrashed as error:
            return EngineOutcome("crashed", eight.version, error.message)
        except (CheckFailed, WorkerError) as error:
            return EngineOutcome("failed", eight.version, error.message)


@dataclass(frozen=True)
class _Engine:
    """A TensorRT 8 with libraries, and the file of an engine."""

    eight: TensorRT8
    libraries: Sequence[tuple[str, tuple[str, ...], str]]
    file: str
    timeout: float
    progress: Callable[[str], None]

    def _worker(self) -> Worker:
        return Worker(CHILD, {"libraries": self.libraries}, timeout=self.timeout, **worker_of(self.eight))

    def outcome(
        self, path: Path, proto: onnx.ModelProto, profile: NetworkProfile, drawn: Drawn, given: Recorded
    ) -> EngineOutcome:
        """Builds in one process, runs in another, and compares."""
        version, types = self.eight.version, types_of(proto)
        self.progress(f"TensorRT {version}: building")
        begun = time.monotonic()
        with self._worker() as builder:
            ok, message, log = builder.call("build_file", path=str(path), profile=profile, types=types, file=self.file)
        seconds = time.monotonic() - begun
        if not ok:
            row = behaviours.recognise(groups_of(proto), message, *log)
            return EngineOutcome("refused", version, message, seconds, fix=row.instead if row else "")
        self.progress(f"TensorRT {version}: running")
        with self._worker() as runner:
            outputs, times = runner.call("timed", file=self.file, feeds=drawn.feeds, times=TIMES)
        named = {label for name, one in drawn.at.items() for label in (name, one.place.node.name)}
        layers = tuple(LayerTime(name, median, name in named) for name, median in times)
        if types:
            names = " and ".join(types)
            text = f"not compared, since TensorRT 8 chooses precisions where {names} is allowed"
            return EngineOutcome("ran", version, text, seconds, layers)
        ran = running.held(outputs, drawn, given, self.timeout)
        return EngineOutcome(HELD.get(ran.status, "ran"), version, ran.message, seconds, layers)


def loaded(where: Path, library: PluginLibrary, progress: Callable[[str], None]) -> tuple[str, tuple[str, ...], str]:
    """The library of target gpu, its init functions and its plugins' namespace.

    Raises:
        CheckFailed: it is of target cpu, and has no project.
        ToolMissing, BuildFailed: its project doesn't build for GPUs.
    """
    path = library.path
    if library.target != "gpu":
        project = where if where.is_dir() else where.parent if where.name == FILE_NAME else project_of(where)
        if project is None:
            raise CheckFailed(
                f"{where} is of target cpu, and belongs to no project",
                hint="Give its project by --plugins, or its library of target gpu.",
            )
        progress(f"building {project} for this GPU")
        path = build(project, "gpu")[0].library.resolve()
    functions = tuple(one.name for one in elf.exports(path) if INIT_FUNCTION.fullmatch(one.name))
    namespaces = [member.manifest.plugin.namespace for member in library.plugins]
    return str(path), functions, namespaces[0] if namespaces else ""


def types_of(proto: onnx.ModelProto) -> tuple[str, ...]:
    """The types, of those that TensorRT 8 must be allowed, that the model has."""
    kinds = {tensor.data_type for tensor in proto.graph.initializer}
    kinds |= {value.type.tensor_type.elem_type for value in (*proto.graph.input, *proto.graph.output)}
    for place in _places(proto):
        kinds |= {attribute.i for attribute in place.node.attribute if attribute.name == "to"}
        kinds |= {attribute.t.data_type for attribute in place.node.attribute if attribute.name == "value"}
        kinds |= {onnx.TensorProto.INT8} if place.node.op_type == "QuantizeLinear" else set()
    return tuple(name for kind, name in TYPES.items() if kind in kinds)


def groups_of(proto: onnx.ModelProto) -> tuple[Group, ...]:
    """The groups of behaviours that a refusal of the model can belong to."""
    kinds = {place.node.op_type for place in _places(proto)} & set(FLOW)
    loops: tuple[Group, ...] = ("loops",) if kinds & {"Loop", "Scan"} else ()
    branches: tuple[Group, ...] = ("conditionals",) if "If" in kinds else ()
    return (*loops, *branches, *REST)


def _places(proto: onnx.ModelProto) -> list[Place]:
    return [place for graph in (proto.graph, *proto.functions) for place in places_of(graph)]
