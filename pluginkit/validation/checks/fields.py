"""Checks of a creator with values for its fields: those that it lists, and none."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial

from pluginkit import host
from pluginkit.adoption.answers import FieldValue
from pluginkit.field_types import FieldType, encode, of_code
from pluginkit.host.library import Field
from pluginkit.process import isolated
from pluginkit.validation.catalog import NothingToCheck, check
from pluginkit.validation.subject import LAYER, Subject

_EACH = 2.0
"""Seconds for one plugin."""
_LIKELY = (1, 0, 2, 4, 64)
_TEXTS = ("a", "", "none", "a" * 64)
_MOST = 64
"""Elements of a list that is given."""


@check(
    "F15",
    "`createPlugin` survives values of the types that `getFieldNames` lists: usual ones, and the types' ends.",
    group="fields",
    level=4,
    kind="robustness",
    source="NVIDIA's parser passes on whatever a node's attributes hold (onnxOpImporters.cpp, loadFields)",
    provokes=True,
    fix="Compare a value with what the plugin can be made of, and return null for others.",
)
def _listed(subject: Subject) -> None:
    asked = False
    for field in subject.creator.fields:
        for shown, value in _values(subject, field):
            subject.attempt(f"the field '{field.name}' with {shown}")
            _create(subject, value)
            asked = True
    if not asked:
        raise NothingToCheck("it lists no field of numbers or text")


@check(
    "F7",
    group="fields",
    level=4,
    provokes=True,
    fix="Look at `data` and `length` before reading; return null where a value is missing.",
)
def _without_data(subject: Subject) -> None:
    if not subject.creator.fields:
        raise NothingToCheck("it has no fields")
    usual = [_usual(subject, field) for field in subject.creator.fields]
    # What the process doesn't survive with a value says nothing about one without.
    questions = [partial(_create_unseen, subject, value) for value in usual]
    found = isolated.ask(questions, each=_EACH, end=time.monotonic() + _EACH * len(usual))
    survived = [value for value, one in zip(usual, found, strict=True) if not one.ending]
    for name, kind, _, _ in survived:
        subject.attempt(f"the field '{name}' without data")
        _create(subject, (name, kind, None, 0))
    if not survived:
        raise NothingToCheck("no value of a field is known that createPlugin survives: --model MODEL.onnx gives some")


def _create(subject: Subject, value: FieldValue) -> None:
    """Asks for a plugin of what is known, and of this value in the place of its field's."""
    creator = subject.creator
    fields = [*(one for one in subject.answers.given if one[0] != value[0]), value]
    if creator.kind == "v3":
        creator.native.create_v3(LAYER, fields, 0)
    else:
        creator.native.create(LAYER, fields)


def _create_unseen(subject: Subject, value: FieldValue) -> None:
    """The same in a fork whose end is not a finding."""
    host.set_backtrace_file("")
    host.set_call_file("")
    _create(subject, value)


def _usual(subject: Subject, field: Field) -> FieldValue:
    """The value that is known of a field; else 1, or a text."""
    if known := next((one for one in subject.answers.given if one[0] == field.name), None):
        return known
    # A creator that lists names alone (kUNKNOWN) reads what it gets as the type that it wants: most often a number.
    kind = of_code(field.type) or FieldType.INT32
    return _value(field, kind, _TEXTS[0] if kind.is_text else 1)


def _values(subject: Subject, field: Field) -> Iterator[tuple[str, FieldValue]]:
    """Values of a field's own type, each with how a message has it: its default, usual ones, and the type's ends."""
    kind = of_code(field.type)
    if kind is None:
        return
    if kind.is_text:
        for text in _TEXTS:
            yield repr(text), _value(field, kind, text)
        return
    default = [subject.answers.defaults[field.name]] if field.name in subject.answers.defaults else []
    for number in dict.fromkeys((*default, *_LIKELY, -1, *kind.ends)):
        yield f"{number} ({kind.trt})", _value(field, kind, number)


def _value(field: Field, kind: FieldType, value: float | str) -> FieldValue:
    """As NVIDIA's parser gives it: a text with its closing zero, of a list each element."""
    if isinstance(value, str):
        data: bytes = value.encode() + b"\0"
        return field.name, kind.code, data, len(data)
    count = min(max(1, field.length), _MOST)
    numbers: Sequence[float | int] = (value,) * count
    array = encode(kind, tuple(numbers))
    return field.name, kind.code, array.tobytes(), count
