"""What a launch's arguments become: values, taken once, and what only the kernel's own call determines.

    k<<<1, 1>>>({n, 2}, p, 0)   ->   [=](auto a0, auto a1) { k({a0, 2}, a1, 0); } ... .with(n, p)

A literal zero is a null pointer, and a list in braces is of the parameter's type, only where the kernel is called.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pluginkit.cuda_cpu.tokens import Tokens

NAME = "pluginkit_cpu_arguments"
_ZEROS = frozenset({"0", "NULL", "__null"})
_OPEN = frozenset({"(", "[", "{"})
_AFTER_TEMPLATE = frozenset({"(", "{", "::", ",", ")"})


@dataclass
class _Plan:
    """The values that are kept, as first and last token; the parameters for them; the call; the tokens to drop."""

    values: list[tuple[int, int]] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    drop: list[int] = field(default_factory=list)
    special: bool = False
    packed: bool = False


def rewrite(tokens: Tokens, opening: int) -> tuple[str, str]:
    """Leave the values alone in the parentheses at `opening`; gives the parameters and the call's arguments."""
    plan = _Plan()
    given = ", ".join(_argument(tokens, piece, plan) for piece in pieces(tokens, opening, plan.drop))
    if not plan.special or plan.packed:
        return f"auto... {NAME}", f"{NAME}..."
    for at in plan.drop:
        tokens.all[at].text = ""
    for _, last in plan.values[:-1]:
        tokens.all[last].text += ","
    return ", ".join(plan.taken), given


def pieces(tokens: Tokens, opening: int, commas: list[int]) -> list[list[int]]:
    """The tokens of each element of the brackets at `opening`, blanks left out; the commas are added to `commas`."""
    closing = tokens.closing(opening)
    found: list[list[int]] = [[]]
    at = tokens.after(opening)
    while at < closing:
        end = at
        if tokens.kind(at) == "mark" and tokens.text(at) in _OPEN:
            end = tokens.closing(at)
        elif tokens.text(at) == "<":
            end = _template_end(tokens, at, closing)
        if tokens.text(at) == ",":
            commas.append(at)
            found.append([])
        else:
            found[-1] += [i for i in range(at, end + 1) if tokens.kind(i) != "blank"]
        at = tokens.after(end)
    return [piece for piece in found if piece]


def _template_end(tokens: Tokens, at: int, limit: int) -> int:
    """The `>` that closes template arguments opened at `at`; `at` itself where `<` is a comparison."""
    if tokens.kind(tokens.before(at)) != "name":
        return at
    depth = 0
    end = at
    while end < limit:
        text = tokens.text(end)
        if tokens.kind(end) == "mark" and text in _OPEN:
            end = tokens.closing(end)
        depth += (text == "<") - (text == ">")
        if depth == 0:
            return end if tokens.text(tokens.after(end)) in _AFTER_TEMPLATE else at
        end = tokens.after(end)
    return at


def _argument(tokens: Tokens, piece: list[int], plan: _Plan) -> str:
    """What the kernel's call has for an argument."""
    text = "".join(tokens.text(at) for at in piece)
    if text in _ZEROS:
        plan.special = True
        plan.drop += piece
        return text
    if tokens.text(piece[0]) == "{" and tokens.closing(piece[0]) == piece[-1]:
        plan.special = True
        return _braces(tokens, piece[0], plan)
    return _value(piece, plan, packed=text.endswith("..."))


def _braces(tokens: Tokens, opening: int, plan: _Plan) -> str:
    plan.drop += [opening, tokens.closing(opening)]
    elements = []
    for piece in pieces(tokens, opening, plan.drop):
        name = ""
        if tokens.text(piece[0]) == "." and len(piece) > 3 and tokens.text(piece[2]) == "=":
            name = f".{tokens.text(piece[1])} = "
            plan.drop += piece[:3]
            piece = piece[3:]  # noqa: PLW2901
        # A constant stays one, since a list in braces narrows nothing else.
        if len(piece) == 1 and tokens.kind(piece[0]) in {"number", "text"}:
            plan.drop += piece
            elements.append(name + tokens.text(piece[0]))
        elif tokens.text(piece[0]) == "{" and tokens.closing(piece[0]) == piece[-1]:
            elements.append(name + _braces(tokens, piece[0], plan))
        else:
            elements.append(name + _value(piece, plan, packed=False))
    return f"{{{', '.join(elements)}}}"


def _value(piece: list[int], plan: _Plan, *, packed: bool) -> str:
    name = f"{NAME}{len(plan.values)}"
    # Of parameters after a pack nothing is known.
    plan.packed = plan.packed or any(each.startswith("auto...") for each in plan.taken)
    plan.values.append((piece[0], piece[-1]))
    plan.taken.append(f"auto{'...' if packed else ''} {name}")
    return f"{name}..." if packed else name
