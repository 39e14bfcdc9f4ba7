"""INT8 by calibration, for a network with dynamic shapes: two calibrators, a calibration profile, and the cache.

Calibration runs at one shape, the calibration profile's optimum; the engine serves all of the optimization profile.
"""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

import common
import numpy as np
import tensorrt as trt
from polygraphy.backend.trt import Calibrator, Profile

from pluginkit.errors import CheckFailed

BATCH = (4, 16, 24, 24)
CALIBRATORS = {"entropy": trt.IInt8EntropyCalibrator2, "min-max": trt.IInt8MinMaxCalibrator}
RANDOM = np.random.default_rng(7)
FIRST, SECOND = (RANDOM.standard_normal(size).astype(np.float32) / 4 for size in ((32, 16), (16, 32)))
BATCHES = [{"x": RANDOM.standard_normal(BATCH).astype(np.float32)} for _ in range(8)]


def engine_with(calibrator: Calibrator) -> trt.ICudaEngine:
    """Two convolutions 1 x 1 with a ReLU between them: x [-1, 16, 24, 24] -> y of that shape."""

    def configure(builder: trt.Builder, network: trt.INetworkDefinition, config: trt.IBuilderConfig) -> None:
        config.set_flag(trt.BuilderFlag.INT8)
        config.set_flag(trt.BuilderFlag.PREFER_PRECISION_CONSTRAINTS)
        config.int8_calibrator = calibrator
        if not config.set_calibration_profile(Profile().add("x", BATCH, BATCH, BATCH).to_trt(builder, network)):
            raise CheckFailed("TensorRT takes no calibration profile")

    builder, network = common.new_network()
    tensor = network.add_input("x", trt.float32, (-1, *BATCH[1:]))
    for number, weights in enumerate((FIRST, SECOND)):
        kernel = common.keep(np.ascontiguousarray(weights[:, :, None, None]))
        layer = network.add_convolution_nd(tensor, len(weights), (1, 1), kernel)
        layer.precision = trt.int8
        tensor = layer.get_output(0)
        if number == 0:
            tensor = network.add_activation(tensor, trt.ActivationType.RELU).get_output(0)
    common.mark_output(network, "y", tensor)
    shapes = ((batch, *BATCH[1:]) for batch in (1, 2, 8))
    return common.build(builder, network, Profile().add("x", *shapes), configure=configure)


def scales(cache: Path) -> tuple[str, dict[str, float]]:
    """The cache's first line, and the scale of each tensor: a float32, in hex."""
    head, *lines = cache.read_text(encoding="ascii").splitlines()
    pairs = [line.rpartition(": ")[::2] for line in lines if line]
    return head, {name: struct.unpack("!f", bytes.fromhex(digits))[0] for name, digits in pairs}


def check(engine: trt.ICudaEngine, title: str) -> None:
    """Holds the engine, at a shape that isn't the calibration's, against NumPy; an engine in FP32 would be too near."""
    x = RANDOM.standard_normal((3, *BATCH[1:])).astype(np.float32)
    hidden = np.maximum(np.einsum("oc,nchw->nohw", FIRST, x), 0)
    wanted = np.einsum("oc,nchw->nohw", SECOND, hidden)
    error = np.abs(common.run(engine, {"x": x})["y"] - wanted).mean() / np.abs(wanted).mean()
    if not 1e-4 < error < 0.05:
        raise CheckFailed(f"{title}: the mean error is {error:.2%} of the mean; INT8 has between 0.01 % and 5 %")
    print(f"{title}: right; mean error {error:.2%} of the mean")


def example() -> None:
    """For each calibrator an engine by calibration, and another one by its cache alone."""
    largest = max(float(np.abs(batch["x"]).max()) for batch in BATCHES)
    for title, kind in CALIBRATORS.items():
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder) / "cache"
            calibrator = Calibrator(BATCHES, cache=str(cache), BaseClass=kind)
            check(engine_with(calibrator), f"{title}, calibrated")
            if calibrator.num_batches != len(BATCHES):
                raise CheckFailed(f"{title}: {calibrator.num_batches} batches were taken, not {len(BATCHES)}")
            head, found = scales(cache)
            limit = 127 * found.get("x", 0.0)
            if not 0 < limit <= 1.01 * largest or (title == "min-max" and limit < 0.99 * largest):
                raise CheckFailed(f"{title}: x is cut off at {limit:.3g}; its largest value is {largest:.3g}")
            print(f"{title}: the cache, {head}, has {len(found)} scales; x is cut off at {limit:.3g} of {largest:.3g}")
            again = Calibrator(BATCHES, cache=str(cache), BaseClass=kind)
            check(engine_with(again), f"{title}, from the cache")
            if again.num_batches:
                raise CheckFailed(f"{title}: {again.num_batches} batches were taken, though there is a cache")


if __name__ == "__main__":
    common.main(example)
