"""Sizes for the dynamic dimensions of a model's inputs that --profile doesn't give: each another number."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from pluginkit.importing import profiles
from pluginkit.importing.onnx_graph import dims
from pluginkit.importing.profiles import DEFAULT, Shapes
from pluginkit.scaffold.profiles import apart

SCALES = (1, 8, 32)
"""What the usual sizes are multiplied by, in turn, where a window has no place in an image."""


def tried(model: onnx.ModelProto, requested: Sequence[Shapes]) -> list[list[Shapes]]:
    """The shapes to try, the best first; the last are those of `pluginkit import`, which more models take.

    With one size for all dynamic dimensions a model doesn't show which of an output's dimension is which of an input's.
    """
    named = {one.name for one in requested}
    opened = [
        value.name
        for value in profiles.given(model)
        if value.name not in named and any(not isinstance(dim, int) for dim in dims(value.type.tensor_type) or (0,))
    ]
    found = [[*requested, *_distinct(model, opened, scale)] for scale in SCALES] if opened else []
    return [*found, list(requested)]


def _distinct(model: onnx.ModelProto, opened: Sequence[str], scale: int) -> list[Shapes]:
    """Each name of a dimension, and each open one without a name, has a size of its own; the first is the batch."""
    sizes: dict[str, int] = {}
    made = []
    for value in profiles.given(model):
        if value.name not in opened:
            continue
        points: list[list[int]] = [[], [], []]
        for axis, dim in enumerate(dims(value.type.tensor_type) or ()):
            if isinstance(dim, int):
                ends = (dim, dim, dim)
            else:
                key = dim or ("" if axis == 0 else f"{value.name} {axis}")
                first = DEFAULT["opt"] if not sizes else (DEFAULT["opt"] + 3) * scale
                sizes.setdefault(key, apart(first, list(sizes.values())))
                ends = (DEFAULT["min"], sizes[key], max(DEFAULT["max"], 2 * sizes[key]) + list(sizes).index(key))
            for point, end in zip(points, ends, strict=True):
                point.append(end)
        low, best, high = map(tuple, points)
        made.append(Shapes(value.name, (low, best, high)))
    return made
