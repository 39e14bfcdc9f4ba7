"""A case as plain data: a network for TensorRT 8.5, the same for the host, and the runs of its engine."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from pluginkit.dtypes import DType
from pluginkit.network.api_model import ApiNetwork, NetworkInput, PluginLayer
from pluginkit.network.networks import Array, Dims

Quantized: TypeAlias = Literal["", "explicit", "ranges", "bindings", "entropy", "minmax"]
"""How a network comes to INT8: by IQuantizeLayers, by dynamic ranges, by INT8 inputs, by a calibrator."""
SCALE = 0.125
"""Of each INT8 tensor but a calibrator's: a power of two, so that whole numbers stay exact."""
BATCHES = 4
"""That a calibrator gives."""


@dataclass(frozen=True)
class Run:
    """One run: the profile's number, and the shape of each input (of an implicit batch with the batch)."""

    profile: int
    shapes: dict[str, Dims]


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        id: `base/family/number`.
        plugin: the creator's name.
        flaw: what is wrong with it; empty where nothing is known to be.
        network: what TensorRT is given.
        quantized: how it comes to INT8.
        flags: the builder's flags, as FP16.
        ranges: tensor -> the width of its dynamic range.
        precise: plugin layers that are held to INT8.
        implicit_batch: whether the network has an implicit batch; its inputs' dims are then without it.
        max_batch: the builder's max_batch_size.
        runs: what is run.
        chosen: whether the builder may choose among types, so that the plugin's aren't compared.
        float_end: whether layers of FP32 stand behind what TensorRT quantizes.
        samples: what a calibrator gives; none: `batches`.
        cache: what a calibrator reads instead, in TensorRT's form.
    """

    id: str
    plugin: str
    flaw: str
    network: ApiNetwork
    quantized: Quantized = ""
    flags: tuple[str, ...] = ()
    ranges: dict[str, float] = field(default_factory=dict)
    precise: tuple[str, ...] = ()
    implicit_batch: bool = False
    max_batch: int = 1
    runs: tuple[Run, ...] = ()
    chosen: bool = False
    float_end: bool = False
    samples: tuple[dict[str, Array], ...] = ()
    cache: bytes = b""

    @property
    def base(self) -> str:
        """The plugin's."""
        return self.id.partition("/")[0]

    @property
    def family(self) -> str:
        """The network's."""
        return self.id.split("/")[1]

    def type_of(self, tensor: str) -> DType | None:
        """What a plugin gives out as a tensor; None if no plugin does."""
        layers = [step for step in self.network.steps if isinstance(step, PluginLayer)]
        for layer, call in zip(layers, self.network.calls, strict=True):
            if tensor in layer.outs:
                return call.output_types[layer.outs.index(tensor)]
        return None

    @property
    def digest(self) -> str:
        """Of all that TensorRT is given: another one is another case."""
        given = (self.network.steps, self.network.calls, self.network.profiles, self.ranges, self.runs, self.flags)
        text = repr((given, self.precise, self.implicit_batch, self.max_batch, self.quantized))
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def inputs_of(network: ApiNetwork) -> list[NetworkInput]:
    """The network's inputs."""
    return [step for step in network.steps if isinstance(step, NetworkInput)]


def feeds(case: Case, run: Run) -> dict[str, Array]:
    """The arrays of a run: small whole numbers, which every type holds exactly; a condition is true in every other
    run."""
    number = case.runs.index(run) if run in case.runs else len(case.runs)
    found = {}
    for index, given in enumerate(inputs_of(case.network)):
        dims = run.shapes[given.out]
        if given.dtype == "bool":
            found[given.out] = np.array(number % 2 == 0).reshape(dims)
        else:
            found[given.out] = numbers(dims, 7 * index + 3 * number).astype(given.dtype)
    return found


def numbers(dims: Sequence[int], start: int) -> Array:
    """Whole numbers from -4 to 4."""
    ascending = np.arange(start, start + math.prod(dims))
    return ((ascending * 5) % 9 - 4).reshape(tuple(dims))


def batches(case: Case) -> list[dict[str, Array]]:
    """What a calibrator gives: numbers of no few values, since a histogram is made of them."""
    shapes = case.network.profiles[0].shapes
    given = list(enumerate(inputs_of(case.network)))
    return [
        {one.out: wave(shapes[one.out][1], index, number).astype(one.dtype) for index, one in given}
        for number in range(BATCHES)
    ]


def wave(dims: Sequence[int], index: int, number: int) -> Array:
    """The batch of a number for the input of an index."""
    angles = np.arange(math.prod(dims)) * 0.7548776662 + 0.31 * number + index
    return np.asarray(4 * np.sin(angles * 6.2831853)).reshape(tuple(dims))
