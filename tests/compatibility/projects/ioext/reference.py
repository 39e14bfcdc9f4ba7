"""What the layer means. Every test compares the plugin with this."""

from __future__ import annotations

import numpy as np


def reference(x, *, alpha):
    """Sum the inputs, flatten what is negative; output k is k times that.

    Inputs are float64 arrays (int64 for INT32 tensors); fields are numbers.
    Where the shapes differ, elements are counted in row-major order, and an input begins again at its end.
    """
    total = x
    total = np.where(total >= 0, total, alpha * total)
    return total
