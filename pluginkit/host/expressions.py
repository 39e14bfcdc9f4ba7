"""An output's shape as the plugin described it to the expression builder: plain data, computed without the plugin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from pluginkit import _native
from pluginkit.host.errors import Finding, HostBug

OPERATIONS = ("kSUM", "kPROD", "kMAX", "kMIN", "kSUB", "kEQUAL", "kLESS", "kFLOOR_DIV", "kCEIL_DIV")
"""`nvinfer1::DimensionOperation`, by number."""

MAX_ELEMENTS = 1 << 40
"""Of a tensor: NVIDIA's builder refuses more."""


@dataclass(frozen=True)
class ShapeProgram:
    """Nodes, each made of earlier ones, and which of them are the dimensions. Symbols are the -1 dimensions of the
    inputs, in order."""

    nodes: tuple[_native.Node, ...]
    roots: tuple[int, ...]

    @property
    def dims(self) -> tuple[int, ...]:
        """The shape as the network has it: -1 where it isn't constant."""
        return tuple(self.nodes[r][4] if self.nodes[r][0] == 1 else -1 for r in self.roots)

    def at(self, network: Sequence[tuple[int, ...]], actual: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """The shape for inputs of the shapes `actual`, where `network` has -1 for what is dynamic.

        Raises:
            Finding: a dimension is negative, or has no value (division by zero, more than 64 bits), or there are more
                elements than a tensor may have.
        """
        values = _native.evaluate(self.nodes, symbol_values(network, actual))
        for i, root in enumerate(self.roots):
            value = values[root]
            if value is None or value < 0:
                problem = "has no value (division by zero, or more than 64 bits)" if value is None else f"is {value}"
                raise Finding(
                    "IPluginV2DynamicExt::getOutputDimensions",
                    f"d[{i}] = {self.text(root)} {problem} for inputs of the shapes {list(actual)}",
                )
        shape = tuple(v for v in (values[r] for r in self.roots) if v is not None)
        if math.prod(shape) > MAX_ELEMENTS:
            raise Finding(
                "IPluginV2DynamicExt::getOutputDimensions",
                f"an output has {math.prod(shape)} elements for inputs of the shapes {list(actual)}, expected at most "
                f"{MAX_ELEMENTS}",
            )
        return shape

    def bounds(
        self, network: Sequence[tuple[int, ...]], low: Sequence[tuple[int, ...]], high: Sequence[tuple[int, ...]]
    ) -> list[tuple[int, int] | None]:
        """For each dimension an interval that holds it for all inputs between `low` and `high`; None: unbounded."""
        pairs = list(zip(symbol_values(network, low), symbol_values(network, high), strict=True))
        result = _native.bounds(self.nodes, pairs)
        return [result[r] for r in self.roots]

    def range(
        self,
        network: Sequence[tuple[int, ...]],
        low: Sequence[tuple[int, ...]],
        opt: Sequence[tuple[int, ...]],
        high: Sequence[tuple[int, ...]],
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """What configure sees as min, opt and max for a profile: bounds, then the shape at opt.

        NVIDIA's builder computes with intervals (tests/fidelity): `4 - n` for n from 1 to 3 is 1 at the least and 3 at
        most, and `n - m` for both from 1 to 3 is -2 to 2. What has no bound (a divisor that may be 0) is as at opt.

        Raises:
            Finding: as `at`, for opt.
        """
        best = self.at(network, opt)
        bounds = [one or (size, size) for one, size in zip(self.bounds(network, low, high), best, strict=True)]
        return tuple(least for least, _ in bounds), best, tuple(most for _, most in bounds)

    def text(self, root: int) -> str:
        """A node as C++ authors know it, such as `kSUM(s0, 3)`."""
        kind, op, left, right, value = self.nodes[root]
        if kind == 2:
            return f"{OPERATIONS[op]}({self.text(left)}, {self.text(right)})"
        return f"s{op}" if kind == 0 else str(value)


def symbol_values(network: Sequence[tuple[int, ...]], actual: Sequence[tuple[int, ...]]) -> list[int]:
    """The values of the dynamic dimensions, in order.

    Raises:
        HostBug: the shapes don't fit the network's.
    """
    if [len(n) for n in network] != [len(a) for a in actual]:
        raise HostBug(f"inputs of the shapes {list(actual)} for a network with {list(network)}")
    pairs = list(chain.from_iterable(zip(n, a, strict=True) for n, a in zip(network, actual, strict=True)))
    wrong = [(n, a) for n, a in pairs if n >= 0 and n != a]
    if wrong:
        raise HostBug(f"inputs of the shapes {list(actual)} for a network with {list(network)}")
    return [a for n, a in pairs if n < 0]
