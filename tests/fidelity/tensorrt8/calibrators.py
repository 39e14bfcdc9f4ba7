"""Our calibrators held against the caches that TensorRT 8.5.3's wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pluginkit.network.networks import Array
from pluginkit.network.weak_types import INT8_STEPS
from pluginkit.testing import calibration

from .drawing import calibrating
from .drawing.case import BATCHES, wave

RECORDED = Path(__file__).parent / "calibrators-8.5.3.1.json"
METHODS: dict[str, calibration.Method] = {"entropy": "entropy", "minmax": "max"}
NEAR = 1e-3
"""Relatively; the goal is 1 %."""


@dataclass(frozen=True)
class Scale:
    """A tensor's scale by both.

    Attributes:
        network: where the tensor is.
        method: the calibrator.
        tensor: its name.
        trt: TensorRT's.
        ours: ours.
        values: the batches.
    """

    network: str
    method: calibration.Method
    tensor: str
    trt: float
    ours: float
    values: Sequence[Array]

    @property
    def alike(self) -> bool:
        """Whether they are the same but for rounding."""
        return abs(self.ours - self.trt) <= NEAR * self.trt


def gather(parts: Path, out: Path) -> None:
    """Adds the caches of what a recorder wrote, of `calibrating.cases`, to the file."""
    kept = json.loads(out.read_text(encoding="utf-8"))
    for line in parts.read_text(encoding="utf-8").splitlines():
        answer = json.loads(line)
        if "cache" in answer:
            name = answer["id"].partition("/")[2]
            kept["distributions"][name] = {
                "head": answer["cache_head"],
                "served": answer.get("served"),
                "scales": answer["cache"],
            }
    out.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def scales() -> Iterator[Scale]:
    """Each recorded scale beside ours."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    for label, cache in recorded["distributions"].items():
        name, _, quantized = label.partition("/")
        if quantized in METHODS:
            for tensor, values in calibrating.tensors(name).items():
                yield _scale(label, quantized, tensor, values, cache["scales"][tensor])
    for network in recorded["drawn"]:
        for index, (dims, scale) in enumerate(network["inputs"]):
            values = [wave(dims, index, number).astype(np.float32) for number in range(BATCHES)]
            yield _scale(network["id"], network["method"], f"x{index}", values, scale)


def _scale(network: str, quantized: str, tensor: str, values: Sequence[Array], trt: float) -> Scale:
    method = METHODS[quantized]
    low, high = calibration.covered(values, method)
    return Scale(network, method, tensor, trt, max(-low, high) / INT8_STEPS, values)
