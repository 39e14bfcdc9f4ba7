"""The layer in NumPy. Every test compares the plugin with this function."""

from __future__ import annotations

import numpy as np


def reference(a, b):
    """The second input, and both joined along the first dimension."""
    return b, np.concatenate([a, b], axis=0)
