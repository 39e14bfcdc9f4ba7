"""The format walk: TensorRT asks for one tensor after the other whether its type and format are fine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Protocol

from pluginkit.demands import warn
from pluginkit.dtypes import DType
from pluginkit.formats import Format
from pluginkit.host.descriptors import Desc
from pluginkit.host.errors import Finding
from pluginkit.host.spec import LayerConfig

POISON = Desc((-0x5EED,) * 8, 0x5EED, 0x5EED, float("nan"))
"""What stands at the positions that the plugin may not look at yet (rule C1)."""


_MOST_ASKED = 200
"""So many beginnings of a row of types are looked at: a plugin that holds each tensor against those before it takes as
many as its rows have."""


class Walked(Protocol):
    """What the walk asks of a plugin."""

    def name_of(self, method: str) -> str:
        """The C++ name of a method."""

    def supports_format_combination(self, pos: int, in_out: Sequence[Desc], nb_inputs: int, nb_outputs: int) -> bool:
        """Whether tensor `pos` may have its type and format."""


def walk(plugin: Walked, descs: Sequence[Desc], nb_inputs: int) -> None:
    """Asks for each position whether its type and format are supported, later positions poisoned (rules C1, C2, C3).

    `descs` are those of the inputs, then of the outputs. Scales are 0, as in NVIDIA's builder at this point.

    Raises:
        Finding: a position is refused (the message lists what was asked and answered), or an answer depends on later
            positions.
    """
    method = plugin.name_of("supportsFormatCombination")
    asked = [replace(d, scale=0.0) for d in descs]
    nb_outputs = len(asked) - nb_inputs
    rows: list[str] = []
    for pos, desc in enumerate(asked):
        poisoned = [*asked[: pos + 1], *([POISON] * (len(asked) - pos - 1))]
        answers = [
            plugin.supports_format_combination(pos, list(d), nb_inputs, nb_outputs) for d in (poisoned, asked, poisoned)
        ]
        shown = [str(answer).lower() for answer in answers]
        if answers[0] != answers[2]:
            warn("C2", method, f"answered {shown[0]} for pos {pos}, and {shown[2]} when asked again")
        elif answers[0] != answers[1]:
            raise Finding(
                method,
                f"the answer for pos {pos} depends on tensors behind it: {shown[1]} when they are "
                f"set, {shown[0]} when they are not; only inOut[0..pos] may be read",
                rule="C1",
            )
        rows.append(f"  pos {pos} ({_place(pos, nb_inputs)}): {_text(desc)}: {'yes' if answers[0] else 'NO'}")
        if not answers[0]:
            table = "\n".join(rows)
            message = f"no combination of the types and formats that the network has:\n{table}"
            raise Finding(method, message, rule="C3")


def ask_all(plugin: Walked, descs: Sequence[Desc], nb_inputs: int) -> None:
    """Asks for every type and format at each position, also behind one that was refused, as TensorRT 8.5.3 does.

    No answer is wrong here; but what was taken before must be taken after it, too (a warning otherwise: C2).
    """
    count = len(descs)
    network = [replace(desc, scale=0.0) for desc in descs]
    for kind, form in product(DType, Format):
        asked = [replace(desc, type=kind.code, format=form.code) for desc in network]
        for pos in range(count):
            given = [*asked[: pos + 1], *[POISON] * (count - pos - 1)]
            plugin.supports_format_combination(pos, given, nb_inputs, count - nb_inputs)
    if not takes(plugin, network, nb_inputs):
        method = plugin.name_of("supportsFormatCombination")
        warn("C2", method, "refuses what it took before it was asked for every other type and format")


def check_declared(plugin: Walked, descs: Sequence[Desc], nb_inputs: int, given: LayerConfig) -> None:
    """Asks for combinations of formats, and of types, that the manifest doesn't declare.

    Raises:
        Finding: all positions of one of formats are taken: TensorRT may choose it, and no case would have run it (rule
            C16). A row of types is a warning (C18): TensorRT chooses types where they aren't given, and the manifest
            may be about a part of what a plugin can do.
    """
    lacks = "that the manifest doesn't declare"
    for row in given.undeclared:
        asked = [replace(d, scale=0.0, format=number) for d, number in zip(descs, row, strict=True)]
        if takes(plugin, asked, nb_inputs):
            raise Finding(
                plugin.name_of("supportsFormatCombination"),
                f"takes formats {lacks} ({_combination(asked, nb_inputs)}): TensorRT may choose them, and no "
                "case runs them; add them to `formats` in pluginkit.toml, or refuse them",
                rule="C16",
            )
    declared = {tuple(kind.code for kind in row) for row in given.declared_types}
    if not declared or any(desc.format != Format.LINEAR.code for desc in descs):
        return
    linear = [replace(d, scale=0.0) for d in descs]
    asked_types = next((row for row in _taken_types(plugin, linear, nb_inputs) if row not in declared), None)
    if asked_types is not None:
        asked = [replace(d, type=code) for d, code in zip(linear, asked_types, strict=True)]
        warn(
            "C18",
            plugin.name_of("supportsFormatCombination"),
            f"takes types {lacks} ({_combination(asked, nb_inputs)}): TensorRT may choose them where types are not "
            "given, and no case runs them; add them to `types` in pluginkit.toml, or refuse them",
        )


def _taken_types(plugin: Walked, descs: Sequence[Desc], nb_inputs: int) -> Iterator[tuple[int, ...]]:
    """All rows of types that the plugin takes, codes of each tensor's: only beginnings that it takes are gone on with.

    Of one that takes all beginnings whatever their types as many as `_MOST_ASKED` questions find.
    """
    count = len(descs)
    begun: list[tuple[int, ...]] = [()]
    for _ in range(_MOST_ASKED):
        if not begun:
            return
        row = begun.pop()
        if len(row) == count:
            yield row
            continue
        pos = len(row)
        for kind in DType:
            types = (*row, kind.code)
            asked = [replace(d, type=code) for d, code in zip(descs, types, strict=False)]
            poisoned = [*asked, *([POISON] * (count - pos - 1))]
            if plugin.supports_format_combination(pos, poisoned, nb_inputs, count - nb_inputs):
                begun.append(types)


def takes(plugin: Walked, asked: Sequence[Desc], nb_inputs: int) -> bool:
    """Whether all positions are taken, asked one after the other."""
    count = len(asked)
    return all(
        plugin.supports_format_combination(
            pos, [*asked[: pos + 1], *([POISON] * (count - pos - 1))], nb_inputs, count - nb_inputs
        )
        for pos in range(count)
    )


def _combination(asked: Sequence[Desc], nb_inputs: int) -> str:
    return "; ".join(f"{_place(pos, nb_inputs)}: {_text(desc)}" for pos, desc in enumerate(asked))


def _place(pos: int, nb_inputs: int) -> str:
    return f"input {pos}" if pos < nb_inputs else f"output {pos - nb_inputs}"


def _text(desc: Desc) -> str:
    return f"{DType.from_code(desc.type).trt} {Format.from_code(desc.format).trt}, dims {desc.dims}"
