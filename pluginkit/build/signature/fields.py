"""A manifest's fields in C++: members of `Fields`, what creators know of them, and which values make no layer."""

from __future__ import annotations

import json
import math

from pluginkit.build.signature import expressions
from pluginkit.errors import UsageError
from pluginkit.field_types import FieldType, Number
from pluginkit.manifest import Attribute, Manifest
from pluginkit.manifest.fields import MAX_ELEMENTS

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


def quote(text: str) -> str:
    """A string as TOML and C++ both write it (printable text: only the quote and the backslash are special)."""
    return json.dumps(text, ensure_ascii=False)


def is_array(field: Attribute) -> bool:
    """Whether it is a list of a length that never changes."""
    return field.is_list and isinstance(field.length, int)


def member_type(field: Attribute) -> str:
    """The C++ type of the member that holds a field's value."""
    element = CPP_TYPES[field.type]
    if not field.is_list:
        return element
    return f"std::array<{element}, {field.length}>" if is_array(field) else f"std::vector<{element}>"


def most(elements: int) -> str:
    """A length's upper bound."""
    return "INT32_MAX" if elements == MAX_ELEMENTS else str(elements)


def shown(field: Attribute) -> str:
    """A field's default, for the user."""
    value = field.default
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value) if field.is_number else quote(str(value))


def literal(field: Attribute) -> str:
    """The initializer of the member that holds a field's value.

    Raises:
        UsageError: the default is not finite.
    """
    default = field.default
    if isinstance(default, str):
        return quote(default)
    if not all(math.isfinite(one) for one in (default if isinstance(default, tuple) else (default or 0,))):
        raise UsageError(
            f"The field '{field.name}' has the default {shown(field)}, and generated code reads finite numbers alone.",
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


def wrong(field: Attribute, value: str, *, is_scale: bool) -> list[str]:
    """What makes a number or a text useless as a field's value, or as an element of it: what is true then."""
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


def member(field: Attribute) -> str:
    """The member of `Fields`, with its default."""
    says = f" //!< {field.description}" if field.description and "\n" not in field.description else ""
    return f"{member_type(field)} {field.name}{{{literal(field)}}};{says}"


def described(field: Attribute) -> str:
    """A `pluginkit::Field`: what creators know of it."""
    least, upper = field.bounds
    open_ended = field.type.is_text or (field.is_list and not is_array(field))
    facts = [
        quote(field.name),
        f"&Fields::{field.name}",
        f"{field.type.code}",
        f"{0 if open_ended else least}",
        f"{least}",
        most(upper),
        "true" if field.default is None else "false",
        quote(_what(field)),
    ]
    return f"pluginkit::field({', '.join(facts)})"


def _what(field: Attribute) -> str:
    least, upper = field.bounds
    kind = field.type.value.upper()
    if field.type.is_text:
        return f"a text of {least} to {upper} bytes"
    if not field.is_list:
        return f"one finite {kind} number" if not field.type.is_integer else f"one {kind} number"
    if least == upper:
        return f"a list of {least} {kind} numbers"
    return (
        f"a list of {kind} numbers, {f'at least {least}' if upper == MAX_ELEMENTS else f'{least} to {upper}'} of them"
    )


def problems(manifest: Manifest) -> list[str]:
    """The statements that return what is wrong with fields' values."""
    scales = manifest.scale_fields()
    lines = []
    for field in manifest.fields:
        is_scale = field.name in scales
        value = "one" if field.is_list else f"f.{field.name}"
        found = wrong(field, value, is_scale=is_scale and not field.is_list)
        found += ["one <= 0.0F"] if is_scale and field.is_list else []
        if not found:
            continue
        allowed = quote(_allowed(field, is_scale))
        check = [f"if ({' || '.join(found)})", "{"]
        given = value if field.type.is_text else f"{'int64_t' if field.type.is_integer else 'double'}{{{value}}}"
        check += [f"    return pluginkit::wrongValue({quote(field.name)}, {given}, {allowed});", "}"]
        if field.is_list:
            check = [f"for (auto const one : f.{field.name})", "{", *(f"    {line}" for line in check), "}"]
        lines += check
    for code, text in expressions.divisors(manifest):
        lines += [
            f"if ({code} == 0)",
            "{",
            f"    return {quote(f'{text} is 0, and a dimension is divided by it')};",
            "}",
        ]
    return lines


def _allowed(field: Attribute, is_scale: bool) -> str:
    """The values that a field may have, for a message."""
    if field.choices:
        return " or ".join(map(str, field.choices))
    if field.min is not None and field.max is not None:
        return f"from {field.min} to {field.max}"
    if field.min is not None or field.max is not None:
        return f"at least {field.min}" if field.min is not None else f"at most {field.max}"
    if is_scale:
        return "more than 0" if field.is_list else "0 (not known) or more, and finite"
    return "finite"
