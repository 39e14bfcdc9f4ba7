"""Files of test cases that lie in a project, `tests/cases/*.npz`: inputs, fields, and the outputs where they come from.

`input.NAME` is an input's array, `field.NAME` a field's value, `output.NAME` an output's array. A field that is left
out has its usual value; without outputs the reference alone says what must come out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.network import npz
from pluginkit.network.networks import Array
from pluginkit.testing.points import Point, convert, place

FOLDER = Path("tests") / "cases"


@dataclass(frozen=True)
class SavedCase:
    """A case.

    Attributes:
        name: the file's, without its ending.
        point: inputs and shapes.
        fields: the values of all fields that are not scales.
    """

    name: str
    point: Point
    fields: dict[str, Any]


def read(manifest: Manifest, project: Path, usual: Mapping[str, Any]) -> list[SavedCase]:
    """All cases of a project, by name; `usual` has the fields' usual values.

    Raises:
        UsageError: a file that can't be read, or doesn't fit the manifest.
    """
    return [load(manifest, file, usual)[0] for file in sorted((project / FOLDER).glob("*.npz"))]


def load(manifest: Manifest, file: Path, usual: Mapping[str, Any]) -> tuple[SavedCase, dict[str, Array]]:
    """A case, and the outputs that were recorded with it, by name.

    Raises:
        UsageError: as `read`.
    """
    parts = _arrays(file)
    inputs, fields, outputs = (parts[kind] for kind in ("input", "field", "output"))
    wanted = [tensor.name for tensor in manifest.inputs]
    if set(inputs) != set(wanted):
        raise UsageError(
            f"{file} has the inputs {', '.join(inputs) or 'none'}; the manifest has {', '.join(wanted)}.",
            hint="Write it again, or remove it: pluginkit new --from-onnx made it from a model.",
        )
    if unknown := sorted(set(fields) - set(usual)):
        raise UsageError(f"{file} has a value of the field {unknown[0]}, which the manifest lacks.")
    feeds = {tensor.name: convert(file, tensor, inputs[tensor.name]) for tensor in manifest.inputs}
    values = {**usual, **{name: _value(array) for name, array in fields.items()}}
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", file.stem)
    return SavedCase(name, place(manifest, file, feeds, "opt"), values), outputs


def _value(array: Array) -> Any:
    value = array.tolist()
    return tuple(value) if isinstance(value, list) else value


def _arrays(file: Path) -> dict[str, dict[str, Array]]:
    parts: dict[str, dict[str, Array]] = {"input": {}, "field": {}, "output": {}}
    for key, array in npz.read(file).items():
        kind, _, name = key.partition(".")
        if kind not in parts or not name:
            raise UsageError(f"{file} has an array {key!r}.", hint="Keys are input.x, field.alpha, output.y.")
        parts[kind][name] = array
    return parts
