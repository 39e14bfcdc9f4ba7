"""Exports `sum_even.onnx`, a model with an If in a Loop, from PyTorch.

Run by hand, in an environment of its own: `pip install torch==2.15.0 onnx onnxscript`, then `python export.py`. The
committed model is what it wrote, so that nothing else here needs PyTorch.
"""

from __future__ import annotations

from pathlib import Path

import torch


@torch.jit.script
def sum_even(items: torch.Tensor) -> torch.Tensor:
    """The sum of those rows whose own sum is even."""
    total = torch.zeros_like(items[0])
    for row in items:
        if bool(row.sum() % 2 == 0):  # noqa: SIM108 - the statement is what becomes an If
            total = total + row
        else:
            total = total * 1.0
    return total


class SumEven(torch.nn.Module):
    """The function as a module, which is what is exported."""

    def forward(self, items: torch.Tensor) -> torch.Tensor:
        """Float rows [n, c] with whole numbers -> [c]."""
        return sum_even(items)


if __name__ == "__main__":
    torch.onnx.export(
        torch.jit.script(SumEven()),
        (torch.arange(6.0).reshape(3, 2),),
        str(Path(__file__).with_name("sum_even.onnx")),
        input_names=["items"],
        output_names=["total"],
        dynamic_axes={"items": {0: "n"}},
        opset_version=17,
        dynamo=False,
    )
