"""An output's shape as the plugin described it to the expression builder: plain data, computed without the plugin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from pluginkit import _native
from pluginkit.host.errors import Finding, HostBug

OPERATIONS = ("kSUM", "kPROD", "kMAX", "kMIN", "kSUB", "kEQUAL", "kLESS", "kFLOOR_DIV", "kCEIL_DIV")
"""`nvinfer1::DimensionOperation`, by number."""

MAX_ELEMENTS = 1 << 40
"""Of a tensor: NVIDIA's builder refuses more."""


@dataclass(frozen=True)
class Size:
    """A size tensor of an IPluginV3: `output` carries a dimension that only enqueue knows. `opt` and `upper` are the
    nodes of the usual and the largest value, `symbol` is its number as a symbol, behind those of the inputs."""

    output: int
    opt: int
    upper: int
    symbol: int


@dataclass(frozen=True)
class ShapeProgram:
    """Nodes, each made of earlier ones, and which of them are the dimensions. Symbols are the -1 dimensions of the
    inputs, in order; then the sizes that size tensors carry. `method` is the one that answered all this."""

    nodes: tuple[_native.Node, ...]
    roots: tuple[int, ...]
    sizes: tuple[Size, ...] = ()
    method: str = "IPluginV2DynamicExt::getOutputDimensions"

    @property
    def dims(self) -> tuple[int, ...]:
        """The shape as the network has it: -1 where it isn't constant."""
        return tuple(self.nodes[r][4] if self.nodes[r][0] == 1 else -1 for r in self.roots)

    @property
    def data_dependent(self) -> tuple[bool, ...]:
        """For each dimension whether a size tensor has a part in it."""
        symbols = {size.symbol for size in self.sizes}
        found: list[bool] = []
        for kind, op, left, right, _ in self.nodes:
            found.append(kind == 0 and op in symbols if kind != 2 else found[left] or found[right])
        return tuple(found[root] for root in self.roots)

    def at(
        self,
        network: Sequence[tuple[int, ...]],
        actual: Sequence[tuple[int, ...]],
        sizes: Mapping[int, int] | Literal["opt", "upper"] = "upper",
    ) -> tuple[int, ...]:
        """The shape for inputs of the shapes `actual`, where `network` has -1 for what is dynamic.

        `sizes` are what the size tensors carry, by output, or which of their expressions to take instead.

        Raises:
            Finding: a dimension is negative, or has no value (division by zero, more than 64 bits), or there are more
                elements than a tensor may have.
        """
        values = self._values(symbol_values(network, actual), sizes)
        for i, root in enumerate(self.roots):
            value = values[root]
            if value is None or value < 0:
                problem = "has no value (division by zero, or more than 64 bits)" if value is None else f"is {value}"
                raise Finding(
                    self.method,
                    f"d[{i}] = {self.text(root)} {problem} for inputs of the shapes {list(actual)}",
                    rule="T9",
                )
        shape = tuple(v for v in (values[r] for r in self.roots) if v is not None)
        if math.prod(shape) > MAX_ELEMENTS:
            raise Finding(
                self.method,
                f"an output has {math.prod(shape)} elements for inputs of the shapes {list(actual)}, expected at most "
                f"{MAX_ELEMENTS}",
                rule="T9",
            )
        return shape

    def most(self, network: Sequence[tuple[int, ...]], actual: Sequence[tuple[int, ...]]) -> dict[int, int]:
        """The largest value that each size tensor may carry, by output."""
        if not self.sizes:
            return {}
        values = self._values(symbol_values(network, actual), "upper")
        return {size.output: values[size.upper] or 0 for size in self.sizes}

    def bounds(
        self, network: Sequence[tuple[int, ...]], low: Sequence[tuple[int, ...]], high: Sequence[tuple[int, ...]]
    ) -> list[tuple[int, int] | None]:
        """For each dimension an interval that holds it for all inputs between `low` and `high`; None: unbounded."""
        pairs = list(zip(symbol_values(network, low), symbol_values(network, high), strict=True))
        for index, size in enumerate(self.sizes):
            known = [*pairs, *([(0, 0)] * (len(self.sizes) - index))]
            upper = _native.bounds(self.nodes, known)[size.upper]
            pairs.append((0, upper[1] if upper else 0))
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
        best = self.at(network, opt, "opt")
        bounds = [one or (size, size) for one, size in zip(self.bounds(network, low, high), best, strict=True)]
        return tuple(least for least, _ in bounds), best, tuple(most for _, most in bounds)

    def _values(self, symbols: list[int], sizes: Mapping[int, int] | Literal["opt", "upper"]) -> Sequence[int | None]:
        known = list(symbols)
        for index, size in enumerate(self.sizes):
            if isinstance(sizes, str):
                values = _native.evaluate(self.nodes, [*known, *([0] * (len(self.sizes) - index))])
                known.append(values[size.opt if sizes == "opt" else size.upper] or 0)
            else:
                known.append(sizes[size.output])
        return _native.evaluate(self.nodes, known)

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
