"""Networks by TensorRT-RTX's network API with plugins, each built. Run as a program; it prints JSON.

NVIDIA's library is never loaded in the tests' own process.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorrt_rtx as trt

from pluginkit import rtx
from pluginkit.errors import PluginkitError

NAME = "tests::ProbeV3"
"""Of v3.cpp. It requires a workspace, so RTX builds it in no loop and no conditional."""
SCALE = "acme::Scale"
X = rtx.Input("float32", (-1, 5))
PROFILE = ((1, 5), (2, 5), (4, 5))


class Networks:
    """Each method gives a network's output; `refused_` ones raise."""

    def __init__(self, *libraries: str) -> None:
        self.builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
        # The first by the builder's registry, the others by its parent, the process's, as pluginkit.load does.
        registries = (self.builder.get_plugin_registry(), *[trt.get_plugin_registry()] * len(libraries))
        for registry, library in zip(registries, libraries, strict=False):
            assert registry.load_library(library) is not None

    def begin(self) -> None:
        """A network with an input and no layer."""
        self.network = self.builder.create_network(0)
        self.x = self.network.add_input("x", trt.float32, (-1, 5))
        self.constants: list[Any] = []

    def layers(self, *names: str, plugin: str = NAME, **fields: Any) -> Mapping[str, rtx.DeclaredLayer]:
        """Plugins of one input."""
        return rtx.plugins(self.network, [rtx.Declaration(name, plugin, [X], fields) for name in names or ("a",)])

    def constant(self, value: object, kind: type = np.int32) -> trt.ITensor:
        """A constant; the network doesn't copy its value."""
        self.constants.append(np.array(value, kind))
        return self.network.add_constant(self.constants[-1].shape, self.constants[-1]).get_output(0)

    def fifty(self) -> trt.ITensor:
        layers = self.layers(*(f"a{index}" for index in range(50)), factor=2)
        y = self.x
        gc.collect()
        for layer in layers.values():
            (y,) = layer(y)
            y = self.network.add_activation(y, trt.ActivationType.RELU).get_output(0)
        return y

    def loop(self) -> trt.ITensor:
        layer = self.layers(plugin=SCALE)["a"]
        loop = self.network.add_loop()
        loop.add_trip_limit(self.constant(3), trt.TripLimit.COUNT)
        state = loop.add_recurrence(self.x)
        (y,) = layer(state.get_output(0))
        state.set_input(1, y)
        return loop.add_loop_output(state.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0)

    def branch(self) -> trt.ITensor:
        layer = self.layers(plugin=SCALE)["a"]
        conditional = self.network.add_if_conditional()
        conditional.set_condition(self.network.add_input("flag", trt.bool, ()))
        x = conditional.add_input(self.x).get_output(0)
        return conditional.add_output(*layer(x), x).get_output(0)

    def alias(self) -> trt.ITensor:
        layer = self.layers(mode=2)["a"]
        # The network's input may not be written to.
        return layer(self.network.add_activation(self.x, trt.ActivationType.RELU).get_output(0))[0]

    def size(self) -> trt.ITensor:
        elements, count = self.layers(mode=4)["a"](self.x)
        assert tuple(count.shape) == ()
        self.network.mark_output(count)
        return elements

    def shape_input(self) -> trt.ITensor:
        declared = rtx.Declaration("a", NAME, [X], {"mode": 3}, shape_inputs=[rtx.Input("int32", (1,))])
        layer = rtx.plugins(self.network, [declared])["a"]
        rows = self.constant([7])
        return layer(self.x, rows)[0]

    def refused_field(self) -> None:
        self.layers(faktor=2.0)

    def refused_value(self) -> None:
        self.layers(factor="two")

    def refused_fraction(self) -> None:
        self.layers(mode=1.5)

    def refused_wide(self) -> None:
        self.layers(mode=2**40)

    def refused_creator(self) -> None:
        self.layers(fault=1)

    def refused_plugin(self) -> None:
        rtx.plugins(self.network, [rtx.Declaration("a", "ProbeV3", [X])])

    def refused_version(self) -> None:
        rtx.plugins(self.network, [rtx.Declaration("a", NAME, [X], version="2")])

    def refused_later(self) -> None:
        self.network.add_identity(self.x)
        self.layers()

    def refused_twice(self) -> None:
        self.layers("a", "a")

    def refused_shapes(self) -> None:
        self.layers(fault=15)

    def refused_type(self) -> None:
        self.layers()["a"](self.network.add_input("half", trt.float16, (-1, 5)))

    def refused_rank(self) -> None:
        self.layers()["a"](self.network.add_input("flat", trt.float32, (5,)))

    def refused_size(self) -> None:
        self.layers()["a"](self.network.add_input("wide", trt.float32, (-1, 6)))

    def refused_count(self) -> None:
        self.layers()["a"](self.x, self.x)

    def refused_network(self) -> None:
        rtx.plugins(None, [])  # type: ignore[arg-type]

    def built(self, make: Callable[[], trt.ITensor]) -> dict[str, Any]:
        """The output's shape, and whether NVIDIA builds it with the plugin in the plan."""
        self.begin()
        y = make()
        self.network.mark_output(y)
        config = self.builder.create_builder_config()
        config.set_preview_feature(trt.PreviewFeature.ALIASED_PLUGIN_IO_10_03, True)
        profile = self.builder.create_optimization_profile()
        profile.set_shape("x", *PROFILE)
        config.add_optimization_profile(profile)
        plan = self.builder.build_serialized_network(self.network, config)
        names = (NAME.rpartition("::")[2], SCALE.rpartition("::")[2])
        there = plan is not None and any(name.encode() in bytes(plan) for name in names)
        return {"shape": list(y.shape), "plugin": there}

    def refused(self, make: Callable[[], None]) -> str:
        """The error."""
        self.begin()
        try:
            make()
        except PluginkitError as error:
            return f"{type(error).__name__}: {error}"
        return "not refused"


if __name__ == "__main__":
    networks = Networks(*sys.argv[1:3])
    answers = {}
    for name in [name for name in vars(Networks) if not name.startswith("_")]:
        method = getattr(networks, name)
        if name.startswith("refused_"):
            answers[name] = networks.refused(method)
        elif name in sys.argv[3:]:
            answers[name] = networks.built(method)
    print(json.dumps(answers))
    sys.stdout.flush()
    os._exit(0)
