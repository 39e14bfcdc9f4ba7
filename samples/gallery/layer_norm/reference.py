"""The layer in NumPy. Every test compares the plugin with this function."""

from __future__ import annotations

import numpy as np


def reference(x, weight, bias, *, epsilon):
    """Layer normalisation of each row, which is the last dimension.

    Inputs are float64 arrays; fields are numbers.
    """
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * weight + bias
