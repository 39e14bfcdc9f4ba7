"""What the layer means. Every test compares the plugin with this."""

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
    y = np.empty((*x.shape[:-2], len(rows), len(columns)))
    for i, (top, bottom) in enumerate(rows):
        for j, (left, right) in enumerate(columns):
            window = x[..., max(top, 0) : min(bottom, h), max(left, 0) : min(right, w)]
            if mode == 0:
                y[..., i, j] = window.max(axis=(-2, -1))
            else:
                inside = window.shape[-2] * window.shape[-1]
                count = (bottom - top) * (right - left) if count_include_pad else inside
                y[..., i, j] = window.sum(axis=(-2, -1)) / count
    return y


def _windows(size, kernel, stride, pad, ceil_mode):
    """Each window's first row and the one behind its last, padding included."""
    beyond = size + 2 * pad - kernel
    count = (-(-beyond // stride) if ceil_mode else beyond // stride) + 1
    if ceil_mode and (count - 1) * stride >= size + pad:
        count -= 1  # a window that begins in the padding behind the image
    starts = [i * stride - pad for i in range(count)]
    return [(start, min(start + kernel, size + pad)) for start in starts]
