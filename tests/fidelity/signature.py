"""A plugin of chameleon.cpp as plain data: outputs by expressions of the inputs' dimensions, types by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pluginkit.dtypes import DType
from pluginkit.network.model import Dims, Range

MAX_OUTPUTS, MAX_RANK, MAX_TENSORS = 3, 4, 6
NO_OPERATION = 9
SUM, PROD, MAX, MIN, SUB, EQUAL, LESS, FLOOR_DIV, CEIL_DIV = range(9)
"""`nvinfer1::DimensionOperation`."""

Leaf = tuple[int, int] | int
"""(input, its dimension), or a constant from -32 to 191."""


@dataclass(frozen=True)
class Expression:
    """((a first b) second c); less if the operations are NO_OPERATION."""

    a: Leaf
    first: int = NO_OPERATION
    b: Leaf = 0
    second: int = NO_OPERATION
    c: Leaf = 0

    @property
    def code(self) -> int:
        """As the creator's field has it, an int32."""
        bits = self.first << 28 | self.second << 24 | _leaf(self.a) << 16 | _leaf(self.b) << 8 | _leaf(self.c)
        return bits - (1 << 32) if bits >= 1 << 31 else bits

    def value(self, inputs: Sequence[Dims]) -> int | None:
        """For these shapes; None where there is none (division by zero)."""
        result: int | None = _value(self.a, inputs)
        for operation, operand in ((self.first, self.b), (self.second, self.c)):
            if operation != NO_OPERATION and result is not None:
                result = compute(operation, result, _value(operand, inputs))
        return result

    def interval(self, low: Sequence[Dims], high: Sequence[Dims]) -> tuple[int, int] | None:
        """What its value is within, for shapes from `low` to `high`; None where a divisor may be zero."""
        result: tuple[int, int] | None = _value(self.a, low), _value(self.a, high)
        for operation, operand in ((self.first, self.b), (self.second, self.c)):
            if operation != NO_OPERATION and result is not None:
                result = _interval(operation, result, (_value(operand, low), _value(operand, high)))
        return result


def _interval(operation: int, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int] | None:
    if operation == EQUAL:
        return int(left == right and left[0] == left[1]), int(left[0] <= right[1] and right[0] <= left[1])
    if operation == LESS:
        return int(left[1] < right[0]), int(left[0] < right[1])
    corners = [compute(operation, one, other) for one in left for other in right]
    found = [corner for corner in corners if corner is not None]
    straddles = operation in {FLOOR_DIV, CEIL_DIV} and right[0] <= 0 <= right[1]
    return None if straddles else (min(found), max(found))


def _leaf(leaf: Leaf) -> int:
    return leaf + 64 if isinstance(leaf, int) else leaf[0] << 3 | leaf[1]


def _value(leaf: Leaf, inputs: Sequence[Dims]) -> int:
    return leaf if isinstance(leaf, int) else inputs[leaf[0]][leaf[1]]


def compute(operation: int, left: int, right: int) -> int | None:
    """One of `nvinfer1::DimensionOperation`, by Python's own arithmetic."""
    if operation in (FLOOR_DIV, CEIL_DIV):
        if right == 0:
            return None
        return left // right if operation == FLOOR_DIV else -(-left // right)
    results = (
        left + right,
        left * right,
        max(left, right),
        min(left, right),
        left - right,
        int(left == right),
        int(left < right),
    )
    return results[operation]


@dataclass(frozen=True)
class Signature:
    """What the fields say.

    Attributes:
        types: of the outputs: an input's number, or a type.
        shapes: of the outputs.
        masks: by position (inputs, then outputs), the types that are taken there; all if there is none.
        fault: a number of chameleon.cpp's `Fault`.
        outputs: what getNbOutputs answers if it isn't the number of shapes.
    """

    types: tuple[int | DType, ...]
    shapes: tuple[tuple[Expression, ...], ...]
    masks: tuple[frozenset[DType], ...] = ()
    fault: int = 0
    outputs: int | None = None

    def fields(self) -> dict[str, tuple[DType, float | int]]:
        """The creator's fields."""
        found = {"fault": self.fault, "count": len(self.shapes) if self.outputs is None else self.outputs}
        for position, kinds in enumerate(self.masks):
            found[f"mask{position}"] = sum(1 << kind.code for kind in kinds)
        for index, kind in enumerate(self.types):
            found[f"type{index}"] = 16 + kind.code if isinstance(kind, DType) else kind
        for index, shape in enumerate(self.shapes):
            found[f"rank{index}"] = len(shape)
            found |= {f"dim{index}_{axis}": dim.code for axis, dim in enumerate(shape)}
        return {name: (DType.INT32, value) for name, value in found.items()}

    def output_types(self, inputs: Sequence[DType]) -> tuple[DType, ...]:
        """The outputs' types for these of the inputs."""
        return tuple(kind if isinstance(kind, DType) else inputs[kind] for kind in self.types)

    def output_range(self, index: int, inputs: Sequence[Range]) -> Range:
        """An output's shape at least, at opt and at most; ones where it has none: nothing behind that is ever built."""
        low, best, high = ([one[point] for one in inputs] for point in range(3))
        found = []
        for dim in self.shapes[index]:
            interval, value = dim.interval(low, high), dim.value(best)
            if interval is None or value is None or value < 0 or interval[1] < 0:
                return ((1,) * len(self.shapes[index]),) * 3
            found.append((interval[0], value, interval[1]))
        return tuple(one for one, _, _ in found), tuple(one for _, one, _ in found), tuple(one for _, _, one in found)


def same(rank: int, of: int = 0) -> tuple[Expression, ...]:
    """The shape of input `of`."""
    return tuple(Expression((of, axis)) for axis in range(rank))


FIELD_NAMES = (
    "fault",
    "count",
    *(f"mask{index}" for index in range(MAX_TENSORS)),
    *(f"type{index}" for index in range(MAX_OUTPUTS)),
    *(f"rank{index}" for index in range(MAX_OUTPUTS)),
    *(f"dim{index}_{axis}" for index in range(MAX_OUTPUTS) for axis in range(MAX_RANK)),
)
"""The creator's fields, in its order."""
