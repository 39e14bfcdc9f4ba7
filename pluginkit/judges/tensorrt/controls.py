"""A network like a refused one, of a plugin that is right for certain: one that copies (`runtimes.nvidia.copying`)."""

from __future__ import annotations

import functools
from dataclasses import replace

import onnx

from pluginkit.dtypes import DType
from pluginkit.interpreter import walker
from pluginkit.manifest import Manifest
from pluginkit.network import api_model as api
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.model import Network
from pluginkit.runtimes.nvidia.copying import NAME
from pluginkit.runtimes.tensorrt.behaviours import Group
from pluginkit.testing.families import FAMILIES
from pluginkit.testing.families.base import Setting
from pluginkit.testing.onnx_export import ANY_SCALE

TYPES = (DType.FLOAT32, DType.FLOAT16, DType.INT8)
SIGNATURE = f"""
[plugin]
name = "{NAME}"
version = "1"
namespace = ""
base = "BASE"
description = "Copies its input."

[[inputs]]
name = "x"
types = ["float32", "float16", "int8"]
shape = ["n", "8", "h", "w"]

[[outputs]]
name = "y"
types = ["float32", "float16", "int8"]
shape = ["n", "8", "h", "w"]

[[profiles]]
name = "default"
symbols = SYMBOLS
"""
OPEN = "{ n = [1, 2, 4], h = [3, 5, 7], w = [4, 6, 9] }"
ONE_SHAPE = "{ n = [2, 2, 2], h = [5, 5, 5], w = [6, 6, 6] }"


@functools.cache
def signature(*, static: bool) -> Manifest:
    """The copying plugin's: with dimensions that are open, or in one shape."""
    base = "ioext" if static else "dynamic"
    symbols = ONE_SHAPE if static else OPEN
    return Manifest.parse(SIGNATURE.replace("BASE", base).replace("SYMBOLS", symbols)).static()[0]


def flow(network: AnyNetwork) -> tuple[Group, ...]:
    """What of control flow a network has, as groups of the table of behaviours; if it has none, all others."""
    if isinstance(network, Network):
        kinds = {node.op_type for node in walker.nodes(onnx.load_from_string(network.model).graph)}
        loops, branches = bool(kinds & {"Loop", "Scan"}), "If" in kinds
    else:
        loops = any(isinstance(step, api.LoopStep) for step in network.steps)
        branches = any(isinstance(step, api.Conditional) for step in network.steps)
    return ("loops",) if loops else ("conditionals",) if branches else ("types", "calls", "shapes", "batch", "registry")


def copying(network: AnyNetwork) -> AnyNetwork | None:
    """The network of the same family and precision, of the plugin that copies; None where it hasn't got that type."""
    if network.precision not in TYPES:
        return None
    static = all(low == high for profile in network.profiles for low, _, high in profile.shapes.values())
    manifest = signature(static=static)
    made = FAMILIES[network.family].build(Setting(manifest, network.precision, {}, {"x": ANY_SCALE, "y": ANY_SCALE}))
    return replace(made, id=f"{network.id}/control")
