"""The layer in NumPy. Every test compares the plugin with this function."""

from __future__ import annotations

import numpy as np


def reference(x, *, mode, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, ceil_mode, count_include_pad):
    """The maximum (mode 0) or average (mode 1) of each window of the last two dimensions, as ONNX pools.

    x is a float64 array; the others are numbers. Padding never is the maximum, and counts in an average where
    count_include_pad says so; what lies beyond the padding, where sizes are rounded up, never counts.
    """
    h, w = x.shape[-2:]
    rows = _windows(h, kernel_h, stride_h, pad_h, ceil_mode)
    columns = _windows(w, kernel_w, stride_w, pad_w, ceil_mode)
    around = [(0, 0)] * (x.ndim - 2) + [(pad_h, pad_h + kernel_h + stride_h), (pad_w, pad_w + kernel_w + stride_w)]
    padded = np.pad(x, around, constant_values=-np.inf if mode == 0 else 0.0)
    y = None
    for i in range(kernel_h):
        for j in range(kernel_w):
            # The element (i, j) of every window.
            elements = padded[..., i::stride_h, j::stride_w][..., : len(rows), : len(columns)]
            gather = np.maximum if mode == 0 else np.add
            y = elements.copy() if y is None else gather(y, elements, out=y)
    return y if mode == 0 else y / np.outer(_counts(rows, h, count_include_pad), _counts(columns, w, count_include_pad))


def _windows(size, kernel, stride, pad, ceil_mode):
    """Each window's first row and the one behind its last, padding included."""
    beyond = size + 2 * pad - kernel
    count = (-(-beyond // stride) if ceil_mode else beyond // stride) + 1
    if ceil_mode and (count - 1) * stride >= size + pad:
        count -= 1  # a window that begins in the padding behind the image
    starts = [i * stride - pad for i in range(count)]
    return [(start, min(start + kernel, size + pad)) for start in starts]


def _counts(windows, size, count_include_pad):
    """How many rows of each window an average goes by."""
    return [(end - start) if count_include_pad else min(end, size) - max(start, 0) for start, end in windows]
