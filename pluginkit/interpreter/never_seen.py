"""Data that a branch would not see if its condition kept it away, such as an index out of range or NaN."""

from __future__ import annotations

import numpy as np

from pluginkit.network.networks import Array


def like(array: Array) -> Array:
    """An array of that type and shape of NaN, infinities and the largest numbers, or of integers that are no index."""
    if array.dtype.kind == "b":
        return np.array(~array)
    values: list[float] = [np.nan, np.inf, -np.inf, 0]
    if array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        values = [info.max, info.min, -1 if info.min else info.max]
    return np.resize(np.array(values, object).astype(array.dtype), array.shape)
