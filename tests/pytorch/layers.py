"""Modules and operators that projects are made of, and some that can't be."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn


class Swish2(nn.Module):
    """Fields of every kind, and an argument that changes nothing."""

    def __init__(
        self, beta: float = 1.5, *, gate: bool = True, power: int = 2, mode: str = "mul", unused: int = 3
    ) -> None:
        super().__init__()
        self.beta, self.gate, self.power, self.mode, self.unused = beta, gate, power, mode, unused

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = torch.sigmoid(self.beta * x) ** self.power
        return x * gate if self.gate and self.mode == "mul" else x + gate


class Norm(nn.Module):
    """Weights, and a buffer that forward does not need."""

    def __init__(self, groups: int, channels: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.groups, self.eps = groups, eps
        self.affine = nn.ParameterDict({"weight": nn.Parameter(torch.rand(channels))})
        self.register_buffer("bias", torch.rand(channels))
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.group_norm(x, self.groups, self.affine["weight"], self.bias, self.eps)


class Several(nn.Module):
    """Two inputs of one length, and outputs whose sizes are computed."""

    def __init__(self, extra: int = 2) -> None:
        super().__init__()
        self.extra = extra

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        wide = nn.functional.pad(left, (self.extra, self.extra))
        return torch.cat([left, right], 0), wide, nn.functional.avg_pool1d(left, 3, 2, 1)


class Embedded(nn.Module):
    """Indices."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 4)

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        return self.table(index)


class Branching(nn.Module):
    """torch.export can't follow it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if float(x.sum()) > 0 else x


class Folded(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(-1, 8, *x.shape[1:]).sum(0)


class Fails(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ torch.ones(3, 3)


class Broken(nn.Module):
    def __init__(self) -> None:
        raise OSError("no weights here")


class Dictionary(nn.Module):
    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"y": x}


class Positive(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x > 0


class Where(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(x)


class Named(nn.Module):
    """An argument that no field can be called like."""

    def __init__(self, double: float = 1.5) -> None:
        super().__init__()
        self.double = double

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.double


class Words(nn.Module):
    """Inputs that are called like what is in a reference.py."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.rand(4))

    def forward(self, weights: torch.Tensor, module: torch.Tensor, double: torch.Tensor) -> torch.Tensor:
        return weights * module - double + self.bias


class Lists(nn.Module):
    """Lists of numbers that need not be whole, as annotations and defaults say it, and one of whole ones."""

    def __init__(
        self,
        a: list[float],
        b: Sequence[float] = (1, 2),
        c: float | None = 2,
        d=(0.5, 1),
        e: tuple[int, ...] = (3,),  # type: ignore[no-untyped-def]
    ) -> None:
        super().__init__()
        self.factor = sum(a) + sum(b) + (c or 0) + sum(d) + sum(e)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor


class InPlace(nn.Module):
    """It may write into its input."""

    def __init__(self, slope: float = 0.1, inplace: bool = False) -> None:
        super().__init__()
        self.slope, self.inplace = slope, inplace

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.leaky_relu(x, self.slope, self.inplace)


class Leaves(nn.Module):
    def __init__(self) -> None:
        raise SystemExit(3)


MADE = Several(1)
SEQUENCE = nn.Sequential(nn.Linear(4, 3), nn.ReLU())


def plain(x: torch.Tensor) -> torch.Tensor:
    return x


@torch.library.custom_op("acme::my_scale", mutates_args=())
def my_scale(
    x: torch.Tensor, factor: float, w: torch.Tensor, sizes: list[int], mode: int = 2, *, on: bool = True
) -> tuple[torch.Tensor, torch.Tensor]:
    return x * factor + w * sizes[0], torch.cat([x, x], 1) * (mode if on else 1)


@my_scale.register_fake
def _(x: torch.Tensor, factor: float, w: torch.Tensor, sizes: list[int], mode: int = 2, *, on: bool = True):  # type: ignore[no-untyped-def]
    return torch.empty_like(x), x.new_empty(x.shape[0], 2 * x.shape[1])


@torch.library.custom_op("acme::add_one", mutates_args=("x",))
def add_one(x: torch.Tensor) -> None:
    x.add_(1)
