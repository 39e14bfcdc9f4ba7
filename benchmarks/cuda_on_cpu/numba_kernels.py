"""Kernels of kernels.cu for numba's CUDA simulator. Run by bench.py in a process of its own; prints seconds of CPU."""

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
def multiply_add(a, x, y, n):  # type: ignore[no-untyped-def]
    """y = a x + 1."""
    i = cuda.grid(1)
    if i < n:
        y[i] = a * x[i] + 1


@cuda.jit
def silu(x, y, n):  # type: ignore[no-untyped-def]
    """x times its sigmoid."""
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] / (1.0 + math.exp(-x[i]))


@cuda.jit
def block_sum(x, sums):  # type: ignore[no-untyped-def]
    """The sum of each block's 256 elements, by a tree in shared memory."""
    partial = cuda.shared.array(256, float32)
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


def main(elements: int) -> None:
    """Time each kernel once, for so many elements."""
    x = np.random.default_rng(1).standard_normal(elements).astype(np.float32)
    y = np.zeros_like(x)
    seconds = {}
    for name, run in (
        ("multiply-add", lambda: multiply_add[elements // 256, 256](2.0, x, y, elements)),
        ("SiLU", lambda: silu[elements // 256, 256](x, y, elements)),
        ("block sum", lambda: block_sum[elements // 256, 256](x, y)),
    ):
        started = time.process_time()
        run()
        seconds[name] = time.process_time() - started
    np.testing.assert_allclose(y[: elements // 256], x.reshape(-1, 256).sum(1), rtol=1e-4, atol=1e-4)
    sys.stdout.write(json.dumps(seconds))


if __name__ == "__main__":
    main(int(sys.argv[1]))
