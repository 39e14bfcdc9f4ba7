"""What a manifest's fields mean in C++: members, how they are read, kept and checked, and what the kernel gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pluginkit.build.signature.fields import CPP_TYPES, is_array, literal, member_type, most, quote, wrong
from pluginkit.field_types import FieldType
from pluginkit.manifest import Attribute, Manifest


def snippets(manifest: Manifest) -> dict[str, Any]:
    """The template's variables on fields."""
    scales = manifest.scale_fields()
    wide = [field for field in manifest.fields if not field.is_number]
    checks = [check for field in manifest.fields for check in _checks(field, field.name in scales)]
    counted = [_counted(manifest, field) for field in wide if field.symbol]
    return {
        "fields": [_field(field) for field in manifest.fields],
        "checks": checks,
        # A kernel's arguments are copied bytes: with lists or texts it gets numbers made of them.
        "wide": bool(wide),
        "texts": any(field.type.is_text for field in wide),
        "lists": any(field.is_list and field.name not in scales for field in wide),
        "vectors": any(field.is_list and not is_array(field) for field in wide),
        "arrays": any(is_array(field) for field in wide),
        "numbers": [_number(field) for field in manifest.fields if not (field.is_list and field.name in scales)],
        "limits": any("numeric_limits" in text for text in (*checks, *(literal(f) for f in manifest.fields))),
        "counted": counted,
        # Where the batch stands beside the dimensions, its number isn't known before enqueue.
        "counted_at": [one for one in counted if one["symbol"] != manifest.batch()],
        **_kernel(manifest),
    }


def stored(manifest: Manifest) -> tuple[list[str], list[str]]:
    """The C++ types that take a fixed number of bytes when they are serialized, and the members that don't."""
    fixed = [member_type(field) for field in manifest.fields if field.is_number or is_array(field)]
    return fixed, [field.name for field in manifest.fields if not (field.is_number or is_array(field))]


def _field(field: Attribute) -> dict[str, Any]:
    least, upper = field.bounds
    open_ended = field.type.is_text or (field.is_list and not is_array(field))
    # Types of a width that C++ hasn't are kept as what the member is.
    kept = FieldType.FLOAT32 if CPP_TYPES[field.type] == "float" else field.type
    return {
        "name": field.name,
        "cpp": member_type(field),
        "trt": field.type.trt,
        "literal": literal(field),
        "reader": "required" if field.default is None else "optional",
        "length": 0 if open_ended else least,
        "bounds": f", pluginkit::Length{{{least}, {most(upper)}}}" if open_ended else "",
        "stored_bounds": f", {least}, {most(upper)}" if open_ended else "",
        "also": f", PluginFieldType::{field.type.trt}" if field.type is not kept else "",
        "kept_trt": kept.trt,
        "kept_data": f"mParameters.{field.name}.data()" if not field.is_number else f"&mParameters.{field.name}",
        "kept_length": f"static_cast<int32_t>(mParameters.{field.name}.size())" if open_ended else least,
        "type": field.written(),
        "allowed": _allowed(field),
        "default": "must be given" if field.default is None else f"`{_shown(field)}`",
    }


def _allowed(field: Attribute) -> str:
    """What README says of the values that a field may have, behind its type."""
    if field.choices:
        shown = [quote(one).replace("|", "\\|") if isinstance(one, str) else str(one) for one in field.choices]
        return ": " + ", ".join(f"`{one}`" for one in shown)
    ends = [f"at least {field.min}"] * (field.min is not None) + [f"at most {field.max}"] * (field.max is not None)
    return ", " + ", ".join(ends) if ends else ""


def _shown(field: Attribute) -> str:
    value = field.default
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value) if field.is_number else quote(str(value)).replace("|", "\\|")


def _checks(field: Attribute, is_scale: bool) -> list[str]:
    """What makes a field's value useless: expressions that are true then."""
    member = f"parameters.{field.name}"
    if not field.is_list:
        return wrong(field, member, is_scale=is_scale)
    found = [*wrong(field, "one", is_scale=False), *(["one <= 0.0F"] if is_scale else [])]
    if not found:
        return []
    element = CPP_TYPES[field.type]
    return [
        f"std::any_of({member}.begin(), {member}.end(), []({element} one) {{ return {' || '.join(found)}; }})",
    ]


def _number(field: Attribute) -> dict[str, str]:
    """A member of what the kernel gets: a number as it is, else one that stands for the list or the text."""
    if field.is_number:
        return {"name": field.name, "cpp": CPP_TYPES[field.type], "value": f"parameters.{field.name}", "says": ""}
    says = "the sum of its bytes, in 1024ths" if field.type.is_text else "the sum of its elements"
    summed = "sumOfBytes" if field.type.is_text else "sumOf"
    return {"name": field.name, "cpp": "float", "value": f"{summed}(parameters.{field.name})", "says": says}


def _counted(manifest: Manifest, field: Attribute) -> dict[str, Any]:
    place = next(
        (index, axis)
        for index, tensor in enumerate(manifest.execution_inputs())
        for axis, dim in enumerate(tensor.shape)
        if dim == field.symbol
    )
    return {"name": field.name, "symbol": field.symbol, "input": place[0], "axis": place[1]}


def split(fields: Sequence[Attribute]) -> tuple[Attribute | None, list[Attribute]]:
    """The field that negative sums are multiplied by (the first number), and those that are added."""
    slope = next((field for field in fields if field.is_number), None)
    return slope, [field for field in fields if field is not slope]


def _kernel(manifest: Manifest) -> dict[str, Any]:
    slope, biases = split(manifest.plain_fields())
    return {
        "slope": "0.25F" if slope is None else _as_float(slope),
        "biases": [field.name for field in biases],
    }


def _as_float(field: Attribute) -> str:
    member = f"args.parameters.{field.name}"
    return member if CPP_TYPES[field.type] == "float" else f"static_cast<float>({member})"
