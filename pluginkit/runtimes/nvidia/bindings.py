"""NVIDIA's bindings in a worker, TensorRT-RTX's or those of the full TensorRT, and what is done alike with both.

A process has one of them, named by the environment variable PLUGINKIT_BINDINGS. The two have the same classes here;
type checkers see the full TensorRT's (tests/tensorrt_api checks against the real signatures of 10.16 and 11.4), and
runs of `tensorrt_rtx` exercise this module and `network_api`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from pluginkit import layouts
from pluginkit.errors import CheckFailed
from pluginkit.network.networks import NetworkProfile
from pluginkit.process.escapes import shown
from pluginkit.runtimes.nvidia import unversioned_name
from pluginkit.runtimes.nvidia.creator_names import text

BINDINGS = "PLUGINKIT_BINDINGS"

if TYPE_CHECKING:
    import tensorrt as trt
else:
    trt = importlib.import_module(os.environ.get(BINDINGS, "tensorrt_rtx"))
    if trt.__name__ == "tensorrt_rtx":
        # Without the name its parser ends the process.
        unversioned_name.provide()

__all__ = [
    "BINDINGS",
    "IS_8",
    "MAJOR",
    "Answer",
    "Log",
    "add_profiles",
    "identities",
    "load",
    "log_line",
    "parser_errors",
    "trt",
]

Answer: TypeAlias = tuple[bool, str, tuple[str, ...]]
"""Whether a build went well, the reason or remark, and the log's lines with the errors first."""

MAJOR = int(trt.__version__.partition(".")[0])
"""TensorRT's major version; 1 of TensorRT-RTX."""
IS_8 = layouts.BEFORE_V3.number == MAJOR
"""Whether it is TensorRT 8, whose API is another: `version8` has it."""

if IS_8:
    from pluginkit.runtimes.nvidia import version8

NO_GPU = "(cudaError 35:"
"""In an error that follows every other one where there is no driver."""


class Log(trt.ILogger):  # type: ignore[misc]
    """Keeps NVIDIA's messages, from warnings up; on stderr too, where it outlives the process."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[int, str]] = []

    def log(self, severity: trt.ILogger.Severity, msg: str) -> None:
        """Called by NVIDIA's libraries."""
        if int(severity) <= int(trt.ILogger.WARNING):
            self.lines.append((int(severity), msg))
            os.write(2, f"{log_line(int(severity), msg)}\n".encode(errors="replace"))

    def take(self) -> list[tuple[int, str]]:
        """The messages since the last time, the gravest first; that there is no GPU comes last."""
        lines, self.lines = sorted(self.lines, key=lambda line: (NO_GPU in line[1], line[0])), []
        return lines

    def errors(self) -> list[str]:
        """The errors since the last time."""
        errors = [text for severity, text in self.lines if severity <= int(trt.ILogger.ERROR)]
        return [text for text in errors if NO_GPU not in text] or errors

    def refused(self, who: str, reasons: Sequence[str]) -> Answer:
        """A refusal, with its reasons or else with the errors."""
        reasons = list(reasons) or self.errors()
        return False, f"{who}: " + ("\n".join(reasons) or "refused, no reason given"), self.text_lines()

    def text_lines(self) -> tuple[str, ...]:
        """As `take`, as text."""
        return tuple(log_line(*line) for line in self.take())


def log_line(severity: int, text: str) -> str:
    """A line of the log."""
    return f"{trt.ILogger.Severity(severity).name.lower()}: {text}"


def load(registry: trt.IPluginRegistry, library: str, log: Log, who: str) -> None:
    """Has a registry load a library.

    Raises:
        CheckFailed: it doesn't, with its message.
    """
    if registry.load_library(library) is None:
        reasons = "\n".join(text for _, text in log.take()) or "(no reason given)"
        raise CheckFailed(f"{who}'s registry doesn't load {library}:\n{reasons}")


def identities(registry: trt.IPluginRegistry) -> list[tuple[str, str, str, str]]:
    """Every creator: name, version, namespace, class."""
    creators = version8.creators(registry) if IS_8 else registry.all_creators
    return [_identity(cast("trt.IPluginCreatorV3One", creator)) for creator in creators]


def _identity(one: trt.IPluginCreatorV3One) -> tuple[str, str, str, str]:
    name, version, space = text(lambda: one.name), text(lambda: one.plugin_version), text(lambda: one.plugin_namespace)
    return name, version, space, type(one).__name__


def parser_errors(parser: trt.OnnxParser) -> list[str]:
    """What the parser has against a model, and at which node."""
    return [_parser_error(parser.get_error(index)) for index in range(parser.num_errors)]


def _parser_error(error: trt.ParserError) -> str:
    if IS_8:
        node = version8.at_node(error)
    else:
        node = f" at node {error.node_name()!r} ({shown(error.node_operator())})" if error.node_name() else ""
    lines = error.desc().splitlines()
    # The log has the other one too, behind everything else.
    return "\n".join([line for line in lines if NO_GPU not in line] or lines) + node


def add_profiles(
    builder: trt.Builder,
    config: trt.IBuilderConfig,
    network: trt.INetworkDefinition,
    profiles: Sequence[NetworkProfile],
    log: Log,
) -> Sequence[trt.IOptimizationProfile]:
    """Adds a network's profiles to a configuration: shapes, and the ranges of shape tensors' values.

    Raises:
        CheckFailed: NVIDIA's API doesn't take one.
    """
    added = []
    for profile in profiles:
        made = builder.create_optimization_profile()
        try:
            _fill(made, profile, network)
        except ValueError as error:
            raise CheckFailed(f"profile {profile.name!r}: {error}") from None
        if config.add_optimization_profile(made) < 0:
            raise CheckFailed("\n".join((f"profile {profile.name!r}:", *log.errors())))
        added.append(made)
    return added


def _fill(made: trt.IOptimizationProfile, profile: NetworkProfile, network: trt.INetworkDefinition) -> None:
    for index in range(network.num_inputs):
        tensor = network.get_input(index)
        if tensor.is_shape_tensor and tensor.name in profile.values:
            made.set_shape_input(tensor.name, *profile.values[tensor.name])
        elif tensor.name in profile.shapes:
            made.set_shape(tensor.name, *profile.shapes[tensor.name])
