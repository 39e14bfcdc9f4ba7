"""The PTX instructions by which lanes and threads meet, and copies that others wait for, each as C++."""

from __future__ import annotations

from pluginkit.cuda_cpu.ptx.operands import PTX, TYPES, Names, address_of, assign, join, operand


def shfl(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    del types
    if modifiers[:1] != ["sync"] or len(a) != 5:
        return None
    value, predicate = (*a[0].split("|"), "_")[:2]
    inputs = ", ".join(operand(each, "b32", names) for each in a[1:])
    result = f"auto const result = {PTX}shfl_{modifiers[1]}({inputs});"
    return join("{", result, assign(value.strip(), "result.value", names),
                assign(predicate.strip(), "result.inside", names), "}")  # fmt: skip


def vote(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    del types
    kinds = [each for each in modifiers if each in {"ballot", "all", "any"}] or ["uni"]
    if "sync" not in modifiers or len(a) != 3:
        return None
    return assign(a[0], f"{PTX}vote_{kinds[0]}({operand(a[1], 'pred', names)}, {operand(a[2], 'b32', names)})", names)


def match(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    if "sync" not in modifiers or len(a) != 3:
        return None
    value, predicate = (*a[0].split("|"), "_")[:2]
    kind = "any" if "any" in modifiers else "all"
    inputs = ", ".join(operand(each, types[0], names) for each in a[1:])
    result = f"auto const result = {PTX}match_{kind}<{TYPES[types[0]]}>({inputs});"
    return join("{", result, assign(value.strip(), "result.value", names),
                assign(predicate.strip(), "result.inside", names), "}")  # fmt: skip


def redux(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    if modifiers[:1] != ["sync"] or len(modifiers) != 2 or types[0] not in {"s32", "u32", "b32"}:
        return None
    inputs = ", ".join(operand(each, types[0], names) for each in a[1:])
    return assign(a[0], f"{PTX}redux_{modifiers[1]}<{TYPES[types[0]]}>({inputs})", names)


def activemask(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    del modifiers, types
    return assign(a[0], f"{PTX}activemask()", names)


def bar(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    if "warp" in modifiers:
        return f"{PTX}barWarp({operand(a[0], 'b32', names)});"
    if "red" in modifiers:
        kind = next((each for each in modifiers if each in {"popc", "and", "or"}), "popc")
        value = f"{PTX}barRed_{kind}({operand(a[1], 'b32', names)}, {operand(a[-1], 'pred', names)})"
        return assign(a[0], value, names)
    del types
    # With a count of threads it isn't the whole block that meets.
    if "sync" not in modifiers or len(a) != 1:
        return None
    return f"{PTX}bar({operand(a[0], 'b32', names)});"


def cp(a: list[str], modifiers: list[str], types: list[str], names: Names) -> str | None:
    del types
    if "async" not in modifiers or "bulk" in modifiers or "mbarrier" in " ".join(modifiers):
        return None
    if "commit_group" in modifiers or "wait_group" in modifiers or "wait_all" in modifiers:
        return ";"  # the copy was done at once
    to, source = address_of(a[0], ["shared"], names), address_of(a[1], [], names)
    if to is None or source is None:
        return None
    size = operand(a[2], "b32", names)
    given = operand(a[3], "b32", names) if len(a) > 3 else size
    return f"{PTX}copy({to}, {source}, {size}, {given});"
