"""A C++ source as the operators of mutation see it: without comments and texts, each character at its own place."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

_HIDDEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|^[ \t]*\#[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL | re.MULTILINE
)
_FUNCTION = re.compile(r"^(?!namespace|using|constexpr|static|#)(?=[\w:])[^;{}=(]*?([\w:~]+)\(", re.MULTILINE)
_TYPE = re.compile(r"^(?:class|struct|enum class|    struct) (\w+)", re.MULTILINE)
_CLOSES = {"(": ")", "[": "]", "{": "}"}


class Source:
    """A source that clang-format has laid out: binary operators stand between blanks, functions begin in column 0.

    Attributes:
        text: the source.
        code: the same, with blanks for comments and directives, and texts without their contents.
        shown: the same, with blanks for comments and directives alone.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.code = _HIDDEN.sub(_blank, text)
        self.shown = _HIDDEN.sub(lambda match: match.group() if match.group()[0] in "\"'" else _blank(match), text)
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def line(self, at: int) -> int:
        """The line of a place, the first is 1."""
        return bisect_right(self._lines, at)

    def function(self, at: int) -> str:
        """The function that a place is in, or the type, or nothing: what begins last before it."""
        begin = bisect_right([start for start, _ in self._scopes], at) - 1
        return self._scopes[begin][1] if begin >= 0 else ""

    @cached_property
    def _scopes(self) -> list[tuple[int, str]]:
        found = [(match.start(), match[1]) for pattern in (_FUNCTION, _TYPE) for match in pattern.finditer(self.code)]
        return sorted(found)

    def closing(self, opening: int) -> int:
        """The bracket that closes the one there.

        Raises:
            ValueError: there is none.
        """
        depth = 0
        for at in range(opening, len(self.code)):
            depth += (self.code[at] in "([{") - (self.code[at] in ")]}")
            if depth == 0:
                return at
        raise ValueError(f"no {_CLOSES[self.code[opening]]} for line {self.line(opening)}")

    def arguments(self, opening: int) -> list[tuple[int, int]]:
        """Begin and end of each argument between a bracket and its partner, without the blanks around them."""
        end = self.closing(opening)
        found, begin, depth = [], opening + 1, 0
        for at in range(opening + 1, end + 1):
            depth += (self.code[at] in "([{") - (self.code[at] in ")]}")
            if (depth == 0 and self.code[at] == ",") or at == end:
                found.append(self.stripped(begin, at))
                begin = at + 1
        return [one for one in found if one[0] < one[1]]

    def expression_end(self, begin: int) -> int:
        """Where an expression ends that begins there: at a `;`, `,`, `:` or closing bracket of its own depth."""
        depth, at = 0, begin
        while at < len(self.code):
            letter = self.code[at]
            alone = letter == ":" and ":" not in (self.code[at - 1], self.code[at + 1])
            if depth == 0 and (letter in ";,)]}" or alone):
                break
            depth += (letter in "([{") - (letter in ")]}")
            at += 1
        return at

    def stripped(self, begin: int, end: int) -> tuple[int, int]:
        """A range without the blanks at its ends."""
        while begin < end and self.code[begin].isspace():
            begin += 1
        while begin < end and self.code[end - 1].isspace():
            end -= 1
        return begin, end

    def statements(self) -> Iterator[tuple[int, int]]:
        """Begin and end, with the `;`, of each piece between `;`, braces and labels, outside of brackets."""
        begin, depth = 0, 0
        for at, letter in enumerate(self.code):
            depth += (letter in "([") - (letter in ")]")
            alone = letter == ":" and ":" not in (self.code[at - 1], self.code[at + 1])
            label = alone and "?" not in self.code[begin:at]
            if depth == 0 and (letter in ";{}" or label):
                if letter == ";":
                    yield self.stripped(begin, at + 1)
                begin = at + 1


def _blank(match: re.Match[str]) -> str:
    found = match.group()
    if found[0] in "\"'":
        return found[0] + "_" * (len(found) - 2) + found[0]
    return re.sub(r"[^\n]", " ", found)
