"""Plugin layers in a network of RTX's: made by one parse, wired one after the other."""

from __future__ import annotations

import difflib
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pluginkit import installation
from pluginkit.errors import CheckFailed, ToolMissing, UsageError
from pluginkit.rtx import declaration
from pluginkit.rtx.declaration import Declaration, FieldValue
from pluginkit.runtimes.nvidia import unversioned_name

if TYPE_CHECKING:
    import tensorrt_rtx as trt


class DeclaredLayer:
    """A plugin layer that waits to be wired. Call it with its input tensors; it answers its outputs.

    Attributes:
        declaration: what it was declared with.
        layer: NVIDIA's `IPluginV3Layer`.
        wired: whether it has its inputs. The builder would take a layer that hasn't for one of constants.
    """

    def __init__(self, declared: Declaration, layer: trt.IPluginV3Layer) -> None:
        self.declaration = declared
        self.layer = layer
        self.wired = False

    def __repr__(self) -> str:
        given = ", ".join(map(str, self.declaration.all_inputs))
        return f"<{self.declaration.layer}: {self.declaration.plugin}({given}){'' if self.wired else ', not wired'}>"

    def __call__(self, *tensors: trt.ITensor) -> tuple[trt.ITensor, ...]:
        """Wire the layer.

        Args:
            tensors: its inputs, then its shape inputs, as `add_input` and other layers' `get_output` give them.

        Returns:
            Its outputs.

        Raises:
            UsageError: their number, or a type, a rank or a fixed dimension is not what was declared. Nothing is wired.
        """
        declared = self.declaration.all_inputs
        if len(tensors) != len(declared):
            raise UsageError(f"{self!r} takes {_count(len(declared), 'input')}, and is given {len(tensors)}.")
        for index, (tensor, wanted) in enumerate(zip(tensors, declared, strict=True)):
            if reason := _difference(tensor, wanted):
                raise UsageError(
                    f"{self.declaration.layer}, input {index} ({tensor.name!r}): {reason}; declared is {wanted}.",
                    hint="Declare it as it comes, or put a layer in between: add_cast, add_shuffle.",
                )
        for index, tensor in enumerate(tensors):
            self.layer.set_input(index, tensor)
        self.wired = True
        return tuple(self.layer.get_output(index) for index in range(self.layer.num_outputs))


def _difference(tensor: trt.ITensor, wanted: declaration.Input) -> str:
    kind = declaration.dtype_name(tensor.dtype)
    if kind != wanted.dtype:
        return f"its type is {kind}"
    try:
        shape = tuple(int(size) for size in tensor.shape)
    except (ValueError, RuntimeError):
        return "its rank is not known: the layers before it have no valid shape"
    if len(shape) != len(wanted.shape):
        return f"it has {_count(len(shape), 'dimension')}"
    fixed = [pair for pair in zip(shape, wanted.shape, strict=True) if -1 not in pair and pair[0] != pair[1]]
    return f"its shape is {shape}" if fixed else ""


def plugins(network: trt.INetworkDefinition, declarations: Sequence[Declaration]) -> Mapping[str, DeclaredLayer]:
    """Make plugin layers in an empty network, each to be wired by calling it.

    Every plugin of the network is declared in one call: RTX's parser, which makes the layers, takes only a network
    without layers. (Inputs may be there.) The plugins' libraries are in RTX's registry before: `pluginkit.load`, or
    the registry's `load_library`.

    Args:
        network: of `tensorrt_rtx`, empty.
        declarations: a layer each.

    Returns:
        The layers, by name.

    Raises:
        UsageError: the network has layers, two declarations have one name, a plugin is in no registry, or a field is
            not the creator's.
        CheckFailed: the creator or RTX's parser refuses; the network can no longer be used.
        ToolMissing: `tensorrt_rtx` is not installed, or its library can't be found.
    """
    try:
        import tensorrt_rtx as trt
    except ImportError:
        raise ToolMissing("tensorrt_rtx is not installed.", hint=installation.extra("rtx")) from None
    _check(trt, network, declarations)
    registry = network.builder.get_plugin_registry()
    made = [_made(trt, registry, one) for one in declarations]
    unversioned_name.provide()
    parser = trt.OnnxParser(network, network.builder.logger)
    # The network goes on using what the parser holds, if it has failed too.
    weakref.finalize(network, id, parser)
    if not parser.parse(declaration.model(made)):
        reasons = "\n".join(parser.get_error(index).desc() for index in range(parser.num_errors))
        raise CheckFailed(
            f"RTX's parser refuses the declared plugins:\n{reasons}",
            hint="A plugin is asked for its output shapes with 1 for each -1: declare sizes that it takes. The network "
            "can no longer be used.",
        )
    layers = [network.get_layer(index) for index in range(network.num_layers)]
    named = {layer.name: layer for layer in layers if layer.type == trt.LayerType.PLUGIN_V3}
    return {one.layer: DeclaredLayer(one, named[one.layer]) for one in declarations}


def _check(trt: Any, network: Any, declarations: Sequence[Declaration]) -> None:
    if not isinstance(network, trt.INetworkDefinition):
        raise UsageError(
            f"{network!r} is not a network of tensorrt_rtx.",
            hint="Networks of TensorRT itself have add_plugin_v3.",
        )
    if network.num_layers:
        raise UsageError(
            f"The network has {_count(network.num_layers, 'layer')} already, and RTX's parser, which makes plugin "
            "layers, takes only an empty one.",
            hint="Declare all plugins in one call, before the first layer; wire them later.",
        )
    names = [one.layer for one in declarations]
    if double := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"Several plugin layers are called {', '.join(double)}.", hint="Each needs a name of its own.")


def _made(trt: Any, registry: Any, one: Declaration) -> tuple[Declaration, Mapping[str, FieldValue], int]:
    creator = _creator(registry, one)
    if not isinstance(creator, trt.IPluginCreatorV3One):
        raise UsageError(
            f"{one.layer}: the creator of {one.plugin} is an {type(creator).__name__}; RTX's parser takes "
            "IPluginCreatorV3One.",
            hint="A library built by pluginkit gives RTX such a creator of each of its plugins.",
        )
    # NVIDIA's module answers None for a null collection.
    listed = {str(known.name): str(known.type.name) for known in creator.field_names or ()}
    values = declaration.field_values(one, listed)
    kept = {name: _field_data(value, listed[name]) for name, value in values.items()}
    fields = trt.PluginFieldCollection(
        [trt.PluginField(name, data, getattr(trt.PluginFieldType, kind)) for name, (data, kind) in kept.items()]
    )
    plugin = creator.create_plugin(one.layer, fields, trt.TensorRTPhase.BUILD)
    if plugin is None:
        shown = ", ".join(f"{name}={value!r}" for name, value in values.items())
        raise CheckFailed(
            f"{one.layer}: the creator of {one.plugin} makes no plugin of the fields {shown or '(none)'}."
        )
    built = plugin.get_capability_interface(trt.PluginCapabilityType.BUILD)
    if built is None:
        raise CheckFailed(f"{one.layer}: {one.plugin} has no capability kBUILD.", hint="pluginkit check says more.")
    return one, values, int(built.num_outputs)


def _field_data(value: FieldValue, kind: str) -> tuple[np.ndarray[Any, Any], str]:
    """The bytes and the type that NVIDIA's parser makes of an attribute (docs/fields.md)."""
    if isinstance(value, str):
        return np.frombuffer(value.encode() + b"\0", np.int8), "CHAR"
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value), {"float32": "FLOAT32", "float16": "FLOAT16"}.get(value.dtype.name, "BF16")
    whole = kind.startswith("INT")
    return np.atleast_1d(np.asarray(value, np.int32 if whole else np.float32)), "INT32" if whole else "FLOAT32"


def _creator(registry: Any, one: Declaration) -> Any:
    known = {
        (str(creator.name), str(creator.plugin_namespace), str(creator.plugin_version)): creator
        for creator in registry.all_creators_recursive
    }
    if (found := known.get((one.name, one.namespace, one.version))) is not None:
        return found
    versions = [version for name, space, version in known if (name, space) == (one.name, one.namespace)]
    labels = {f"{space}::{name}" if space else name: name for name, space, _ in known}
    close = [label for label, name in labels.items() if name.lower() == one.name.lower()]
    close = close or difflib.get_close_matches(one.plugin, labels)
    instead = (
        f"; it has version {', '.join(versions)}" if versions else f"; there is {', '.join(close)}" if close else ""
    )
    raise UsageError(
        f"{one.layer}: RTX's registry has no plugin {one.plugin} of version {one.version}{instead}.",
        hint=f"pluginkit.load({one.plugin!r}) or the registry's load_library(FILE) brings it.",
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
