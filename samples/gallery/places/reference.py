"""What the layer means. Every test compares the plugin with this."""

from __future__ import annotations

import numpy as np


def reference(x):
    """The places of the elements that are not 0, in row-major order, and how many there are.

    Inputs are float64 arrays.
    """
    places = np.stack(np.nonzero(x)).astype(np.int64)
    return places, np.array(places.shape[1])
