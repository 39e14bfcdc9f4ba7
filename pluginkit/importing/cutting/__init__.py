"""A model cut into several: engines that are built one by one, and the shape tensors between them."""

from __future__ import annotations

from pluginkit.importing.cutting.parts import Part, parts, with_outputs
from pluginkit.importing.cutting.writing import Cut, cut

__all__ = ["Cut", "Part", "cut", "parts", "with_outputs"]
