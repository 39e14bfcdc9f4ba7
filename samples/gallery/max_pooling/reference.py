"""What the layer means. Every test compares the plugin with this."""

from __future__ import annotations

import numpy as np


def reference(x, *, kernel, stride, pad):
    """The maximum of each window of the last two dimensions.

    Inputs are float64 arrays; fields are numbers.
    """
    rim = [(0, 0)] * (x.ndim - 2) + [(pad, pad)] * 2
    rim = np.pad(x, rim, constant_values=-np.inf)
    sizes = [(rim.shape[axis] - kernel) // stride + 1 for axis in (-2, -1)]
    if min(sizes) <= 0:
        return np.zeros((*x.shape[:-2], *sizes))
    windows = np.lib.stride_tricks.sliding_window_view(rim, (kernel, kernel), (-2, -1))
    return windows[..., ::stride, ::stride, :, :].max(axis=(-2, -1))
