"""The registry, the ONNX parser, and engines that are loaded; those of the registry need no GPU."""

from __future__ import annotations

import numpy as np
import tensorrt as trt
from onnx import TensorProto, helper

from pluginkit.runtimes.nvidia.copying.layout import register
from pluginkit.runtimes.nvidia.copying.plugin import CopyingCreator, CopyingSetup

from .engine import LOG, REGISTRY, Network, control, copying, creator_of, loaded, registry_address
from .flow import model, node


@control
def registry_namespace() -> str:
    said = []
    for what, own, given in (("without a namespace of its own", b"", b"one"), ("with", b"two", b"two")):
        creator = CopyingCreator(CopyingSetup(), None)
        creator.setPluginNamespace(own)
        register(registry_address(), creator.address, given)
        found = [bool(REGISTRY.get_plugin_creator("Copying", "1", name)) for name in (given.decode(), "")]
        said.append(f"{what}: found under it {found[0]}, under none {found[1]}")
    return "; ".join(said)


@control
def registry_again() -> str:
    creator = CopyingCreator(CopyingSetup(), None)
    return ", then ".join(str(register(registry_address(), creator.address)) for _ in range(2))


@control
def registry_methods() -> str:
    return ", ".join(name for name in dir(REGISTRY) if not name.startswith("_") and name != "error_recorder")


@control
def null_plugin() -> str:
    creator = REGISTRY.get_plugin_creator("LReLU_TRT", "1", "")
    field = trt.PluginField("neg_slope", np.array([0.1], np.float32), trt.PluginFieldType.FLOAT32)
    made = creator.create_plugin("layer", trt.PluginFieldCollection([field]))
    return f"createPlugin gave {made}"


X = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])


def _unknown(**attributes: str) -> str:
    creator_of(CopyingSetup())
    made = Network()
    made.parse(model([helper.make_node("Copying", ["x"], ["y"], "node", **attributes)], [X]))
    return "parsed"


@control
def parser_namespace() -> str:
    return _unknown(plugin_version="1", plugin_namespace="nowhere")


@control
def parser_version() -> str:
    return _unknown(plugin_version="9")


@control
def parser_fields() -> str:
    creator = creator_of(CopyingSetup(fields=["alpha"]))
    said = []
    for what, fields in (
        ("none", {}),
        ("unknown", {"beta": 1.0}),
        ("other type", {"alpha": 1}),
        ("list", {"alpha": [1.0, 2.0]}),
    ):
        creator.given = ["not created"]
        Network().parse(model([node("Copying", "x", "y", **fields)], [X]))
        said.append(f"{what}: {', '.join(creator.given) or '-'}")
    return "; ".join(said)


@control
def engine_without_creator() -> str:
    creator_of(CopyingSetup())
    made = Network()
    made.output(made.plugin(copying(), made.input("x", (2, 4))).get_output(0), "y")
    engine = made.build()
    REGISTRY.deregister_creator(REGISTRY.get_plugin_creator("Copying", "1", ""))
    LOG.errors.clear()
    loaded(engine)
    return "loaded"
