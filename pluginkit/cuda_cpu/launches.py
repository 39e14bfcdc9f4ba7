"""`kernel<<<grid, block, shared, stream>>>(args)` becomes a call of `pluginkit_cpu::v2::kernel`.

    k<T><<<g, b>>>(x)   ->   ::pluginkit_cpu::v2::kernel([=](auto... a) { k<T>(a...); }, "k<T>").on(g, b).with(x)

The arguments are evaluated once, and every thread gets its own copies, as on a GPU.
"""

from __future__ import annotations

import re

from pluginkit.cuda_cpu import launch_arguments, scopes
from pluginkit.cuda_cpu.tokens import Tokens, Unbalanced
from pluginkit.errors import BuildFailed

LAUNCH_FUNCTION = r"cudaLaunch(?:Cooperative)?Kernel(?:ExC?)?"
"""The functions that launch a kernel, as a pattern."""
# Which argument is the kernel.
_KERNEL_AT = {"cudaLaunchKernel": 0, "cudaLaunchCooperativeKernel": 0, "cudaLaunchKernelExC": 1}
_EX, _OUR_EX = "cudaLaunchKernelEx", "::pluginkit_cpu::v2::launchKernelEx"
_CASTS = ("(void*)", "(constvoid*)", "(voidconst*)")
_STATEMENT_WORDS = frozenset({"return", "else", "do", "case", "throw", "co_return"})


def rewrite(tokens: Tokens) -> None:
    """Rewrite every launch in place.

    Raises:
        BuildFailed: a `<<<` without its `>>>`, or without arguments in parentheses; it names file and line.
    """
    for index in range(len(tokens.all)):
        if tokens.text(index) in _KERNEL_AT:
            _uncast(tokens, index)
        elif tokens.text(index) == _EX:
            _extended(tokens, index)
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
    if _in_kernel(tokens, index):
        raise BuildFailed(
            f"{tokens.place(index)}: a launch from a kernel (dynamic parallelism), "
            "which CUDA on the CPU (target cpu) does not have.",
            hint="Launch it from the host, or leave it out by #ifndef PLUGINKIT_TARGET_CPU.",
        )
    end = index + 3
    while not _is_triple(tokens, end, ">"):
        text = tokens.text(end)
        if not text or text == ";":
            raise Unbalanced
        end = tokens.closing(end) + 1 if text in "([{" and tokens.kind(end) == "mark" else end + 1
    arguments = tokens.after(end + 2)
    if tokens.text(arguments) != "(":
        raise Unbalanced
    begin = _callee(tokens, tokens.before(index))
    name = "".join(t.text for t in tokens.all[begin:index] if not t.text.startswith("#"))
    name = re.sub(r"\s+", " ", name).strip().replace("\\", "\\\\").replace('"', '\\"')
    taken, given = launch_arguments.rewrite(tokens, arguments)
    tokens.all[begin].text = f"::pluginkit_cpu::v2::kernel([=]({taken}) {{ {tokens.text(begin)}"
    tokens.all[index].text = f'({given}); }}, "{name}").on('
    tokens.all[end].text = ")"
    for at in (index + 1, index + 2, end + 1, end + 2):
        tokens.all[at].text = ""
    tokens.all[arguments].text = ".with("


def _in_kernel(tokens: Tokens, index: int) -> bool:
    """Whether the launch stands in a function that is `__global__`, as prelude.h spells that."""
    return any(_is_global(tokens, brace) for brace in scopes.enclosing(tokens, index))


def _is_global(tokens: Tokens, body: int) -> bool:
    """Whether the declaration before the `{` has `__global__`."""
    attributes = (at for at in scopes.head(tokens, body) if tokens.text(at) == "__attribute__")
    return any(tokens.text(tokens.after(tokens.after(tokens.after(at)))) == "," for at in attributes)


def _extended(tokens: Tokens, index: int) -> None:
    """`cudaLaunchKernelEx(&config, k, ...)` is CUDA's template, which forgets the kernel's type: ours doesn't."""
    before = tokens.before(index)
    declared = tokens.kind(before) == "name" and tokens.text(before) not in _STATEMENT_WORDS
    if declared or tokens.text(tokens.after(index)) != "(":
        return
    if tokens.text(before) == "::":
        tokens.all[before].text = ""
    tokens.all[index].text = _OUR_EX


def _uncast(tokens: Tokens, index: int) -> None:
    """`cudaLaunchKernel((void*)k, ...)` without the cast: the kernel's type has its parameters' types."""
    opening = tokens.after(index)
    if tokens.text(opening) != "(" or tokens.text(tokens.before(index)) == "::":
        return
    arguments = launch_arguments.pieces(tokens, opening, [])
    at = _KERNEL_AT[tokens.text(index)]
    if len(arguments) <= at:
        return
    first = arguments[at][0]
    end = first
    if tokens.text(first) == "reinterpret_cast":
        while tokens.text(end) not in {">", ""}:
            end = tokens.after(end)
    elif tokens.text(first) == "(" and "".join(map(tokens.text, arguments[at])).startswith(_CASTS):
        end = tokens.closing(first)
    else:
        return
    for i in range(first, end + 1):
        if tokens.kind(i) != "blank":
            tokens.all[i].text = ""


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
