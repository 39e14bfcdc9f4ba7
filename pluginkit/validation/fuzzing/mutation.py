"""Inputs that are drawn: from good ones, and from those that have shown something new.

An input is a function of its seed and the good input alone. A seed is `7:12.507`: step 12 of the run with seed 7 made
an input of the good one, and step 507 one of that.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pluginkit.adoption.answers import FieldValue
from pluginkit.validation.fuzzing.inputs import FuzzInput, Target, Tensor

Parent = tuple[tuple[int, ...], FuzzInput]
"""An input with the steps of its seed; none for one of a file."""
DEEPEST = 8
"""Steps of a seed."""
OF_THE_GOOD = 0.4
"""The part of the inputs that are mutations of the good one."""
TAG = 8
"""Bytes at the start of serialized ones that half of the mutations leave as they are: a tag and a version."""
MOST_CUT = 4096
"""Bytes of which every truncation is tried."""
ODD = (0, 1, 2, 7, 8, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)
ODD_FLOATS = (0x7F800000, 0x7FC00000, 0xBF800000, 0x7F7FFFFF, 0x00000001, 0xFF800000)
"""Infinity, a NaN, -1, the largest, the smallest and minus infinity, as bits of a float."""
SIZES = (0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 255, 1023, 65536, 2**31 - 1, 2**31, 2**40)
TYPES, FORMATS, FIELD_TYPES = range(-1, 14), range(-1, 16), range(-1, 16)
"""The enumerators of TensorRT's headers, and a few that are none."""
WIDEST = 72
"""Bytes of an element of the widest field type, kDIMS: eight int64_t behind an int32_t."""
LONGEST, LONGEST_TEXT = 70, 300


def systematic(target: Target, good: FuzzInput) -> list[FuzzInput]:
    """Mutations that are all tried once: every truncation and flipped bit of serialized bytes; of fields each one left
    out, without data, without length, of each other type."""
    if target is Target.SERIALIZED and not good.fields:
        data = good.data[:MOST_CUT]
        cut = [good.data[:size] for size in range(len(data))]
        flipped = [
            bytes([*good.data[:at], good.data[at] ^ (1 << bit), *good.data[at + 1 :]])
            for at in range(len(data))
            for bit in range(8)
        ]
        return [replace(good, data=one) for one in (*cut, *flipped)]
    if target in (Target.FIELDS, Target.SERIALIZED):
        found = [good.fields[:at] + good.fields[at + 1 :] for at in range(len(good.fields))]
        for at, (name, kind, value, length) in enumerate(good.fields):
            others: list[FieldValue] = [(name, kind, None, length), (name, kind, None, 0), (name, kind, b"", 0)]
            wide = (value or b"") + bytes(WIDEST * max(length, 0))
            others += [(name, other, wide, length) for other in FIELD_TYPES if other != kind]
            found += [(*good.fields[:at], other, *good.fields[at + 1 :]) for other in others]
        return [replace(good, fields=one) for one in ((), *found)]
    return []


@dataclass(frozen=True)
class Draw:
    """How the inputs of a run are drawn.

    Attributes:
        seed: of the run.
        good: an input that the plugin takes.
    """

    seed: int
    good: FuzzInput

    @cached_property
    def _first(self) -> list[FuzzInput]:
        return systematic(self.good.target, self.good)

    def input_of(self, steps: Sequence[int]) -> FuzzInput:
        """The input of a seed's steps."""
        found = self.good
        for step in steps:
            found = self.next(found, step) if found is not self.good or step >= len(self._first) else self._first[step]
        return found

    @property
    def first(self) -> int:
        """How many steps are systematic ones."""
        return len(self._first)

    def next(self, parent: FuzzInput, step: int) -> FuzzInput:
        """What the random numbers of a step make of an input."""
        return mutated(parent, random.Random(f"{self.seed}/{step}"))

    def child(self, step: int, parents: Sequence[Parent]) -> Parent:
        """The input of a step: systematic ones first, then mutations of the good one and of `parents`."""
        chosen = random.Random(f"{self.seed}:{step}")
        if step < len(self._first) or not parents or chosen.random() < OF_THE_GOOD:
            return (step,), self.input_of((step,))
        steps, parent = chosen.choice(parents)
        return (*steps, step) if steps else (), self.next(parent, step)


def steps_of(text: str) -> tuple[int, tuple[int, ...]]:
    """The run's seed and the steps of a seed as people give it: `7:12.507`, or `7`, which has no steps.

    Raises:
        ValueError: it is none.
    """
    seed, _, steps = text.partition(":")
    return int(seed), tuple(map(int, steps.split("."))) if steps else ()


def mutated(given: FuzzInput, drawn: random.Random) -> FuzzInput:
    """An input that differs from another."""
    if given.target is Target.FORMATS:
        tensors = list(given.tensors)
        for _ in range(drawn.randint(1, len(tensors))):
            at = drawn.randrange(len(tensors))
            kind, form, dims = tensors[at]
            tensors[at] = (
                drawn.choice(TYPES) if drawn.random() < 0.5 else kind,
                drawn.choice(FORMATS) if drawn.random() < 0.5 else form,
                dims,
            )
        return replace(given, tensors=tuple(tensors), position=drawn.randrange(len(tensors)))
    if given.target is Target.SHAPES:
        return replace(given, tensors=tuple(_sized(one, drawn) for one in given.tensors))
    if given.target is Target.SERIALIZED and not given.fields:
        return replace(given, data=_bytes(given.data, drawn))
    return replace(given, fields=_fields(given.fields, drawn))


def _sized(one: Tensor, drawn: random.Random) -> Tensor:
    kind, form, dims = one
    return kind, form, tuple(drawn.choice(SIZES) if drawn.random() < 0.5 else dim for dim in dims)


def _bytes(data: bytes, drawn: random.Random) -> bytes:
    """Other bytes; half of the time of the same length, behind the same first ones where there are more than those."""
    if drawn.random() < 0.5:
        kept = data[:TAG] if len(data) > TAG else b""
        return kept + _overwritten(data[len(kept) :], drawn)
    way = drawn.choice((_overwritten, _cut, _longer, _random))
    return way(data, drawn)


def _overwritten(data: bytes, drawn: random.Random) -> bytes:
    """Of the same length: with bits flipped, bytes changed, or a number in it that is often wrong."""
    if not data:
        return data
    changed = bytearray(data)
    for _ in range(drawn.choice((1, 1, 1, 2, 4, 16))):
        at = drawn.randrange(len(changed))
        way = drawn.randrange(3)
        if way == 0:
            changed[at] ^= 1 << drawn.randrange(8)
        elif way == 1:
            changed[at] = drawn.randrange(256)
        else:
            form = drawn.choice(("<B", "<H", "<I", "<I", "<I", "<Q"))
            size = struct.calcsize(form)
            odd = (*ODD, *ODD_FLOATS) if form == "<I" else ODD
            number = struct.pack(form, drawn.choice(odd) % (1 << (8 * size)))
            at = at // 4 * 4 if drawn.random() < 0.5 else at
            changed[at : at + size] = number[: len(changed) - at]
    return bytes(changed)


def _cut(data: bytes, drawn: random.Random) -> bytes:
    return data[: drawn.randrange(len(data))] if data else data


def _longer(data: bytes, drawn: random.Random) -> bytes:
    return data + drawn.randbytes(drawn.choice((1, 4, 8, 100, 5000)))


def _random(data: bytes, drawn: random.Random) -> bytes:
    return drawn.randbytes(drawn.choice((0, 1, 8, len(data), len(data), 2 * len(data))))


def _fields(given: Sequence[FieldValue], drawn: random.Random) -> tuple[FieldValue, ...]:
    fields = list(given)
    for _ in range(drawn.choice((1, 1, 2, 3))):
        if not fields or drawn.random() < 0.05:
            fields.append(("other", drawn.choice(FIELD_TYPES), drawn.randbytes(WIDEST), 1))
            continue
        at = drawn.randrange(len(fields))
        change = drawn.choice(_CHANGES)
        fields[at : at + 1] = change(fields[at], drawn)
    return tuple(fields)


def _values(one: FieldValue, drawn: random.Random) -> list[FieldValue]:
    name, kind, data, length = one
    if data:
        return [(name, kind, _overwritten(data, drawn), length)]
    return [(name, kind, drawn.randbytes(WIDEST * max(length, 1)), max(length, 1))]


def _kind(one: FieldValue, drawn: random.Random) -> list[FieldValue]:
    """Of another type, with as many bytes as its elements have at most."""
    name, _, data, length = one
    return [(name, drawn.choice(FIELD_TYPES), ((data or b"") + bytes(WIDEST * max(length, 0))), length)]


def _length(one: FieldValue, drawn: random.Random) -> list[FieldValue]:
    """Of another length, with enough bytes."""
    name, kind, _, _ = one
    length = drawn.choice((-1, 0, 1, 2, 3, 8, 9, LONGEST, LONGEST_TEXT))
    return [(name, kind, drawn.randbytes(WIDEST * max(length, 0)), length)]


def _null(one: FieldValue, drawn: random.Random) -> list[FieldValue]:
    name, kind, _, length = one
    return [(name, kind, None, drawn.choice((0, length)))]


def _missing(one: FieldValue, drawn: random.Random) -> list[FieldValue]:
    del one, drawn
    return []


def _twice(one: FieldValue, drawn: random.Random) -> list[FieldValue]:
    return [one, *_values(one, drawn)]


def _renamed(one: FieldValue, drawn: random.Random) -> list[FieldValue]:
    return [(drawn.choice(("", "x", one[0] + "x", one[0][:-1], "n" * 1000)), *one[1:])]


_CHANGES: tuple[Callable[[FieldValue, random.Random], list[FieldValue]], ...] = (
    *(_values, _values, _kind, _length, _null, _missing, _twice, _renamed),
)
