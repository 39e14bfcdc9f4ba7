"""What torch takes for the patterns of `patterns.cu`, eager and compiled: a JSON object a line; needs torch alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import embedding, gelu, layer_norm, max_pool2d, pad, rms_norm, silu

ELEMENTS, COLUMNS = 2**27, 4096
RUNS = 25


def seconds(work: Callable[..., Any], given: tuple[Any, ...]) -> float:
    for _ in range(5):
        work(*given)
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(RUNS)]
    for begin, end in events:
        begin.record()
        work(*given)
        end.record()
    torch.cuda.synchronize()
    return float(sorted(begin.elapsed_time(end) for begin, end in events)[RUNS // 2] * 1e-3)


def main() -> int:
    shape = (ELEMENTS // COLUMNS, COLUMNS)
    for kind in ("float32", "float16"):
        x, g = (torch.randn(shape, device="cuda", dtype=getattr(torch, kind)) for _ in range(2))
        w, b = (torch.randn(COLUMNS, device="cuda", dtype=x.dtype) for _ in range(2))
        index = torch.randperm(shape[0], device="cuda")
        images = x.view(64, 512, 64, 64)
        sparse = (x > 2.15).to(x.dtype)  # one in sixty-four
        # The work, what it is given, and how many tensors it reads or writes.
        cases: dict[str, tuple[Callable[..., Any], tuple[Any, ...], float]] = {
            "gelu": (lambda x: gelu(x, approximate="tanh"), (x,), 2),
            "bias+gelu": (lambda x, b: gelu(x + b, approximate="tanh"), (x, b), 2),
            "swiglu": (lambda x, g: silu(x) * g, (x, g), 3),
            "softmax": (lambda x: torch.softmax(x, -1), (x,), 2),
            "layer_norm": (lambda x, w, b: layer_norm(x, (COLUMNS,), w, b), (x, w, b), 2),
            "rms_norm": (lambda x, w: rms_norm(x, (COLUMNS,), w), (x, w), 2),
            "add+rms_norm": (lambda x, g, w: rms_norm(x + g, (COLUMNS,), w), (x, g, w), 3),
            "row max": (lambda x: x.amax(-1), (x,), 1),
            "cumsum": (lambda x: torch.cumsum(x, -1), (x,), 2),
            "embedding": (embedding, (index, x), 2),
            "transpose": (lambda x: x.t().contiguous(), (x,), 2),
            "pad constant": (lambda x: pad(x, (1, 1, 1, 1)), (images,), 1 + 66 * 66 / 64 / 64),
            "pad reflect": (lambda x: pad(x, (1, 1, 1, 1), mode="reflect"), (images,), 1 + 66 * 66 / 64 / 64),
            "max pool 2x2": (lambda x: max_pool2d(x, 2), (images,), 1.25),
            "max pool 3x3": (lambda x: max_pool2d(x, 3, 2, 1), (images,), 1.25),
            "nonzero": (torch.nonzero, (sparse,), 1),
        }
        moved = ELEMENTS * x.element_size()
        for case, (work, given, times) in cases.items():
            ways = [("eager", work)]
            if case != "nonzero":  # its size is asked for on the CPU
                ways.append(("compiled", torch.compile(work, dynamic=False)))
            for way, made in ways:
                time = seconds(made, given)
                row = {
                    "type": kind,
                    "case": f"{case}, {way}",
                    "elements": ELEMENTS,
                    "columns": COLUMNS,
                    "us": time * 1e6,
                    "gb_per_s": times * moved / time / 1e9,
                }
                sys.stdout.write(f"{json.dumps(row)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
