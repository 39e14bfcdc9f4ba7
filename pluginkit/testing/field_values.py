"""Other values of fields than the usual ones: a field that is lost on its way to enqueue shows by them alone.

What the manifest declares (`min`, `max`, `choices`) the reference and the plugin must take. Where it declares nothing,
values near the default are tried: one that the reference refuses, or that changes an output's shape, is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.field_types import Number, Value, is_carried, shown
from pluginkit.manifest import Attribute, Manifest
from pluginkit.network.networks import Array, FieldValues
from pluginkit.testing.points import Point, generator
from pluginkit.testing.reference import Reference

MOST, MOST_DECLARED = 2, 5
"""So many values of a field are tried, each in a network of its own, where the manifest declares none, and some."""
_FEW = 6
"""Of a range of so many whole numbers all are tried, as of an axis."""
_MOST_PAIRS = 12
"""So many networks with other values of several fields at once."""
VISIBLE = 1e-3
"""What an output must change by, relative to itself or to 1, for a lost field to show."""
_LIMIT = 3e4
"""Outputs beyond it, where the usual ones are within, would overflow FP16."""
_GROWTH, _SMALL = 16, 4096
"""Outputs of more than so many times as many elements, and small ones beyond that, would take too long."""


@dataclass(frozen=True)
class Varied:
    """The values that are tried. `kept`: field -> why it stays as it is."""

    values: tuple[FieldValues, ...]
    kept: dict[str, str]


def choose(
    manifest: Manifest,
    reference: Reference,
    fields: Mapping[str, Value],
    tried: Sequence[Point],
    seed: int,
) -> Varied:
    """The values, each tried on the reference at every profile's opt; `fields` has those of the usual networks.

    Raises:
        CheckFailed: the reference refuses a value that the manifest declares.
    """
    points = [point for point in tried if point.name == "opt"]
    usual = [_outputs(manifest, reference, fields, point) for point in points]
    found: list[FieldValues] = []
    kept: dict[str, str] = {}
    for field in manifest.fields:
        if field.name not in fields:
            continue  # a scale, which every INT8 network has a value of its own for
        mine: list[FieldValues] = []
        unseen: list[FieldValues] = []
        why = "its declared values leave none but the default"
        for value in dict.fromkeys(_candidates(field, fields[field.name], generator(seed, "field", field.name))):
            if len(mine) == _most(field):
                break
            one = FieldValues(field.name, value, fields[field.name], field.declares_values)
            if shapeless := _no_shape(manifest, {**fields, field.name: value}, fields):
                why = f"{shapeless} with other values, as {shown(value)}"
                continue
            try:
                answers = [_outputs(manifest, reference, {**fields, field.name: value}, point) for point in points]
            except CheckFailed as refusal:
                if one.declared:
                    message = (
                        f"{refusal.message}\nThat is with {field.name} = {shown(value)}, which pluginkit.toml allows."
                    )
                    raise CheckFailed(message, hint=f"Narrow the field's min, max or choices: {refusal.hint}") from None
                why = f"the reference raises, or gives another shape, with other values, as {shown(value)}"
                continue
            if not one.declared and not _tame(answers, usual):
                why = f"outputs are too large with other values, as {shown(value)}"
                continue
            (mine if _differs(answers, usual) else unseen).append(replace(one, number=len(mine) + 1))
        found += mine or unseen[:1]
        if not mine:
            kept[field.name] = "outputs do not depend on it" if unseen else why
    together = [one for one in _together(found) if not _no_shape(manifest, {**fields, **one.values}, fields)]
    taken = [one for one in together if _taken(manifest, reference, {**fields, **one.values}, points)]
    return Varied((*found, *(replace(one, number=number) for number, one in enumerate(taken, 1))), kept)


def _most(field: Attribute) -> int:
    """So many values of it are tried."""
    if field.declares_values:
        return MOST_DECLARED
    return 1 if field.type.is_integer and field.is_number else MOST


def _taken(manifest: Manifest, reference: Reference, fields: Mapping[str, Value], points: Sequence[Point]) -> bool:
    """Whether the reference takes values that the manifest doesn't declare together."""
    try:
        for point in points:
            _outputs(manifest, reference, fields, point)
    except CheckFailed:
        return False
    return True


def _together(found: Sequence[FieldValues]) -> Iterator[FieldValues]:
    """As few rows of other values of several fields as a greedy choice finds in which each two values of two fields
    stand at once (pairwise covering); of declared values alone, two of each field."""
    by_name: dict[str, list[FieldValues]] = {}
    for one in found:
        if one.declared and len(by_name.setdefault(one.name, [])) < MOST:
            by_name[one.name].append(one)
    lists = list(by_name.values())
    left = {frozenset(pair) for a, b in combinations(lists, 2) for pair in product(a, b)}
    for _ in range(_MOST_PAIRS):
        if not left:
            return
        row = list(min(left, key=lambda pair: sorted((one.name, one.number) for one in pair)))
        for several in lists:
            if several[0].name not in {one.name for one in row}:
                row.append(max(several, key=lambda one: sum(frozenset((one, other)) in left for other in row)))
        left -= {frozenset(pair) for pair in combinations(row, 2)}
        first, *rest = sorted(row, key=lambda one: [other.name for other in found].index(one.name))
        yield replace(first, more=tuple((one.name, one.value) for one in rest))


def _no_shape(manifest: Manifest, fields: Mapping[str, Value], usual: Mapping[str, Value]) -> str:
    """Why the outputs can't be tried in the shapes that other values give them; empty if they can."""
    try:
        shaped, wonted = manifest.with_fields(fields), manifest.with_fields(usual)
    except UsageError:
        return "outputs have no shape"
    for profile in manifest.profiles:
        points = [profile.at("min"), profile.at("opt"), profile.at("max")]
        if not all(map(shaped.possible, points)):
            return "outputs have no shape"
        if any(_size(shaped, env) > _GROWTH * max(_SMALL, _size(wonted, env)) for env in points):
            return "outputs have too many elements"
    return ""


def _size(manifest: Manifest, env: Mapping[str, int]) -> int:
    return sum(math.prod(dims) for dims in manifest.output_shapes(env).values())


def _candidates(field: Attribute, usual: Value, rng: np.random.Generator) -> Iterator[Value]:
    """Values to try, the best first, as the plugin gets them."""
    found = _texts(field, usual) if isinstance(usual, str) else _numbers(field, usual, rng)
    yield from (value for value in found if value != usual and is_carried(field.type, value))


def _numbers(field: Attribute, usual: Number | tuple[Number, ...], rng: np.random.Generator) -> Iterator[Value]:
    if not isinstance(usual, tuple):
        yield from _elements(field, usual, rng)
        return
    for length in dict.fromkeys(_lengths(field, len(usual))):
        starts = [usual[index] if index < len(usual) else _beyond(field, usual) for index in range(length)]
        # An empty list has no element to begin with; a longer one repeats its last.
        yield tuple(next(_elements(field, start, rng), start) for start in starts)
    yield usual[::-1]


def _lengths(field: Attribute, usual: int) -> Iterator[int]:
    """The lengths of lists to try: one more, one less, the same."""
    least, most = field.bounds
    if not field.symbol:
        yield from (length for length in (usual + 1, usual - 1) if least <= length <= most)
    yield usual


def _beyond(field: Attribute, usual: tuple[Number, ...]) -> Number:
    """What an element would usually be that the list hasn't."""
    if usual:
        return usual[-1]
    return next((one for one in (*field.choices, field.min, field.max) if isinstance(one, (int, float))), 1)


def _texts(field: Attribute, usual: str) -> Iterator[Value]:
    if field.choices:
        yield from (str(one) for one in field.choices)
        return
    least, most = field.bounds
    yield from (text for text in (f"{usual}x", usual[:-1], usual[::-1]) if least <= len(text.encode()) <= most)


def _elements(field: Attribute, usual: Number, rng: np.random.Generator) -> Iterator[Number]:
    """Other numbers than the usual one, in the field's precision."""
    for value in _declared(field, usual, rng) if field.declares_values else _near(field, usual, rng):
        # The neighbours of a type's ends are not values of it.
        number = int(value) if field.type.is_integer else value
        if field.type.holds(number) and (exact := field.type.exact(number)) != usual:
            yield exact


def _declared(field: Attribute, usual: Number, rng: np.random.Generator) -> Iterator[Number]:
    if field.choices:
        yield from (one for one in field.choices if not isinstance(one, str))
        return
    # Without one of the ends: as far beyond the usual value as the other end is from it, or by one.
    reach = max(1.0, abs(usual), *(abs(usual - end) for end in (field.min, field.max) if end is not None))
    low = field.min if field.min is not None else usual - reach
    high = field.max if field.max is not None else usual + reach
    if not field.type.is_integer:
        yield float(rng.uniform(low, high))
    yield from (end for end in (field.max, field.min) if end is not None)
    yield from (0 if low < 0 < high else high, high, low)
    if field.type.is_integer and high - low < _FEW:
        yield from range(int(low), int(high) + 1)
    yield from (low + (high - low) * part for part in rng.uniform(size=MOST))


def _near(field: Attribute, usual: Number, rng: np.random.Generator) -> Iterator[Number]:
    if field.type.is_integer:
        yield from (usual + 1, usual + 2, usual - 1) if usual >= 0 else (usual - 1, usual + 1)
        return
    for low, high in ((1.25, 1.75), (0.25, 0.75), (20.0, 60.0), (0.01, 0.05)):
        # A default of 0 has no neighbours by multiplying.
        yield float(rng.uniform(low, high)) * (usual or 0.5)


def _outputs(manifest: Manifest, reference: Reference, fields: Mapping[str, Value], point: Point) -> tuple[Array, ...]:
    entered = [
        array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        for array in (point.feeds[tensor.name] for tensor in manifest.inputs)
    ]
    return reference(entered, fields)


def _differs(answers: Sequence[tuple[Array, ...]], usual: Sequence[tuple[Array, ...]]) -> bool:
    return any(
        one.shape != other.shape or bool(np.any(np.abs(one - other) > VISIBLE * np.maximum(1.0, np.abs(other))))
        for mine, its in zip(answers, usual, strict=True)
        for one, other in zip(mine, its, strict=True)
    )


def _tame(answers: Sequence[tuple[Array, ...]], usual: Sequence[tuple[Array, ...]]) -> bool:
    """Whether no output becomes much larger than it was, nor infinite."""
    with np.errstate(invalid="ignore"):
        return all(
            bool(np.all(np.abs(one) <= max(_LIMIT, float(np.max(np.abs(other), initial=0.0)))))
            for mine, its in zip(answers, usual, strict=True)
            for one, other in zip(mine, its, strict=True)
        )
