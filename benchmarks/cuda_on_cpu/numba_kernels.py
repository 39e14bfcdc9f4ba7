"""The kernels of kernels.cu for numba's CUDA simulator. Run by bench.py in a process of its own; prints seconds."""

from __future__ import annotations

import json
import math
import os
import sys
import time

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numpy as np
from numba import cuda, float32


@cuda.jit
def axpy(a, x, y, n):  # type: ignore[no-untyped-def]
    """y = a x + y."""
    i = cuda.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


@cuda.jit
def gelu(x, y, n):  # type: ignore[no-untyped-def]
    """The tanh form of gelu."""
    i = cuda.grid(1)
    if i < n:
        y[i] = 0.5 * x[i] * (1.0 + math.tanh(0.7978845608 * (x[i] + 0.044715 * x[i] * x[i] * x[i])))


@cuda.jit
def block_sum(x, sums):  # type: ignore[no-untyped-def]
    """The sum of each block's 64 elements, by a tree in shared memory."""
    partial = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    partial[t] = x[cuda.blockIdx.x * cuda.blockDim.x + t]
    cuda.syncthreads()
    width = cuda.blockDim.x // 2
    while width > 0:
        if t < width:
            partial[t] += partial[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = partial[0]


def main(elements: int, blocks: int) -> None:
    """Time each kernel once; elements of the elementwise ones, blocks of the sum."""
    x = np.random.default_rng(1).standard_normal(max(elements, 64 * blocks)).astype(np.float32)
    y = np.zeros_like(x)
    seconds = {}
    for name, run in (
        ("axpy", lambda: axpy[(elements + 255) // 256, 256](2.0, x, y, elements)),
        ("gelu", lambda: gelu[(elements + 255) // 256, 256](x, y, elements)),
        ("block sum", lambda: block_sum[blocks, 64](x, y)),
    ):
        started = time.perf_counter()
        run()
        seconds[name] = time.perf_counter() - started
    np.testing.assert_allclose(y[:blocks], x[: 64 * blocks].reshape(-1, 64).sum(1), rtol=1e-4, atol=1e-4)
    sys.stdout.write(json.dumps(seconds))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
