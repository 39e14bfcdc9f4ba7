"""Networks for calibrators: ten distributions of an input's values, through two plugins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pluginkit.dtypes import DType
from pluginkit.field_types import FieldType
from pluginkit.network import api_model as api
from pluginkit.network.networks import Array, NetworkProfile, PluginCall
from pluginkit.runtimes.tensorrt import calibration_cache
from tests.fidelity.tensorrt8.drawing.case import Case, Quantized, Run
from tests.fidelity.tensorrt8.drawing.networks import PLUGINS

SHAPE = (1, 8, 32, 32)
BATCHES = 4
HEADS = {"entropy": "TRT-8503-EntropyCalibration2", "minmax": "TRT-8503-MinMaxCalibration"}
WRITTEN = {"x": 0.5, "twice": 1.0, "shifted": 0.25}
"""Scales of the caches that are written here."""


def _uniform(rng: np.random.Generator) -> Array:
    return rng.random(SHAPE)


def _normal(rng: np.random.Generator) -> Array:
    """By Box and Muller, so that the numbers are the same with each release of NumPy."""
    return np.asarray(np.sqrt(-2 * np.log1p(-rng.random(SHAPE))) * np.cos(2 * np.pi * rng.random(SHAPE)))


def _laplace(rng: np.random.Generator) -> Array:
    half = rng.random(SHAPE) - 0.5
    return np.asarray(-np.sign(half) * np.log1p(-2 * np.abs(half)))


def _sparse(rng: np.random.Generator) -> Array:
    return np.where(rng.random(SHAPE) < 0.1, _normal(rng), 0.0)


def _outlier(rng: np.random.Generator) -> Array:
    values = _normal(rng)
    values[0, 0, 0, 0] = 40.0
    return values


def _growing(rng: np.random.Generator, number: int) -> Array:
    return _normal(rng) * 2.0**number


VALUES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "uniform": lambda rng, _: 2 * _uniform(rng) - 1,
    "positive": lambda rng, _: 6 * _uniform(rng),
    "normal": lambda rng, _: _normal(rng),
    "rectified": lambda rng, _: np.maximum(_normal(rng), 0),
    "laplace": lambda rng, _: _laplace(rng),
    "log-normal": lambda rng, _: np.exp(_normal(rng)),
    "sparse": lambda rng, _: _sparse(rng),
    "two-humps": lambda rng, _: _normal(rng) * 0.2 + np.where(_uniform(rng) < 0.5, 2.0, -3.0),
    "outlier": lambda rng, number: _outlier(rng) if number == 1 else _normal(rng),
    "whole": lambda rng, _: np.round(_normal(rng) * 3),
    "growing": _growing,
    "shrinking": lambda rng, number: _growing(rng, -number),
}
"""What the values of a batch are, by its number."""


def samples(name: str) -> tuple[dict[str, Array], ...]:
    """The batches of a distribution."""
    seed = [*VALUES].index(name)
    return tuple(
        {"x": VALUES[name](np.random.default_rng([seed, number]), number).astype(np.float32)}
        for number in range(BATCHES)
    )


def tensors(name: str) -> dict[str, list[Array]]:
    """Tensor -> what it holds, batch by batch: the input, and what the plugins make of it."""
    given = [one["x"] for one in samples(name)]
    return {"x": given, "twice": [2 * x for x in given], "shifted": [1 - 2 * x for x in given]}


def case(name: str, quantized: Quantized) -> Case:
    """The network of a distribution with a calibrator."""
    calls = [_call("first", 2, 0), _call("second", -1, 1)]
    steps: list[api.Step] = [
        api.NetworkInput("x", "float32", SHAPE),
        api.PluginLayer("first", ("x",), ("twice",)),
        api.PluginLayer("second", ("twice",), ("shifted",)),
        api.NetworkOutput("shifted"),
    ]
    label = f"dynamic/{name}/{quantized}"
    profiles = (NetworkProfile("p0", {"x": (SHAPE,) * 3}),)
    network = api.ApiNetwork(label, "calibration", DType.FLOAT32, b"", tuple(steps), tuple(calls), profiles)
    return Case(
        label,
        PLUGINS["dynamic"],
        "",
        network,
        quantized,
        ("INT8",),
        precise=("first", "second"),
        runs=(Run(0, {"x": SHAPE}),),
        float_end=True,
        samples=samples(name),
    )


def cases() -> list[Case]:
    """Each distribution with each calibrator, and each calibrator with a cache that is not TensorRT's own."""
    methods: tuple[Quantized, ...] = ("entropy", "minmax")
    found = [case(name, quantized) for name in VALUES for quantized in methods]
    return found + [with_cache(quantized) for quantized in methods]


def with_cache(quantized: Quantized) -> Case:
    """The network of whole numbers with scales that no calibrator would find."""
    one = case("whole", quantized)
    return replace(one, id=f"{one.id}-cache", cache=calibration_cache.write(HEADS[quantized], WRITTEN))


def _call(node: str, factor: int, offset: int) -> PluginCall:
    fields = {
        "count": 1,
        "mask0": 1 | 1 << DType.INT8.code,
        "mask1": 1 | 1 << DType.INT8.code,
        "rank0": len(SHAPE),
        **{f"dim0_{axis}": 0x99000000 - (1 << 32) | axis << 16 for axis in range(len(SHAPE))},
        "factor0": factor,
        "offset0": offset,
    }
    return PluginCall(
        node=node,
        fields={name: (FieldType.INT32, value) for name, value in fields.items()},
        types=(DType.FLOAT32,),
        output_types=(DType.FLOAT32,),
        inputs=(((SHAPE,) * 3,),),
        scales=(0.0,),
        output_scales=(0.0,),
    )
