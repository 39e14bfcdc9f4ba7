"""An onnxruntime session of a model with plugin nodes.

onnxruntime refuses a model with operators that it doesn't know. Here it gets the pieces between the plugins' nodes, and
pluginkit's host runs these, as libraries of target cpu, in the same worker process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import onnx
from typing_extensions import Self

from pluginkit.errors import CheckFailed, PluginkitError, UsageError
from pluginkit.importing import hosting, onnx_graph, onnx_sessions, profiles, running
from pluginkit.importing.files import external, libraries
from pluginkit.importing.implementations import Implementation, PluginLibrary, find_implementations
from pluginkit.network.networks import Array
from pluginkit.process.worker import Worker

CHILD = "pluginkit.onnxruntime.onnxruntime_worker"
OTHERS = ("ai.onnx.ml", "ai.onnx.preview.training", "com.microsoft", "com.microsoft.nchwc")
"""The domains of onnxruntime's own operators that are not ONNX's default one."""


@dataclass(frozen=True)
class TensorInfo:
    """An input or output of a model, as onnxruntime's NodeArg describes it.

    Attributes:
        name: its name.
        shape: numbers, names of symbols, None for what is open; None if the rank is not known.
        type: as in `tensor(float)`; empty if the model doesn't say it.
    """

    name: str
    shape: tuple[int | str | None, ...] | None
    type: str

    @classmethod
    def of(cls, value: onnx.ValueInfoProto) -> Self:
        """An input or output of a graph."""
        tensor = value.type.tensor_type
        return cls(value.name, onnx_graph.dims(tensor), _type(tensor.elem_type) if tensor.elem_type else "")


def session(
    model: Path | str | bytes | onnx.ModelProto, plugins: Sequence[Path | str], *, timeout: float = 60.0
) -> PluginSession:
    """A session that runs a model with its plugins' kernels on the CPU.

    Args:
        model: an ONNX file, its bytes, or the model itself.
        plugins: libraries of target cpu, and folders of projects, which are built first.
        timeout: seconds for loading each library, and for each run; a plugin that takes longer is ended.

    Raises:
        UsageError: the model or a library can't be read, or a node's operator is missing.
        CheckFailed: no host takes a library, or it is of target gpu.
        ToolMissing: onnxruntime, or what a project is built with, isn't installed.
        BuildFailed: a project doesn't build.
        PluginCrashed: a library takes its process down on loading, or hangs.
    """
    onnx_sessions.runtime()
    if isinstance(model, bytes):
        proto = onnx.load_from_string(model)
    else:
        proto = model if isinstance(model, onnx.ModelProto) else onnx_graph.load(Path(model))
    if missing := external.left_out(proto):
        raise UsageError(f"{missing}, more than is passed to a worker.")
    return of_libraries(proto, libraries.read([Path(one) for one in plugins], (), timeout, lambda _: None), timeout)


def of_libraries(proto: onnx.ModelProto, plugins: Sequence[PluginLibrary], timeout: float) -> PluginSession:
    """As `session`, with libraries that are loaded already."""
    implementations = find_implementations(proto, plugins, onnx.defs.has)
    unknown = [one for one in implementations if one.by == "missing" and one.place.node.domain not in OTHERS]
    if unknown:
        first = unknown[0].place
        more = f", and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise UsageError(
            f"nothing implements {first.operator}, node {first.label}{more}.", hint="Give the library that has it."
        )
    known = [one for one in implementations if one.by != "missing"]
    if reason := running.impossible(known, [one for one in known if one.by == "plugin"]):
        raise CheckFailed(f"{reason.message}.", hint=f"{reason.remedy[:1].upper()}{reason.remedy[1:]}.")
    whole, at = running.ready(proto, implementations)
    return PluginSession(whole, at, timeout)


class PluginSession:
    """A model in a worker process. Use it as a context, or call `close`.

    `run`, `get_inputs` and `get_outputs` are as of onnxruntime's InferenceSession.
    """

    def __init__(self, model: onnx.ModelProto, plugins: Mapping[str, Implementation], timeout: float) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="pluginkit-session-")
        self._findings = hosting.findings(Path(self._folder.name), plugins)
        self._inputs = [TensorInfo.of(value) for value in profiles.given(model)]
        self._outputs = [TensorInfo.of(value) for value in model.graph.output]
        given = {
            "model": model.SerializeToString(),
            "creators": hosting.creators(plugins),
            "names": list(plugins),
            "findings": Path(self._folder.name),
        }
        # As of `hosting.run`.
        environment = {"PLUGINKIT_CPU_TIME_LIMIT": str(max(1, int(timeout / 2)))}
        try:
            self._worker: Worker | None = Worker(CHILD, given, timeout=timeout, env=environment)
        except BaseException:
            self._folder.cleanup()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except PluginkitError:
            # The first error is the reason of the others.
            if error is None:
                raise

    def get_inputs(self) -> list[TensorInfo]:
        """What `run` is fed."""
        return list(self._inputs)

    def get_outputs(self) -> list[TensorInfo]:
        """What `run` returns."""
        return list(self._outputs)

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Array]) -> list[Array]:
        """Run the model.

        Args:
            output_names: which outputs; None: all, in the model's order.
            input_feed: all inputs by name, in the model's types.

        Raises:
            UsageError: a name or type that the model doesn't have, or it can't be run on these shapes.
            CheckFailed: a plugin breaks a rule of TensorRT's, or its kernel does something wrong; with the place.
            PluginCrashed: it ends the process, or hangs.
        """
        if self._worker is None:
            raise UsageError("The session is closed.")
        names = [one.name for one in self._outputs]
        if unknown := [name for name in output_names or () if name not in names]:
            raise UsageError(f"The model has no output {unknown[0]!r}.", hint=f"It has {', '.join(names)}.")
        self._check(input_feed)
        try:
            outputs = self._worker.call("run", feeds=dict(input_feed))
        except PluginkitError as error:
            # What a device found is the reason of what came after.
            self._raise_defects(error)
            raise
        self._raise_defects(None)
        return [outputs[name] for name in output_names or names]

    def close(self) -> None:
        """End the plugins' layers and the process. Nothing happens the second time.

        Raises:
            CheckFailed: a plugin does something wrong while it is terminated.
        """
        worker, self._worker = self._worker, None
        if worker is None:
            return
        try:
            with worker:
                if worker.pid is not None:
                    worker.call("finish")
            self._raise_defects(None)
        finally:
            self._folder.cleanup()

    def _check(self, feeds: Mapping[str, Array]) -> None:
        known = {one.name: one for one in self._inputs}
        listed = ", ".join(f"{one.name}: {one.type}" for one in self._inputs)
        for name in feeds:
            if name not in known:
                raise UsageError(f"The model has no input {name!r}.", hint=f"It has {listed}.")
        for name, info in known.items():
            if name not in feeds:
                raise UsageError(f"The model's input {name!r} is not given.", hint=f"It has {listed}.")
            kind = _type_of(feeds[name])
            if not kind or (info.type and kind != info.type):
                given = getattr(feeds[name], "dtype", type(feeds[name]).__name__)
                raise UsageError(f"The model's input {name!r} is {info.type or 'no tensor'}, and {given} is given.")

    def _raise_defects(self, cause: PluginkitError | None) -> None:
        """What the device in the libraries found in the last run."""
        found = [(name, defect) for name, findings in self._findings for defect in findings.take()]
        errors = [one for one in hosting.HostRun({}, defects=tuple(found)).problems() if one.level == "error"]
        if errors:
            text = "\n".join(f"node {one.node}: {one.text}" for one in errors)
            raise CheckFailed(text, hint=errors[0].fix) from cause


def _type(kind: int) -> str:
    """An element type as onnxruntime writes it."""
    name = onnx.TensorProto.DataType.Name(kind).lower()
    return f"tensor({name})"


def _type_of(value: object) -> str:
    """An array's; empty if it is none, or has numbers that ONNX has not."""
    dtype = getattr(value, "dtype", None)
    try:
        return _type(onnx.helper.np_dtype_to_tensor_dtype(dtype)) if dtype is not None else ""
    except (KeyError, TypeError, ValueError):
        return ""
