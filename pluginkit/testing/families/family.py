"""The base class of families: makes a network from a signature and computes its expected outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from onnx import TensorProto

from pluginkit import shapes
from pluginkit.manifest import Tensor
from pluginkit.network.api_model import ApiNetwork
from pluginkit.network.networks import Array, Network, PluginCall
from pluginkit.testing.families.base import (
    Applier,
    Body,
    GraphInput,
    Names,
    OracleResult,
    Setting,
    Shown,
    network,
    value_info,
)
from pluginkit.testing.points import Point

MAX_RANK = 8
"""nvinfer1::Dims::MAX_DIMS."""

Runs = list[tuple[str, dict[str, Array]]]
"""The runs at a point: (suffix of the case's id, graph input -> array)."""


class Family(ABC):
    """One of `FAMILIES`. An instance has no state."""

    NAME: ClassVar[str]
    DESCRIPTION: ClassVar[str]
    """A sentence."""
    LAYERS: ClassVar[tuple[str, ...]] = ()
    """The layers of TensorRT's that it becomes, other than the plugin's."""
    BY_API: ClassVar[bool] = False
    """Whether it is made by NVIDIA's network API."""
    SHAPE_INPUTS: ClassVar[bool] = True
    """Whether the plugin may have shape inputs."""

    @property
    def group(self) -> str:
        """What several are asked for by: `loop`, `scan`, `cond`."""
        return self.NAME.removeprefix("api-").partition("-")[0]

    def refusal(self, setting: Setting) -> str:
        """Why no such network can hold the plugin, a sentence; empty if one can."""
        del setting
        return ""

    def places(self, setting: Setting, point: Point) -> list[tuple[str, str]]:
        """The network's profiles that a point is run in: (suffix of the case's id, profile)."""
        del setting
        return [("", point.profile)]

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """The runs at a point whose plugin inputs are `feeds`."""
        del setting, point
        return [("", dict(feeds))]

    @abstractmethod
    def build(self, setting: Setting) -> Network | ApiNetwork:
        """The network with the plugin in it."""

    @abstractmethod
    def sources(self, setting: Setting) -> dict[str, str]:
        """Graph output -> the plugin output that it shows; outputs that are computed from several aren't in it."""

    def feedback(self, setting: Setting) -> list[tuple[str, str]]:
        """(input, output that becomes it in the next application)."""
        del setting
        return []

    @abstractmethod
    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out, by NumPy; never by what runs the networks."""


class OnnxFamily(Family):
    """A family whose networks are ONNX models."""

    def given(self, setting: Setting) -> list[GraphInput]:
        """The graph's inputs; these are the plugin's."""
        return [
            GraphInput(value_info(setting, tensor, tensor.name), setting.ranges(tensor), setting.value_ranges(tensor))
            for tensor in setting.manifest.inputs
        ]

    def shown(self, setting: Setting) -> list[Shown]:
        """The graph's outputs; these are the plugin's."""
        return [Shown(value_info(setting, tensor, tensor.name), tensor.name) for tensor in setting.manifest.outputs]

    @abstractmethod
    def fill(self, main: Body) -> Sequence[PluginCall]:
        """Add the nodes between `given` and `shown`."""

    def build(self, setting: Setting) -> Network:
        """The model with the plugin in it."""
        given, shown = self.given(setting), [one.info for one in self.shown(setting)]
        manifest = setting.manifest
        tensors = [tensor.name for tensor in (*manifest.inputs, *manifest.outputs)]
        main = Body(
            setting, Names([*tensors, *[one.info.name for one in given], *[info.name for info in shown]]), "main"
        )
        calls = self.fill(main)
        return network(setting, self.NAME, main, inputs=given, outputs=shown, calls=calls)

    def sources(self, setting: Setting) -> dict[str, str]:
        """Graph output -> the plugin output that it shows."""
        return {one.info.name: one.source for one in self.shown(setting) if one.source}


def feedback(setting: Setting, *, as_cast: bool = False) -> list[tuple[str, str]]:
    """(input, output that can be fed back into it): float tensors of the same symbolic shape, each output once.

    Where the plugin's types cross the boundary (`cast_kind`), `as_cast`, both have one type.
    """

    def fits(tensor: Tensor, output: Tensor) -> bool:
        alike = not as_cast or cast_kind(setting, output) == cast_kind(setting, tensor)
        return alike and symbolic(output) == symbolic(tensor)

    free = [tensor for tensor in setting.manifest.outputs if setting.is_float(tensor)]
    pairs = []
    for tensor in setting.manifest.inputs:
        match = next((out for out in free if fits(tensor, out)), None)
        if setting.is_float(tensor) and match is not None:
            free.remove(match)
            pairs.append((tensor.name, match.name))
    return pairs


def symbolic(tensor: Tensor) -> list[shapes.Expr]:
    """A tensor's shape, so that `n + m` is `n+m`."""
    return [shapes.parse(dim) for dim in tensor.shape]


def graph_kind(setting: Setting, tensor: Tensor) -> int:
    """A tensor's ONNX type in graphs: FP32 or the integers' own."""
    return int(TensorProto.FLOAT if setting.is_float(tensor) else setting.kind(tensor).onnx)


def cast_kind(setting: Setting, tensor: Tensor) -> int:
    """A tensor's ONNX type in a body whose floats are cast outside: the plugin's, except where that is quantized, which
    never crosses a boundary."""
    kind = setting.kind(tensor)
    return graph_kind(setting, tensor) if kind.is_quantized else int(kind.onnx)


def too_deep(tensors: Sequence[Tensor], more: int) -> str:
    """Why tensors can't be put together along `more` new axes; empty if they can."""
    for tensor in tensors:
        if len(tensor.shape) + more > MAX_RANK:
            return (
                f"'{tensor.name}' has {len(tensor.shape)} dimensions; with {more} more for the trips they would be "
                f"more than TensorRT's {MAX_RANK}, and no input has its shape, so that it could be fed back"
            )
    return ""
