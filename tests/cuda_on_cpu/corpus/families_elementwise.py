"""Elementwise kernels: activations, quantization, random masks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .cases import BFLOAT16, exact, from_bfloat16, kernel, near, to_bfloat16

_erf = np.vectorize(math.erf)


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.standard_normal(shape) * 2).astype(np.float32)


@kernel((3,), (10001,))
def gelu_tanh(rng: np.random.Generator, n: int) -> list[Any]:
    x = _normal(rng, n)
    wide = x.astype(np.float64)
    return [x, near(wide / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3)))), n]


@kernel((13, 70), (9, 101))
def gelu_erf_half2(rng: np.random.Generator, rows: int, width: int) -> list[Any]:
    x, bias = _normal(rng, rows, width).astype(np.float16), _normal(rng, width).astype(np.float16)
    wide = (x + bias).astype(np.float64)  # the sum is rounded to half
    return [x, bias, near(wide / 2 * (1 + _erf(wide / np.sqrt(2))), np.float16), rows, width]


@kernel((1000, 0), (3001, 1), (777, 2), (515, 3))
def leaky_relu(rng: np.random.Generator, n: int, kind: int) -> list[Any]:
    slope = 0.25
    if kind == 3:
        integers = rng.integers(-128, 128, n).astype(np.int8)
        rounded = np.rint(integers * slope)  # ties to even, as __float2int_rn
        return [integers, exact(np.where(integers > 0, integers, rounded).astype(np.int8)), slope, n, kind]
    x = _normal(rng, n)
    stored = [x, x.astype(np.float16), to_bfloat16(x)][kind]
    wide = (from_bfloat16(stored) if kind == 2 else stored).astype(np.float64)
    expected = np.where(wide > 0, wide, wide * slope)
    return [stored, near(expected, [np.float32, np.float16, BFLOAT16][kind], scale=0.0), slope, n, kind]


@kernel((1001,))
def clip(rng: np.random.Generator, n: int) -> list[Any]:
    x = _normal(rng, n)
    half, low = x.astype(np.float16), rng.integers(-3, 3, n).astype(np.int32)
    outputs = [np.clip(x, -1.5, 2.25), np.clip(half, np.float16(-1.5), np.float16(2.25))]
    floors = np.maximum(low, np.floor(x).astype(np.int32))
    return [x, exact(outputs[0]), half, exact(outputs[1]), low, exact(floors), -1.5, 2.25, n]


@kernel((5, 130), (3, 64))
def swish_bf16(rng: np.random.Generator, rows: int, width: int) -> list[Any]:
    stored = to_bfloat16(_normal(rng, rows, 2 * width))
    gate, up = np.split(from_bfloat16(stored).astype(np.float64), 2, axis=1)
    expected = gate / (1 + np.exp(-1.25 * gate)) * up
    # The activation is rounded to bfloat16 before the product is: two roundings, which `near` allows.
    return [stored, near(expected, BFLOAT16), 1.25, rows, width]


def _philox(counter: np.ndarray, key: list[int]) -> np.ndarray:
    """Philox 4x32, 10 rounds, of counters [n, 4], in 64-bit integers."""
    c = counter.astype(np.uint64)
    low, k = np.uint64(0xFFFFFFFF), list(key)
    for _ in range(10):
        first, second = c[:, 0] * np.uint64(0xD2511F53), c[:, 2] * np.uint64(0xCD9E8D57)
        shift = np.uint64(32)
        columns = [(second >> shift) ^ c[:, 1] ^ np.uint64(k[0]), second & low]
        columns += [(first >> shift) ^ c[:, 3] ^ np.uint64(k[1]), first & low]
        c = np.stack(columns, 1)
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


@kernel((1003,), (4,))
def dropout_philox(rng: np.random.Generator, n: int) -> list[Any]:
    x, keep, seed = _normal(rng, n), 0.75, (0x12345, 0x7ABCDE)
    groups = (n + 3) // 4
    counters = np.zeros((groups, 4), np.uint64)
    counters[:, 0], counters[:, 2] = np.arange(groups), 1
    bits = _philox(counters, list(seed)).reshape(-1)[:n]
    mask = (bits >> np.uint64(8)).astype(np.float64) / 2**24 < keep
    expected = np.where(mask, x.astype(np.float64) / keep, 0)
    return [x, near(expected, scale=0.0), exact(mask.astype(np.uint8)), n, keep, *seed]


@kernel((7, 5, 11), (101, 1, 3))
def one_hot(rng: np.random.Generator, rows: int, inner: int, depth: int) -> list[Any]:
    indices = rng.integers(-depth, depth, (rows, inner)).astype(np.int32)
    ones = np.eye(depth)[indices % depth]
    inside = np.where(ones.transpose(0, 2, 1) > 0, np.float32(2.5), np.float32(-0.5))
    return [indices, exact(inside), exact(ones.astype(np.int8)), rows, inner, depth, 2.5, -0.5]


@kernel((1003,), (8192,), (3,))
def quantize_int8(rng: np.random.Generator, n: int) -> list[Any]:
    # Away from the ties between two integers, so that the last bit of the scale doesn't matter.
    steps = rng.integers(-126, 127, n) + rng.uniform(-0.45, 0.45, n)
    steps[n // 2] = -127
    x = (steps * (3.0 / 127)).astype(np.float32)
    return [x, exact(np.rint(steps).astype(np.int8)), exact(np.abs(x).max(keepdims=True)), n]


@kernel((2, 5, 70, 1), (3, 7, 33, 0))
def quantize_per_channel(rng: np.random.Generator, batch: int, channels: int, inner: int, symmetric: int) -> list[Any]:
    scales = rng.uniform(0.01, 0.1, channels).astype(np.float32)
    zeros = rng.integers(-20, 20, channels).astype(np.int8)
    shape = (batch, channels, inner)
    steps = rng.integers(-170, 170, shape) + rng.uniform(-0.45, 0.45, shape)
    x = (steps * scales[:, None]).astype(np.float32)
    offset = 0 if symmetric else zeros.astype(np.int64)[:, None]
    quantized = np.clip(np.rint(steps).astype(np.int64) + offset, -128, 127)
    back = (quantized - offset) * scales.astype(np.float64)[:, None]
    outputs = [exact(quantized.astype(np.int8)), near(back, np.float16)]
    return [x, scales, zeros, *outputs, batch, channels, inner, symmetric]


@kernel((13, 9, 3, 0), (8, 5, 1, 1))
def complex_multiply(rng: np.random.Generator, width: int, height: int, batch: int, conjugate: int) -> list[Any]:
    a, b = _normal(rng, batch, height, width, 2), _normal(rng, height, width, 2)
    first, second = (each.astype(np.float64) @ np.array([1, 1j]) for each in (a, b))
    product = first * (second.conj() if conjugate else second) * 0.5
    expected = np.stack([product.real, product.imag], -1)
    return [a, b, near(expected, terms=4), width, height, batch, conjugate, 0.5]


@kernel((5, 3, 16, 0), (7, 2, 64, 1))
def rotary_embedding(rng: np.random.Generator, tokens: int, heads: int, size: int, neox: int) -> list[Any]:
    query, key = (_normal(rng, tokens, heads, size).astype(np.float16) for _ in range(2))
    positions = rng.integers(0, 50, tokens).astype(np.int32)
    angle = positions[:, None] * 10000.0 ** (-2 * np.arange(size // 2) / size)
    turn = np.exp(1j * angle)[:, None, :]
    first, second = (slice(0, size // 2), slice(size // 2, size)) if neox else (slice(0, size, 2), slice(1, size, 2))

    def turned(x: np.ndarray) -> Any:
        wide = x.astype(np.float64)
        z = (wide[..., first] + 1j * wide[..., second]) * turn
        expected = np.empty_like(wide)
        expected[..., first], expected[..., second] = z.real, z.imag
        # An angle of up to 50 has an error of a few units of 50 in float: powf's and its own.
        return near(expected, np.float16, terms=8 * 50, initial=x)

    return [turned(query), turned(key), positions, tokens, heads, size, neox, 10000.0]
