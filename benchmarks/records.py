"""Records of measurements as CSV: a record's values in one row, then a row for each measurement, by parts.

The column `part` says which list of the record a row is of; a cell is empty where a row has no such value.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ITSELF = "record"
"""The part of the row with the record's own values."""


def write(record: Mapping[str, Any], path: Path) -> None:
    """Write a record.

    Args:
        record: Values, and lists of rows; what is nested in a row becomes columns with a dot in their names.
        path: The file.
    """
    own = {name: value for name, value in record.items() if not isinstance(value, list)}
    rows = [{"part": ITSELF, **_flat(own)}]
    rows += [
        {"part": part, **_flat(row)} for part, listed in record.items() if isinstance(listed, list) for row in listed
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(path: Path) -> dict[str, Any]:
    """A record as it was given to `write`, but for what was nested or empty; a text that is a number is one then."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [{name: _value(text) for name, text in row.items() if text != ""} for row in csv.DictReader(file)]
    record: dict[str, Any] = {}
    for row in rows:
        part = row.pop("part")
        if part == ITSELF:
            record.update(row)
        else:
            record.setdefault(part, []).append(row)
    return record


def _flat(row: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    return dict(_cells(row, before))


def _cells(row: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _cells(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _value(text: str) -> Any:
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text
