"""One more plugin in a project's entry and CMakeLists.txt, where what stands there shows the place clearly."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LIMIT = 120
_CPP = re.compile(
    r'(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)|(?P<string>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.DOTALL
)
_CMAKE = re.compile(
    r'(?P<comment>#\[(?P<level>=*)\[.*?\](?P=level)\]|#[^\n]*)|(?P<string>"(?:\\.|[^"\\])*")', re.DOTALL
)
_BLOCKS = r"(?im)^[ \t]*{}(if|foreach|while|function|macro|block)[ \t]*\("


def creator(text: str, header: str, name: str) -> str | None:
    """A source with `#include "header"` and the creator class `name` in PLUGINKIT_PLUGINS(...).

    The text as it is where it has both; None where it is not plain what to change: no such macro or two, arguments
    that are not names, or code that depends on `#if`.
    """
    code = _without(_CPP, text, strings=False)
    bare = _without(_CPP, text, strings=True)
    calls = list(re.finditer(r"\bPLUGINKIT_PLUGINS\s*\(([\w:,<>\s]*)\)", bare))
    conditional = re.search(r"(?m)^[ \t]*#[ \t]*(if|else|elif|define|undef)", bare)
    if conditional or 'R"' in text or len(calls) != 1 or len(re.findall(r"\bPLUGINKIT_PLUGINS\b", bare)) != 1:
        return None
    includes = [
        found
        for found in re.finditer(r'(?m)^#include[ \t]+"([^"\n]+)"[^\n]*\n', code)
        if found.end() <= calls[0].start()
    ]
    if not includes:
        return None
    if name not in [argument.strip() for argument in calls[0][1].split(",")]:
        end = calls[0].start(1) + len(calls[0][1].rstrip())
        line = text.rfind("\n", 0, end) + 1
        column = calls[0].start(1) - (text.rfind("\n", 0, calls[0].start(1)) + 1)
        tail = f" {name}" if end - line + len(f", {name})") <= _LIMIT else f"\n{' ' * column}{name}"
        text = f"{text[:end]},{tail}{text[end:]}"
    if header not in [found[1] for found in includes]:
        text = _included(text, includes, header)
    return text


def _included(text: str, includes: Sequence[re.Match[str]], header: str) -> str:
    """The include in its place where they are sorted, else as the last one."""
    paths = [found[1] for found in includes]
    after = [found for found in includes if found[1] > header] if paths == sorted(paths) else []
    place = after[0].start() if after else includes[-1].end()
    return f'{text[:place]}#include "{header}"\n{text[place:]}'


def sources(text: str, slug: str, files: Sequence[str]) -> str | None:
    """CMakeLists.txt with more files in the SOURCES of `pluginkit_add_plugin(slug ...)`.

    The text as it is where it has them; None where it is not plain what to change: no such call or two, one within a
    block, or one whose last argument is not a source.
    """
    code = _without(_CMAKE, text, strings=False)
    bare = _without(_CMAKE, text, strings=True)
    calls = list(re.finditer(r"(?i)\bpluginkit_add_plugin[ \t]*\(([^()]*)\)", bare))
    if len(calls) != 1 or len(re.findall(r"(?i)\bpluginkit_add_plugin\b", bare)) != 1:
        return None
    start, end = calls[0].span(1)
    arguments = list(re.compile(r'"[^"]*"|[^\s"]+').finditer(code, start, end))
    values = [argument[0].strip('"') for argument in arguments]
    before = bare[:start]
    opened = len(re.findall(_BLOCKS.format(""), before)) - len(re.findall(_BLOCKS.format("end"), before))
    if opened or values[:1] != [slug] or "SOURCES" not in values or "NAME" in values[values.index("SOURCES") :]:
        return None
    more = [file for file in files if file not in values]
    place = arguments[-1].end()
    line = text.rfind("\n", 0, arguments[-1].start()) + 1
    lead = text[line : arguments[-1].start()]
    indent = lead if not lead.strip() and values[-1] != "SOURCES" else " " * 8
    rest = text[place : text.find("\n", place)]
    # A comment behind the last source stays with it.
    place += len(rest) if rest.strip() and not code[place : place + len(rest)].strip() else 0
    return text[:place] + "".join(f"\n{indent}{file}" for file in more) + text[place:]


def _without(pattern: re.Pattern[str], text: str, *, strings: bool) -> str:
    """The text with blanks for comments, and for what is in strings too; everything keeps its place."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0]) if found["comment"] or strings else found[0]

    return pattern.sub(blank, text)
