"""The worker's side of TensorRT 8.5 and 8.6, where they differ from 10: libraries that the program opens itself, and
networks whose builder chooses precisions.

Imported with TensorRT 8 only, and run with 8.5.3.1. Its classes are not others' here: type checkers see those of 10
and 11, so what is of 8 alone is `Any`, and stands in this module.
"""

from __future__ import annotations

import ctypes
import importlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from pluginkit.dtypes import DType
from pluginkit.network.networks import PluginCall
from pluginkit.runtimes.nvidia import registering

trt: Any = importlib.import_module("tensorrt")

EXPLICIT_BATCH = 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)
TYPES = {
    DType.FLOAT32: trt.float32,
    DType.FLOAT16: trt.float16,
    DType.INT8: trt.int8,
    DType.INT32: trt.int32,
}
TACTICS = {
    "CUBLAS": ("libcublas.so.11", "cublasGetCudartVersion"),
    "CUBLAS_LT": ("libcublasLt.so.11", "cublasLtGetVersion"),
    "CUDNN": ("libcudnn.so.8", "cudnnGetVersion"),
}
"""Tactic source -> its library, and a function of it that gives a version, as 11080 or 8600."""
LEAST_VERSION = 1000
"""A stand-in's functions give an error code."""
FLOAT_LAYERS = tuple(
    getattr(trt.LayerType, name)
    for name in ("ACTIVATION", "CONVOLUTION", "ELEMENTWISE", "MATRIX_MULTIPLY", "REDUCE", "SCALE", "SOFTMAX", "UNARY")
)
CLIP = 1e30


def load(registry: Any, library: str, functions: Sequence[str], namespace: str, log: Any) -> None:
    """Opens a library, which registers its creators statically, by its init functions, or some in each way.

    Args:
        registry: to see what comes.
        library: its path.
        functions: names of init functions of the signature `bool (void* logger, char const* namespace)`.
        namespace: what they get.
        log: what was said meanwhile.

    Raises:
        CheckFailed: it can't be opened, or an init function answers false and no creator came.
    """
    registering.opened(
        library,
        functions,
        namespace,
        lambda: len(creators(registry)),
        lambda: "".join(f"\n{text}" for _, text in log.take()),
    )


def creators(registry: Any) -> list[Any]:
    """A registry's creators, which are of one class here."""
    return list(registry.plugin_creator_list)


def creator(registry: Any, name: str, version: str, namespace: str) -> Any:
    """The creator of a plugin; None if there is none."""
    return registry.get_plugin_creator(name, version, namespace)


def at_node(error: Any) -> str:
    """Where a model has an error, for a message: the parser knows the node's number alone."""
    return f" at node {error.node()}" if error.node() >= 0 else ""


def cast(network: Any, x: Any, kind: Any) -> Any:
    """The layer that 8.6 calls ICastLayer: an identity converts to the type of its output."""
    layer = network.add_identity(x)
    layer.set_output_type(0, kind)
    layer.get_output(0).dtype = kind
    return layer


def quantize(network: Any, x: Any, scale: Any) -> Any:
    """An IQuantizeLayer, whose type is INT8."""
    return network.add_quantize(x, scale)


def dequantize(network: Any, x: Any, scale: Any) -> Any:
    """An IDequantizeLayer, whose type is FP32."""
    return network.add_dequantize(x, scale)


@cache
def copying_plugin(outputs: int) -> None:
    """Registers the creator of the plugin that copies (`copying`), which must live as long as the process.

    Args:
        outputs: how many it has: as many as the one that it stands in for, of which a process has one.
    """
    from pluginkit.runtimes.nvidia.copying import layout, plugin

    types = tuple(kind for kind in layout.TYPES if kind != "BOOL")
    creator = plugin.CopyingCreator(plugin.CopyingSetup(types=types, outputs=outputs), ctypes.CDLL("libcuda.so.1"))
    layout.register(creator.address)


def lacking() -> list[str]:
    """The tactic sources whose libraries aren't here, or are stand-ins: a builder must not use them."""
    return [name for name, (library, function) in TACTICS.items() if _version(library, function) < LEAST_VERSION]


def _version(library: str, function: str) -> int:
    with suppress(OSError, AttributeError):
        ask = getattr(ctypes.CDLL(library), function)
        ask.restype = ctypes.c_size_t
        return int(ask())
    return 0


def configure(config: Any) -> None:
    """Switches tactic sources off whose libraries aren't here, and has the engine tell its layers' types."""
    off = sum(1 << int(getattr(trt.TacticSource, name)) for name in lacking())
    config.set_tactic_sources(config.get_tactic_sources() & ~off)
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED


def plugin_layers(network: Any, calls: Sequence[PluginCall]) -> Iterator[tuple[Any, PluginCall]]:
    """The layers of the plugin's nodes, with their calls."""
    named = {call.node: call for call in calls}
    for layer in [network.get_layer(index) for index in range(network.num_layers)]:
        if layer.type == trt.LayerType.PLUGIN_V2 and layer.name in named:
            yield layer, named[layer.name]


def hold_types(config: Any, network: Any, calls: Sequence[PluginCall]) -> None:
    """Has the builder keep the types that the network's tensors have, as a strongly typed network of TensorRT 10 does.

    Flags allow FP16 and INT8 where the plugin has them. In FP16 the plugin is held to it, what computes around it to
    FP32; INT8 tensors are between IQuantizeLayer and IDequantizeLayer, which leaves the builder no choice.
    """
    kinds = {kind for call in calls for kind in call.execution_types}
    if DType.FLOAT16 in kinds:
        config.set_flag(trt.BuilderFlag.FP16)
    if DType.INT8 in kinds:
        # Held to precisions, 8.5 refuses IQuantizeLayers in loops and conditionals.
        config.set_flag(trt.BuilderFlag.INT8)
        return
    if DType.FLOAT16 not in kinds:
        return
    config.set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
    for layer in [network.get_layer(index) for index in range(network.num_layers)]:
        if layer.type in FLOAT_LAYERS and layer.get_output(0).dtype == trt.float32:
            layer.precision = trt.float32
    for layer, call in plugin_layers(network, calls):
        layer.precision = trt.float16
        for index, kind in enumerate(call.output_types):
            layer.set_output_type(index, TYPES[kind])


def float_ends(network: Any) -> list[Any]:
    """Puts a layer of FP32 behind each of the plugin's outputs that is the network's: 8.5 refuses INT8 at its end.

    Returns:
        IActivationLayers that clip where nothing is clipped; an identity would be left out.
    """
    ends = []
    outputs = [network.get_output(index) for index in range(network.num_outputs)]
    layers = [network.get_layer(index) for index in range(network.num_layers)]
    producers = {layer.get_output(i).name: layer for layer in layers for i in range(layer.num_outputs)}
    for number, output in enumerate(outputs):
        name, tensor = output.name, output
        if output.dtype != trt.float32:
            continue
        if producers[name].type == trt.LayerType.IDENTITY:
            tensor = producers[name].get_input(0)
        network.unmark_output(output)
        output.name = f"{name}_before_end"
        end = network.add_activation(tensor, trt.ActivationType.CLIP)
        end.alpha, end.beta, end.name = -CLIP, CLIP, f"end_{number}"
        end.precision = trt.float32
        end.set_output_type(0, trt.float32)
        end.get_output(0).name = name
        end.get_output(0).dtype = trt.float32
        network.mark_output(end.get_output(0))
        ends.append(end)
    return ends


def hand_ranges_on(ends: Sequence[Any]) -> None:
    """Gives each layer of `float_ends` the dynamic range of what it reads."""
    for end in ends:
        if span := end.get_input(0).dynamic_range:
            end.get_output(0).dynamic_range = span


def run_in(context: Any) -> dict[str, list[str]]:
    """Plugin layer -> the types and formats of its inputs, then of its outputs, as the engine tells them.

    Args:
        context: one that has run: where dimensions are dynamic, they are told for its shapes alone. Of some contexts
            of a second profile 8.5.3 tells nothing; then no layer is here.
    """
    inspector = context.engine.create_engine_inspector()
    inspector.execution_context = context
    text = inspector.get_engine_information(trt.LayerInformationFormat.JSON)
    layers = [layer for layer in json.loads(text)["Layers"] if isinstance(layer, dict)] if text else []
    return {
        layer["Name"]: [tensor["Format/Datatype"] for tensor in (*layer["Inputs"], *layer["Outputs"])]
        for layer in layers
        if layer.get("LayerType") == "PluginV2"
    }
