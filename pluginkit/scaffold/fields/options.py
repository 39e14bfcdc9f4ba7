"""From `--field` to a field: `alpha:float32=0.5`, `axes:int64[]:-4..3=0,1`, `mode:string:nearest,linear=nearest`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pluginkit.build.signature.fields import quote
from pluginkit.errors import UsageError
from pluginkit.field_types import REFUSED, FieldType, Number, Value
from pluginkit.manifest import Attribute
from pluginkit.manifest.field_rules import field_problem
from pluginkit.scaffold import names

_FORM = (
    "Expected NAME:TYPE[:VALUES][=DEFAULT], as in alpha:float32=0.5, axes:int64[]=0,1, weights:float32[n], "
    "k:int32:1..8=3 or mode:string:nearest,linear=nearest; without a default it must be given."
)
OPEN_LENGTH = (0, 64)
"""The least and the most elements of a list with empty brackets."""


@dataclass(frozen=True)
class FieldOption:
    """What a `--field` says."""

    name: str
    type: FieldType
    length: int | str | tuple[int, int] | None
    default: Value | None
    description: str = ""
    min: Number | None = None
    max: Number | None = None
    choices: tuple[Number | str, ...] = ()

    def toml(self) -> list[str]:
        """The lines of its `[[fields]]`."""
        lines = ["[[fields]]", f"name = {quote(self.name)}", f"type = {quote(self.type.value)}"]
        lines += [] if self.length is None else [f"length = {_written(self.length)}"]
        lines += [] if self.default is None else [f"default = {_written(self.default)}"]
        lines += [f"{key} = {end!r}" for key, end in (("min", self.min), ("max", self.max)) if end is not None]
        lines += [f"choices = [{', '.join(map(_written, self.choices))}]"] if self.choices else []
        return lines + ([f"description = {quote(self.description)}"] if self.description else [])


def _written(value: Value) -> str:
    if isinstance(value, str):
        return quote(value)
    return f"[{', '.join(map(repr, value))}]" if isinstance(value, tuple) else repr(value)


def parse(text: str) -> FieldOption:
    """The field that a `--field` describes.

    Raises:
        UsageError: another form, an unknown type, or a default that the field can't have.
    """
    found = re.fullmatch(r"([^:=]*):([^:=\[\]]*)(?:\[([^\]=]*)\]\s*)?(?::([^=]*))?(?:=(.*))?", text, re.DOTALL)
    if not found:
        raise UsageError(f"'{text}' does not describe a field.", hint=_FORM)
    name = found[1].strip()
    names.check_member(name, "a field")
    kind = _kind(found[2].strip(), text)
    length = None if found[3] is None else _length(found[3].strip(), kind, text)
    several = length is not None and not kind.is_text
    default = None if found[5] is None else _default(found[5], kind, text, several=several)
    low, high, choices = (None, None, ()) if found[4] is None else _values(found[4], kind, text)
    made = Attribute(name=name, type=kind, length=length, default=default, min=low, max=high, choices=choices)
    if problem := field_problem(made):
        raise UsageError(f"In '{text[:60]}': the field '{name}' {problem}.", hint=_FORM)
    return FieldOption(name, kind, length, default, min=low, max=high, choices=choices)


def _kind(word: str, text: str) -> FieldType:
    values = [kind.value for kind in FieldType]
    if word in values:
        return FieldType(word)
    # kDIMS, kCHAR and kFP8 are TensorRT's names; fp8 and fp16 are people's.
    plain = word.lower().removeprefix("k")
    plain = {"char": "string", "fp4": "float4", "fp8": "float8", "fp16": "float16", "fp32": "float32"}.get(plain, plain)
    if plain in REFUSED:
        reason = REFUSED[plain]
        hint = f"{reason[0].upper()}{reason[1:]}."
        raise UsageError(f"In '{text}': a field of type {word} can't be given.", hint=hint)
    raise unknown_type(word, text, plain, values, "Types of fields")


def unknown_type(word: str, text: str, near: str, values: Sequence[str], kind: str) -> UsageError:
    """That an option, `text`, names no type of `values`, with the one that is like `near`; `kind`: what they are."""
    close = difflib.get_close_matches(near, values, n=1)
    guess = f"; did you mean '{close[0]}'?" if close else "."
    return UsageError(f"Unknown type '{word}' in '{text}'{guess}", hint=f"{kind}: {', '.join(values)}.")


def _values(words: str, kind: FieldType, text: str) -> tuple[Number | None, Number | None, tuple[Number | str, ...]]:
    """Which values there are: the least and the greatest, or the choices."""
    if kind.is_text:
        if not words.isprintable():
            raise UsageError(f"In {text!r}: a choice has a character that can't be printed.", hint=_FORM)
        return None, None, tuple(word.strip() for word in words.split(","))
    if ".." not in words:
        return None, None, tuple(_read(word.strip(), kind, text, "choice") for word in words.split(","))
    low, high = (end.strip() for end in words.split("..", 1))
    if not low and not high:
        raise UsageError(f"In '{text}': '{words}' has no end.", hint="Write LEAST..MOST, LEAST.. or ..MOST.")
    ends = [_read(end, kind, text, "bound") if end else None for end in (low, high)]
    return ends[0], ends[1], ()


def _length(word: str, kind: FieldType, text: str) -> int | str | tuple[int, int]:
    if kind.is_text and not re.fullmatch(r"\d+\s*\.\.\s*\d+", word):
        raise UsageError(
            f"In '{text}': a string has the least and the most bytes in brackets, [0..16], or none.",
            hint="Lists of strings can't be given: NVIDIA's parser joins them to one field. Write name:string=DEFAULT.",
        )
    if not word:
        return OPEN_LENGTH
    if found := re.fullmatch(r"(\d+)\s*\.\.\s*(\d+)", word):
        return int(found[1]), int(found[2])
    if word.isdigit():
        return int(word)
    if not re.fullmatch(r"[A-Za-z_]\w*", word):
        raise UsageError(
            f"In '{text}': '{word}' is not a length.",
            hint="Write a number, a dimension's symbol, LEAST..MOST, or nothing between the brackets.",
        )
    return word


def _default(words: str, kind: FieldType, text: str, *, several: bool) -> Value:
    if kind.is_text:
        if not words.isprintable():
            raise UsageError(f"In {text!r}: the default has a character that can't be printed.", hint=_FORM)
        return words
    if not several:
        return _read(words.strip(), kind, text)
    return tuple(_read(word.strip(), kind, text) for word in words.split(",")) if words.strip() else ()


def _read(word: str, kind: FieldType, text: str, what: str = "default") -> Number:
    try:
        value = kind.read(word)
    except ValueError:
        hint = f"For a list write {kind.value}[]." if "," in word else _FORM
        raise UsageError(f"The {what} '{word}' in '{text}' is not a number of type {kind.value}.", hint=hint) from None
    if not kind.holds(value):
        raise UsageError(f"The {what} '{word}' in '{text}' is out of {kind.value}'s range.", hint=_FORM)
    return value
