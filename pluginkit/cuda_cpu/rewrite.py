"""Preprocessed CUDA C++ to plain C++: launches, shared variables and inline PTX. All else stays, line by line.

Most of a preprocessed source is headers of the system's. Those stretches of them that hold nothing to rewrite are left
aside, since taking them apart would take longer than compiling them.
"""

from __future__ import annotations

import re

from pluginkit.cuda_cpu import addresses, dependent_templates, launches, scopes, shared
from pluginkit.cuda_cpu.ptx import translation as ptx
from pluginkit.cuda_cpu.tokens import MARKER, Tokens, Unbalanced
from pluginkit.errors import BuildFailed

_MARKER_LINE = re.compile(rf"^{MARKER.pattern}\n", re.MULTILINE)
_TRIGGER = re.compile(rf"<<<|{launches.LAUNCH_FUNCTION}|{shared.MARK}|\basm\b|\b__asm")
_ASIDE = "#pluginkit-aside"
_BRACES = re.compile(
    r"""(?:u8|[uUL])?R"(?P<tag>[^(\s]*)\((?:.|\n)*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'
    |\d(?:'\w|[\w.])*|(?P<brace>[{}])""",
    re.VERBOSE,
)
_OPENS_NAMESPACE = re.compile(r"""(?:\bnamespace\b[^;{}()]*|\bextern\s*"C(?:\+\+)?"\s*)\Z""")


def rewrite(source: str) -> str:
    """Rewrite what the preprocessor gave.

    Raises:
        BuildFailed: something that can't be rewritten, with file and line.
    """
    if not _TRIGGER.search(source):
        return source
    kept, aside = _split(source)
    tokens = Tokens(kept)
    try:
        ptx.rewrite(tokens)
        shared.rewrite(tokens)
        dependent_templates.rewrite(tokens)
    except Unbalanced:
        raise BuildFailed(
            "A template, a __shared__ variable or an asm statement lacks a bracket, a name or a ';'.",
            hint="Compile the file by nvcc, or for target cpu without it, to see where.",
        ) from None
    launches.rewrite(tokens)
    addresses.rewrite(tokens)
    return re.sub(rf"{_ASIDE} (\d+)\n.*\n", lambda found: aside[int(found[1])], str(tokens))


def _split(source: str) -> tuple[str, list[str]]:
    """What is to be looked at, with two lines in place of each stretch that isn't, and those stretches."""
    starts = [found.start() for found in _MARKER_LINE.finditer(source)]
    stretches = [source[a:b] for a, b in zip([0, *starts], [*starts, len(source)], strict=True)]
    markers = [_MARKER_LINE.match(stretch) for stretch in stretches]
    own = scopes.files_of(filter(None, markers))
    kept: list[str | None] = []  # None: the next of `aside`
    aside: list[str] = []
    for stretch, marker in zip(stretches, markers, strict=True):
        if marker and marker[2] not in own and not _TRIGGER.search(stretch):
            if not kept or kept[-1] is not None:
                kept.append(None)
                aside.append("")
            aside[-1] += stretch
        else:
            kept.append(stretch)
    scopes_matter = shared.MARK in source
    numbered = (
        f"{_ASIDE} {number}\n{_open_braces(text) if scopes_matter else ''}\n" for number, text in enumerate(aside)
    )
    lines = iter(numbered)
    return "".join(next(lines) if each is None else each for each in kept), aside


def _open_braces(text: str) -> str:
    """The braces of the text without a partner in it, so that what follows stays in its scope."""
    closing = ""
    opening: list[str] = []
    for found in _BRACES.finditer(text):
        if found["brace"] == "{":
            named = _OPENS_NAMESPACE.search(text, max(0, found.start() - 200), found.start())
            opening.append("namespace{" if named else "{")
        elif found["brace"] and opening:
            opening.pop()
        elif found["brace"]:
            closing += "}"
    return closing + "".join(opening)
