"""Error messages on a `pluginkit.toml`: pydantic's errors in TOML's terms, with the nearest valid key."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

_EXPECTED = {
    "tuple_type": "must be a list",
    "string_type": "must be a string",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "greater_than_equal": "must be {ge} or more",
    # Of shapes, which alone have a limit.
    "too_long": "must be a list of {max_length} at most, TensorRT's Dims::MAX_DIMS (NvInferRuntimeBase.h)",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
}
"""pydantic's messages in TOML's terms: its own are of tuples and dictionaries."""


FILL_IN = "# FILL IN:"
"""The mark of a line that `pluginkit adopt` could not complete; the rest of the line says what is missing."""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')


def unfilled(text: str) -> list[tuple[int, str]]:
    """The lines of a manifest that are marked with `FILL_IN` outside of strings: their number, and what is missing."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        _, mark, what = _STRING.sub(lambda quoted: "x" * len(quoted[0]), line).partition(FILL_IN)
        if mark:
            found.append((number, line[len(line) - len(what) :].strip()))
    return found


def unknown(what: str, value: str, known: Sequence[str]) -> str:
    """The message for an unknown name: the one that is probably meant, or all that there are."""
    close = difflib.get_close_matches(value, known, n=1)
    there = f"known: {', '.join(known)}" if known else "there is none"
    return f"unknown {what} '{value}'; " + (f"did you mean '{close[0]}'?" if close else there)


def explain(error: ValidationError, root: type[BaseModel]) -> list[str]:
    """A sentence for each mistake; `root` is the whole manifest's model."""
    items: list[dict[str, Any]] = [dict(item) for item in error.errors()]
    # A key that is written wrong is one mistake, and not a missing key besides.
    meant = {(*item["loc"][:-1], _close_key(item, root)) for item in items if item["type"] == "extra_forbidden"}
    return [_sentence(item, root) for item in items if item["type"] != "missing" or tuple(item["loc"]) not in meant]


def _sentence(item: dict[str, Any], root: type[BaseModel]) -> str:
    where = ".".join(str(part + 1) if isinstance(part, int) else part for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"{where}: {unknown('key', str(item['loc'][-1]), _keys(item, root))}"
    if item["type"] == "missing":
        return f"{where}: is missing"
    message = str(item["msg"]).removeprefix("Value error, ")
    if item["type"] == "value_error":
        return f"{where}: {message}" if where else message
    known = _EXPECTED.get(item["type"])
    expected = known.format(**item.get("ctx", {})) if known else message[0].lower() + message[1:]
    return f"{where}: {expected} (got {toml(item['input'])})"


def toml(value: object) -> str:
    """A value as TOML writes it; a table in JSON's way."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError:
        # A date, which JSON has not.
        return str(value)


def _keys(item: dict[str, Any], root: type[BaseModel]) -> list[str]:
    """The keys of the table in which an unknown one stands."""
    return [field.alias or name for name, field in _table(item["loc"][:-1], root).model_fields.items()]


def _close_key(item: dict[str, Any], root: type[BaseModel]) -> str:
    return next(iter(difflib.get_close_matches(str(item["loc"][-1]), _keys(item, root), n=1)), "")


def _table(loc: Sequence[str | int], table: type[BaseModel]) -> type[BaseModel]:
    """The model of the table that stands at a place of the one with the model `table`."""
    for part in loc:
        # Other parts are positions in a list, and keys that the user has chosen.
        if isinstance(part, str) and part in table.model_fields:
            table = next(_models(table.model_fields[part].annotation), table)
    return table


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    """The models in an annotation, as of `tuple[Tensor, ...]` or `Close | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
