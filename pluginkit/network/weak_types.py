"""Networks of TensorRT 8 and 10 whose precision the builder chooses, as plain data: what TensorRT 11 no longer has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pluginkit.network.networks import Array

WeakKind: TypeAlias = Literal["fp16", "int8-ranges", "int8-minmax", "int8-entropy"]
"""The FP16 flag; the INT8 flag with dynamic ranges, or with a calibrator."""
INT8_STEPS = 127
"""A dynamic range of ±127 scales gives the symmetric scale (developer guide 10.x, implicit quantization)."""


@dataclass(frozen=True)
class Weak:
    """How a weakly typed network gets its precision.

    Attributes:
        kind: where it comes from.
        input_scales, output_scales: by node, the INT8 scale of each of the plugin's tensors (0.0: not INT8).
        profile: which of the network's profiles calibrates: its opt shapes are those of the batches.
        batches: graph input -> array, for the calibrator.
        cache: what a calibrator kept, for one that is to read it.
    """

    kind: WeakKind
    input_scales: dict[str, tuple[float, ...]] = field(default_factory=dict)
    output_scales: dict[str, tuple[float, ...]] = field(default_factory=dict)
    profile: int = 0
    batches: tuple[dict[str, Array], ...] = ()
    cache: bytes = b""

    @property
    def calibrated(self) -> bool:
        """Whether a calibrator finds the scales."""
        return self.kind in ("int8-minmax", "int8-entropy")
