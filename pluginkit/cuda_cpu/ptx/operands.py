"""What PTX instructions are translated with: types, operands, registers, addresses."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping

PTX = "::pluginkit_cpu::ptx::"
TYPES = {
    **{f"{kind}{bits}": f"{'u' if kind != 's' else ''}int{bits}_t" for kind in "sub" for bits in (8, 16, 32, 64)},
    "f32": "float",
    "f64": "double",
    "pred": "bool",
    "f16": "__half",
    "f16x2": "__half2",
    "bf16": "__nv_bfloat16",
    "bf16x2": "__nv_bfloat162",
}
SIZES = {name: int(size[0]) // 8 for name in TYPES if (size := re.findall(r"\d+", name))}
SIZES |= {"f16x2": 4, "bf16x2": 4}
WAITING = frozenset({"volatile", "relaxed", "acquire", "cg", "cv"})
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


class Unknown(Exception):
    """A register that target cpu doesn't have."""


Names = Mapping[str, str]
Rule = Callable[[list[str], list[str], list[str], Names], str | None]


def operand(text: str, type_: str, names: Names) -> str:
    """An operand as an image."""
    if text.startswith("!"):
        return f"(!{operand(text[1:].strip(), type_, names)})"
    if text in names:
        return names[text]
    special = re.fullmatch(r"%(\w+?)(?:\.([xyz]))?", text)
    if special and special[1] not in SPECIAL_REGISTERS:
        raise Unknown
    if special:
        which = str("xyz".index(special[2])) if special[2] else ""
        return f"{PTX}special_{special[1]}({which})"
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


def written(text: str, names: Names) -> str | None:
    """A register that is written to; nothing for `_`."""
    return "" if text == "_" else names.get(text)


def assign(text: str, value: str, names: Names) -> str | None:
    target = written(text, names)
    return None if target is None else f"{target} = {value};" if target else f"(void)({value});"


def elements(text: str) -> list[str]:
    return [each.strip() for each in text.strip("{}").split(",")] if text.startswith("{") else [text]


def join(*code: str | None) -> str | None:
    return None if any(each is None for each in code) else " ".join(each for each in code if each)


def address_of(text: str, modifiers: list[str], names: Names) -> str | None:
    inside = re.fullmatch(r"\[\s*(%?[\w$]+)\s*(?:\+\s*(-?\w+))?\s*\]", text)
    if inside is None or inside[1] not in names:
        return None
    space = any(each.split("::")[0] == "shared" for each in modifiers)
    pointer = f"{PTX}{'sharedAddress' if space else 'address'}({names[inside[1]]})"
    return f"({pointer} + {int(inside[2], 0)})" if inside[2] else pointer


def is_plain(modifiers: list[str], *more: str) -> bool:
    known = WAITING | {"shared", "shared::cta", "v2", "v4", "release", "L2::evict_first", "L2::evict_last", *more}
    return not set(modifiers) - known
