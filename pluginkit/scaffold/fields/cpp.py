"""What a manifest's fields mean to the generated kernel and to README."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pluginkit.build.signature.fields import CPP_TYPES, quote, shown
from pluginkit.manifest import Attribute, Manifest


def snippets(manifest: Manifest) -> dict[str, Any]:
    """The template's variables on fields."""
    scales = manifest.scale_fields()
    wide = [field for field in manifest.fields if not field.is_number]
    slope, biases = split(manifest.plain_fields())
    return {
        "fields": [_field(field) for field in manifest.fields],
        # A kernel's arguments are copied bytes: with lists or texts it gets numbers made of them.
        "wide": bool(wide),
        "texts": any(field.type.is_text for field in wide),
        "lists": any(field.is_list and field.name not in scales for field in wide),
        "numbers": [_number(field) for field in manifest.fields if not (field.is_list and field.name in scales)],
        "slope": "0.25F" if slope is None else _as_float(slope),
        "biases": [field.name for field in biases],
    }


def _field(field: Attribute) -> dict[str, Any]:
    return {
        "name": field.name,
        "type": field.written(),
        "allowed": _allowed(field),
        "default": "must be given" if field.default is None else f"`{shown(field)}`".replace("|", "\\|"),
    }


def _allowed(field: Attribute) -> str:
    """What README says of the values that a field may have, behind its type."""
    if field.choices:
        shown = [quote(one).replace("|", "\\|") if isinstance(one, str) else str(one) for one in field.choices]
        return ": " + ", ".join(f"`{one}`" for one in shown)
    ends = [f"at least {field.min}"] * (field.min is not None) + [f"at most {field.max}"] * (field.max is not None)
    return ", " + ", ".join(ends) if ends else ""


def _number(field: Attribute) -> dict[str, str]:
    """A member of what the kernel gets: a number as it is, else one that stands for the list or the text."""
    if field.is_number:
        return {"name": field.name, "cpp": CPP_TYPES[field.type], "value": f"fields.{field.name}", "says": ""}
    says = "the sum of its bytes, in 1024ths" if field.type.is_text else "the sum of its elements"
    summed = "sumOfBytes" if field.type.is_text else "sumOf"
    return {"name": field.name, "cpp": "float", "value": f"{summed}(fields.{field.name})", "says": says}


def split(fields: Sequence[Attribute]) -> tuple[Attribute | None, list[Attribute]]:
    """The field that negative sums are multiplied by (the first number), and those that are added."""
    slope = next((field for field in fields if field.is_number), None)
    return slope, [field for field in fields if field is not slope]


def _as_float(field: Attribute) -> str:
    member = f"fields.{field.name}"
    return member if CPP_TYPES[field.type] == "float" else f"static_cast<float>({member})"
