"""What a host says of a creator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pluginkit.field_types import NAMES


@dataclass(frozen=True)
class FieldFacts:
    """A field as a creator lists it: its name, type (as `kFLOAT32`) and length in elements."""

    name: str
    type: str
    length: int

    @classmethod
    def of(cls, field: Any) -> FieldFacts:
        """A PluginField of NVIDIA's Python bindings."""
        return cls(field.name, type_name(int(field.type)), field.size)


def type_name(number: int) -> str:
    """A field's type, by the number of its `nvinfer1::PluginFieldType`."""
    return NAMES[number] if 0 <= number < len(NAMES) else f"PluginFieldType {number}"


@dataclass(frozen=True)
class CreatorFacts:
    """A creator as a host lists it.

    Attributes:
        name, version, namespace: what it is found by.
        kind: `V2` or `V3`.
        interface: the creator's interface, as `PLUGIN CREATOR_V1 1.0`, or NVIDIA's class name.
        base: the plugin's base class; empty where the host doesn't show it.
        fields: in the creator's order.
    """

    name: str
    version: str
    namespace: str
    kind: str
    interface: str
    base: str
    fields: tuple[FieldFacts, ...]
