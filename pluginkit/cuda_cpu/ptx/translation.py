"""Inline PTX to C++, at compile time.

    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
->  do { uint64_t r0 = 0; r0 = special_laneid(); assign(lane, r0); } while (false);

Registers are 64-bit images of their values; `pluginkit/cpu/ptx.h` has the instructions. One that it hasn't becomes a
call of a function that doesn't exist, whose name has which it is and where: so it costs nothing in a header's function
that is never used, and `symbols` refuses it elsewhere.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from pluginkit.cuda_cpu.ptx import instructions
from pluginkit.cuda_cpu.tokens import Tokens

_WORDS = frozenset({"asm", "__asm__", "__asm"})
_VOLATILE = frozenset({"volatile", "__volatile__"})
# x86's and ARM's instructions have no dots in the middle of words, PTX's nearly all have.
_PTX = re.compile(r"\b[a-z]\w*\.[a-z:]|%%?(?:laneid|lanemask|tid|ctaid|clock)|\b(?:trap|exit|activemask)\b")
_REGISTER = "pluginkit_cpu_"


@dataclass
class _Operands:
    """The C++ expressions of an asm statement, in the order of their numbers."""

    outputs: list[tuple[str, str]] = field(default_factory=list)  # constraint, expression
    inputs: list[tuple[str, str]] = field(default_factory=list)


def rewrite(tokens: Tokens) -> None:
    """Rewrite every asm statement that is PTX, in place."""
    for index in range(len(tokens.all)):
        if tokens.text(index) in _WORDS and tokens.kind(index) == "name":
            _statement(tokens, index)


def _statement(tokens: Tokens, index: int) -> None:
    opening = tokens.after(index)
    while tokens.text(opening) in _VOLATILE:
        opening = tokens.after(opening)
    first = tokens.after(opening)
    if tokens.text(opening) != "(" or tokens.kind(first) != "text":
        return
    closing = tokens.closing(opening)
    end = first
    while tokens.kind(end) in {"text", "blank"}:
        end += 1
    text = "".join(_literal(tokens.text(at)) for at in range(first, end) if tokens.kind(at) == "text")
    if not _PTX.search(text):
        return
    code = translate(text, _operands(tokens, end, closing), tokens.place(index))
    for at in range(index, closing + 1):
        # The lines stay, so that what follows keeps its numbers.
        blank = tokens.kind(at) == "blank"
        tokens.all[at].text = tokens.text(at) if blank and "\n" in tokens.text(at) else ""
    tokens.all[index].text = code


def _literal(text: str) -> str:
    """What a string literal means."""
    raw = re.match(r'R"([^(\s]*)\(((?:.|\n)*)\)\1"', text)
    return raw[2] if raw else str(ast.literal_eval(text.replace("\n", " ")))


def _operands(tokens: Tokens, begin: int, end: int) -> _Operands:
    operands = _Operands()
    section = 0
    at = begin
    while at < end:
        if tokens.text(at) in {":", "::"}:
            section += len(tokens.text(at))
        elif tokens.kind(at) == "text" and tokens.text(tokens.after(at)) == "(" and section in {1, 2}:
            opening = tokens.after(at)
            closing = tokens.closing(opening)
            expression = "".join(tokens.text(i) for i in range(opening, closing + 1))
            kept = operands.outputs if section == 1 else operands.inputs
            # On one line: a line marker inside would move what follows.
            kept.append((tokens.text(at), re.sub(r"\s*(?:^#.*$)?\s+", " ", expression, flags=re.MULTILINE)))
            at = closing
        at += 1
    return operands


def translate(text: str, operands: _Operands, place: str) -> str:
    """The C++ statement for a text of PTX that stands at `place`."""
    names: dict[str, str] = {}
    code = []
    for number, (constraint, expression) in enumerate([*operands.outputs, *operands.inputs]):
        names[f"%{number}"] = name = f"{_REGISTER}{number}"
        given = number >= len(operands.outputs) or "+" in constraint
        code.append(f"uint64_t {name} = {f'::pluginkit_cpu::ptx::image({expression})' if given else '0'};")
    code.extend(_translate_statement(statement, names, place) for statement in _statements(text))
    for number, (_, expression) in enumerate(operands.outputs):
        code.append(f"::pluginkit_cpu::ptx::assign({expression}, {_REGISTER}{number});")
    # Not every register of a text is read.
    used = "".join(f" (void){name};" for name in dict.fromkeys(names.values()) if name)
    return f"do {{ {' '.join(filter(None, code))}{used} }} while (false)"


def _statements(text: str) -> list[str]:
    """The statements, without comments and without the braces of blocks; braces of vectors stay."""
    text = re.sub(r"//[^\n]*|/\*(?:.|\n)*?\*/", " ", text).replace("%%", "%")
    found = []
    current = ""
    for character in text:
        if character == ";" or (character in "{}" and not current.strip()):
            found.append(current)
            current = ""
        else:
            current += character
    return [" ".join(statement.split()) for statement in [*found, current] if statement.strip()]


def _translate_statement(statement: str, names: dict[str, str], place: str) -> str:
    """A statement; registers that it declares are added to the names."""
    if statement.startswith(".reg"):
        return _declare(statement, names)
    if statement.startswith((".pragma", ".loc", ".file")):
        return ""
    guard = ""
    guarded = re.match(r"@(!?)\s*(%?[\w$]+)\s+", statement)
    if guarded:
        guard = f"if ({guarded[1]}{names.get(guarded[2], '0')}) "
        statement = statement[guarded.end() :]
    mnemonic, _, rest = statement.partition(" ")
    code = instructions.translate(mnemonic, _arguments(rest), names)
    if code is None:
        return _missing(mnemonic, place)
    return f"{guard}{{ {code} }}" if guard else code


def _declare(statement: str, names: dict[str, str]) -> str:
    listed = re.sub(r"^\.reg\s*(?:\.\w+\s*)+", "", statement)
    code = ""
    for each in listed.split(","):
        many = re.match(r"\s*(%?[\w$]+)\s*(?:<(\d+)>)?", each)
        if many is None:
            continue
        for name in [f"{many[1]}{n}" for n in range(int(many[2]))] if many[2] else [many[1]]:
            names[name] = _REGISTER + "r_" + re.sub(r"\W", "_", name)
            code += f"uint64_t {names[name]} = 0;"
    return code


def _arguments(text: str) -> list[str]:
    found = [""]
    depth = 0
    for character in text:
        depth += (character in "{[(") - (character in "}])")
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [each.strip() for each in found if each.strip()]


def _missing(mnemonic: str, place: str) -> str:
    """A call of the function that doesn't exist."""
    symbol = f"{instructions.MISSING}{_spelled(mnemonic)}.{_spelled(place)}"
    function = re.sub(r"\W", "_", symbol)
    return f'extern void {function}() __asm__("{symbol}"); {function}();'


def _spelled(text: str) -> str:
    """A text in the letters that a symbol may have."""
    return re.sub(r"\W", lambda found: "".join(f"${byte:02x}" for byte in found[0].encode()), text, flags=re.ASCII)


def read_missing(symbol: str) -> tuple[str, str]:
    """The instruction and its place, of the symbol of one that isn't there."""
    mnemonic, place = symbol.removeprefix(instructions.MISSING).split(".")
    plain = (re.sub(r"(?:\$[0-9a-f]{2})+", _read, text) for text in (mnemonic, place))
    return next(plain), next(plain)


def _read(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("$", "")).decode(errors="replace")
