"""Rules on the fields of a manifest: each sentence says what is wrong, with the place."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pluginkit.field_types import Value, shown
from pluginkit.manifest.fields import MAX_ELEMENTS, Attribute
from pluginkit.manifest.mistakes import unknown
from pluginkit.manifest.open_ranks import REST
from pluginkit.manifest.signature import PARSER_ATTRIBUTES, ManifestModel

LENGTH = "TensorRT's PluginField::length is an int32_t (NvInferPluginBase.h)"
FIXED = "a field is fixed when the network is built"


def problems(manifest: ManifestModel) -> list[str]:
    """What the fields say that can't be."""
    found = [
        f"a field cannot be called '{field.name}': NVIDIA's ONNX parser has an attribute of that name"
        for field in manifest.fields
        if field.name in PARSER_ATTRIBUTES
    ]
    for field in manifest.fields:
        found += [f"the field '{field.name}' {problem}"] if (problem := field_problem(field)) else []
    return found


def field_problem(field: Attribute) -> str:
    """What is wrong with a field by itself, as the end of a sentence that begins with its name; or nothing."""
    # One sentence: the next ones would often follow from it.
    return next((problem for part in (_lengths, _limits, _defaults) for problem in part(field)), "")


def symbol_problems(manifest: ManifestModel) -> list[str]:
    """What is wrong with lengths that are dimensions; for a manifest whose shapes and profiles are right."""
    found = []
    known = list(manifest.symbols())
    for field in manifest.fields:
        if field.symbol is None:
            continue
        where = f"the field '{field.name}'"
        if field.symbol not in known:
            found.append(f"{where} has a length that is not a dimension: {unknown('symbol', field.symbol, known)}")
            continue
        sizes = {size for profile in manifest.profiles for size in profile.symbols[field.symbol]}
        if len(sizes) > 1:
            found.append(
                f"{where} has {field.symbol} elements, and {FIXED}: {field.symbol} must be one number three times, and "
                "the same in all profiles"
            )
        elif sizes == {0}:
            found.append(f"{where} has {field.symbol} elements, and {field.symbol} is 0: give it one at least")
    return found


def rank_problems(manifest: ManifestModel) -> list[str]:
    """What is wrong with lengths that are dimensions in a signature of any rank: generated code finds none there."""
    tensors = (*manifest.inputs, *manifest.outputs)
    open_rank = next((tensor.name for tensor in tensors if REST in manifest.written(tensor)), "")
    return [
        f"the field '{field.name}' has {field.symbol} elements, and {open_rank} is of any rank: write [least, most]"
        for field in manifest.fields
        if open_rank and field.symbol
    ]


def _lengths(field: Attribute) -> Iterator[str]:
    length = field.length
    if field.type.is_text and length is not None and not isinstance(length, tuple):
        yield f"is a string, and its length is {shown(length)}: write [least, most] in bytes"
    elif isinstance(length, str) and not length.isidentifier():
        yield f"has the length '{length}': write a number, a dimension's symbol, or [least, most]"
    elif isinstance(length, int) and not 1 <= length <= MAX_ELEMENTS:
        yield f"has the length {length}: from 1 to {MAX_ELEMENTS} ({LENGTH}); leave it out for one number"
    elif isinstance(length, tuple) and not 0 <= length[0] <= length[1]:
        yield f"has the length {list(length)}: must rise, 0 <= least <= most"
    elif isinstance(length, tuple) and not 1 <= length[1] <= MAX_ELEMENTS:
        yield f"has the length {list(length)}: the most must be from 1 to {MAX_ELEMENTS} ({LENGTH})"


def _limits(field: Attribute) -> Iterator[str]:
    low, high = field.min, field.max
    if field.choices and (low is not None or high is not None):
        yield "has choices, and min or max besides: say one of the two"
    if field.type.is_text and (low is not None or high is not None):
        yield "is a string, which has no min or max: write choices"
    said = {"min": low, "max": high, **{f"choices {number}": value for number, value in enumerate(field.choices, 1)}}
    for key, value in said.items():
        if value is not None:
            yield from _element(field, key, value)
    if low is not None and high is not None and low > high:
        yield f"has a min above its max ({low} above {high})"


def _element(field: Attribute, key: str, value: float | str) -> Iterator[str]:
    """What is wrong with a number or a text as a value of the field, or an element of one."""
    kind = field.type
    if kind.is_text:
        if not isinstance(value, str):
            yield f"is a string, and {key} is none ({shown(value)})"
        elif "\0" in value:
            yield f"has a zero byte in {key}, which ends a string"
        elif not field.bounds[0] <= len(value.encode()) <= field.bounds[1]:
            yield f"has a string of {len(value.encode())} bytes in {key}: {field.bounds[0]} to {field.bounds[1]} fit"
    elif isinstance(value, str):
        yield f"is {kind.value}, and {key} is not a number ({shown(value)})"
    elif kind.is_integer and isinstance(value, float):
        yield f"is {kind.value}, and {key} is not a whole number ({value})"
    elif key not in ("min", "max") and math.isfinite(value) and not kind.holds(value):
        yield f"is {kind.value}, and {key} is out of its range ({value})"


def value_problem(field: Attribute, value: Value, what: str = "the value") -> str:
    """What is wrong with a value of the field, as the end of a sentence that begins with its name; or nothing."""
    return next(_value(field, value, what), "")


def _defaults(field: Attribute) -> Iterator[str]:
    if field.default is not None and field.symbol:
        yield (
            f"has {field.symbol} elements, so a default has no length: leave it out, and give the field in each network"
        )
    elif field.default is not None:
        yield from _value(field, field.default, "the default")


def _value(field: Attribute, value: Value, what: str) -> Iterator[str]:
    a = what.replace("the ", "a ")
    if field.is_list != isinstance(value, tuple):
        expected = "a list of numbers" if field.is_list else "a string" if field.type.is_text else "a number"
        yield f"is {field.written()}, so {what} must be {expected} (got {shown(value)})"
        return
    if isinstance(value, tuple) and not field.bounds[0] <= len(value) <= field.bounds[1]:
        least, most = field.bounds
        fit = str(least) if least == most else f"{least} to {most}"
        yield f"has {a} of {len(value)} elements; its length is {fit}"
    for one in value if isinstance(value, tuple) else (value,):
        yield from _element(field, what, one)
        if _outside(field, one):
            yield f"has {a} outside of min and max ({one})"
        elif field.choices and one not in field.choices:
            yield f"has {a} that is not one of its choices ({one})"


def _outside(field: Attribute, value: Value) -> bool:
    if not isinstance(value, (int, float)):
        return False
    return (field.min is not None and value < field.min) or (field.max is not None and value > field.max)
