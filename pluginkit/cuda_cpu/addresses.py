"""Casts to `void*` in the user's own sources: what may be a kernel's address remembers how to launch the kernel.

    void const* table[] = {(void const*)k<float>, reinterpret_cast<void*>(k<int>)};
->  void const* table[] = {::pluginkit_cpu::v2::Address<void const*>{}->*k<float>,
                           ::pluginkit_cpu::v2::addressOf<void*>(k<int>)};

`cudaLaunchKernel(table[i], ...)` shows nothing of the kernel's parameters. `->*` binds tighter than all that can stand
before such a cast.
"""

from __future__ import annotations

from pluginkit.cuda_cpu import scopes
from pluginkit.cuda_cpu.tokens import Tokens

_BEFORE_CAST = frozenset({"=", "(", ",", "{", ":", "?", "return"})
_OURS = "::pluginkit_cpu::v2::"


def rewrite(tokens: Tokens) -> None:
    """Rewrite the casts in place."""
    for index in scopes.own(tokens):
        if tokens.text(index) == "void":
            _cast(tokens, index)


def _cast(tokens: Tokens, void: int) -> None:
    star = tokens.after(void)
    first = void
    if tokens.text(star) == "const":
        star = tokens.after(star)
    elif tokens.text(tokens.before(void)) == "const":
        first = tokens.before(void)
    opening, closing = tokens.before(first), tokens.after(star)
    if tokens.text(star) != "*":
        return
    target = " ".join(tokens.text(at) for at in range(first, star + 1) if tokens.kind(at) != "blank")
    before = tokens.before(opening)
    if tokens.text(opening) == "<" and tokens.text(closing) == ">" and tokens.text(before) == "reinterpret_cast":
        tokens.all[before].text = f"{_OURS}addressOf"
    elif (
        tokens.text(opening) == "("
        and tokens.text(closing) == ")"
        and tokens.text(before) in _BEFORE_CAST
        and _is_named(tokens, tokens.after(closing))
    ):
        tokens.all[opening].text = f"{_OURS}Address<{target}>{{}}->*"
        for at in range(first, closing + 1):
            tokens.all[at].text = "" if tokens.kind(at) != "blank" else tokens.text(at)


def _is_named(tokens: Tokens, index: int) -> bool:
    """Whether a name stands here, or the address of one."""
    if tokens.text(index) == "&":
        index = tokens.after(index)
    return tokens.text(index) == "::" or tokens.kind(index) == "name"
