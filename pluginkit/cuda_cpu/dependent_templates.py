"""`X<T>::f<3>(x)` in a template: nvcc sees that f is a template, C++ needs the keyword.

    Sums<N>::dispatch<M>(x);   ->   Sums<N>::template dispatch<M>(x);

Only in functions of the user's own sources, and for names that those declare as function templates.
"""

from __future__ import annotations

from itertools import pairwise

from pluginkit.cuda_cpu import scopes
from pluginkit.cuda_cpu.tokens import OPEN, Tokens

_MEMBER = frozenset({".", "->", "::"})
# What a comparison may have in it, and a template argument hasn't.
_NO_ARGUMENT = frozenset({"|", ";", "}", ")", "]", ".", "->", "=", "!", "?", ""})


def rewrite(tokens: Tokens) -> None:
    """Say `template` where it is left out, in place.

    Raises:
        Unbalanced: a bracket is never closed.
    """
    own = [index for index in scopes.own(tokens) if tokens.kind(index) == "name"]
    templates = {_declared(tokens, index) for index in own if tokens.text(index) == "template"} - {""}
    types = {tokens.text(tokens.after(index)) for index in own if tokens.text(index) in {"typename", "class"}}
    for index in own:
        if tokens.text(index) in templates and _lacks_it(tokens, index, types) and not scopes.outside(tokens, index):
            tokens.all[index].text = f"template {tokens.text(index)}"


def _declared(tokens: Tokens, index: int) -> str:
    """The function that a `template <...>` declares; empty if it is none."""
    opening = tokens.after(index)
    end = _closing(tokens, opening) if tokens.text(opening) == "<" else None
    name = ""
    while end is not None and tokens.text(end) not in {"{", ";", "=", ""}:
        end = tokens.after(end)
        if tokens.text(end) == "(" and tokens.text(tokens.before(end)) not in {"__attribute__", "decltype"}:
            return name
        name = tokens.text(end) if tokens.kind(end) == "name" else name
        end = _closing(tokens, end) if tokens.text(end) == "<" else end
        end = tokens.closing(end) if end is not None and tokens.text(end) in {"(", "["} else end
    return ""


def _closing(tokens: Tokens, opening: int) -> int | None:
    """The `>` of the template arguments or parameters opened here; None if it is no such bracket."""
    depth = 0
    at = opening
    while True:
        text = tokens.text(at)
        depth += (text == "<") - (text == ">")
        if depth == 0:
            return at
        if text in {";", "}", ""}:
            return None
        at = tokens.after(tokens.closing(at) if text in OPEN and tokens.kind(at) == "mark" else at)


def _lacks_it(tokens: Tokens, name: int, types: set[str]) -> bool:
    """Whether this is a call of a member template, of an owner that may depend on a template's parameters."""
    before, opening = tokens.before(name), tokens.after(name)
    if tokens.text(before) not in _MEMBER or tokens.text(opening) != "<":
        return False
    owner = tokens.text(tokens.before(before))
    if tokens.text(before) == "::" and owner != ">" and owner not in types:
        return False
    end = _closing(tokens, opening)
    if end is None or tokens.text(tokens.after(end)) != "(":
        return False
    inside = [tokens.text(at) for at in range(opening, end) if tokens.kind(at) == "mark"]
    both = ("&", "&") in pairwise(inside)
    return not both and not _NO_ARGUMENT.intersection(inside)
