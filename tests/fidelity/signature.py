"""A plugin of chameleon.cpp as plain data: outputs by expressions of the inputs' dimensions or by a rule, types by
position, a workspace, outputs in inputs' memory, and sizes that only enqueue knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pluginkit.dtypes import DType
from pluginkit.field_types import FieldType, Value
from pluginkit.network.networks import Dims, Range

MAX_OUTPUTS, MAX_RANK, MAX_TENSORS = 3, 8, 6
LARGEST_CONSTANT = 180
"""As a leaf: the numbers above are size tensors."""
NO_OPERATION = 9
SUM, PROD, MAX, MIN, SUB, EQUAL, LESS, FLOOR_DIV, CEIL_DIV = range(9)
"""`nvinfer1::DimensionOperation`."""

Leaf = tuple[int, int] | int
"""(input, its dimension), or a constant from -32 to LARGEST_CONSTANT."""
Interval: TypeAlias = tuple[int, int]


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

    def interval(self, low: Sequence[Dims], high: Sequence[Dims]) -> Interval | None:
        """What its value is within, for shapes from `low` to `high`; None where a divisor may be zero."""
        result: Interval | None = _value(self.a, low), _value(self.a, high)
        for operation, operand in ((self.first, self.b), (self.second, self.c)):
            if operation != NO_OPERATION and result is not None:
                result = _interval(operation, result, (_value(operand, low), _value(operand, high)))
        return result


@dataclass(frozen=True)
class Size:
    """A dimension that a size tensor carries, of an IPluginV3: which output that is, and what it is usually and at
    most."""

    output: int
    opt: Expression
    upper: Expression

    @property
    def code(self) -> int:
        """As the creator's field has it."""
        bits = NO_OPERATION << 28 | NO_OPERATION << 24 | (253 + self.output) << 16
        return bits - (1 << 32)

    def value(self, inputs: Sequence[Dims]) -> int | None:
        """What it is usually."""
        return self.opt.value(inputs)

    def interval(self, low: Sequence[Dims], high: Sequence[Dims]) -> Interval | None:
        """From nothing to the most that it may be."""
        most = self.upper.interval(low, high)
        return most and (0, most[1])


@dataclass(frozen=True)
class Broadcast:
    """A dimension that several inputs have, as pluginkit writes a broadcast: max(a, b) * min(1, min(a, b)).

    Attributes:
        leaves: (input, its dimension) each.
    """

    leaves: tuple[tuple[int, int], ...]

    def value(self, inputs: Sequence[Dims]) -> int | None:
        """For these shapes."""
        low = self.interval(inputs, inputs)
        return low and low[0]

    def interval(self, low: Sequence[Dims], high: Sequence[Dims]) -> Interval | None:
        """What its value is within, for shapes from `low` to `high`."""
        first, *others = [(_value(leaf, low), _value(leaf, high)) for leaf in self.leaves]
        result: Interval | None = first
        for other in others:
            largest, smallest = _interval(MAX, result or first, other), _interval(MIN, result or first, other)
            some = smallest and _interval(MIN, (1, 1), smallest)
            result = largest and some and _interval(PROD, largest, some)
        return result


Dimension: TypeAlias = Expression | Size | Broadcast


def _interval(operation: int, left: Interval, right: Interval) -> Interval | None:
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
        shapes: of the outputs; of those with a rule what `rule_shape` gives of it.
        masks: by position (inputs, then outputs), the types that are taken there; all if there is none.
        fault: a number of chameleon.h's `Fault`.
        outputs: what getNbOutputs answers if it isn't the number of shapes.
        rules: of the outputs: a text of RULES, or empty where the dimensions' expressions say the shape.
        aliases: of the outputs: the input whose memory it is, or -1. Of an IPluginV3, as sizes are.
        workspace: bytes.
        lists: whether numbers of one kind come as a list.
    """

    types: tuple[int | DType, ...]
    shapes: tuple[tuple[Dimension, ...], ...]
    masks: tuple[frozenset[DType], ...] = ()
    fault: int = 0
    outputs: int | None = None
    rules: tuple[str, ...] = ()
    aliases: tuple[int, ...] = ()
    workspace: int = 0
    lists: bool = False

    @property
    def sizes(self) -> dict[int, Size]:
        """The size tensors: which output -> what depends on it."""
        return {dim.output: dim for shape in self.shapes for dim in shape if isinstance(dim, Size)}

    def fields(self) -> dict[str, tuple[FieldType, Value]]:
        """The creator's fields."""
        rows = {
            "mask": [sum(1 << kind.code for kind in kinds) for kinds in self.masks],
            "type": [16 + kind.code if isinstance(kind, DType) else kind for kind in self.types],
            "alias": list(self.aliases),
        }
        found: dict[str, Value] = {
            "fault": self.fault,
            "count": len(self.shapes) if self.outputs is None else self.outputs,
        }
        if self.workspace:
            found["workspace"] = self.workspace
        for index, size in self.sizes.items():
            found |= {f"upper{index}": size.upper.code, f"opt{index}": size.opt.code}
        texts = {f"rule{index}": rule for index, rule in enumerate(self.rules) if rule}
        for index, shape in enumerate(self.shapes):
            written = () if f"rule{index}" in texts else shape
            codes = [dim.code for dim in written if not isinstance(dim, Broadcast)]
            if self.lists:
                found[f"dims{index}"] = tuple(codes)
            else:
                found[f"rank{index}"] = len(codes)
                found |= {f"dim{index}_{axis}": code for axis, code in enumerate(codes)}
        for label, numbers in rows.items():
            if self.lists and numbers:
                found[PLURALS[label]] = tuple(numbers)
            else:
                found |= {f"{label}{index}": number for index, number in enumerate(numbers)}
        return {name: (FieldType.INT32, value) for name, value in found.items()} | {
            name: (FieldType.STRING, text) for name, text in texts.items()
        }

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


def _last(ranks: Sequence[int]) -> tuple[Dimension, ...]:
    return same(ranks[-1], len(ranks) - 1)


def _broadcast(ranks: Sequence[int]) -> tuple[Dimension, ...]:
    return tuple(
        Broadcast(tuple((of, rank - behind) for of, rank in enumerate(ranks) if rank >= behind))
        for behind in range(max(ranks), 0, -1)
    )


RULES: dict[str, Callable[[Sequence[int]], tuple[Dimension, ...]]] = {"last": _last, "broadcast": _broadcast}
"""What an output's shape may be said by, and what that is for inputs of these ranks."""
PLURALS = {"mask": "masks", "type": "types", "alias": "aliases"}
"""What the lists are called."""
FIELDS: dict[str, FieldType] = {
    **dict.fromkeys(
        (
            *("fault", "count", "workspace"),
            *(f"mask{index}" for index in range(MAX_TENSORS)),
            *(f"{label}{index}" for label in ("type", "rank", "alias", "upper", "opt") for index in range(MAX_OUTPUTS)),
            *(f"dim{index}_{axis}" for index in range(MAX_OUTPUTS) for axis in range(MAX_RANK)),
        ),
        FieldType.INT32,
    ),
    **dict.fromkeys((f"rule{index}" for index in range(MAX_OUTPUTS)), FieldType.STRING),
}
"""The creator's fields that are not lists."""
