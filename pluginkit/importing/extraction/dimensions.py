"""Symbols for the dimensions of a signature, from the sizes that a model's nodes have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pluginkit.importing.extraction import formulas
from pluginkit.importing.extraction.formulas import Formula, Values
from pluginkit.importing.extraction.node_facts import Dim, NodeFacts, TensorFacts

NAMES = {1: "c", 2: "nc", 3: "nld", 4: "nchw", 5: "ncdhw"}
"""What the dimensions of a tensor of so many are called, where the model has no names for them."""
RESERVED = ("ceil_div", "min", "max")
Key = tuple[Dim, ...]
"""What a dimension is in each of the nodes."""
Sizes = tuple[int | None, ...]
"""What a dimension's size is in each of the nodes, at min, opt and max."""


@dataclass(frozen=True)
class OutputDim:
    """An output's dimension.

    Attributes:
        text: its expression; None where none fits.
        guess: what of it is a guess: a `formula` that gives the sizes of the model, one by fields' `names` alone, where
            the model has no sizes, or a `constant` that all nodes have.
        window: the fields of a window that it names, with the least number of each.
    """

    text: str | None
    guess: Literal["", "formula", "names", "constant"] = ""
    window: Mapping[str, int] = field(default_factory=dict)


@dataclass
class Symbols:
    """The symbols of a signature's inputs.

    Attributes:
        keys: each symbol's key, and where it was met first: axis, and axis from the end.
        sizes: each symbol's sizes.
    """

    keys: dict[str, tuple[Key, int, int]] = field(default_factory=dict)
    sizes: dict[str, Sizes] = field(default_factory=dict)

    def shape(self, tensors: Sequence[TensorFacts], usual: Sequence[str] = ()) -> tuple[str, ...]:
        """An input's dimensions; `tensors` is the input in each of the nodes, all of one rank.

        `usual` are names for dimensions for which the model has none.
        """
        rank = len(tensors[0].dims or ())
        taken: list[str] = []
        for axis in range(rank):
            key: Key = tuple((one.dims or ())[axis] for one in tensors)
            if set(key) == {1}:
                taken.append("1")
                continue
            sizes = sizes_of(tensors, axis)
            found = self._known(key, sizes, axis, rank - axis, taken)
            name = usual[axis] if usual else NAMES[rank][axis] if rank in NAMES else f"d{axis}"
            taken.append(found or self._new(key, sizes, axis, rank, name))
        return tuple(taken)

    def _known(self, key: Key, sizes: Sizes, axis: int, from_end: int, taken: Sequence[str]) -> str:
        """A symbol that means this dimension too; empty if there is none.

        A name of the model's is one symbol wherever it stands. Equal numbers are only where they stand at the same
        axis, counted from the beginning or the end: two sizes of an image may be equal by chance.
        """
        for name, (other, its_axis, its_end) in self.keys.items():
            if key == other and all(isinstance(dim, str) for dim in key):
                return name
            aligned = axis == its_axis or from_end == its_end
            alike = key == other if None not in key else sizes == self.sizes[name] and None not in sizes
            if aligned and alike and name not in taken:
                return name
        return ""

    def _new(self, key: Key, sizes: Sizes, axis: int, rank: int, usual: str) -> str:
        given = next((dim for dim in key if isinstance(dim, str)), "")
        name = given.lower() if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", given) and len(given) <= 24 else usual
        name = usual if name.startswith("unk_") or name in RESERVED or name == "_" else name
        free, number = name, 1
        while free in self.keys:
            number += 1
            free = f"{name}{number}"
        self.keys[free] = (key, axis, rank - axis)
        self.sizes[free] = sizes
        return free

    def output(self, tensors: Sequence[TensorFacts], fields: Sequence[Values] = ()) -> tuple[OutputDim, ...]:
        """An output's dimensions, by the inputs' symbols and by `fields`, each node's integer fields."""
        rank = len(tensors[0].dims or ())
        return tuple(self._dimension(tensors, axis, rank, fields) for axis in range(rank))

    def _dimension(self, tensors: Sequence[TensorFacts], axis: int, rank: int, fields: Sequence[Values]) -> OutputDim:
        key: Key = tuple((one.dims or ())[axis] for one in tensors)
        sizes = sizes_of(tensors, axis)
        ends = {name: (axis == its_axis, rank - axis == its_end) for name, (_, its_axis, its_end) in self.keys.items()}
        aligned = [name for name, alike in ends.items() if any(alike)]
        unknown = any(one.assumed for one in tensors) or set(sizes) == {None}
        for formula, symbol in self._windows(aligned, axis, rank, fields, sizes):
            if unknown or self._gives(formula, symbol, sizes, fields):
                return OutputDim(formula.text, "names" if unknown else "formula", formula.window)
        named = [name for name, (other, _, _) in self.keys.items() if key == other and isinstance(key[0], str)]
        same = [name for name in aligned if key == self.keys[name][0] and None not in key]
        if same or named:
            return OutputDim((same or named)[0])
        if set(key) == {1}:
            return OutputDim("1")
        return self._by_field(aligned, rank - axis, fields, sizes) or self._by_sizes(key, sizes, axis)

    def _by_field(
        self, aligned: Sequence[str], from_end: int, fields: Sequence[Values], sizes: Sizes
    ) -> OutputDim | None:
        for symbol in (*aligned, ""):
            for formula in formulas.others(symbol, from_end, fields):
                if formulas.varies(formula.text, fields) and self._gives(formula, symbol, sizes, fields):
                    return OutputDim(formula.text, "formula")
        return None

    def _by_sizes(self, key: Key, sizes: Sizes, axis: int) -> OutputDim:
        if len(set(key)) == 1 and isinstance(key[0], int):
            return OutputDim(str(key[0]), "constant")
        known = [(size, index) for index, size in enumerate(sizes) if size is not None]
        for expression, values in self._candidates(axis) if known else ():
            if all(values[index] == size for size, index in known):
                return OutputDim(expression, "" if expression in self.keys else "formula")
        fixed = {size for size, _ in known}
        return OutputDim(str(fixed.pop()), "constant") if len(fixed) == 1 and None not in sizes else OutputDim(None)

    def _windows(
        self, symbols: Sequence[str], axis: int, rank: int, fields: Sequence[Values], sizes: Sizes
    ) -> Iterator[tuple[Formula, str]]:
        """Those of a dimension of an image, which are all behind a batch and channels, or whose size changes."""
        for symbol in symbols:
            if rank - axis <= max(1, rank - 2) or (axis and sizes != self.sizes[symbol]):
                yield from ((one, symbol) for one in formulas.windows(symbol, rank - axis, fields))

    def _gives(self, formula: Formula, symbol: str, sizes: Sizes, fields: Sequence[Values]) -> bool:
        """Whether a formula gives all sizes that are known, and there is one."""
        of_symbol = self.sizes[symbol] if symbol else (None,) * len(sizes)
        each = len(sizes) // len(fields)
        pairs = [
            (size, formulas.value(formula.text, symbol, of_symbol[index], fields[index // each]))
            for index, size in enumerate(sizes)
            if size is not None and (not symbol or of_symbol[index] is not None)
        ]
        return bool(pairs) and all(size == made for size, made in pairs)

    def _candidates(self, axis: int) -> list[tuple[str, Sizes]]:
        """Expressions to try, the likeliest first, with their values."""
        ordered = sorted(self.sizes, key=lambda name: self.keys[name][1] != axis)
        found: list[tuple[str, Sizes]] = [(name, self.sizes[name]) for name in ordered]
        for name in ordered:
            sizes = self.sizes[name]
            for number in (2, 3, 4, 8, 16, 32):
                found.append((f"{name} * {number}", _each(sizes, lambda size, k=number: size * k)))
                found.append((f"{name} // {number}", _each(sizes, lambda size, k=number: size // k)))
                found.append((f"ceil_div({name}, {number})", _each(sizes, lambda size, k=number: -(-size // k))))
            for number in (1, 2, 3, 4):
                found.append((f"{name} + {number}", _each(sizes, lambda size, k=number: size + k)))
                found.append((f"{name} - {number}", _each(sizes, lambda size, k=number: size - k)))
        for index, first in enumerate(ordered):
            for second in ordered[index:]:
                pair = list(zip(self.sizes[first], self.sizes[second], strict=True))
                found.append((f"{first} + {second}", tuple(None if None in p else p[0] + p[1] for p in pair)))  # type: ignore[operator]
                found.append((f"{first} * {second}", tuple(None if None in p else p[0] * p[1] for p in pair)))  # type: ignore[operator]
        return found

    def alike(self) -> dict[str, str]:
        """Symbols that could be another size than one before, and have the same: which, by name.

        Of those with one size in all nodes, and not of channels, which INT8 wants to be one number.
        """
        found: dict[str, str] = {}
        fixed = {name: set(sizes) for name, sizes in self.sizes.items()}
        for name, (_, axis, _) in self.keys.items():
            others = [one for one in self.keys if one != name and fixed[one] == fixed[name] and one not in found]
            if axis != 1 and len(fixed[name]) == 1 and None not in fixed[name] and others:
                found[name] = others[0]
        return found

    def ranges(self) -> dict[str, tuple[int, int, int]]:
        """Each symbol's min, opt and max, of those whose sizes are known: over all nodes, opt being the first one's."""
        found = {}
        for name, sizes in self.sizes.items():
            known = [size for size in sizes if size is not None]
            if known:
                opt = next((size for size in sizes[1::3] if size is not None), known[0])
                found[name] = (min(known), opt, max(known))
        return found


def sizes_of(tensors: Sequence[TensorFacts], axis: int) -> Sizes:
    """A dimension's sizes in each of the nodes."""
    found: list[int | None] = []
    for one in tensors:
        dim = (one.dims or ())[axis]
        found += [dim if isinstance(dim, int) else None if size is None else size[axis] for size in one.sizes]
    return tuple(found)


def _each(sizes: Sizes, change) -> Sizes:  # type: ignore[no-untyped-def]
    return tuple(None if size is None else change(size) for size in sizes)


def of_rank(nodes: Sequence[NodeFacts], index: int, *, outputs: bool) -> tuple[list[TensorFacts], set[int | None]]:
    """A tensor in each of the nodes, and the ranks that it has; None: one that isn't known."""
    tensors = [(one.outputs if outputs else one.inputs)[index] for one in nodes]
    return tensors, {None if one.dims is None else len(one.dims) for one in tensors}
