"""Other values of fields than the usual ones: a field that is lost on its way to enqueue shows by them alone.

What the manifest declares (`min`, `max`, `choices`) the reference and the plugin must take. Where it declares nothing,
values near the default are tried: one that the reference refuses, or that changes an output's shape, is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, UsageError
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
    fields: Mapping[str, float | int],
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
            if len(mine) == (MOST if declared(field) or field.dtype is DType.FLOAT32 else 1):
                break
            one = FieldValues(field.name, value, fields[field.name], field.dtype, declared(field))
            if shapeless := _no_shape(manifest, {**fields, field.name: value}, fields):
                why = f"{shapeless} with other values, as {value:g}"
                continue
            try:
                answers = [_outputs(manifest, reference, {**fields, field.name: value}, point) for point in points]
            except CheckFailed as refusal:
                if one.declared:
                    message = f"{refusal.message}\nThat is with {field.name} = {value:g}, which pluginkit.toml allows."
                    raise CheckFailed(message, hint=f"Narrow the field's min, max or choices: {refusal.hint}") from None
                why = f"the reference raises, or gives another shape, with other values, as {value:g}"
                continue
            if not one.declared and not _tame(answers, usual):
                why = f"outputs are too large with other values, as {value:g}"
                continue
            (mine if _differs(answers, usual) else unseen).append(replace(one, number=len(mine) + 1))
        found += mine or unseen[:1]
        if not mine:
            kept[field.name] = "outputs do not depend on it" if unseen else why
    return Varied(tuple(found), kept)


def _no_shape(manifest: Manifest, fields: Mapping[str, float | int], usual: Mapping[str, float | int]) -> str:
    """Why the outputs can't be tried in the shapes that other values give them; empty if they can."""
    try:
        shaped, wonted = manifest.with_fields(fields), manifest.with_fields(usual)
    except UsageError:
        return "outputs have no shape"
    for profile in manifest.profiles:
        points = [profile.at("min"), profile.at("opt"), profile.at("max")]
        if not all(map(shaped.possible, points)):
            return "outputs have no shape"
        if any(_elements(shaped, env) > _GROWTH * max(_SMALL, _elements(wonted, env)) for env in points):
            return "outputs have too many elements"
    return ""


def _elements(manifest: Manifest, env: Mapping[str, int]) -> int:
    return sum(math.prod(dims) for dims in manifest.output_shapes(env).values())


def declared(field: Attribute) -> bool:
    """Whether the manifest declares which values there are."""
    return bool(field.choices) or field.min is not None or field.max is not None


def _candidates(field: Attribute, usual: float, rng: np.random.Generator) -> Iterator[float]:
    """Values to try, the best first, in the field's precision."""
    for value in _declared(field, usual, rng) if declared(field) else _near(field, usual, rng):
        # The neighbours of a type's ends are no values of it.
        if field.dtype is DType.FLOAT32 and abs(value) <= float(np.finfo(np.float32).max):
            exact: float = float(np.float32(value))
        elif field.dtype is DType.INT32 and -(2**31) <= value < 2**31:
            exact = int(value)
        else:
            continue
        if exact != usual:
            yield exact


def _declared(field: Attribute, usual: float, rng: np.random.Generator) -> Iterator[float]:
    if field.choices:
        yield from field.choices
        return
    # Without one of the ends: as far beyond the usual value as the other end is from it, or by one.
    reach = max(1.0, abs(usual), *(abs(usual - end) for end in (field.min, field.max) if end is not None))
    low = field.min if field.min is not None else usual - reach
    high = field.max if field.max is not None else usual + reach
    if field.dtype is DType.FLOAT32:
        yield float(rng.uniform(low, high))
    yield from (high, low)
    yield from (low + (high - low) * part for part in rng.uniform(size=MOST))


def _near(field: Attribute, usual: float, rng: np.random.Generator) -> Iterator[float]:
    if field.dtype is DType.INT32:
        yield from (usual + 1, usual + 2, usual - 1) if usual >= 0 else (usual - 1, usual + 1)
        return
    for low, high in ((1.25, 1.75), (0.25, 0.75), (20.0, 60.0), (0.01, 0.05)):
        # A default of 0 has no neighbours by multiplying.
        yield float(rng.uniform(low, high)) * (usual or 0.5)


def _outputs(
    manifest: Manifest, reference: Reference, fields: Mapping[str, float | int], point: Point
) -> tuple[Array, ...]:
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
