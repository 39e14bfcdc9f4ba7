"""What a plugin that refuses a node would take: the host asks it again, in a process that may die.

NVIDIA's parser and builder say only that there is no plugin, or no format. Two causes can be proved by asking: a tensor
of another type than the plugin is written for, and a text whose length counts the closing zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pluginkit import host
from pluginkit.dtypes import DType
from pluginkit.field_types import FieldType
from pluginkit.host.damaged_bytes import TAKEN, ask_apart

Fields = Mapping[str, tuple[FieldType, Any]]
Build = Callable[[Fields, Sequence[host.TensorSpec]], object]
"""Builds a layer of these fields and inputs; raises an exception where the plugin refuses."""

INSTEAD = {
    DType.INT64: (DType.INT32,),
    DType.INT32: (DType.INT64,),
    DType.FLOAT16: (DType.FLOAT32,),
    DType.BFLOAT16: (DType.FLOAT32, DType.FLOAT16),
    DType.FLOAT32: (DType.FLOAT16,),
}
"""The types that a Cast before the node would make of a type, those that lose nothing first."""


def advice(error: host.Finding, names: Sequence[str], fields: Fields, specs: Sequence[host.TensorSpec],
           build: Build) -> str:  # fmt: skip
    """What to do about a node that its plugin refuses; empty where no other field or type is taken.

    Args:
        error: the refusal.
        names: the inputs' names in the model.
        fields, specs: what the plugin was given.
        build: asks it again.
    """
    if error.rule == "F3":
        return _texts(fields, lambda other: build(other, specs))
    return _types(names, specs, lambda other: build(fields, other)) if error.rule == "C3" else ""


def _texts(fields: Fields, build: Callable[[Fields], object]) -> str:
    texts = {name: value for name, (kind, value) in fields.items() if kind is FieldType.STRING and value[-1:] == "\0"}
    bare = {name: (kind, value[:-1] if name in texts else value) for name, (kind, value) in fields.items()}
    if not texts or not _works(lambda: build(bare)):
        return ""
    name, value = next(iter(texts.items()))
    return (
        f"The creator makes a plugin of {name}={value[:-1]!r} with length {len(value.encode()) - 1}, and of length "
        f"{len(value.encode())} it does not: NVIDIA's parser counts the closing zero of a text. Compare it by strcmp, "
        "or leave a zero at its end out of the length."
    )


def _types(names: Sequence[str], specs: Sequence[host.TensorSpec],
           build: Callable[[Sequence[host.TensorSpec]], object]) -> str:  # fmt: skip
    """One type after the other: of one input, then of all inputs that have it."""
    kinds = [spec.dtype for spec in specs]
    groups: list[tuple[int, ...]] = [(index,) for index in range(len(specs))]
    groups += [same for kind in dict.fromkeys(kinds) if len(same := _where(kinds, kind)) > 1]
    for group in groups:
        for kind in INSTEAD.get(kinds[group[0]], ()):
            other = [replace(spec, dtype=kind) if index in group else spec for index, spec in enumerate(specs)]
            if _works(lambda other=other: build(other)):  # type: ignore[misc]
                given = " and ".join(f"{names[index]}" for index in group)
                was = kinds[group[0]].trt
                return (
                    f"The plugin takes {given} as {kind.trt}, not as {was}: put a Cast to {_onnx(kind)} before the "
                    f"node, or take {was} in supportsFormatCombination."
                )
    return ""


def _where(kinds: Sequence[DType], kind: DType) -> tuple[int, ...]:
    return tuple(index for index, one in enumerate(kinds) if one is kind)


def _onnx(kind: DType) -> str:
    """The type's name in a Cast."""
    return {DType.FLOAT32: "FLOAT"}.get(kind, kind.value.upper())


def _works(question: Callable[[], object]) -> bool:
    """Whether it ends well: the plugin is given what no model gave it."""
    return ask_apart(question) == TAKEN
