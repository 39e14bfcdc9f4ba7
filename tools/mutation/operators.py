"""The operators of mutation: each replaces a piece of a source by what an author could have written there by mistake.

They are those of mutate_cpp (operators, constants, conditions, deleted statements) and of the mutation systems for C
(H. Agrawal et al., *Design of Mutant Operators for the C Programming Language*, 1989): arguments in another order,
another member of the same object, another enumerator, a narrower type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from mutation.source import Source


@dataclass(frozen=True)
class Change:
    """A piece of a source, `begin` to `end`, and what stands there instead."""

    begin: int
    end: int
    new: str
    operator: str


_BINARY = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "&&": ("||",),
    "||": ("&&",),
    "+": ("-",),
    "-": ("+",),
    "*": ("+",),
    "/": ("*",),
    "%": ("/",),
    "+=": ("-=", "="),
    "-=": ("+=", "="),
    "*=": ("+=", "="),
}
_IS_BINARY = re.compile(r"(?<=\s)(" + "|".join(map(re.escape, sorted(_BINARY, key=len, reverse=True))) + r")(?=\s)")
_INTEGER = re.compile(r"(?<![\w.\"])(\d+)(U|L|UL)?(?![\w.])")
_FLOAT = re.compile(r"(?<![\w.])(\d+\.\d*(?:[eE][-+]?\d+)?)(F?)\b")
_CALL = re.compile(r"(?<!operator)\b([A-Za-z_]\w*)(\(|\{)")
_DECLARES = re.compile(r"[\w>][*&]* +\w|[*&]$")
_STATEMENT = re.compile(
    r"(?:\+\+|--|\*|delete |break;|continue;|return;|\w+<[^;]*?><<<|(?!return\b)[\w:]+(?:\(|\.|->|\[| [-+*/]?= ))"
)
_RETURN = re.compile(r"\breturn (?!\{)([^;]+);")
_ENUMERATOR = re.compile(r"\b([A-Z]\w*)::(k[A-Z0-9]\w*)")
_MEMBER = re.compile(r"\b(\w+)\.(\w+)\b(?!\(|\.)")


def changes(source: Source, header: bool) -> list[Change]:
    """All changes of a source, in its order, none twice.

    Args:
        source: what is changed.
        header: whether it only declares: nothing in it is a statement or a call.
    """
    found = [*_operators(source), *_constants(source), *_enumerators(source), *_narrowed(source)]
    if not header:
        for more in (_conditions, _choices, _deleted, _returned, _swapped, _emptied, _members):
            found += more(source)
    kept: dict[str, Change] = {}
    for one in sorted(found, key=lambda change: (change.begin, change.end, change.new)):
        if one.new != source.text[one.begin : one.end]:
            kept.setdefault(source.text[: one.begin] + one.new + source.text[one.end :], one)
    return list(kept.values())


def _operators(source: Source) -> Iterator[Change]:
    for match in _IS_BINARY.finditer(source.code):
        for new in _BINARY[match[1]]:
            yield Change(match.start(), match.end(), new, "operator")
    for match in re.finditer(r"\+\+|--", source.code):
        yield Change(match.start(), match.end(), "--" if match.group() == "++" else "++", "operator")
    for match in re.finditer(r"!(?=[\w(])", source.code):
        yield Change(match.start(), match.end(), "", "operator")
    for match in re.finditer(r"(?<=[(\s,{])-(?=[\w.])", source.code):
        yield Change(match.start(), match.end(), "", "operator")


def _constants(source: Source) -> Iterator[Change]:
    for match in _INTEGER.finditer(source.code):
        value, suffix = int(match[1]), match[2] or ""
        for new in dict.fromkeys((value + 1, max(value - 1, 0))):
            yield Change(match.start(), match.end(), f"{new}{suffix}", "constant")
    for match in _FLOAT.finditer(source.code):
        number = float(match[1])
        for other in dict.fromkeys((number + 1, number - 1 if number else 1.0)):
            yield Change(match.start(), match.end(), f"{other!r}{match[2]}", "constant")
    for match in re.finditer(r"\b(true|false)\b", source.code):
        yield Change(match.start(), match.end(), "false" if match[1] == "true" else "true", "constant")
    for match in re.finditer(r'"_*"', source.code):
        yield Change(match.end() - 1, match.end() - 1, "x", "constant")
        if match.end() - match.start() > 2:
            yield Change(match.start() + 1, match.end() - 1, "", "constant")


def _enumerators(source: Source) -> Iterator[Change]:
    seen: dict[str, list[str]] = {}
    for match in _ENUMERATOR.finditer(source.code):
        names = seen.setdefault(match[1], [])
        if match[2] not in names:
            names.append(match[2])
    for match in _ENUMERATOR.finditer(source.code):
        names = seen[match[1]]
        yield Change(match.start(2), match.end(2), names[(names.index(match[2]) + 1) % len(names)], "enumerator")


def _narrowed(source: Source) -> Iterator[Change]:
    for match in re.finditer(r"\bint64_t\b", source.code):
        yield Change(match.start(), match.end(), "int32_t", "narrower type")


def _conditions(source: Source) -> Iterator[Change]:
    for match in re.finditer(r"\b(if|while) \(", source.code):
        end = source.closing(match.end() - 1)
        for new in ("true", "false") if match[1] == "if" else ("false",):
            yield Change(match.end(), end, new, "condition")


def _choices(source: Source) -> Iterator[Change]:
    for match in re.finditer(r" \? ", source.code):
        first = source.stripped(match.end(), source.expression_end(match.end()))
        second = source.stripped(colon := source.expression_end(match.end()) + 1, source.expression_end(colon))
        yield Change(*first, source.text[slice(*second)], "choice")
        yield Change(*second, source.text[slice(*first)], "choice")


def _deleted(source: Source) -> Iterator[Change]:
    for begin, end in source.statements():
        if _STATEMENT.match(source.code, begin, end):
            yield Change(begin, end, ";", "deleted statement")


def _returned(source: Source) -> Iterator[Change]:
    for match in _RETURN.finditer(source.code):
        # Of a plain number or truth the constants' operator makes another one already.
        if not re.fullmatch(r"\d+|true|false|nullptr", match[1]):
            yield Change(match.start(1), match.end(1), "{}", "returned value")


def _swapped(source: Source) -> Iterator[Change]:
    for match in _CALL.finditer(source.code):
        arguments = source.arguments(match.end() - 1)
        pieces = [source.code[begin:end] for begin, end in arguments]
        if match[1] in ("if", "while", "for", "switch", "catch") or any(_DECLARES.search(one) for one in pieces):
            continue
        for (begin, middle), (other, end) in pairwise(arguments):
            between = source.text[middle:other]
            yield Change(
                begin, end, f"{source.text[other:end]}{between}{source.text[begin:middle]}", "swapped arguments"
            )


def _emptied(source: Source) -> Iterator[Change]:
    for match in re.finditer(r"\b\w+(?:<[^<>;]*>)?\{([^{};]+)\}", source.code):
        yield Change(match.start(1), match.end(1), "", "no initial value")


def _members(source: Source) -> Iterator[Change]:
    seen: dict[str, list[str]] = {}
    for match in _MEMBER.finditer(source.code):
        names = seen.setdefault(match[1], [])
        if match[2] not in names:
            names.append(match[2])
    for match in _MEMBER.finditer(source.code):
        names = seen[match[1]]
        yield Change(match.start(2), match.end(2), names[(names.index(match[2]) + 1) % len(names)], "member")
