"""What the layer means. Every test compares the plugin with this."""

from __future__ import annotations

import numpy as np


def reference(x):
    """The largest number of each row; a row is the last dimension.

    Inputs are float64 arrays.
    """
    most = np.max(x, axis=-1, keepdims=True, initial=-np.inf)
    return most[..., 0]
