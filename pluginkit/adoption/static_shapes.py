"""Output shapes of plugins with static shapes, which answer numbers: expressions that fit several answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pluginkit import bases
from pluginkit.adoption.answers import OutputShapes
from pluginkit.adoption.expressions import of_numbers
from pluginkit.host.bases.static_plugin import StaticPlugin

Sizes = Sequence[tuple[int, ...]]
"""Of each input its dimensions."""
Choice = Literal["apart", "alike", "model"]
"""Which sizes are asked for: no two inputs of one size, inputs of one rank alike, or those of a model alone, with which
only numbers are found. `apart` tells most; some plugins refuse it."""

CHOICES: tuple[Choice, ...] = ("apart", "alike", "model")
TURNS = ((3, 17, 13, 11, 7), (5, 19, 23, 29, 31), (2, 37, 41, 43, 47))
"""Dimensions of inputs: no two alike, of several primes."""
_APART = 60
"""What the sizes of one input have more than those of the one before."""
WHOLE = 420
"""A multiple of all that fields are given: by it sizes are divided without a rest."""
FIELD_TURNS = ((2, 3, 4, 5, 6, 7), (3, 4, 5, 6, 7, 2), (5, 2, 7, 3, 4, 6), (4, 6, 2, 7, 3, 5))
"""Values of fields that shapes may depend on."""


def sizes(
    plugin: StaticPlugin[Any], ranks: Sequence[int], choice: Choice, model: Sizes, *, factor: int = 1
) -> list[Sizes]:
    """The inputs' sizes to ask for, one for each question."""
    if choice == "model":
        return [model] if model else []
    apart = bases.BASES[plugin.BASE].batch_apart
    found: list[Sizes] = []
    for turn in TURNS:
        step = _APART if choice == "apart" else 0
        inputs = [tuple(factor * (size + step * index) for size in turn[:rank]) for index, rank in enumerate(ranks)]
        # The batch is one for all inputs.
        found.append([(turn[0], *one[1:]) if apart and one else one for one in inputs])
    return found


def shapes(plugin: StaticPlugin[Any], asked: Sequence[Sizes], outputs: int) -> OutputShapes:
    """The outputs' dimensions as expressions that fit the plugin's answers for each of these sizes."""
    return OutputShapes(
        tuple(of_numbers(asked, [_dimensions(plugin, index, one) for one in asked]) for index in range(outputs))
    )


def of_answers(
    asked: Sequence[Sizes], values: Sequence[Mapping[str, int]], answered: Sequence[Sequence[tuple[int, ...]]]
) -> OutputShapes | None:
    """Expressions of sizes and of fields that fit the answers of plugins with other values of fields.

    Args:
        asked: the inputs' sizes, a question each.
        values: the fields' values in it.
        answered: the outputs' dimensions in it.

    Returns:
        None where a dimension has none.
    """
    outputs = range(len(answered[0]))
    found = tuple(of_numbers(asked, [one[index] for one in answered], values) for index in outputs)
    return OutputShapes(found) if all(shape and all(shape) for shape in found) else None


def numbers(plugin: StaticPlugin[Any], asked: Sizes, outputs: int) -> list[tuple[int, ...]]:
    """The outputs' dimensions."""
    return [_dimensions(plugin, index, asked) for index in range(outputs)]


def _dimensions(plugin: StaticPlugin[Any], index: int, inputs: Sizes) -> tuple[int, ...]:
    """An output's shape, with the batch where the plugin doesn't see it."""
    if not bases.BASES[plugin.BASE].batch_apart:
        return plugin.output_dimensions(index, inputs)
    return (inputs[0][0], *plugin.output_dimensions(index, [one[1:] for one in inputs]))
