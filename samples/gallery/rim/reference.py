"""What the layer means. Every test compares the plugin with this."""

from __future__ import annotations

import numpy as np


def reference(x, *, top, bottom, left, right, mode, value):
    """The input with a rim.

    Inputs are float64 arrays; fields are numbers.
    """
    y = x
    for axis, (before, after) in enumerate([(0, 0), (0, 0), (top, bottom), (left, right)]):
        size = y.shape[axis]
        places = np.arange(-int(before), size + int(after))
        if mode == 1 and size > 0:
            places = np.clip(places, 0, size - 1)
        if mode == 2 and size > 0:
            places = abs(places) % max(2 * size - 2, 1)
            places = np.minimum(places, 2 * size - 2 - places)
        inside = (places >= 0) & (places < size)
        y = np.pad(y, [(0, int(axis == other)) for other in range(y.ndim)], constant_values=value)
        y = np.take(y, np.where(inside, places, size), axis=axis)
    return y
