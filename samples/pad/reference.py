"""The layer in NumPy. Every test compares the plugin with this function."""

from __future__ import annotations

import numpy as np


def reference(x, *, pads, mode, value):
    """The last two dimensions with rows and columns around them, as ONNX's Pad.

    Args:
        x: [..., h, w].
        pads: rows above, columns to the left, rows below, columns to the right.
        mode: NumPy's names for the modes are ONNX's.
        value: what the mode constant puts there.
    """
    top, left, bottom, right = (int(pad) for pad in pads)
    around = [(0, 0)] * (x.ndim - 2) + [(top, bottom), (left, right)]
    return np.pad(x, around, constant_values=value) if mode == "constant" else np.pad(x, around, mode)
