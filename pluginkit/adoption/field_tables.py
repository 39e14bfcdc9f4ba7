"""The `[[fields]]` of a drafted `pluginkit.toml`: as a model's node has them, else as the creator lists them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from pluginkit import field_types
from pluginkit.adoption.answers import FieldValue, ListedField, PluginAnswers
from pluginkit.adoption.node import ModelNode
from pluginkit.field_types import FieldType
from pluginkit.manifest.mistakes import FILL_IN, toml


class FieldTables:
    """The drafted fields of a creator.

    Attributes:
        text: the tables, and a line for each field that has none.
        names: the fields that have one.
        integers: the defaults of those that are one whole number, which shapes can be made of.
    """

    def __init__(self, fields: Sequence[ListedField], answers: PluginAnswers, node: ModelNode | None) -> None:
        self.names: list[str] = []
        self.integers: dict[str, int] = {}
        self._answers = answers
        self._node = node
        self._model: dict[str, FieldValue] = {one[0]: one for one in node.given} if node else {}
        self._given = {name for name, *_ in answers.given}
        # Of fields that are listed by name alone: what the plugin was made of.
        untyped = {one.name for one in fields if one.type == field_types.NAMES.index("kUNKNOWN")}
        self._guessed_types = {name: code for name, code, *_ in answers.given if name in untyped}
        self.text = "\n".join(self._table(one) for one in fields)

    def _table(self, one: ListedField) -> str:
        if self._node and one.name in self._node.missing and self._answers.made == "model":
            return f"# Left out: the model's node has no attribute '{one.name}', and the plugin is made without.\n"
        if not re.fullmatch(r"[A-Za-z_]\w*", one.name):
            return self._left_out(one, "is not a name that Python takes")
        if one.name in self._model:
            # As NVIDIA's parser passes it, whatever the creator lists.
            _, code, data, length = self._model[one.name]
            lines = _declared(code, data or b"")
            if not lines:
                return self._left_out(ListedField(one.name, code, length), "has no form in pluginkit.toml")
        else:
            kind = field_types.numbers().get(self._guessed_types.get(one.name, one.type))
            if kind is None or one.length > 1:
                why = "is a list or a text: its values don't show without a model (--model MODEL.onnx)"
                return self._left_out(one, why if field_types.of_code(one.type) else "has no form in pluginkit.toml")
            lines = self._guessed(one, kind)
            if one.name in self._guessed_types:
                lines[0] += f"{'; ' if '#' in lines[0] else '  # check: '}the creator lists no type, this one is taken"
        self.names.append(one.name)
        whole = any(f'"{kind.value}"' in lines[0] for kind in FieldType if kind.is_integer)
        if whole and (number := re.match(r"default = (\d+)", lines[-1])):
            self.integers[one.name] = int(number[1])
        return "\n".join(["[[fields]]", f"name = {toml(one.name)}", *lines, ""])

    def _left_out(self, one: ListedField, why: str) -> str:
        needed = one.name in self._answers.needed or not self._answers.made
        mark = f"{FILL_IN} the plugin needs it: " if needed else "# Left out: "
        kind = field_types.NAMES[one.type] if 0 <= one.type < len(field_types.NAMES) else f"type {one.type}"
        return f"{mark}the field '{one.name}' ({kind} × {one.length}) {why}\n"

    def _guessed(self, one: ListedField, kind: FieldType) -> list[str]:
        """Type and default of one number without a model's node."""
        answers = self._answers
        kind_line = f'type = "{kind.value}"'
        if one.name in answers.defaults:
            return [kind_line, f"default = {_number(kind, answers.defaults[one.name])}"]
        if answers.made == "nothing":
            return [kind_line, "default = 1  # check: a guess; the plugin's own default doesn't show"]
        if one.name in answers.needed and answers.made == "ones":
            tested = 1 if kind.is_integer else 0.5
            return [f"{kind_line}  # check: no plugin is made without it; without a default tests give it {tested}"]
        if one.name in self._given:
            ((_, _, data, _),) = [given for given in answers.given if given[0] == one.name]
            guess = np.frombuffer(data or b"", kind.numpy)[0]
            return [kind_line, f"default = {_number(kind, guess.item())}  # check: a guess that the plugin takes"]
        return [kind_line, f"default = 1  {FILL_IN} a value that the plugin takes"]


def _declared(code: int, data: bytes) -> list[str]:
    """Type, length and default of a field's data; nothing where a manifest has no form for them."""
    kind = field_types.of_code(code)
    if kind is None:
        return []
    if kind.is_text:
        return _text(data)
    # float32 with as few digits as it needs.
    values = [
        _number(kind, float(str(one)) if kind is FieldType.FLOAT32 else one.item())
        for one in np.frombuffer(data, kind.numpy)
    ]
    if len(values) == 1:
        return [f'type = "{kind.value}"', f"default = {values[0]}"]
    length = str(len(values)) if values else "[0, 8]  # check: the most that the plugin takes"
    return [f'type = "{kind.value}"', f"length = {length}", f"default = [{', '.join(values)}]"]


def _text(data: bytes) -> list[str]:
    text = data.removesuffix(b"\0")
    # A list of texts comes as texts with a zero after each.
    if b"\0" in text:
        return []
    try:
        return [f'type = "{FieldType.STRING.value}"', f"default = {toml(text.decode())}"]
    except UnicodeDecodeError:
        return []


def _number(kind: FieldType, value: float) -> str:
    return str(int(value)) if kind.is_integer else repr(float(value))
