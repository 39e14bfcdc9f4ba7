"""Runs in a process with tensorrt_rtx: `python in_rtx.py LIBRARY MODEL ...`. Prints what it saw as JSON."""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

import tensorrt_rtx as trt

NAMES = ("Echo", "Old")


class Logger(trt.ILogger):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def log(self, severity: Any, text: str) -> None:
        if severity in (trt.ILogger.ERROR, trt.ILogger.INTERNAL_ERROR):
            self.messages.append(text)


def build(logger: Logger, model: str) -> dict[str, Any]:
    """Parses and builds one model; each dynamic input is 1, 2 or 4 long in its first dimension."""
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(model):
        return {"parsed": False, "messages": [parser.get_error(i).desc() for i in range(parser.num_errors)]}
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    for i in range(network.num_inputs):
        rest = tuple(network.get_input(i).shape)[1:]
        profile.set_shape(network.get_input(i).name, (1, *rest), (2, *rest), (4, *rest))
    config.add_optimization_profile(profile)
    engine = builder.build_serialized_network(network, config)
    return {"parsed": True, "engine": engine is not None, "messages": logger.messages}


def main(library: str, *models: str) -> dict[str, Any]:
    logger = Logger()
    trt.Builder(logger)
    registry = trt.get_plugin_registry()
    registry.load_library(library)
    seen = [
        [type(creator).__name__, creator.name, creator.plugin_version, creator.plugin_namespace]
        for creator in registry.all_creators
        if creator.name in NAMES
    ]
    made = []
    for _, name, version, namespace in seen:
        creator = registry.get_creator(name, version, namespace)
        nothing = trt.PluginFieldCollection([])
        plugin = creator.create_plugin("one", nothing, trt.TensorRTPhase.BUILD)
        runtime = creator.create_plugin("one", nothing, trt.TensorRTPhase.RUNTIME)
        made.append([plugin is not None, runtime is not None])
    built = [build(logger, model) for model in models]
    in_namespace = None
    if "Echo" in [creator[1] for creator in seen]:
        init = ctypes.CDLL(library).initEchoPlugins
        init.restype = ctypes.c_bool
        in_namespace = [init(None, b"acme"), registry.get_creator("Echo", "1", "acme") is not None]
    return {"listed": seen, "made": made, "built": built, "init": in_namespace}


print(json.dumps(main(*sys.argv[1:])))
