"""A field of a plugin's creator as `pluginkit.toml` declares it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from pluginkit.field_types import REFUSED, FieldType, Value
from pluginkit.manifest.mistakes import toml, unknown

MAX_ELEMENTS = 2**31 - 1
"""`nvinfer1::PluginField::length` is an int32_t."""
TEXT_LENGTH = (0, 255)
"""The length in bytes of a text for which the manifest says none."""
EXAMPLE_TEXT = "text"
"""The value in tests of a text that must be given and has no choices."""


def _type(value: object) -> object:
    known = [kind.value for kind in FieldType]
    if isinstance(value, str) and (found := re.fullmatch(r"\s*(\w+)\s*\[(.*)\]\s*", value)):
        length = _as_length(found[2])
        raise ValueError(f"'{value}' is written in two keys: type = {toml(found[1])} and length = {length}")
    if value in REFUSED:
        raise ValueError(f"a field of type {value} can't be given: {REFUSED[str(value)]}")
    if isinstance(value, str) and value not in known:
        raise ValueError(unknown("type", value, known))
    return value


def _as_length(text: str) -> str:
    """What stands in brackets, as the key `length` has it; an example where nothing does."""
    text = text.strip()
    if found := re.fullmatch(r"(\d+)\.\.(\d+)", text):
        return f"[{found[1]}, {found[2]}]"
    return (text if text.isdigit() else toml(text)) if text else "[0, 8], the least and the most"


def _number(value: object) -> object:
    # pydantic would take true for 1, and "2" for 2.
    if value is not None and type(value) not in {int, float}:
        raise ValueError(f"must be a number (got {toml(value)})")
    return value


def _scalar(value: object) -> object:
    if type(value) not in {int, float, str}:
        raise ValueError(f"must be a number or a string (got {toml(value)})")
    return value


def _value(value: object) -> object:
    if isinstance(value, (list, tuple)):
        if any(type(one) not in {int, float} for one in value):
            raise ValueError(f"must be a list of numbers (got {toml(value)})")
    elif value is not None and type(value) not in {int, float, str}:
        raise ValueError(f"must be a number, a string or a list of numbers (got {toml(value)})")
    return value


def _length(value: object) -> object:
    if value is None or type(value) in {int, str}:
        return value
    if not isinstance(value, (list, tuple)) or any(type(one) is not int for one in value):
        raise ValueError(f"must be a number, a dimension's symbol, or [least, most] (got {toml(value)})")
    if len(value) != 2:
        raise ValueError(f"must be [least, most], so that the length has a bound (got {toml(value)})")
    return value


FieldKind = Annotated[FieldType, BeforeValidator(_type)]
Bound = Annotated[int | float, BeforeValidator(_number)]
Choice = Annotated[int | float | str, BeforeValidator(_scalar)]
FieldValue = Annotated[int | float | str | tuple[int | float, ...], BeforeValidator(_value)]
Length = Annotated[int | str | tuple[int, int], BeforeValidator(_length)]


class Attribute(BaseModel):
    """A field of the plugin's creator: an attribute of the ONNX node. No default means that it must be given.

    Without `length` it is one number, or a text. With it, it is a list: of so many numbers, of as many as a dimension
    has (a symbol), or of at least and at most so many. Of a text, `length` has the least and the most bytes.

    `min` and `max`, or `choices`, say which other values (of each element) the plugin takes: tests draw from them.
    Without any of them tests try values near the default, and leave out what the reference or the plugin refuses.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)

    name: str
    type: FieldKind
    length: Length | None = None
    default: FieldValue | None = None
    description: str = ""
    min: Bound | None = None
    max: Bound | None = None
    choices: tuple[Choice, ...] = ()

    @property
    def is_list(self) -> bool:
        """Whether its value is a list of numbers."""
        return self.length is not None and not self.type.is_text

    @property
    def is_number(self) -> bool:
        """Whether its value is one number."""
        return self.length is None and not self.type.is_text

    @property
    def is_integer(self) -> bool:
        """Whether it is one whole number, which an output's shape can be made of."""
        return self.is_number and self.type.is_integer

    @property
    def symbol(self) -> str | None:
        """The dimension that has as many elements; None where the length is not a symbol."""
        return self.length if isinstance(self.length, str) else None

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the most elements of its value, or bytes of a text; (1, 1) of a number."""
        if isinstance(self.length, tuple):
            return self.length
        if isinstance(self.length, int):
            return self.length, self.length
        if self.type.is_text:
            return TEXT_LENGTH
        return (1, MAX_ELEMENTS) if self.symbol else (1, 1)

    @property
    def declares_values(self) -> bool:
        """Whether it says which values there are."""
        return bool(self.choices) or self.min is not None or self.max is not None

    def written(self) -> str:
        """Type and length as `pluginkit new` takes them: `float32`, `int64[0..8]`, `float32[n]`."""
        if self.length is None or self.type.is_text:
            return self.type.value
        words = f"{self.length[0]}..{self.length[1]}" if isinstance(self.length, tuple) else str(self.length)
        return f"{self.type.value}[{words}]"

    def example(self, sizes: Mapping[str, int], number: float = 1) -> Value:
        """The default, or a value of a field that must be given.

        Args:
            sizes: the numbers of the symbols that are lengths.
            number: of each element, moved into the declared range.
        """
        if self.default is not None:
            return self.default
        if self.type.is_text:
            least, most = self.bounds
            return str(self.choices[0]) if self.choices else EXAMPLE_TEXT.ljust(least, "t")[:most]
        chosen = self.choices[0] if self.choices else number
        value = self.type.read(str(int(chosen) if self.type.is_integer else chosen))
        value = value if self.min is None else max(value, self.min)
        value = value if self.max is None else min(value, self.max)
        if not self.is_list:
            return value
        least, most = self.bounds
        count = sizes[self.symbol] if self.symbol else min(max(least, 2), most)
        return (value,) * count
