"""`kernel<<<grid, block, shared, stream>>>(args)` becomes a call of `pluginkit_cpu::v1::kernel`.

    k<T><<<g, b>>>(x)   ->   ::pluginkit_cpu::v1::kernel([=](auto... a) { k<T>(a...); }, "k<T>").on(g, b).with(x)

The arguments are evaluated once, and every thread gets its own copies, as on a GPU.
"""

from __future__ import annotations

import re

from pluginkit.cuda_cpu.tokens import Tokens, Unbalanced
from pluginkit.errors import BuildFailed

_ARGUMENTS = "pluginkit_cpu_arguments"
_STATEMENT_WORDS = frozenset({"return", "else", "do", "case", "throw", "co_return"})


def rewrite(source: str) -> str:
    """Rewrite every launch of a preprocessed source; all else, line breaks included, stays as it is.

    Raises:
        BuildFailed: a `<<<` without its `>>>`, or without arguments in parentheses; it names file and line.
    """
    if "<<<" not in source:
        return source
    tokens = Tokens(source)
    for index in range(len(tokens.all)):
        if _is_triple(tokens, index, "<"):
            try:
                _rewrite_one(tokens, index)
            except Unbalanced:
                raise BuildFailed(
                    f"{_place(tokens, index)}: a launch '<<<' without its '>>>(arguments)'.",
                    hint="A launch is kernel<<<grid, block[, shared bytes[, stream]]>>>(arguments).",
                ) from None
    return str(tokens)


def _is_triple(tokens: Tokens, index: int, mark: str) -> bool:
    """Whether three of a mark stand here with nothing between, as CUDA's compiler wants them."""
    return all(tokens.text(index + i) == mark and tokens.kind(index + i) == "mark" for i in range(3))


def _rewrite_one(tokens: Tokens, index: int) -> None:
    end = index + 3
    while not _is_triple(tokens, end, ">"):
        text = tokens.text(end)
        if not text or text == ";":
            raise Unbalanced
        end = tokens.closing(end) + 1 if text in "([{" and tokens.kind(end) == "mark" else end + 1
    arguments = tokens.after(end + 2)
    if tokens.text(arguments) != "(":
        raise Unbalanced
    tokens.closing(arguments)
    begin = _callee(tokens, tokens.before(index))
    name = "".join(t.text for t in tokens.all[begin:index] if not t.text.startswith("#"))
    name = re.sub(r"\s+", " ", name).strip().replace("\\", "\\\\").replace('"', '\\"')
    tokens.all[begin].text = f"::pluginkit_cpu::v1::kernel([=](auto... {_ARGUMENTS}) {{ {tokens.text(begin)}"
    tokens.all[index].text = f'({_ARGUMENTS}...); }}, "{name}").on('
    tokens.all[end].text = ")"
    for at in (index + 1, index + 2, end + 1, end + 2):
        tokens.all[at].text = ""
    tokens.all[arguments].text = ".with("


def _callee(tokens: Tokens, last: int) -> int:
    """The first token of the expression that ends at `last`: `ns::k<T>`, `this->kernels[i]`, `(*pointer)`."""
    at = last
    while True:
        if tokens.text(at) == ">":
            at = tokens.before(tokens.opening_angle(at))
        if tokens.text(at) in {")", "]"}:
            at = tokens.opening(at)
            before = tokens.before(at)
            if tokens.kind(before) == "name" and tokens.text(before) not in _STATEMENT_WORDS:
                at = before
                continue
        before = tokens.before(at)
        if tokens.text(before) == "template":
            at, before = before, tokens.before(before)
        if tokens.text(before) not in {"::", ".", "->"}:
            return at
        owner = tokens.before(before)
        owned = tokens.kind(owner) == "name" and tokens.text(owner) not in _STATEMENT_WORDS
        if tokens.text(before) == "::" and not owned and tokens.text(owner) != ">":
            return before
        at = owner


def _place(tokens: Tokens, index: int) -> str:
    """`file:line` of a token, from the preprocessor's line markers."""
    file, line = "the source", 1
    for token in tokens.all[:index]:
        marker = re.match(r'#\s*(?:line\s+)?(\d+)\s+"((?:[^"\\]|\\.)*)"', token.text)
        if marker:
            line, file = int(marker[1]) - 1, marker[2]
        line += token.text.count("\n") if token.kind in {"blank", "text"} else 0
    return f"{file}:{line}"
