"""The layer in NumPy. Every test compares the plugin with this function."""

from __future__ import annotations

import numpy as np


def reference(x, *, kind):
    """tanh or sigmoid of each element."""
    # The sigmoid by tanh: exp overflows in neither direction.
    return np.tanh(x) if kind == "tanh" else 0.5 * np.tanh(0.5 * x) + 0.5
