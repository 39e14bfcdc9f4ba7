"""Normalizations."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import kernel, near


def _normalized(x: np.ndarray, axes: tuple[int, ...] = (-1,), epsilon: float = 1e-5) -> np.ndarray:
    wide = x.astype(np.float64)
    mean = wide.mean(axes, keepdims=True)
    variance = ((wide - mean) ** 2).mean(axes, keepdims=True)
    return (wide - mean) / np.sqrt(variance + epsilon)


def _normal(rng: np.random.Generator, *shape: int, dtype: type = np.float32) -> np.ndarray:
    return (rng.standard_normal(shape) * 1.5 + 0.25).astype(dtype)


@kernel((5, 100), (3, 515), (2, 1024))
def layer_norm_float(rng: np.random.Generator, rows: int, width: int) -> list[Any]:
    x, gamma, beta = _normal(rng, rows, width), _normal(rng, width), _normal(rng, width)
    expected = _normalized(x) * gamma + beta
    return [x, gamma, beta, near(expected, terms=width // 32 + 64), rows, width, 1e-5]


@kernel((3, 104), (2, 776))
def layer_norm_half(rng: np.random.Generator, rows: int, width: int) -> list[Any]:
    x, gamma, beta = (_normal(rng, *shape, dtype=np.float16) for shape in ((rows, width), (width,), (width,)))
    expected = _normalized(x) * gamma + beta
    return [x, gamma, beta, near(expected, np.float16, terms=width // 32 + 64), rows, width, 1e-5]


@kernel((4, 100), (5, 333))
def rms_norm_half2(rng: np.random.Generator, rows: int, width: int) -> list[Any]:
    x, weight = _normal(rng, rows, width, dtype=np.float16), _normal(rng, width, dtype=np.float16)
    wide = x.astype(np.float64)
    expected = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5) * weight
    # The factor and both products are rounded to half.
    rounded = near(expected, np.float16, terms=3 * 2**13)
    return [x, weight, rounded, rows, width, 1e-5]


@kernel((2, 35, 96, 8, 1), (1, 50, 30, 5, 0))
def group_norm(rng: np.random.Generator, batch: int, pixels: int, channels: int, groups: int, swish: int) -> list[Any]:
    x, gamma, beta = _normal(rng, batch, pixels, channels), _normal(rng, channels), _normal(rng, channels)
    grouped = x.reshape(batch, pixels, groups, channels // groups)
    y = _normalized(grouped, (1, 3)).reshape(x.shape) * gamma + beta
    if swish:
        y = y / (1 + np.exp(-y))
    terms = pixels * channels // groups
    return [x, gamma, beta, near(y, terms=terms), batch, pixels, channels, groups, swish]


@kernel((2, 3, 17, 33), (1, 2, 5, 7))
def instance_norm(rng: np.random.Generator, batch: int, channels: int, height: int, width: int) -> list[Any]:
    x, scale, bias = _normal(rng, batch, channels, height, width), _normal(rng, channels), _normal(rng, channels)
    y = _normalized(x, (2, 3)) * scale[:, None, None] + bias[:, None, None]
    y = np.where(y > 0, y, np.float32(0.1) * y)
    return [x, scale, bias, near(y), batch, channels, height, width, 0.1]


@kernel((3, 50), (2, 387), (2, 1030))
def bias_residual_layer_norm(rng: np.random.Generator, rows: int, width: int) -> list[Any]:
    x, residual = _normal(rng, rows, width), _normal(rng, rows, width)
    bias, gamma, beta = (_normal(rng, width) for _ in range(3))
    hidden = x.astype(np.float64) + bias + residual
    y = _normalized(hidden, epsilon=1e-6) * gamma + beta
    outputs = [near(hidden, terms=2), near(y, terms=width // 32 + 64)]
    return [x, bias, residual, gamma, beta, *outputs, rows, width]
