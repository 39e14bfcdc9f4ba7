"""Other values of fields than the usual ones: a field that is lost on its way to enqueue shows by them alone.

What the manifest declares (`min`, `max`, `choices`) the reference and the plugin must take. Where it declares nothing,
values near the default are tried: one that the reference refuses, or that changes an output's shape, is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.field_types import Number, Value, is_carried, shown
from pluginkit.manifest import Attribute, Manifest
from pluginkit.network.model import Array, FieldValues
from pluginkit.testing.points import Point, generator
from pluginkit.testing.reference import Reference

MOST = 2
"""So many values of a field are tried, each in a network of its own."""
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
            if len(mine) == (1 if field.type.is_integer and not field.declares_values and field.is_number else MOST):
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
    return Varied(tuple(found), kept)


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
        # The neighbours of a type's ends are no values of it.
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
    yield from (high, low)
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
