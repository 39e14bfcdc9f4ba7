"""Values for the fields that a creator lists, where no values were given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

import numpy as np

from pluginkit import field_types
from pluginkit.adoption.answers import FieldValue, ListedField

NUMPY: dict[int, str] = {
    field_types.NAMES.index(name): kind
    for name, kind in {
        "kFLOAT16": "float16",
        "kFLOAT32": "float32",
        "kFLOAT64": "float64",
        "kINT8": "int8",
        "kINT16": "int16",
        "kINT32": "int32",
        "kINT64": "int64",
    }.items()
}
"""NumPy's type of a field of numbers, by `nvinfer1::PluginFieldType`."""
INT32, FLOAT32, CHAR = (field_types.NAMES.index(name) for name in ("kINT32", "kFLOAT32", "kCHAR"))
LONGEST = 1 << 16
"""Elements of a list that is given: lists of weights are of the length that is listed, or refused."""

BATCH, BATCHES, FEW_BATCHES = 16, 12, 3
"""Draws that are asked together, and how many times; how many where there is little hope."""
INTEGERS = (1, 1, 0, 2, 4, 3, 8, 64)
FRACTIONS = (0.5, 0.5, 1.0, 0.1, 0.9, 2.0)
LENGTHS = (1, 1, 1, 2, 3, 4, 6)
TEXTS = ("nearest", "linear", "bilinear", "none", "sum", "same", "")
"""What many layers take: counts and switches, shares and scales, short lists, the names of modes."""
_WHOLE = re.compile(
    r"(^|_)(n|nb|num|is|has|id|ld|dim|dims|size|axis|axes|mode|type|len|fp16|int8|mask|heads|count)(_|s?$)|^(nb|num|is|has)[A-Z]",
)
_BEYOND = re.compile(r"byte \d+ of the data of field '(.*)', which has (\d+)$")


def guess(one: ListedField, kind: str, value: float) -> FieldValue:
    """The field, each of its elements being that value."""
    count = min(max(1, one.length), LONGEST)
    return one.name, one.type, np.full(count, value, kind).tobytes(), count


class Draws:
    """Draws of values: each field another one, of its type, lists as long as is listed, or of some length.

    Args:
        listed: the creator's fields. One of no type (kUNKNOWN) is drawn as what its name sounds like, or either.
    """

    def __init__(self, listed: Sequence[ListedField]) -> None:
        self._listed = listed
        self._random = Random(0)
        self._lengths: dict[str, int] = {}

    def batches(self, most: int) -> Iterator[list[tuple[FieldValue, ...]]]:
        """Some at a time; what is learnt of some holds for the next."""
        for _ in range(most):
            # Layers that take lists of weights compare their lengths.
            yield [self._draw(self._random.choice(LENGTHS)) for _ in range(BATCH)]

    def learn(self, beyond: str) -> None:
        """Gives a list more elements, where a plugin has read beyond it: `LastCall.beyond`."""
        if found := _BEYOND.search(beyond):
            self._lengths[found[1]] = min(2 * self._lengths.get(found[1], 1), LONGEST)

    def _draw(self, length: int) -> tuple[FieldValue, ...]:
        return tuple(
            self._field(one, length) for one in self._listed if one.type == CHAR or self._kind(one) is not None
        )

    def _kind(self, one: ListedField) -> int | None:
        if one.type in NUMPY:
            return one.type
        if field_types.NAMES[one.type : one.type + 1] != ("kUNKNOWN",):
            return None
        if _WHOLE.search(one.name):
            return INT32
        return self._random.choice((FLOAT32, FLOAT32, INT32))

    def _field(self, one: ListedField, length: int) -> FieldValue:
        if one.type == CHAR:
            text = self._random.choice(TEXTS).encode() + b"\0"
            return one.name, CHAR, text, len(text)
        code = self._kind(one)
        assert code is not None
        kind = NUMPY[code]
        count = (
            min(one.length, LONGEST) if one.length > 1 else self._lengths.get(one.name, 0) or self._few(code, length)
        )
        value = self._random.choice(INTEGERS if kind.startswith("int") else FRACTIONS)
        return one.name, code, np.full(count, value, kind).tobytes(), count

    def _few(self, code: int, length: int) -> int:
        return length if code == FLOAT32 and self._random.random() < 0.5 else 1
