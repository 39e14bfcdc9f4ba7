"""Plugins in networks that are made by TensorRT-RTX's network API, which has no `add_plugin_v3`.

    import tensorrt_rtx as trt
    from pluginkit import rtx

    network = builder.create_network(0)
    layers = rtx.plugins(network, [rtx.Declaration("act", "acme::MyPlugin", [rtx.Input("float32", (-1, 64))])])
    x = network.add_input("x", trt.float32, (-1, 64))
    (y,) = layers["act"](x)

RTX's ONNX parser makes plugin layers, and takes only a network without layers. So all plugins are declared before
anything else is added, one parse makes their layers, and each is wired when its turn comes. docs/rtx.md says more.
"""

from __future__ import annotations

from pluginkit.rtx.declaration import Declaration, Input
from pluginkit.rtx.layers import DeclaredLayer, plugins

__all__ = ["Declaration", "DeclaredLayer", "Input", "plugins"]
