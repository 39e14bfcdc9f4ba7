"""A C++ token list whose texts, joined, are the source again."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<blank>\s+|^\#[^\n]*)
    |(?P<text>(?:u8|[uUL])?R"(?P<tag>[^(\s]*)\((?:.|\n)*?\)(?P=tag)"|(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"
        |(?:u8|[uUL])?'(?:\\.|[^'\\\n])*')
    |(?P<name>[A-Za-z_$][\w$]*)
    |(?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
    |(?P<mark>::|->|.)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
MARKER = re.compile(r'#[ \t]*(?:line[ \t]+)?(\d+)[ \t]+"((?:[^"\\]|\\.)*)"([ \d]*)')
"""A line marker of the preprocessor's, where the next line is from: number, file, flags."""
OPEN = {"(": ")", "[": "]", "{": "}"}
CLOSE = frozenset(OPEN.values())


@dataclass
class Token:
    """A piece of source; `kind` is blank (or a line marker), text, name, number or mark (a character, `::`, `->`)."""

    text: str
    kind: str


class Unbalanced(Exception):
    """A bracket without its partner; the compiler's message will be better."""


class Tokens:
    """The tokens of one preprocessed source."""

    def __init__(self, source: str) -> None:
        self.all = [
            Token(match.group(), "text" if match.lastgroup == "tag" else match.lastgroup or "mark")
            for match in _TOKEN.finditer(source)
        ]
        self._known = (0, "the source", 1)

    def __str__(self) -> str:
        return "".join(token.text for token in self.all)

    def text(self, index: int) -> str:
        """The token's text; empty outside of the list."""
        return self.all[index].text if 0 <= index < len(self.all) else ""

    def kind(self, index: int) -> str:
        """The token's kind; empty outside of the list."""
        return self.all[index].kind if 0 <= index < len(self.all) else ""

    def after(self, index: int) -> int:
        """The next token that is not blank."""
        index += 1
        while self.kind(index) == "blank":
            index += 1
        return index

    def before(self, index: int) -> int:
        """The token before that is not blank."""
        index -= 1
        while self.kind(index) == "blank":
            index -= 1
        return index

    def closing(self, index: int) -> int:
        """The bracket that closes the one at `index`.

        Raises:
            Unbalanced: there is none.
        """
        depth = 0
        for at in range(index, len(self.all)):
            if self.kind(at) == "mark":
                depth += (self.text(at) in OPEN) - (self.text(at) in CLOSE)
                if depth == 0:
                    return at
        raise Unbalanced

    def opening(self, index: int) -> int:
        """The bracket that opens the one closed at `index`.

        Raises:
            Unbalanced: there is none.
        """
        depth = 0
        for at in range(index, -1, -1):
            if self.kind(at) == "mark":
                depth += (self.text(at) in CLOSE) - (self.text(at) in OPEN)
                if depth == 0:
                    return at
        raise Unbalanced

    def opening_angle(self, index: int) -> int:
        """The `<` that opens the template arguments closed by the `>` at `index`.

        Raises:
            Unbalanced: there is none before the statement's begin.
        """
        depth = 0
        at = index
        while at >= 0:
            text = self.text(at)
            if text == ">":
                depth += 1
            elif text == "<":
                depth -= 1
                if depth == 0:
                    return at
            elif text in CLOSE:
                at = self.opening(at)
            elif text in {";", "{"}:
                break
            at = self.before(at)
        raise Unbalanced

    def place(self, index: int) -> str:
        """`file:line` of a token, from the preprocessor's line markers."""
        # Places are mostly asked for in order, each of which goes on from the last.
        at, file, line = self._known if self._known[0] <= index else (0, "the source", 1)
        for token in self.all[at:index]:
            marker = MARKER.match(token.text)
            if marker:
                line, file = int(marker[1]) - 1, marker[2]
            line += token.text.count("\n") if token.kind in {"blank", "text"} else 0
        self._known = (index, file, line)
        return f"{file}:{line}"
