"""Checks by a few thousand inputs at random, always the same ones. `--fuzz` goes on with others."""

from __future__ import annotations

from functools import partial

from pluginkit.validation.catalog import NothingToCheck, check
from pluginkit.validation.fuzzing.calls import Calls, good_input
from pluginkit.validation.fuzzing.inputs import FuzzInput, Target
from pluginkit.validation.fuzzing.mutation import Draw
from pluginkit.validation.subject import Subject

_GROUP = "fuzzing"
_LEVEL = 9
INPUTS = 2000
"""Of each check."""


def _fuzz(subject: Subject, target: Target) -> None:
    good = good_input(subject, target)
    if good == FuzzInput(target):
        raise NothingToCheck("there is nothing that it reads")
    draw, calls = Draw(0, good), Calls(subject)
    for step in range(INPUTS):
        subject.attempt(f"input {target.name.lower()}:0:{step} (--fuzz-input gives it again)")
        calls(draw.input_of((step,)))


check(
    Target.FIELDS.value,
    "`createPlugin` survives fields that are missing, null, or of any name, type, length and value.",
    group=_GROUP,
    level=_LEVEL,
    kind="robustness",
    provokes=True,
    source="no document; NVIDIA's parser makes fields of whatever attributes a model's node has",
    fix="Look at name, type and length before reading a value, and return null where they don't fit.",
)(partial(_fuzz, target=Target.FIELDS))
check(
    Target.SERIALIZED.value,
    "`deserializePlugin`, and `createPlugin` with kRUNTIME, survive bytes and fields of any kind.",
    group=_GROUP,
    level=_LEVEL,
    kind="robustness",
    provokes=True,
    source="no document; engines are files, cut by full disks and read by newer libraries",
    fix="Compare each length with what is left before reading, and return null where it doesn't fit.",
)(partial(_fuzz, target=Target.SERIALIZED))
check(
    Target.FORMATS.value,
    "`supportsFormatCombination` survives any types and formats, with anything behind the tensor asked about.",
    group=_GROUP,
    level=_LEVEL,
    kind="robustness",
    provokes=True,
    source="no document; later versions of TensorRT have types and formats that a plugin doesn't know",
    fix="Return false for whatever is not listed, before it is used as an index.",
)(partial(_fuzz, target=Target.FORMATS))
check(
    Target.SHAPES.value,
    "The outputs' shapes can be asked for inputs of any size.",
    group=_GROUP,
    level=_LEVEL,
    kind="robustness",
    provokes=True,
    source="no document; a model's inputs may have any sizes",
    fix="Compute with the builder's expressions, and answer an error where there is no shape.",
)(partial(_fuzz, target=Target.SHAPES))
