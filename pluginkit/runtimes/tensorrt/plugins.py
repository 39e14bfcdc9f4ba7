"""The worker's side of plugin layers made by the network API of the full TensorRT: `add_plugin_v2`, `add_plugin_v3`.

The order of calls is that of NVIDIA's samples/python/python_plugin (create_plugin by a creator of the registry, then
the layer). An identity that a probe makes for TensorRT-RTX is an IIdentityLayer here: outputs are looked at instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from pluginkit.errors import CheckFailed
from pluginkit.field_types import FieldType, encode
from pluginkit.network import api_model as api
from pluginkit.network.networks import PluginCall
from pluginkit.runtimes.nvidia import creator_fields
from pluginkit.runtimes.nvidia.bindings import IS_8, trt
from pluginkit.runtimes.nvidia.network_api import Player

if IS_8:
    from pluginkit.runtimes.nvidia import version8

FIELD_TYPES = {
    FieldType.FLOAT32: trt.PluginFieldType.FLOAT32,
    FieldType.FLOAT16: trt.PluginFieldType.FLOAT16,
    FieldType.FLOAT64: trt.PluginFieldType.FLOAT64,
    FieldType.INT8: trt.PluginFieldType.INT8,
    FieldType.INT16: trt.PluginFieldType.INT16,
    FieldType.INT32: trt.PluginFieldType.INT32,
    FieldType.STRING: trt.PluginFieldType.CHAR,
}
if not IS_8:
    FIELD_TYPES |= {FieldType.BFLOAT16: trt.PluginFieldType.BF16, FieldType.INT64: trt.PluginFieldType.INT64}
"""What a creator's field collection can carry of a manifest's types."""


class PluginPlayer(Player):
    """Plays steps; plugins come from a registry, each with the fields of its call."""

    def __init__(
        self,
        network: trt.INetworkDefinition,
        registry: trt.IPluginRegistry,
        identity: tuple[str, str, str],
        calls: Mapping[str, PluginCall],
    ) -> None:
        """Looks the creator up.

        Args:
            network: an empty one.
            registry: with the plugin's library loaded.
            identity: name, version and namespace of the plugin.
            calls: the plugin's own nodes; any other node is an identity.

        Raises:
            CheckFailed: the registry has no creator of it.
        """
        super().__init__(network)
        name, version, namespace = self._identity = identity
        self._calls = calls
        self._creator: object
        if IS_8:
            self._creator = version8.creator(registry, name, version, namespace)
        else:
            self._creator = registry.get_creator(name, version, namespace)
        self.made: list[trt.IPluginV2 | trt.IPluginV3] = []
        """The plugins: they must live until the network is built."""
        self._held: list[object] = []
        if self._creator is None:
            raise CheckFailed(f"TensorRT's registry has no creator {name} {version} in namespace {namespace!r}")

    def _pluginlayer(self, step: api.PluginLayer) -> None:
        inputs, shape_inputs = ([self._tensors[name] for name in names] for names in step.split)
        if step.node not in self._calls:
            self._is(step.outs[0], self.network.add_identity(inputs[0]).get_output(0))
            return
        layer = self._layer(step.node, inputs, shape_inputs)
        layer.name = step.node
        for index, name in enumerate(step.outs):
            self._is(name, layer.get_output(index))

    def _layer(
        self, node: str, inputs: list[trt.ITensor], shape_inputs: list[trt.ITensor]
    ) -> trt.IPluginV2Layer | trt.IPluginV3Layer:
        """The layer, by the version that the creator is of; None where NVIDIA's API makes none."""
        fields = collection(self._calls[node], self._held)
        if not IS_8 and isinstance(self._creator, trt.IPluginCreatorV3One):
            three = self._creator.create_plugin(node, fields, trt.TensorRTPhase.BUILD)
            self._made(node, three)
            return self.network.add_plugin_v3(inputs=inputs, shape_inputs=shape_inputs, plugin=three)
        if isinstance(self._creator, trt.IPluginCreator):
            if IS_8:
                # One that it doesn't list can end the process: see creator_fields.
                creator_fields.check(self._creator, self._calls[node].fields)
            two = self._creator.create_plugin(node, fields)
            self._made(node, two)
            return self.network.add_plugin_v2(inputs=inputs, plugin=two)
        raise CheckFailed(f"{self._identity[0]}: a creator of class {type(self._creator).__name__} can't be used here")

    def _made(self, node: str, plugin: trt.IPluginV2 | trt.IPluginV3 | None) -> None:
        if plugin is None:
            raise CheckFailed(f"{node}: {self._identity[0]}'s createPlugin gave null")
        self.made.append(plugin)


def collection(call: PluginCall, held: list[object]) -> trt.PluginFieldCollection_:
    """The fields of a call, as a creator gets them.

    What must live until the creator has read them goes into `held`: the collection copies pointers alone.
    """
    values = [encode(kind, value) for kind, value in call.fields.values()]
    fields = [
        trt.PluginField(name, value, FIELD_TYPES[kind])
        for (name, (kind, _)), value in zip(call.fields.items(), values, strict=True)
    ]
    held += [values, fields]
    return trt.PluginFieldCollection_(trt.PluginFieldCollection(fields))
