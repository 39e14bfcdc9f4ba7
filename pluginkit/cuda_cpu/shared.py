"""`__shared__ T x[N];` becomes a reference to storage of the block that runs.

    __shared__ float tile[32];
->  typedef float pluginkit_cpu_type_tile[32]; static SharedArray const pluginkit_cpu_site_tile{...};
    pluginkit_cpu_type_tile& tile = shared<pluginkit_cpu_type_tile>(pluginkit_cpu_site_tile);

A static object of its own stands for each declaration; in a template, for each instance of it. What is declared outside
of functions can't be a reference, since it is another one for each block: there each later use becomes the call.
"""

from __future__ import annotations

import re

from pluginkit.cuda_cpu import scopes
from pluginkit.cuda_cpu.tokens import Tokens, Unbalanced

MARK = "pluginkit_cpu_shared_memory"
"""What prelude.h makes of `__shared__`."""
_TYPE, _SITE = "pluginkit_cpu_type_", "pluginkit_cpu_site_"
_STORAGE = frozenset({"extern", "static", MARK})
_QUALIFIER = "<qualifier>"
_STATEMENT_WORDS = frozenset({"return", "else", "do", "case", "throw", "co_return"})
_ATTRIBUTES = frozenset({"__attribute__", "alignas"})


def rewrite(tokens: Tokens) -> None:
    """Rewrite every declaration in place.

    Raises:
        Unbalanced: a bracket is open at the end of a declaration, or it declares nothing.
    """
    calls: dict[str, str] = {}
    hidden_until: dict[str, int] = {}  # a parameter of the same name hides it in its function's body
    for index, token in enumerate(tokens.all):
        if token.text == MARK:
            calls.update(_declaration(tokens, index, outside=scopes.outside(tokens, index)))
        elif token.kind == "name" and token.text in calls and index >= hidden_until.get(token.text, 0):
            if scopes.outside(tokens, index):
                hidden_until[token.text] = _end_of_function(tokens, index)
            elif tokens.text(tokens.before(index)) not in {".", "->"}:
                call = calls[token.text]
                token.text = call.replace(_QUALIFIER, _take_qualifier(tokens, index))


def _take_qualifier(tokens: Tokens, index: int) -> str:
    """The `a::b::` in front of a name, taken away there: it belongs to the names inside the call."""
    qualifier = ""
    at = tokens.before(index)
    while tokens.text(at) == "::":
        owner = tokens.before(at)
        named = tokens.kind(owner) == "name" and tokens.text(owner) not in _STATEMENT_WORDS
        qualifier = f"{tokens.text(owner) if named else ''}::{qualifier}"
        tokens.all[at].text = ""
        if not named:
            break
        tokens.all[owner].text = ""
        at = tokens.before(owner)
    return qualifier


def _end_of_function(tokens: Tokens, index: int) -> int:
    """After the body of the function whose parameters `index` stands in; after `index` if there is no body."""
    at = index
    while tokens.text(at)[:1] not in {"{", ";", ""}:
        at = tokens.after(at)
    return tokens.closing(at) if tokens.text(at) == "{" else index


def _declaration(tokens: Tokens, mark: int, *, outside: bool) -> dict[str, str]:
    """Rewrite the declaration that holds the mark; gives the calls that stand for names outside of functions."""
    begin = _begin(tokens, mark)
    end = mark
    while tokens.text(end) != ";":
        end = tokens.closing(end) if _is_open(tokens, end) else end
        end += 1
        if end == len(tokens.all):
            raise Unbalanced
    dynamic = any(tokens.text(at) == "extern" for at in range(begin, mark + 1))
    alignments = _take_specifiers(tokens, begin, end)
    calls = {}
    code = ";"
    names = _rename_declarators(tokens, begin, end)
    _name_class(tokens, begin, end, names[0])
    for name in names:
        made, site = _TYPE + name, _SITE + name
        largest = f"::pluginkit_cpu::alignmentOf<{made}>({', '.join(alignments)})"
        size = "0" if dynamic else f"sizeof({made})"
        call = f"::pluginkit_cpu::{'dynamic' if dynamic else 'shared'}<{made}>({site})"
        place = "{__builtin_FILE(), __builtin_LINE()}"
        code += " [[maybe_unused]] static ::pluginkit_cpu::SharedArray const"
        code += f' {site}{{{size}, {largest}, "{name}", {place}}};'
        if outside:
            called = f"<{_QUALIFIER}{made}>({_QUALIFIER}{site})"
            calls[name] = f"(::pluginkit_cpu::{'dynamic' if dynamic else 'shared'}{called})"
        else:
            code += f" [[maybe_unused]] {made}& {name} = {call};"
            _in_lambdas(tokens, end, name, f"({call})")
    tokens.all[begin].text = f"typedef {tokens.text(begin)}"
    tokens.all[end].text = code
    return calls


def _name_class(tokens: Tokens, begin: int, end: int, name: str) -> None:
    """Give a class that has none a name: in a template, g++ -Wshadow warns of a typedef that gives it one."""
    at = begin
    while tokens.text(at) in _STORAGE or tokens.kind(at) == "blank" or (at < end and not tokens.text(at)):
        at += 1
    if tokens.text(at) in {"union", "struct", "class"} and tokens.text(tokens.after(at)) == "{":
        tokens.all[at].text += f" {_TYPE}of_{name}"


def _in_lambdas(tokens: Tokens, end: int, name: str, call: str) -> None:
    """Replace the name in the lambdas of its scope that don't capture by reference: nvcc's names no capture at all."""
    depth = 0
    at = tokens.after(end)
    while at < len(tokens.all) and depth >= 0:
        text = tokens.text(at)
        if tokens.kind(at) == "mark":
            depth += (text[:1] == "{") - (text[:1] == "}")
            body = _lambda_body(tokens, at) if text == "[" else None
            if body is not None and tokens.text(tokens.after(at)) != "&":
                for inner in range(body, tokens.closing(body)):
                    free = tokens.text(tokens.before(inner)) not in {".", "->", "::"}
                    if tokens.text(inner) == name and tokens.kind(inner) == "name" and free:
                        tokens.all[inner].text = call
        at = tokens.after(at)


def _lambda_body(tokens: Tokens, bracket: int) -> int | None:
    """The brace that opens the body of the lambda whose captures begin here; None if it is not a lambda."""
    before = tokens.before(bracket)
    if tokens.kind(before) in {"name", "number"} and tokens.text(before) != "return":
        return None
    if tokens.text(before) in {")", "]", ">"}:
        return None
    at = tokens.after(tokens.closing(bracket))
    if tokens.text(at) == "(":
        at = tokens.after(tokens.closing(at))
    while tokens.kind(at) == "name" or tokens.text(at) in {"->", "::", "*", "&", "<", ">"}:
        at = tokens.after(at)
    return at if tokens.text(at) == "{" else None


def _is_open(tokens: Tokens, index: int) -> bool:
    return tokens.kind(index) == "mark" and tokens.text(index) in {"(", "[", "{"}


def _begin(tokens: Tokens, mark: int) -> int:
    """The declaration's first token."""
    begin = mark
    while True:
        before = tokens.before(begin)
        text = tokens.text(before)
        if text == ")":
            attribute = tokens.before(tokens.opening(before))
            if tokens.text(attribute) not in _ATTRIBUTES:
                return begin  # as in: if (...) __shared__ ...
            begin = attribute
        elif before < 0 or text == ":" or text[:1] in {";", "{", "}"}:
            return begin
        else:
            begin = before


def _take_specifiers(tokens: Tokens, begin: int, end: int) -> list[str]:
    """Remove the storage specifiers and the alignments, which a typedef can't have; gives the alignments."""
    alignments = []
    at = begin
    while at < end:
        if tokens.text(at) in _STORAGE:
            tokens.all[at].text = ""
        elif tokens.text(at) in _ATTRIBUTES:
            closing = tokens.closing(tokens.after(at))
            text = "".join(tokens.text(i) for i in range(at, closing + 1) if tokens.kind(i) != "blank")
            found = re.fullmatch(r"alignas\((.*)\)", text) or re.search(r"aligned(?:__)?\((.*)\)\)\)$", text)
            alignments += [found[1]] if found else []
            for i in range(at, closing + 1):
                tokens.all[i].text = tokens.text(i) if tokens.kind(i) == "blank" else ""
            at = closing
        elif _is_open(tokens, at):
            at = tokens.closing(at)
        at += 1
    return alignments


def _rename_declarators(tokens: Tokens, begin: int, end: int) -> list[str]:
    """Give each declared name the prefix of its type; gives the names."""
    names = []
    last = -1  # the last name outside of brackets: what is declared, once its bounds or its end come
    angles = 0
    at = begin
    bounds = False
    while at <= end:
        text = tokens.text(at)
        if at == end or (text == "," and angles == 0):
            if last < 0:
                break
            names.append(tokens.text(last))
            tokens.all[last].text = _TYPE + tokens.text(last)
            last = -1
            bounds = False
        elif _is_open(tokens, at):
            bounds = bounds or (text == "[" and angles == 0)
            if text == "(" and tokens.text(tokens.after(at)) in {"*", "&"}:
                last = tokens.before(tokens.closing(at))  # (*name)[4]
                bounds = True
            at = tokens.closing(at)
        elif text in {"<", ">"}:
            angles = max(0, angles + (1 if text == "<" else -1))
        elif tokens.kind(at) == "name" and text and angles == 0 and not bounds:
            last = at
        at += 1
    if not names:
        raise Unbalanced  # it declares nothing
    return names
