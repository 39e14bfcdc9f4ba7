"""What a registry wants to see before it answers: the header `WWW-Authenticate` (RFC 9110, section 11)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SCHEME = re.compile(r"\s*,?\s*([A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]*)(?:\s+|$|(?=,))")
_PARAMETER = re.compile(r"\s*,?\s*([A-Za-z0-9_-]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s,\"]+))")


@dataclass(frozen=True)
class Challenge:
    """One of the ways to be let in: `basic` or `bearer`, and its parameters."""

    scheme: str
    parameters: dict[str, str]


def parse(header: str) -> list[Challenge]:
    """The challenges of a header; what can't be read ends the list."""
    found: list[Challenge] = []
    position = 0
    while match := _SCHEME.match(header, position):
        position = match.end()
        parameters: dict[str, str] = {}
        while one := _PARAMETER.match(header, position):
            quoted = re.sub(r"\\(.)", r"\1", one[2]) if one[2] is not None else one[3]
            parameters.setdefault(one[1].lower(), quoted)
            position = one.end()
        found.append(Challenge(match[1].lower(), parameters))
    return found
