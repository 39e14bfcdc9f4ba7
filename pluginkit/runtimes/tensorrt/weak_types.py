"""The worker's side of `pluginkit.network.weak_types`: flags, dynamic ranges and calibrator of TensorRT 10.

TensorRT 11 has none of the names used here: this module is imported on 10 only, and checked against 10.16 alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polygraphy.cuda import DeviceArray

from pluginkit.network.model import Array
from pluginkit.network.weak_types import Weak
from pluginkit.runtimes.nvidia.bindings import trt

INT8_STEPS = 127
"""A dynamic range of ±127 scales gives the symmetric scale (developer guide 10.x, implicit quantization)."""


class Calibrator(trt.IInt8MinMaxCalibrator):  # type: ignore[misc]
    """Feeds batches from memory. The batch size is 1: with explicit batch the profile's opt shapes have the batch."""

    def __init__(self, batches: Sequence[Mapping[str, Array]]) -> None:
        super().__init__()
        self._left = list(batches)
        self._held: list[DeviceArray] = []
        self.served = 0
        """How many batches TensorRT took."""

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
        """None, which the bindings' signature leaves out: each run calibrates anew."""

    def write_calibration_cache(self, cache: object) -> None:
        """Keeps nothing."""


def apply(
    config: trt.IBuilderConfig,
    network: trt.INetworkDefinition,
    profiles: Sequence[trt.IOptimizationProfile],
    weak: Weak,
) -> Calibrator | None:
    """Sets flags, ranges and calibrator; the plugin's layers are constrained to the precision.

    Returns:
        The calibrator, which must live until the network is built.
    """
    low = trt.float16 if weak.kind == "fp16" else trt.int8
    config.set_flag(trt.BuilderFlag.FP16 if weak.kind == "fp16" else trt.BuilderFlag.INT8)
    config.set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
    for index in range(network.num_layers):
        layer = network.get_layer(index)
        if layer.name in weak.input_scales:
            layer.precision = low
            if weak.kind == "int8-ranges":
                _set_ranges(layer, weak)
    if weak.kind != "int8-calibrator":
        return None
    calibrator = Calibrator(weak.batches)
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
