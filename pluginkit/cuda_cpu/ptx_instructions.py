"""The PTX instructions that target cpu has, each as C++.

Source of what they do: NVIDIA's "Parallel Thread Execution ISA". docs/cpu-target.md lists them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence

MISSING = "pluginkit_cpu_v2_no_ptx."
"""What the name of an instruction that isn't there begins with, as a symbol."""
_PTX = "::pluginkit_cpu::ptx::"
_TYPES = {
    **{f"{kind}{bits}": f"{'u' if kind != 's' else ''}int{bits}_t" for kind in "sub" for bits in (8, 16, 32, 64)},
    "f32": "float",
    "f64": "double",
    "pred": "bool",
    "f16": "__half",
    "f16x2": "__half2",
    "bf16": "__nv_bfloat16",
    "bf16x2": "__nv_bfloat162",
}
_SIZES = {name: int(size[0]) // 8 for name in _TYPES if (size := re.findall(r"\d+", name))}
_SIZES |= {"f16x2": 4, "bf16x2": 4}
# What changes nothing here: rounding to nearest, approximations, caches, scopes.
_NOTHING = frozenset(
    {
        *("rn", "ftz", "approx", "full", "noftz", "uni", "aligned", "lo"),
        *("global", "const", "local", "param", "generic", "gpu", "cta", "sys", "weak", "nc", "mmio"),
        *("ca", "cs", "lu", "wb", "wt", "L1::no_allocate", "L1::evict_last", "L1::evict_first", "L1::evict_normal"),
        *("L2::64B", "L2::128B", "L2::256B", "L2::cache_hint"),
    }
)
_WAITING = frozenset({"volatile", "relaxed", "acquire", "cg", "cv"})
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

SPECIAL_REGISTERS = frozenset(
    {
        *("laneid", "warpid", "nwarpid", "tid", "ctaid", "ntid", "nctaid", "smid", "nsmid", "gridid"),
        *(f"lanemask_{which}" for which in ("eq", "lt", "le", "gt", "ge")),
        *(
            "clock",
            "clock64",
            "clock_hi",
            "globaltimer",
            "globaltimer_lo",
            "globaltimer_hi",
            "envreg0",
            "envreg1",
            "envreg2",
        ),
        *("dynamic_smem_size", "total_smem_size"),
        *("cluster_ctaid", "cluster_nctaid", "cluster_ctarank", "cluster_nctarank", "clusterid", "nclusterid"),
    }
)
"""The special registers of ptx_warp.h."""


class _Unknown(Exception):
    """A register that target cpu doesn't have."""


Names = Mapping[str, str]
Rule = Callable[[list[str], list[str], list[str], Names], str | None]


def translate(mnemonic: str, arguments: Sequence[str], names: Names) -> str | None:
    """The C++ for an instruction, or None if it isn't there."""
    operation, *rest = mnemonic.split(".")
    types = [each for each in rest if each in _TYPES]
    modifiers = [each for each in rest if each not in _TYPES and each not in _NOTHING]
    rule = _RULES.get(operation)
    if operation in _NO_EFFECT:
        return ";"
    if rule is None and operation in _BINARY | _UNARY | _TERNARY:
        rule = _arithmetic(operation)
    try:
        return None if rule is None else rule(list(arguments), modifiers, types, names)
    except _Unknown:
        return None


def _value(text: str, type_: str, names: Names) -> str:
    """An operand as an image."""
    if text.startswith("!"):
        return f"(!{_value(text[1:].strip(), type_, names)})"
    if text in names:
        return names[text]
    special = re.fullmatch(r"%(\w+?)(?:\.([xyz]))?", text)
    if special and special[1] not in SPECIAL_REGISTERS:
        raise _Unknown
    if special:
        which = str("xyz".index(special[2])) if special[2] else ""
        return f"{_PTX}special_{special[1]}({which})"
    if text == "WARP_SZ":
        return "32"
    bits = _immediate(text, type_)
    return f"0x{bits:X}U" if bits is not None and bits < 1 << 32 else f"0x{bits:X}ULL" if bits is not None else text


def _immediate(text: str, type_: str) -> int | None:
    exact = re.fullmatch(r"0([fFdD])([0-9a-fA-F]+)", text)
    if exact:
        return int(exact[2], 16)
    if re.fullmatch(r"-?\d+\.\d*(?:[eE][+-]?\d+)?", text):
        packed = struct.pack("<d" if type_ == "f64" else "<f", float(text))
        return int.from_bytes(packed, "little")
    whole = re.fullmatch(r"(-?)(0[xX][0-9a-fA-F]+|\d+)U?", text)
    if whole is None:
        return None
    value = int(whole[2], 0 if whole[2][:2].lower() == "0x" else 10)
    return -value % (1 << 64) if whole[1] else value


def _target(text: str, names: Names) -> str | None:
    """A register that is written to; nothing for `_`."""
    return "" if text == "_" else names.get(text)


def _set(text: str, value: str, names: Names) -> str | None:
    target = _target(text, names)
    return None if target is None else f"{target} = {value};" if target else f"(void)({value});"


def _vector(text: str) -> list[str]:
    return [each.strip() for each in text.strip("{}").split(",")] if text.startswith("{") else [text]


def _all(*code: str | None) -> str | None:
    return None if any(each is None for each in code) else " ".join(each for each in code if each)


def _arithmetic(operation: str) -> Rule:
    def rule(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
        after = [each for each in modifiers if each in {"sat", "relu"}]
        if len(types) != 1 or set(modifiers) - {"sat", "relu"}:
            return None
        inputs = ", ".join(_value(each, types[0], names) for each in a[1:])
        value = f"{_PTX}{operation}_<{_TYPES[types[0]]}>({inputs})"
        for each in after:
            value = f"{_PTX}{each}<{_TYPES[types[0]]}>({value})"
        return _set(a[0], value, names)

    return rule


def _mov(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    if len(a) != 2 or not types or modifiers:
        return None
    to, source = _vector(a[0]), _vector(a[1])
    bits = 8 * _SIZES.get(types[0], 1)
    if len(to) > 1:
        width = bits // len(to)
        parts = [f"{_PTX}part({_value(a[1], types[0], names)}, {i * width}, {width})" for i in range(len(to))]
        return _all(*(_set(register, part, names) for register, part in zip(to, parts, strict=True)))
    if len(source) > 1:
        width = bits // len(source)
        parts = [f"{_PTX}place({_value(each, types[0], names)}, {i * width}, {width})" for i, each in enumerate(source)]
        return _set(a[0], " | ".join(parts), names)
    return _set(a[0], _value(a[1], types[0], names), names)


def _cvt(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    if "pack" in modifiers:
        # cvt.pack.sat.u8.s32.b32 d, a, b, c: the two saturated values below c's upper ones.
        low, high = _value(a[2], "s32", names), _value(a[1], "s32", names)
        rest = _value(a[3], "b32", names) if len(a) > 3 else "0"
        return _set(a[0], f"{_PTX}pack<{_TYPES[types[0]]}>({high}, {low}, {rest})", names)
    rounding = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}
    kinds = [each for each in modifiers if each in {"rni", "rzi", "rmi", "rpi", "rz", "rm", "rp", "rna"}]
    others = set(modifiers) - set(kinds) - {"sat", "relu", "satfinite"}
    if others or not types or "tf32" in others:
        return None
    how = rounding.get(kinds[0], kinds[0]) if kinds else "rn"
    whole = "true" if kinds and kinds[0] in rounding else "false"
    saturate = "true" if {"sat", "satfinite"} & set(modifiers) else "false"
    if types[0] in {"f16x2", "bf16x2"}:
        half = _TYPES[types[0][:-2]]
        convert = f"{_PTX}convert<{half}, float, {_PTX}Rounding::{how}, false, {saturate}>"
        high, low = (f"{convert}({_value(each, 'f32', names)})" for each in a[1:3])
        return _set(a[0], f"{high} << 16 | {low}", names)
    source = types[1] if len(types) > 1 else types[0]
    arguments = f"{_TYPES[types[0]]}, {_TYPES[source]}, {_PTX}Rounding::{how}, {whole}, {saturate}"
    value = f"{_PTX}convert<{arguments}>({_value(a[1], source, names)})"
    return _set(a[0], f"{_PTX}relu<{_TYPES[types[0]]}>({value})" if "relu" in modifiers else value, names)


def _address(text: str, modifiers: list[str], names: Names) -> str | None:
    inside = re.fullmatch(r"\[\s*(%?[\w$]+)\s*(?:\+\s*(-?\w+))?\s*\]", text)
    if inside is None or inside[1] not in names:
        return None
    space = any(each.split("::")[0] == "shared" for each in modifiers)
    pointer = f"{_PTX}{'sharedAddress' if space else 'address'}({names[inside[1]]})"
    return f"({pointer} + {int(inside[2], 0)})" if inside[2] else pointer


def _plain(modifiers: list[str], *more: str) -> bool:
    known = _WAITING | {"shared", "shared::cta", "v2", "v4", "release", "L2::evict_first", "L2::evict_last", *more}
    return not set(modifiers) - known


def _ld(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    address = _address(a[1], modifiers, names) if len(a) >= 2 else None
    if address is None or len(types) != 1 or not _plain(modifiers):
        return None
    wait = "::pluginkit_cpu::yield(); " if _WAITING & set(modifiers) else ""
    load = f"{_PTX}load<{_TYPES[types[0]]}>"
    targets = _vector(a[0])
    loads = [_set(to, f"{load}({address} + {i * _SIZES[types[0]]})", names) for i, to in enumerate(targets)]
    return _all(wait, *loads)


def _st(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    address = _address(a[0], modifiers, names) if len(a) >= 2 else None
    if address is None or len(types) != 1 or not _plain(modifiers):
        return None
    store = f"{_PTX}store<{_TYPES[types[0]]}>"
    fence = "::pluginkit_cpu::fence(); " if "release" in modifiers else ""
    values = [_value(each, types[0], names) for each in _vector(a[1])]
    return fence + " ".join(f"{store}({address} + {i * _SIZES[types[0]]}, {v});" for i, v in enumerate(values))


def _atom(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    operation = next((each for each in modifiers if each in _ATOMS), None)
    address = _address(a[1], modifiers, names) if len(a) > 2 else None
    if operation is None or address is None or not types or not _plain(modifiers, operation, "acq_rel"):
        return None
    values = ", ".join(_value(each, types[0], names) for each in a[2:])
    return _set(a[0], f"{_PTX}atom_{operation}<{_TYPES[types[0]]}>({address}, {values})", names)


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
    inputs = ", ".join(_value(each, types[0], names) for each in a[1:])
    value = f"{_PTX}{operation}{part.capitalize()}<{_TYPES[types[0]]}>({inputs})"
    return _set(a[0], f"{_PTX}sat<{_TYPES[types[0]]}>({value})" if "sat" in modifiers else value, names)


def _setp(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    if len(modifiers) != 1 or modifiers[0] not in _COMPARISONS or len(types) != 1 or len(a) != 3:
        return None
    first, _, second = a[0].partition("|")
    x, y = (_value(each, types[0], names) for each in a[1:])
    value = f"{_PTX}compare_{modifiers[0]}<{_TYPES[types[0]]}>({x}, {y})"
    return _all(_set(first, value, names), _set(second, f"!{value}", names) if second else "")


def _selp(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    del modifiers
    x, y = (_value(each, types[0], names) for each in a[1:3])
    return _set(a[0], f"({_value(a[3], 'pred', names)}) ? {x} : {y}", names)


def _call(function: str, count: int) -> Rule:
    """An instruction that a function of ptx.h does, on images."""

    def rule(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
        if len(a) != count + 1 or set(modifiers) - {"b32"}:
            return None
        kind = types[0] if types else "b32"
        inputs = ", ".join(_value(each, kind, names) for each in a[1:])
        return _set(a[0], f"{_PTX}{function}<{_TYPES[kind]}>({inputs})", names)

    return rule


def _shf(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    del types
    if len(modifiers) != 2 or modifiers[0] not in {"l", "r"}:
        return None
    inputs = ", ".join(_value(each, "b32", names) for each in a[1:])
    wrap = "true" if modifiers[1] == "wrap" else "false"
    return _set(a[0], f"{_PTX}shf_{modifiers[0]}({inputs}, {wrap})", names)


def _shfl(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    del types
    if modifiers[:1] != ["sync"] or len(a) != 5:
        return None
    value, predicate = (*a[0].split("|"), "_")[:2]
    inputs = ", ".join(_value(each, "b32", names) for each in a[1:])
    result = f"auto const result = {_PTX}shfl_{modifiers[1]}({inputs});"
    return _all("{", result, _set(value.strip(), "result.value", names),
                _set(predicate.strip(), "result.inside", names), "}")  # fmt: skip


def _vote(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    del types
    kinds = [each for each in modifiers if each in {"ballot", "all", "any"}] or ["uni"]
    if "sync" not in modifiers or len(a) != 3:
        return None
    return _set(a[0], f"{_PTX}vote_{kinds[0]}({_value(a[1], 'pred', names)}, {_value(a[2], 'b32', names)})", names)


def _match(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    if "sync" not in modifiers or len(a) != 3:
        return None
    value, predicate = (*a[0].split("|"), "_")[:2]
    kind = "any" if "any" in modifiers else "all"
    inputs = ", ".join(_value(each, types[0], names) for each in a[1:])
    result = f"auto const result = {_PTX}match_{kind}<{_TYPES[types[0]]}>({inputs});"
    return _all("{", result, _set(value.strip(), "result.value", names),
                _set(predicate.strip(), "result.inside", names), "}")  # fmt: skip


def _redux(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    if modifiers[:1] != ["sync"] or len(modifiers) != 2 or types[0] not in {"s32", "u32", "b32"}:
        return None
    inputs = ", ".join(_value(each, types[0], names) for each in a[1:])
    return _set(a[0], f"{_PTX}redux_{modifiers[1]}<{_TYPES[types[0]]}>({inputs})", names)


def _activemask(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    del modifiers, types
    return _set(a[0], f"{_PTX}activemask()", names)


def _bar(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    if "warp" in modifiers:
        return f"{_PTX}barWarp({_value(a[0], 'b32', names)});"
    if "red" in modifiers:
        kind = next((each for each in modifiers if each in {"popc", "and", "or"}), "popc")
        value = f"{_PTX}barRed_{kind}({_value(a[1], 'b32', names)}, {_value(a[-1], 'pred', names)})"
        return _set(a[0], value, names)
    del types
    # With a count of threads it isn't the whole block that meets.
    if "sync" not in modifiers or len(a) != 1:
        return None
    return f"{_PTX}bar({_value(a[0], 'b32', names)});"


def _cp(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    del types
    if "async" not in modifiers or "bulk" in modifiers or "mbarrier" in " ".join(modifiers):
        return None
    if "commit_group" in modifiers or "wait_group" in modifiers or "wait_all" in modifiers:
        return ";"  # the copy was done at once
    to, source = _address(a[0], ["shared"], names), _address(a[1], [], names)
    if to is None or source is None:
        return None
    size = _value(a[2], "b32", names)
    given = _value(a[3], "b32", names) if len(a) > 3 else size
    return f"{_PTX}copy({to}, {source}, {size}, {given});"


def _cvta(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    del types
    value = _value(a[1], "u64", names)
    if any(each.startswith("shared") for each in modifiers):
        value = f"{_PTX}{'toShared' if 'to' in modifiers else 'fromShared'}({value})"
    return _set(a[0], value, names)


def _plainly(code: str) -> Rule:
    def rule(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
        del a, modifiers, types, names
        return code

    return rule


_RULES: dict[str, Rule] = {
    "mov": _mov, "cvt": _cvt, "cvta": _cvta, "ld": _ld, "ldu": _ld, "st": _st, "atom": _atom, "red": _red,
    "mul": _mul, "mad": _mad, "mul24": _mul, "setp": _setp, "selp": _selp, "shf": _shf, "shfl": _shfl, "vote": _vote,
    "match": _match, "redux": _redux, "activemask": _activemask, "bar": _bar, "barrier": _bar, "cp": _cp,
    "shl": _call("shl", 2), "shr": _call("shr", 2), "bfi": _call("bfi", 4), "prmt": _call("prmt", 3),
    "lop3": _call("lop3", 4), "dp4a": _call("dp4a", 3), "sad": _call("sad", 3),
    "membar": _plainly("::pluginkit_cpu::fence();"), "fence": _plainly("::pluginkit_cpu::fence();"),
    "nanosleep": _plainly("::pluginkit_cpu::yield();"),
    "trap": _plainly('::pluginkit_cpu::trap("trap", {__builtin_FILE(), __builtin_LINE()});'),
}  # fmt: skip

INSTRUCTIONS = frozenset(_RULES) | _BINARY | _UNARY | _TERNARY | _NO_EFFECT
"""The names of all instructions that there are, of which some have forms that aren't; docs/cpu-target.md lists them."""
