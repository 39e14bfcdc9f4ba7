"""A network like another, of a plugin that is right for certain: one that copies (`runtimes.nvidia.copying`)."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import onnx

from pluginkit.dtypes import DType
from pluginkit.interpreter import walker
from pluginkit.manifest import Manifest
from pluginkit.network import api_model as api
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.networks import Case, Network
from pluginkit.runtimes.nvidia.copying import NAME
from pluginkit.runtimes.tensorrt.behaviours import Group
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference

TYPES = (DType.FLOAT32, DType.FLOAT16, DType.INT8)
SIGNATURE = f"""
[plugin]
name = "{NAME}"
version = "1"
namespace = ""
base = "BASE"
description = "Copies its first input."
"""
TENSOR = """
[[KIND]]
name = "NAME"
types = ["float32", "float16", "int8"]
shape = ["n", "8", "h", "w"]
"""
PROFILE = """
[[profiles]]
name = "default"
symbols = SYMBOLS
"""
OPEN = "{ n = [1, 2, 4], h = [3, 5, 7], w = [4, 6, 9] }"
ONE_SHAPE = "{ n = [2, 2, 2], h = [5, 5, 5], w = [6, 6, 6] }"


def signature(inputs: int, outputs: int, *, static: bool) -> Manifest:
    """The copying plugin's: with as many tensors as another, with dimensions that are open or in one shape."""
    tensors = [("inputs", f"x{index}") for index in range(inputs)] + [
        ("outputs", f"y{index}") for index in range(outputs)
    ]
    text = "".join(
        [
            SIGNATURE.replace("BASE", "ioext" if static else "dynamic"),
            *(TENSOR.replace("KIND", kind).replace("NAME", name) for kind, name in tensors),
            PROFILE.replace("SYMBOLS", ONE_SHAPE if static else OPEN),
        ]
    )
    return Manifest.parse(text)


def flow(network: AnyNetwork) -> tuple[Group, ...]:
    """What of control flow a network has, as groups of the table of behaviours; if it has none, all others."""
    if isinstance(network, Network):
        kinds = {node.op_type for node in walker.nodes(onnx.load_from_string(network.model).graph)}
        loops, branches = bool(kinds & {"Loop", "Scan"}), "If" in kinds
    else:
        loops = any(isinstance(step, api.LoopStep) for step in network.steps)
        branches = any(isinstance(step, api.Conditional) for step in network.steps)
    return ("loops",) if loops else ("conditionals",) if branches else ("types", "calls", "shapes", "batch", "registry")


def copying(network: AnyNetwork) -> tuple[AnyNetwork, list[Case]] | None:
    """The network of the same family and precision, of a plugin that copies and has as many inputs and outputs, with
    its cases; None where it hasn't got that type."""
    if network.precision not in TYPES:
        return None
    static = all(low == high for profile in network.profiles for low, _, high in profile.shapes.values())
    call = network.calls[0]
    made, cases = _planned(network.family, network.precision, len(call.types), len(call.output_types), static)
    name = f"{network.id}/control"
    return replace(made, id=name), [replace(case, network_id=name) for case in cases]


@functools.lru_cache(maxsize=4)
def _planned(family: str, precision: DType, inputs: int, outputs: int, static: bool) -> tuple[AnyNetwork, list[Case]]:
    manifest = signature(inputs, outputs, static=static)

    def reference(*given: Any) -> Any:
        return (given[0],) * outputs

    made = plan(manifest, Reference(manifest, reference), precisions=[precision], families=[family])
    network = made.networks[0]
    return network, [case for case in made.cases if case.network_id == network.id and not case.advisory]
