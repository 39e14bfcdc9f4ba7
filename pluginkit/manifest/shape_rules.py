"""Rules on shapes and profiles: symbols, fields in outputs' shapes, and what the shapes are at a profile's points."""

from __future__ import annotations

from collections.abc import Iterator

from pluginkit import bases, shapes
from pluginkit.errors import UsageError
from pluginkit.manifest import field_rules
from pluginkit.manifest.fields import Attribute
from pluginkit.manifest.mistakes import unknown
from pluginkit.manifest.signature import ManifestModel, Point, Profile, Tensor

_POINTS: tuple[Point, ...] = ("min", "opt", "max")
_EVERY = 64
"""A field's range of so many values is tried whole, a wider one at its ends and at 0."""


def problems(manifest: ManifestModel) -> list[str]:
    """What the manifest says of shapes that can't be."""
    found = []
    for tensor in manifest.inputs:
        for dim in tensor.shape:
            expr = _parse(dim)
            if not isinstance(expr, (shapes.Constant, shapes.Symbol)):
                found.append(
                    f"{tensor.name}.shape: '{dim}' must be a symbol or a whole number (it is an input's dimension)"
                )
    if found:
        return found
    for tensor in manifest.outputs:
        for dim in tensor.shape:
            found += [f"{tensor.name}.shape: {problem}" for problem in _dimension(manifest, dim)]
            if isinstance(expr := _parse(dim), shapes.Choice) and expr.otherwise is None and len(tensor.formats) > 1:
                found.append(
                    f"{tensor.name}.formats: a tensor is linear if a field can take a dimension away ('{dim}')"
                )
    return found or _profiles(manifest)


def _profiles(manifest: ManifestModel) -> list[str]:
    known = list(manifest.symbols())
    found = [problem for profile in manifest.profiles for problem in _profile_problems(manifest, profile, known)]
    if found:
        return found
    found += field_rules.symbol_problems(manifest)
    names = [profile.name for profile in manifest.profiles]
    return found + [f"two profiles are called '{name}'" for name in dict.fromkeys(names) if names.count(name) > 1]


def _dimension(manifest: ManifestModel, dim: str) -> list[str]:
    """What is wrong with a dimension of an output by itself."""
    expr = _parse(dim)
    if expr is None:
        return [f"'{dim}' is not a dimension"]
    known, fields = manifest.symbols(), {field.name: field for field in manifest.fields}
    integers = [name for name, field in fields.items() if field.is_integer]
    found = []
    for name in shapes.symbols(expr):
        if name in known or name in integers:
            continue
        if name in fields:
            kind = fields[name].written()
            found.append(f"'{dim}' depends on the field '{name}', which is {kind}: only integer fields make a size")
        else:
            found.append(unknown("symbol", name, [*known, *integers]))
    for condition in shapes.conditions(expr):
        found += [
            f"'{dim}' has a condition on the symbol '{name}': only fields may choose: TensorRT's IExprBuilder has "
            "no conditions"
            for name in shapes.symbols(condition)
            if name in known
        ]
    return found


def _profile_problems(manifest: ManifestModel, profile: Profile, known: list[str]) -> list[str]:
    where = f"profile '{profile.name}'"
    found = [f"{where}: no [min, opt, max] for the symbol '{s}'" for s in known if s not in profile.symbols]
    found += [f"{where}: {unknown('symbol', s, known)}" for s in profile.symbols if s not in known]
    found += [
        f"{where}: {name} = {list(values)} must rise: 0 <= min <= opt <= max"
        for name, values in profile.symbols.items()
        if not 0 <= values[0] <= values[1] <= values[2]
    ]
    base = bases.BASES[manifest.plugin.base]
    found += [
        f"{where}: {name} = {list(values)} must be one number three times: an {base.interface} has static shapes, so a "
        "profile is one shape; write another profile for another"
        for name, values in profile.symbols.items()
        if not base.dynamic_shapes and len(set(values)) > 1
    ]
    if found:
        return found
    for values in _field_values(manifest):
        fields_shown = f" with {', '.join(f'{name} = {value}' for name, value in values.items())}" if values else ""
        for tensor in manifest.outputs:
            for point in _POINTS:
                problem = _at(manifest, tensor, values, profile.at(point))
                if problem:
                    return [f"{tensor.name}.shape at {where}'s {point}{fields_shown}{problem}"]
    return found


def _at(manifest: ManifestModel, tensor: Tensor, values: dict[str, int], symbols: dict[str, int]) -> str:
    """What is wrong with an output's shape at the fields' and symbols' values; empty if nothing."""
    try:
        dims = tensor.dims({**manifest.shape_values(values), **symbols})
    except UsageError as error:
        return f": {error.message}"
    if any(dim < 0 for dim in dims):
        return f" is {list(dims)}: a dimension cannot be negative"
    return ""


def _field_values(manifest: ManifestModel) -> Iterator[dict[str, int]]:
    """The defaults; then what the manifest declares of each field that a shape depends on, the others as by default."""
    yield {}
    for field in manifest.shape_fields():
        yield from ({field.name: value} for value in _declared(field))


def _declared(field: Attribute) -> list[int]:
    if field.choices:
        return [int(value) for value in field.choices]
    low, high = (None if end is None else int(end) for end in (field.min, field.max))
    if low is not None and high is not None and high - low < _EVERY:
        return list(range(low, high + 1))
    inside = (low is not None or high is not None) and (low is None or low <= 0) and (high is None or high >= 0)
    return [*(end for end in (low, high) if end is not None), *([0] if inside else [])]


def _parse(dim: str) -> shapes.Expr | None:
    try:
        return shapes.parse(dim)
    except UsageError:
        return None
