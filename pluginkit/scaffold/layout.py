"""Line breaks that depend on how long the names are: the template has one statement a line, however long."""

from __future__ import annotations

import re

_LIMIT = 120


def tidy(text: str) -> str:
    """Break lines of C++ beyond 120 columns where clang-format breaks them with the project's `.clang-format`."""
    lines, formatted = [], True
    for line in text.split("\n"):
        formatted = line.strip() == "// clang-format on" or (formatted and line.strip() != "// clang-format off")
        lines += _break(line) if formatted and len(line) > _LIMIT else [line]
    return "\n".join(lines)


def _break(line: str) -> list[str]:
    comment = re.match(r"( *//!? )", line)
    if comment:
        return _fill(line, " ", comment[1])
    initialiser = re.match(r"(.*\)) (: m\w+\{.*)", line)
    if initialiser:
        return [*_break_if_long(initialiser[1]), f"    {initialiser[2]}"]
    open_at = _innermost_open(line)
    return _fill(line, ", ", " " * (open_at + 1)) if open_at >= 0 else [line]


def _break_if_long(line: str) -> list[str]:
    return _break(line) if len(line) > _LIMIT else [line]


def _innermost_open(line: str) -> int:
    """Where the bracket opens that column 120 is in, or -1."""
    opened: list[int] = []
    for column, char in enumerate(line[:_LIMIT]):
        if char == "(":
            opened.append(column)
        elif char == ")" and opened:
            opened.pop()
    return opened[-1] if opened else line.find("(")


def _fill(line: str, separator: str, indent: str) -> list[str]:
    lines = []
    while len(line) > _LIMIT:
        cut = line.rfind(separator, len(indent), _LIMIT + 1)
        if cut < 0:
            break
        lines.append(line[: cut + len(separator)].rstrip())
        line = indent + line[cut + len(separator) :]
    return [*lines, line]
