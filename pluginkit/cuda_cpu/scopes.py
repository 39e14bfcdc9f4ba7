"""Where a token stands: in whose file, in which scope."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pluginkit.cuda_cpu.tokens import MARKER, Tokens


def own(tokens: Tokens) -> Iterator[int]:
    """The tokens of the user's files, which are those that aren't the system's."""
    marked = ((at, MARKER.match(token.text)) for at, token in enumerate(tokens.all) if token.text[:1] == "#")
    markers = {at: marker for at, marker in marked if marker}
    files = files_of(markers.values())
    inside = True
    for at in range(len(tokens.all)):
        if at in markers:
            inside = markers[at][2] in files
        elif inside:
            yield at


def own_lines(text: str) -> Iterator[tuple[str, str]]:
    """The lines of the user's files in a preprocessed text, each with its `file:line`."""
    rows = [(MARKER.match(row), row) for row in text.split("\n")]
    files = files_of(marker for marker, _ in rows if marker)
    file, number = "", 0
    for marker, row in rows:
        if marker:
            file, number = marker[2], int(marker[1])
        else:
            if file in files:
                yield f"{file}:{number}", row
            number += 1


def files_of(markers: Iterable[re.Match[str]]) -> set[str]:
    """The user's files among those that the markers name."""
    # A macro of the system's in a file of the user's is marked as the system's, but names the user's file.
    return {marker[2] for marker in markers if "3" not in marker[3].split()}


def outside(tokens: Tokens, index: int) -> bool:
    """Whether the token stands outside of functions and classes."""
    brace = next(enclosing(tokens, index), None)
    return brace is None or _opens_namespace(tokens, brace)


def enclosing(tokens: Tokens, index: int) -> Iterator[int]:
    """The braces that are open at the token, the innermost first."""
    depth = 0
    for at in range(index - 1, -1, -1):
        if tokens.kind(at) == "mark":
            depth += (tokens.text(at)[:1] == "}") - (tokens.text(at) == "{")
            if depth < 0:
                depth = 0
                yield at


def head(tokens: Tokens, brace: int) -> Iterator[int]:
    """The tokens of what stands before the brace up to the statement before it, the last first."""
    at = tokens.before(brace)
    while at >= 0 and tokens.text(at)[:1] not in {";", "{", "}"}:
        yield at
        at = tokens.before(at)


def _opens_namespace(tokens: Tokens, brace: int) -> bool:
    texts = [tokens.text(at) for at in head(tokens, brace)]
    linkage = len(texts) > 1 and texts[0].startswith('"C') and texts[1] == "extern"
    return linkage or "namespace" in texts
