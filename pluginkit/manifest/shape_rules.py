"""Rules on shapes and profiles: symbols, fields in outputs' shapes, and what the shapes are at a profile's points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pluginkit import bases, shapes
from pluginkit.errors import UsageError
from pluginkit.field_types import shown
from pluginkit.manifest import field_rules
from pluginkit.manifest.fields import Attribute
from pluginkit.manifest.mistakes import unknown
from pluginkit.manifest.signature import ManifestModel, Point, Profile, Tensor

Value = int | tuple[int, ...]
_POINTS: tuple[Point, ...] = ("min", "opt", "max")
_EVERY = 64
"""A field's range of so many values, or lengths, is tried whole, a wider one at its ends; values at 0 too."""
_LONGEST = 4096
"""The longest list that is tried where its field allows more."""


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
        for key, bound in (("upper", tensor.upper), ("opt", tensor.opt)):
            expr = _parse(bound) if bound is not None else None
            if expr is not None and not set(shapes.symbols(expr)) & {one.name for one in manifest.size_tensors()}:
                found += [f"{tensor.name}.{key}: {problem}" for problem in dimension_problems(manifest, str(bound))]
        for dim in tensor.shape:
            found += [f"{tensor.name}.shape: {problem}" for problem in dimension_problems(manifest, dim)]
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


def dimension_problems(manifest: ManifestModel, dim: str) -> list[str]:
    """What is wrong with an expression, a dimension of an output or the workspace, by itself."""
    expr = _parse(dim)
    if expr is None:
        return [f"'{dim}' is not a dimension"]
    symbols, fields = manifest.symbols(), {field.name: field for field in manifest.fields}
    known = (*symbols, *(tensor.name for tensor in manifest.size_tensors()))
    integers = [name for name, field in fields.items() if field.is_integer]
    found = [problem for element in shapes.elements(expr) if (problem := _element(manifest, element, dim))]
    found += [problem for name in sorted(shapes.lengths(expr)) if (problem := _length(manifest, name, dim))]
    indexed = {element.name for element in shapes.elements(expr)} | shapes.lengths(expr)
    for name in shapes.symbols(expr):
        if name in known or name in integers or (found and name in indexed):
            continue
        if name in shapes.lengths(expr) and name not in shapes.plain_symbols(expr):
            continue
        if name in fields and fields[name].is_list and fields[name].type.is_integer:
            if name not in shapes.plain_symbols(expr):
                continue
            found.append(f"'{dim}' has the list '{name}' as a number: write one of its elements, as {name}[0]")
        elif name in fields:
            kind = fields[name].written()
            found.append(f"'{dim}' depends on the field '{name}', which is {kind}: only integer fields make a size")
        else:
            sources = "a size follows from the inputs' dimensions and from fields of whole numbers alone"
            found.append(f"{unknown('symbol', name, [*known, *integers])} ({sources})")
    for condition in shapes.conditions(expr):
        found += [
            f"'{dim}' has a condition on the symbol '{name}': only fields may choose: TensorRT's IExprBuilder has "
            "no conditions"
            for name in shapes.symbols(condition)
            if name in known
        ]
    return found


def _element(manifest: ManifestModel, element: shapes.Element, dim: str) -> str:
    """What is wrong with an element in a dimension: every value of the list must have it."""
    name, fields = element.name, {field.name: field for field in manifest.fields}
    if name in manifest.symbols():
        return f"'{dim}' has an element of the dimension '{name}': only lists have elements, fields with a length"
    if name not in fields:
        return unknown("field", name, [one.name for one in manifest.fields if one.is_list])
    field = fields[name]
    if not field.is_list or not field.type.is_integer:
        return (
            f"'{dim}' has an element of the field '{name}', which is {field.written()}: only lists of integers have any"
        )
    if field.symbol:
        return f"'{dim}' has an element of '{name}', whose length is a dimension: write a number as its length"
    if element.index >= field.bounds[0]:
        return (
            f"'{dim}' has {shapes.render(element)}, and '{name}' may have {field.bounds[0]} elements: "
            f"write a length of at least {element.index + 1}"
        )
    return ""


def _length(manifest: ManifestModel, name: str, dim: str) -> str:
    """What is wrong with the length of a list in a dimension."""
    field = next((one for one in manifest.fields if one.name == name), None)
    if name in manifest.symbols():
        return f"'{dim}' has the length of the dimension '{name}': only lists have one, fields with a length"
    if field is None:
        return unknown("field", name, [one.name for one in manifest.fields if one.is_list])
    if not field.is_list:
        return f"'{dim}' has the length of the field '{name}', which is {field.written()}: only lists have one"
    if field.symbol:
        return f"'{dim}' has len({name}), which is {field.symbol}: write {field.symbol}"
    return ""


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
        pairs = (f"{name} = {shown(value)}" for name, value in values.items())
        fields_shown = f" with {', '.join(pairs)}" if values else ""
        for tensor in manifest.outputs:
            for point in _POINTS:
                problem = _at(manifest, tensor, values, profile.at(point))
                if problem:
                    return [f"{tensor.name}.shape in {where} at {point}{fields_shown}{problem}"]
    return found


def _at(manifest: ManifestModel, tensor: Tensor, values: dict[str, Value], symbols: dict[str, int]) -> str:
    """What is wrong with an output's shape at the fields' and symbols' values; empty if nothing."""
    try:
        env = {**manifest.shape_values(values), **symbols}
        dims = tensor.dims({**manifest.upper_bounds(env), **env})
    except UsageError as error:
        return f": {error.message}"
    if any(dim < 0 for dim in dims):
        return f" is {list(dims)}: a dimension cannot be negative, and in TensorRT's Dims -1 means one that isn't known"
    return ""


def _field_values(manifest: ManifestModel) -> Iterator[dict[str, Value]]:
    """The defaults; then what the manifest declares of each field that a shape depends on, the others as by default.

    Of a list each element by itself, and all of them at once.
    """
    yield {}
    yield from declared_values(manifest, manifest.shape_fields())


def declared_values(manifest: ManifestModel, fields: Sequence[Attribute]) -> Iterator[dict[str, Value]]:
    """What the manifest declares of each of these fields, one at a time."""
    usual = manifest.field_values(fields, {})
    for field in fields:
        if isinstance(elements := usual[field.name], tuple):
            for length in _lengths(field):
                yield {field.name: _of_length(elements, length)}
        for value in _declared(field):
            elements = usual[field.name]
            if not isinstance(elements, tuple):
                yield {field.name: value}
                continue
            for index in range(len(elements)):
                yield {field.name: (*elements[:index], value, *elements[index + 1 :])}
            yield {field.name: (value,) * len(elements)}


def _lengths(field: Attribute) -> list[int]:
    least, most = field.bounds
    if most - least < _EVERY:
        return list(range(least, most + 1))
    return [least, min(most, _LONGEST)]


def _of_length(elements: tuple[int, ...], length: int) -> tuple[int, ...]:
    """As many of the elements, the last one repeated."""
    return (*elements, *((elements or (1,))[-1:] * length))[:length]


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
