"""The PTX instructions that target cpu has, each as C++.

Source of what they do: NVIDIA's "Parallel Thread Execution ISA". docs/cpu-target.md lists them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit.cuda_cpu.ptx import cooperation as together
from pluginkit.cuda_cpu.ptx.operands import (
    PTX,
    SIZES,
    TYPES,
    WAITING,
    Names,
    Rule,
    Unknown,
    address_of,
    assign,
    elements,
    is_plain,
    join,
    operand,
)

MISSING = "pluginkit_cpu_v2_no_ptx."
"""What the name of an instruction that isn't there begins with, as a symbol."""
# What changes nothing here: rounding to nearest, approximations, caches, scopes.
_NOTHING = frozenset(
    {
        *("rn", "ftz", "approx", "full", "noftz", "uni", "aligned", "lo"),
        *("global", "const", "local", "param", "generic", "gpu", "cta", "sys", "weak", "nc", "mmio"),
        *("ca", "cs", "lu", "wb", "wt", "L1::no_allocate", "L1::evict_last", "L1::evict_first", "L1::evict_normal"),
        *("L2::64B", "L2::128B", "L2::256B", "L2::cache_hint"),
    }
)
_NO_EFFECT = frozenset(
    {
        "prefetch",
        "prefetchu",
        "discard",
        "applypriority",
        "createpolicy",
        "griddepcontrol",
        "setmaxnreg",
        "elect.none",
        "brkpt",
        "pmevent",
    }
)
_BINARY = frozenset({"add", "sub", "div", "rem", "min", "max", "and", "or", "xor"})
_UNARY = frozenset(
    {
        "abs",
        "neg",
        "not",
        "cnot",
        "sqrt",
        "rsqrt",
        "rcp",
        "ex2",
        "lg2",
        "sin",
        "cos",
        "tanh",
        "popc",
        "clz",
        "brev",
        "bfind",
    }
)
_TERNARY = frozenset({"fma", "bfe"})
_COMPARISONS = frozenset(
    {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "lo", "ls", "hi", "hs", "num", "nan"}
)
_ATOMS = frozenset({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"})


def translate(mnemonic: str, arguments: Sequence[str], names: Names) -> str | None:
    """The C++ for an instruction, or None if it isn't there."""
    operation, *rest = mnemonic.split(".")
    types = [each for each in rest if each in TYPES]
    modifiers = [each for each in rest if each not in TYPES and each not in _NOTHING]
    rule = _RULES.get(operation)
    if operation in _NO_EFFECT:
        return ";"
    if rule is None and operation in _BINARY | _UNARY | _TERNARY:
        rule = _arithmetic(operation)
    try:
        return None if rule is None else rule(list(arguments), modifiers, types, names)
    except Unknown:
        return None


def _arithmetic(operation: str) -> Rule:
    def rule(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
        after = [each for each in modifiers if each in {"sat", "relu"}]
        if len(types) != 1 or set(modifiers) - {"sat", "relu"}:
            return None
        inputs = ", ".join(operand(each, types[0], names) for each in a[1:])
        value = f"{PTX}{operation}_<{TYPES[types[0]]}>({inputs})"
        for each in after:
            value = f"{PTX}{each}<{TYPES[types[0]]}>({value})"
        return assign(a[0], value, names)

    return rule


def _mov(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    if len(a) != 2 or not types or modifiers:
        return None
    to, source = elements(a[0]), elements(a[1])
    bits = 8 * SIZES.get(types[0], 1)
    if len(to) > 1:
        width = bits // len(to)
        parts = [f"{PTX}part({operand(a[1], types[0], names)}, {i * width}, {width})" for i in range(len(to))]
        return join(*(assign(register, part, names) for register, part in zip(to, parts, strict=True)))
    if len(source) > 1:
        width = bits // len(source)
        parts = [f"{PTX}place({operand(each, types[0], names)}, {i * width}, {width})" for i, each in enumerate(source)]
        return assign(a[0], " | ".join(parts), names)
    return assign(a[0], operand(a[1], types[0], names), names)


def _cvt(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    if "pack" in modifiers:
        # cvt.pack.sat.u8.s32.b32 d, a, b, c: the two saturated values below c's upper ones.
        low, high = operand(a[2], "s32", names), operand(a[1], "s32", names)
        rest = operand(a[3], "b32", names) if len(a) > 3 else "0"
        return assign(a[0], f"{PTX}pack<{TYPES[types[0]]}>({high}, {low}, {rest})", names)
    rounding = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}
    kinds = [each for each in modifiers if each in {"rni", "rzi", "rmi", "rpi", "rz", "rm", "rp", "rna"}]
    others = set(modifiers) - set(kinds) - {"sat", "relu", "satfinite"}
    if others or not types or "tf32" in others:
        return None
    how = rounding.get(kinds[0], kinds[0]) if kinds else "rn"
    whole = "true" if kinds and kinds[0] in rounding else "false"
    saturate = "true" if {"sat", "satfinite"} & set(modifiers) else "false"
    if types[0] in {"f16x2", "bf16x2"}:
        half = TYPES[types[0][:-2]]
        convert = f"{PTX}convert<{half}, float, {PTX}Rounding::{how}, false, {saturate}>"
        high, low = (f"{convert}({operand(each, 'f32', names)})" for each in a[1:3])
        return assign(a[0], f"{high} << 16 | {low}", names)
    source = types[1] if len(types) > 1 else types[0]
    arguments = f"{TYPES[types[0]]}, {TYPES[source]}, {PTX}Rounding::{how}, {whole}, {saturate}"
    value = f"{PTX}convert<{arguments}>({operand(a[1], source, names)})"
    return assign(a[0], f"{PTX}relu<{TYPES[types[0]]}>({value})" if "relu" in modifiers else value, names)


def _ld(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    address = address_of(a[1], modifiers, names) if len(a) >= 2 else None
    if address is None or len(types) != 1 or not is_plain(modifiers):
        return None
    wait = "::pluginkit_cpu::yield(); " if WAITING & set(modifiers) else ""
    load = f"{PTX}load<{TYPES[types[0]]}>"
    targets = elements(a[0])
    loads = [assign(to, f"{load}({address} + {i * SIZES[types[0]]})", names) for i, to in enumerate(targets)]
    return join(wait, *loads)


def _st(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    address = address_of(a[0], modifiers, names) if len(a) >= 2 else None
    if address is None or len(types) != 1 or not is_plain(modifiers):
        return None
    store = f"{PTX}store<{TYPES[types[0]]}>"
    fence = "::pluginkit_cpu::fence(); " if "release" in modifiers else ""
    values = [operand(each, types[0], names) for each in elements(a[1])]
    return fence + " ".join(f"{store}({address} + {i * SIZES[types[0]]}, {v});" for i, v in enumerate(values))


def _atom(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    operation = next((each for each in modifiers if each in _ATOMS), None)
    address = address_of(a[1], modifiers, names) if len(a) > 2 else None
    if operation is None or address is None or not types or not is_plain(modifiers, operation, "acq_rel"):
        return None
    values = ", ".join(operand(each, types[0], names) for each in a[2:])
    return assign(a[0], f"{PTX}atom_{operation}<{TYPES[types[0]]}>({address}, {values})", names)


def _red(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    return _atom(["_", *a], modifiers, types, names)


def _mul(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    return _product("mul", a, modifiers, types, names)


def _mad(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    return _product("mad", a, modifiers, types, names)


def _product(operation: str, a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    part = next((each for each in modifiers if each in {"hi", "wide"}), "")
    if len(types) != 1 or set(modifiers) - {part, "sat"}:
        return None
    inputs = ", ".join(operand(each, types[0], names) for each in a[1:])
    value = f"{PTX}{operation}{part.capitalize()}<{TYPES[types[0]]}>({inputs})"
    return assign(a[0], f"{PTX}sat<{TYPES[types[0]]}>({value})" if "sat" in modifiers else value, names)


def _setp(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    if len(modifiers) != 1 or modifiers[0] not in _COMPARISONS or len(types) != 1 or len(a) != 3:
        return None
    first, _, second = a[0].partition("|")
    x, y = (operand(each, types[0], names) for each in a[1:])
    value = f"{PTX}compare_{modifiers[0]}<{TYPES[types[0]]}>({x}, {y})"
    return join(assign(first, value, names), assign(second, f"!{value}", names) if second else "")


def _selp(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    del modifiers
    x, y = (operand(each, types[0], names) for each in a[1:3])
    return assign(a[0], f"({operand(a[3], 'pred', names)}) ? {x} : {y}", names)


def _call(function: str, count: int) -> Rule:
    """An instruction that a function of ptx.h does, on images."""

    def rule(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
        if len(a) != count + 1 or set(modifiers) - {"b32"}:
            return None
        kind = types[0] if types else "b32"
        inputs = ", ".join(operand(each, kind, names) for each in a[1:])
        return assign(a[0], f"{PTX}{function}<{TYPES[kind]}>({inputs})", names)

    return rule


def _shf(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    del types
    if len(modifiers) != 2 or modifiers[0] not in {"l", "r"}:
        return None
    inputs = ", ".join(operand(each, "b32", names) for each in a[1:])
    wrap = "true" if modifiers[1] == "wrap" else "false"
    return assign(a[0], f"{PTX}shf_{modifiers[0]}({inputs}, {wrap})", names)


def _cvta(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    del types
    value = operand(a[1], "u64", names)
    if any(each.startswith("shared") for each in modifiers):
        value = f"{PTX}{'toShared' if 'to' in modifiers else 'fromShared'}({value})"
    return assign(a[0], value, names)


def _plainly(code: str) -> Rule:
    def rule(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
        del a, modifiers, types, names
        return code

    return rule


_RULES: dict[str, Rule] = {
    "mov": _mov, "cvt": _cvt, "cvta": _cvta, "ld": _ld, "ldu": _ld, "st": _st, "atom": _atom, "red": _red,
    "mul": _mul, "mad": _mad, "mul24": _mul, "setp": _setp, "selp": _selp, "shf": _shf, "shfl": together.shfl,
    "vote": together.vote, "match": together.match, "redux": together.redux, "activemask": together.activemask,
    "bar": together.bar, "barrier": together.bar, "cp": together.cp, "shl": _call("shl", 2), "shr": _call("shr", 2),
    "bfi": _call("bfi", 4), "prmt": _call("prmt", 3), "lop3": _call("lop3", 4), "dp4a": _call("dp4a", 3),
    "sad": _call("sad", 3), "membar": _plainly("::pluginkit_cpu::fence();"),
    "fence": _plainly("::pluginkit_cpu::fence();"), "nanosleep": _plainly("::pluginkit_cpu::yield();"),
    "exit": _plainly("::pluginkit_cpu::exitThread();"),
    "trap": _plainly('::pluginkit_cpu::trap("trap", {__builtin_FILE(), __builtin_LINE()});'),
}  # fmt: skip

INSTRUCTIONS = frozenset(_RULES) | _BINARY | _UNARY | _TERNARY | _NO_EFFECT
"""The names of all instructions that there are, of which some have forms that aren't; docs/cpu-target.md lists them."""
