"""Which types each tensor of a `pluginkit.toml` has, of the combinations that a plugin takes.

A manifest has a list of types for each tensor; at a precision a tensor has that type if it is in its list, else the
first one (`ManifestModel.type_of`). Not all combinations can be expressed so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pluginkit.dtypes import PRECISIONS, DType

_NAMES = ("kFLOAT", "kHALF", "kINT8", "kINT32", "kBOOL", "kUINT8", "kFP8", "kBF16", "kINT64", "kINT4", "kFP4")
"""`nvinfer1::DataType`, by number."""


@dataclass(frozen=True)
class TensorTypes:
    """The types of all inputs and then all outputs, and the combinations that are not among them, as TensorRT's names.

    `rows` are the combinations that are, by precision."""

    tensors: tuple[tuple[DType, ...], ...]
    rows: dict[DType, tuple[int, ...]]
    left: tuple[tuple[str, ...], ...]


def choose(rows: Sequence[tuple[int, ...]], inputs: int) -> TensorTypes:
    """For each precision the combination with the most tensors of it, as far as it fits those of the others."""
    count = len(rows[0]) if rows else 0
    kinds: list[list[DType]] = [[] for _ in range(count)]
    chosen: dict[DType, tuple[int, ...]] = {}
    for precision in PRECISIONS:
        fitting = [row for row in rows if precision.code in row[:inputs] and _fits(row, precision, kinds)]
        if not fitting:
            continue
        best = max(fitting, key=lambda row: row.count(precision.code))
        chosen[precision] = best
        for one, code in zip(kinds, best, strict=True):
            kind = DType.from_code(code)
            if kind not in one:
                one.append(kind)
    left = tuple(tuple(_NAMES[code] for code in row) for row in rows if row not in chosen.values())
    return TensorTypes(tuple(map(tuple, kinds)), chosen, left)


def _fits(row: Sequence[int], precision: DType, kinds: Sequence[Sequence[DType]]) -> bool:
    """Whether each tensor has this type at the precision, in addition to those before."""
    known = {kind.code: kind for kind in DType}
    if any(code not in known for code in row):
        return False
    if {DType.INT8.code, DType.FLOAT8.code} <= set(row):
        return False  # pluginkit.toml has not both at once (manifest/type_rules.py)
    for code, one in zip(row, kinds, strict=True):
        if code == precision.code:
            continue
        # It has the first of its types then, and so must not have the precision too.
        if precision in one or (one and one[0].code != code):
            return False
    return True
