"""The layer in NumPy. Every test compares the plugin with this function."""

from __future__ import annotations

import numpy as np


def reference(x, *, neg_slope):
    """What is negative is multiplied by the slope. The input is a float64 array, the slope a number."""
    return np.where(x >= 0, x, neg_slope * x)
