"""What a manifest's fields mean in C++: members, how they are read, kept and checked, and what the kernel gets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pluginkit.errors import UsageError
from pluginkit.field_types import FieldType, Number
from pluginkit.manifest import Attribute, Manifest
from pluginkit.manifest.fields import MAX_ELEMENTS
from pluginkit.scaffold.fields.options import quote

CPP_TYPES = {
    FieldType.FLOAT32: "float",
    # Half precision is a matter of tensors: a float holds each of its numbers.
    FieldType.FLOAT16: "float",
    FieldType.BFLOAT16: "float",
    FieldType.FLOAT64: "double",
    FieldType.INT8: "int8_t",
    FieldType.INT16: "int16_t",
    FieldType.INT32: "int32_t",
    FieldType.INT64: "int64_t",
    FieldType.STRING: "std::string",
}


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
        "vectors": any(field.is_list and not _is_array(field) for field in wide),
        "arrays": any(_is_array(field) for field in wide),
        "numbers": [_number(field) for field in manifest.fields if not (field.is_list and field.name in scales)],
        "limits": any("numeric_limits" in text for text in (*checks, *(_literal(f) for f in manifest.fields))),
        "counted": counted,
        # Where the batch stands beside the dimensions, its number isn't known before enqueue.
        "counted_at": [one for one in counted if one["symbol"] != manifest.batch()],
        **_kernel(manifest),
    }


def stored(manifest: Manifest) -> tuple[list[str], list[str]]:
    """The C++ types that take a fixed number of bytes when they are serialized, and the members that don't."""
    fixed = [_member_type(field) for field in manifest.fields if field.is_number or _is_array(field)]
    return fixed, [field.name for field in manifest.fields if not (field.is_number or _is_array(field))]


def _is_array(field: Attribute) -> bool:
    return field.is_list and isinstance(field.length, int)


def _member_type(field: Attribute) -> str:
    element = CPP_TYPES[field.type]
    if not field.is_list:
        return element
    return f"std::array<{element}, {field.length}>" if _is_array(field) else f"std::vector<{element}>"


def _field(field: Attribute) -> dict[str, Any]:
    least, most = field.bounds
    open_ended = field.type.is_text or (field.is_list and not _is_array(field))
    # Types of a width that C++ hasn't are kept as what the member is.
    kept = FieldType.FLOAT32 if CPP_TYPES[field.type] == "float" else field.type
    return {
        "name": field.name,
        "cpp": _member_type(field),
        "trt": field.type.trt,
        "literal": _literal(field),
        "reader": "required" if field.default is None else "optional",
        "length": 0 if open_ended else least,
        "bounds": f", pluginkit::Length{{{least}, {_most(most)}}}" if open_ended else "",
        "stored_bounds": f", {least}, {_most(most)}" if open_ended else "",
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


def _most(most: int) -> str:
    return "INT32_MAX" if most == MAX_ELEMENTS else str(most)


def _shown(field: Attribute) -> str:
    value = field.default
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value) if field.is_number else quote(str(value)).replace("|", "\\|")


def _literal(field: Attribute) -> str:
    default = field.default
    if isinstance(default, str):
        return quote(default)
    if not all(math.isfinite(one) for one in (default if isinstance(default, tuple) else (default or 0,))):
        raise UsageError(
            f"The field '{field.name}' has the default {_shown(field)}, and generated code reads finite numbers alone.",
            hint="Write the largest number that the layer needs, as default = 3.4e38, or no default.",
        )
    if isinstance(default, tuple):
        return ", ".join(number(field.type, value) for value in default)
    if default is None:
        return number(field.type, 0) if field.is_number else ""
    return number(field.type, default)


def number(kind: FieldType, value: Number) -> str:
    """A number as C++ has it."""
    if kind.is_integer:
        if kind is FieldType.INT64 and value == kind.ends[0]:
            return "std::numeric_limits<int64_t>::min()"  # C++ reads a minus and a number that is too large
        return str(int(value))
    if CPP_TYPES[kind] == "float" and kind is not FieldType.FLOAT32:
        value = kind.exact(value)
    return f"{float(value)!r}{'F' if CPP_TYPES[kind] == 'float' else ''}"


def _checks(field: Attribute, is_scale: bool) -> list[str]:
    """What makes a field's value useless: expressions that are true then."""
    member = f"parameters.{field.name}"
    if not field.is_list:
        return _wrong(field, member, is_scale=is_scale)
    wrong = [*_wrong(field, "one", is_scale=False), *(["one <= 0.0F"] if is_scale else [])]
    if not wrong:
        return []
    element = CPP_TYPES[field.type]
    return [
        f"std::any_of({member}.begin(), {member}.end(), []({element} one) {{ return {' || '.join(wrong)}; }})",
    ]


def _wrong(field: Attribute, value: str, *, is_scale: bool) -> list[str]:
    kind = field.type
    found = [] if kind.is_integer or kind.is_text else [f"!std::isfinite({value})"]
    low = 0.0 if is_scale and field.min is None else field.min
    if low is not None and kind.holds(low) and low > kind.ends[0]:
        found.append(f"{value} < {number(kind, min(low, kind.exact(low)) if kind is FieldType.FLOAT64 else low)}")
    high = field.max
    if high is not None and kind.holds(high) and high < kind.ends[1]:
        found.append(f"{value} > {number(kind, max(high, kind.exact(high)) if kind is FieldType.FLOAT64 else high)}")
    if field.choices:
        found.append("(" + " && ".join(f"{value} != {one}" for one in _choices(field)) + ")")
    return found


def _choices(field: Attribute) -> list[str]:
    """The literals of what may be chosen; of a double also the nearest float, as which an ONNX attribute brings it."""
    kind = field.type
    if kind.is_text:
        return [quote(str(one)) for one in field.choices]
    chosen = [one for one in field.choices if not isinstance(one, str)]
    more = [kind.exact(one) for one in chosen] if kind is FieldType.FLOAT64 else []
    return [number(kind, one) for one in dict.fromkeys([*chosen, *more])]


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
