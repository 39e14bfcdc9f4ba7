"""The worker's side of `pluginkit.runtimes.tensorrt_rtx`: the only place that imports NVIDIA's tensorrt_rtx."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import tensorrt_rtx as trt

from pluginkit.errors import CheckFailed
from pluginkit.runtimes import rtx_api
from pluginkit.runtimes.child import Breadcrumb
from pluginkit.runtimes.verdict import ModelInput
from pluginkit.runtimes.walker import in_default_domain
from pluginkit.testing.api_model import ApiNetwork
from pluginkit.testing.model import Dims, NetworkProfile


def open(breadcrumb: Breadcrumb) -> RtxChild:  # noqa: A001, ARG001 (the probe's trace says more than the breadcrumb)
    """Makes a builder; its logger gets the registry's words too."""
    return RtxChild()


NO_GPU = "(cudaError 35:"
"""In an error that follows every other one where there is no driver."""


class Log(trt.ILogger):  # type: ignore[misc]
    """Keeps what NVIDIA says, from warnings up; on stderr too, where it outlives the process."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[int, str]] = []

    def log(self, severity: Any, message: str) -> None:
        """Called by NVIDIA's libraries."""
        if severity <= trt.ILogger.WARNING:
            self.lines.append((int(severity), message))
            os.write(2, f"{said(int(severity), message)}\n".encode(errors="replace"))

    def take(self) -> list[tuple[int, str]]:
        """What was said since the last time, the gravest first; that there is no GPU comes last."""
        lines, self.lines = sorted(self.lines, key=lambda line: (NO_GPU in line[1], line[0])), []
        return lines


class RtxChild:
    """TensorRT-RTX in this process."""

    def __init__(self) -> None:
        self._log = Log()
        self._builder = trt.Builder(self._log)
        self._registry = self._builder.get_plugin_registry()
        self._before = {_identity(creator) for creator in self._registry.all_creators}
        self._shapes: dict[str, Dims] = {}
        self._log.take()

    def load(self, library: str) -> None:
        """Has the registry load a library.

        Raises:
            CheckFailed: it doesn't, with its words.
        """
        if self._registry.load_library(library) is None:
            reasons = "\n".join(text for _, text in self._log.take()) or "(no reason given)"
            raise CheckFailed(f"TensorRT-RTX's registry doesn't load {library}:\n{reasons}")

    def creators(self) -> list[tuple[str, str, str, str]]:
        """The creators that came by `load`: name, version, namespace, class."""
        return [
            (*_identity(creator), type(creator).__name__)
            for creator in self._registry.all_creators
            if _identity(creator) not in self._before
        ]

    def load_probed(self, probe: str, library: str) -> None:
        """Has the registry load a copy of the probe library that stands before a plugin library.

        Raises:
            CheckFailed: as `load`.
        """
        os.environ["PLUGINKIT_PROBE_LIBRARY"] = library
        self.load(probe)

    def supported(self, operators: Sequence[str]) -> list[str]:
        """Those operators that the parser knows itself."""
        parser = trt.OnnxParser(self._builder.create_network(0), self._log)
        return [operator for operator in operators if parser.supports_operator(operator)]

    def parse_file(self, path: str) -> tuple[list[ModelInput], str, tuple[str, ...]]:
        """Parses a model: its inputs, the reason why not (empty if it went well), and the log's lines."""
        self._log.take()
        network = self._builder.create_network(0)
        parser = trt.OnnxParser(network, self._log)
        if not parser.parse_from_file(path):
            _, said, log = self._refused("NVIDIA's parser", _parser_errors(parser))
            return [], said, log
        found = [network.get_input(index) for index in range(network.num_inputs)]
        inputs = [ModelInput(one.name, tuple(one.shape), one.is_shape_tensor, one.dtype.name) for one in found]
        return inputs, "", tuple(text for _, text in self._log.take())

    def build_file(self, path: str, profiles: Sequence[NetworkProfile]) -> tuple[bool, str, tuple[str, ...]]:
        """As `build`, of a model's file."""
        self._log.take()
        network = self._builder.create_network(0)
        parser = trt.OnnxParser(network, self._log)
        if not parser.parse_from_file(path):
            return self._refused("NVIDIA's parser", _parser_errors(parser))
        return self._built(network, profiles)

    def build(
        self, model: bytes, profiles: Sequence[NetworkProfile], to_default_domain: str
    ) -> tuple[bool, str, tuple[str, ...]]:
        """Parses and builds: whether it went well, the reason, the log's lines with the errors first."""
        self._log.take()
        network = self._builder.create_network(0)
        parser = trt.OnnxParser(network, self._log)
        if not parser.parse(in_default_domain(model, to_default_domain) if to_default_domain else model):
            return self._refused("NVIDIA's parser", _parser_errors(parser))
        return self._built(network, profiles)

    def build_api(self, network: ApiNetwork) -> tuple[bool, str, tuple[str, ...]]:
        """As `build`, of a network made by NVIDIA's API around the layers that its parser made of plugin nodes."""
        self._log.take()
        made = self._builder.create_network(0)
        parser = trt.OnnxParser(made, self._log)
        if not parser.parse(network.model):
            return self._refused("NVIDIA's parser", _parser_errors(parser))
        try:
            kept = rtx_api.fill(made, network.steps)
        except CheckFailed as error:
            return self._refused("NVIDIA's API", [*self._errors(), str(error)])
        answer = self._built(made, network.profiles)
        del kept
        return answer

    def shapes(self) -> dict[str, Dims]:
        """Each output of the network built last with its shape; -1 is a dynamic dimension."""
        return self._shapes

    def _built(self, network: Any, profiles: Sequence[NetworkProfile]) -> tuple[bool, str, tuple[str, ...]]:
        config = self._builder.create_builder_config()
        for profile in profiles:
            made = self._builder.create_optimization_profile()
            try:
                _fill(made, profile, network)
            except ValueError as error:
                return self._refused("NVIDIA's builder", [f"profile {profile.name!r}: {error}"])
            if config.add_optimization_profile(made) < 0:
                return self._refused("NVIDIA's builder", [f"profile {profile.name!r}:", *self._errors()])
        engine = self._builder.build_serialized_network(network, config)
        if engine is None:
            return self._refused("NVIDIA's builder", [])
        outputs = [network.get_output(index) for index in range(network.num_outputs)]
        self._shapes = {output.name: tuple(output.shape) for output in outputs}
        return True, "built, not run", tuple(said(*line) for line in self._log.take())

    def _errors(self) -> list[str]:
        errors = [text for severity, text in self._log.lines if severity <= int(trt.ILogger.ERROR)]
        return [text for text in errors if NO_GPU not in text] or errors

    def _refused(self, who: str, reasons: list[str]) -> tuple[bool, str, tuple[str, ...]]:
        reasons = reasons or self._errors()
        log = tuple(said(*line) for line in self._log.take())
        return False, f"{who}: " + ("\n".join(reasons) or "refused, no reason given"), log


def said(severity: int, text: str) -> str:
    """A line of the log."""
    return f"{trt.ILogger.Severity(severity).name.lower()}: {text}"


def _identity(creator: Any) -> tuple[str, str, str]:
    return creator.name, creator.plugin_version, creator.plugin_namespace


def _parser_errors(parser: Any) -> list[str]:
    return [_parser_error(parser.get_error(index)) for index in range(parser.num_errors)]


def _parser_error(error: Any) -> str:
    node = f" at node {error.node_name()!r} ({error.node_operator()})" if error.node_name() else ""
    return f"{error.desc()}{node}"


def _fill(made: Any, profile: NetworkProfile, network: Any) -> None:
    """Sets shapes and shape tensors' values, of the inputs that the parsed network has."""
    for index in range(network.num_inputs):
        tensor = network.get_input(index)
        if tensor.is_shape_tensor and tensor.name in profile.values:
            made.set_shape_input(tensor.name, *profile.values[tensor.name])
        elif tensor.name in profile.shapes:
            made.set_shape(tensor.name, *profile.shapes[tensor.name])
