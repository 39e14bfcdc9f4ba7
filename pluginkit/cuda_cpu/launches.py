"""`kernel<<<grid, block, shared, stream>>>(args)` becomes a call of `pluginkit_cpu::v2::kernel`.

    k<T><<<g, b>>>(x)   ->   ::pluginkit_cpu::v2::kernel([=](auto... a) { k<T>(a...); }, "k<T>").on(g, b).with(x)

The arguments are evaluated once, and every thread gets its own copies, as on a GPU.
"""

from __future__ import annotations

import re

from pluginkit.cuda_cpu.tokens import Tokens, Unbalanced
from pluginkit.errors import BuildFailed

_ARGUMENTS = "pluginkit_cpu_arguments"
LAUNCH_FUNCTION = "cudaLaunchKernel"
_ZEROS = frozenset({"0", "NULL", "__null"})
_CASTS = frozenset({"(void*)", "(constvoid*)", "(voidconst*)"})
_STATEMENT_WORDS = frozenset({"return", "else", "do", "case", "throw", "co_return"})


def rewrite(tokens: Tokens) -> None:
    """Rewrite every launch in place.

    Raises:
        BuildFailed: a `<<<` without its `>>>`, or without arguments in parentheses; it names file and line.
    """
    for index in range(len(tokens.all)):
        if tokens.text(index) == LAUNCH_FUNCTION:
            _uncast(tokens, index)
        if _is_triple(tokens, index, "<"):
            try:
                _rewrite_one(tokens, index)
            except Unbalanced:
                raise BuildFailed(
                    f"{tokens.place(index)}: a launch '<<<' without its '>>>(arguments)'.",
                    hint="A launch is kernel<<<grid, block[, shared bytes[, stream]]>>>(arguments).",
                ) from None


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
    literals = _literals(tokens, arguments)
    begin = _callee(tokens, tokens.before(index))
    name = "".join(t.text for t in tokens.all[begin:index] if not t.text.startswith("#"))
    name = re.sub(r"\s+", " ", name).strip().replace("\\", "\\\\").replace('"', '\\"')
    taken, given = f"auto... {_ARGUMENTS}", f"{_ARGUMENTS}..."
    if any(literals):
        named = [f"{_ARGUMENTS}{i}" for i in range(len(literals))]
        taken = ", ".join(f"auto {each}" for each, literal in zip(named, literals, strict=True) if not literal)
        given = ", ".join(literal or each for each, literal in zip(named, literals, strict=True))
        _drop_literals(tokens, arguments)
    tokens.all[begin].text = f"::pluginkit_cpu::v2::kernel([=]({taken}) {{ {tokens.text(begin)}"
    tokens.all[index].text = f'({given}); }}, "{name}").on('
    tokens.all[end].text = ")"
    for at in (index + 1, index + 2, end + 1, end + 2):
        tokens.all[at].text = ""
    tokens.all[arguments].text = ".with("


def _pieces(tokens: Tokens, opening: int) -> list[list[int]] | None:
    """The tokens of each argument of the parentheses at `opening`, blanks left out.

    None if that can't be told without knowing the types: a comma that may stand in template arguments, or a pack.
    """
    closing = tokens.closing(opening)
    pieces: list[list[int]] = [[]]
    angle = False
    at = tokens.after(opening)
    while at < closing:
        text = tokens.text(at)
        inner = tokens.closing(at) if text in {"(", "[", "{"} and tokens.kind(at) == "mark" else at
        if text == "," and angle:
            return None
        if text == ",":
            pieces.append([])
        else:
            pieces[-1] += [i for i in range(at, inner + 1) if tokens.kind(i) != "blank"]
        angle = text == "<" or (angle and text != ">")
        if text == "." and tokens.text(at + 1) == ".":
            return None
        at = tokens.after(inner)
    return pieces


def _literals(tokens: Tokens, opening: int) -> list[str]:
    """For each argument the literal zero that it is, or nothing."""
    pieces = _pieces(tokens, opening) or []
    texts = ["".join(tokens.text(at) for at in piece) for piece in pieces]
    return [text if text in _ZEROS else "" for text in texts]


def _drop_literals(tokens: Tokens, opening: int) -> None:
    """Take the literal zeros, and the commas that parted them, out of the arguments."""
    pieces = _pieces(tokens, opening) or []
    kept = False
    for number, piece in enumerate(pieces):
        literal = "".join(tokens.text(at) for at in piece) in _ZEROS
        comma = tokens.before(piece[0])
        if number and (literal or not kept):
            tokens.all[comma].text = ""
        if literal:
            tokens.all[piece[0]].text = ""
        kept = kept or not literal


def _uncast(tokens: Tokens, index: int) -> None:
    """`cudaLaunchKernel((void*)k, ...)` without the cast: the kernel's type says what its arguments point to."""
    opening = tokens.after(index)
    if tokens.text(opening) != "(" or tokens.text(tokens.before(index)) == "::":
        return
    first = tokens.after(opening)
    if tokens.text(first) == "reinterpret_cast":
        end = tokens.after(first)
        while tokens.text(end) not in {">", ""}:
            end = tokens.after(end)
        for at in range(first, end + 1):
            if tokens.kind(at) != "blank":
                tokens.all[at].text = ""
    elif tokens.text(first) == "(":
        end = tokens.closing(first)
        if "".join(tokens.text(at) for at in range(first, end + 1) if tokens.kind(at) != "blank") in _CASTS:
            for at in range(first, end + 1):
                if tokens.kind(at) != "blank":
                    tokens.all[at].text = ""


def _callee(tokens: Tokens, last: int) -> int:
    """The first token of the expression that ends at `last`: `ns::k<T>`, `this->kernels[i]`, `(*pointer)`."""
    at = last
    while True:
        if tokens.text(at) == ">":
            at = tokens.before(tokens.opening_angle(at))
        if tokens.text(at) in {")", "]"}:
            at = tokens.opening(at)
            before = tokens.before(at)
            if tokens.text(at) == "[" and tokens.text(before) in {")", "]"}:
                at = before
                continue
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
