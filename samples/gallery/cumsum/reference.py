"""What the layer means. Every test compares the plugin with this."""

from __future__ import annotations

import numpy as np


def reference(x):
    """The running sum of each row, which is the last dimension.

    Inputs are float64 arrays.
    """
    return np.cumsum(x, axis=-1)
