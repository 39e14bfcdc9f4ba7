"""The layer in NumPy. Every test compares the plugin with this function."""

from __future__ import annotations

import numpy as np


def reference(x, bias):
    """GELU of x and a row of biases, by its usual approximation with a tanh.

    Inputs are float64 arrays.
    """
    total = x + bias
    inner = np.sqrt(2 / np.pi) * (total + 0.044715 * total**3)
    return 0.5 * total * (1 + np.tanh(inner))
