"""The worker's side of `pluginkit.network.weak_types`: flags, dynamic ranges and calibrators of TensorRT 8 and 10.

TensorRT 11 has none of the names used here: this module is not imported there. It runs with 8.5.3, and its types are
checked against 10.16.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polygraphy.cuda import DeviceArray

from pluginkit.network.networks import Array
from pluginkit.network.weak_types import INT8_STEPS, Weak
from pluginkit.runtimes.nvidia.bindings import IS_8, trt

if IS_8:
    from pluginkit.runtimes.nvidia import version8


class Batches:
    """What both calibrators do: batches from memory, and a cache that is kept.

    The batch size is 1: with explicit batch the profile's opt shapes have the batch.
    """

    def start(self, batches: Sequence[Mapping[str, Array]], cache: bytes) -> None:
        """Sets the batches, and the cache to be read; an empty one isn't there."""
        self._left = list(batches)
        self._given = cache
        self._held: list[DeviceArray] = []
        self.served = 0
        """How many batches TensorRT took."""
        self.cache = b""
        """What TensorRT gave to be kept."""

    def get_batch_size(self) -> int:
        """1, as NVIDIA's documentation asks for networks with dynamic shapes."""
        return 1

    def get_batch(self, names: Sequence[str]) -> list[int]:
        """Device addresses of the next batch, in the order of `names`; none when all were served."""
        if not self._left:
            return []
        batch = self._left.pop(0)
        # They must live until the next call.
        self._held = [DeviceArray(batch[name].shape, batch[name].dtype).copy_from(batch[name]) for name in names]
        self.served += 1
        return [int(array.ptr) for array in self._held]

    def read_calibration_cache(self) -> Any:
        """What was kept, if there is anything."""
        return self._given or None

    def write_calibration_cache(self, cache: bytes) -> None:
        """Keeps it; the bindings give what `bytes` takes."""
        self.cache = bytes(cache)


class MinMax(Batches, trt.IInt8MinMaxCalibrator):  # type: ignore[misc]
    """A scale covers the largest magnitude."""

    def __init__(self, batches: Sequence[Mapping[str, Array]], cache: bytes) -> None:
        trt.IInt8MinMaxCalibrator.__init__(self)
        self.start(batches, cache)


class Entropy(Batches, trt.IInt8EntropyCalibrator2):  # type: ignore[misc]
    """A scale may clip magnitudes."""

    def __init__(self, batches: Sequence[Mapping[str, Array]], cache: bytes) -> None:
        trt.IInt8EntropyCalibrator2.__init__(self)
        self.start(batches, cache)


CALIBRATORS: dict[str, type[MinMax | Entropy]] = {"int8-minmax": MinMax, "int8-entropy": Entropy}


def apply(
    config: trt.IBuilderConfig,
    network: trt.INetworkDefinition,
    profiles: Sequence[trt.IOptimizationProfile],
    weak: Weak,
) -> MinMax | Entropy | None:
    """Sets flags, ranges and calibrator; the plugin's layers are constrained to the precision.

    Returns:
        The calibrator, which must live until the network is built.
    """
    low = trt.float16 if weak.kind == "fp16" else trt.int8
    config.set_flag(trt.BuilderFlag.FP16 if weak.kind == "fp16" else trt.BuilderFlag.INT8)
    config.set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
    layers = [network.get_layer(index) for index in range(network.num_layers)]
    plugins = [layer for layer in layers if layer.name in weak.input_scales]
    ends = version8.float_ends(network) if IS_8 else []
    for layer in plugins:
        layer.precision = low
        for index in range(layer.num_outputs):
            if IS_8 and layer.get_output(index).dtype == trt.float32:
                layer.set_output_type(index, low)
        if weak.kind == "int8-ranges":
            _set_ranges(layer, weak)
    if IS_8:
        version8.hand_ranges_on(ends)
    if not weak.calibrated:
        return None
    calibrator = CALIBRATORS[weak.kind](weak.batches, weak.cache)
    config.int8_calibrator = calibrator
    config.set_calibration_profile(profiles[weak.profile])
    return calibrator


def _set_ranges(layer: trt.ILayer, weak: Weak) -> None:
    for index, scale in enumerate(weak.input_scales[layer.name]):
        if scale:
            layer.get_input(index).set_dynamic_range(min=-INT8_STEPS * scale, max=INT8_STEPS * scale)
    for index, scale in enumerate(weak.output_scales[layer.name]):
        if scale:
            layer.get_output(index).set_dynamic_range(min=-INT8_STEPS * scale, max=INT8_STEPS * scale)
