"""An input of the fuzzer as plain data, and the file that holds it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from pluginkit.adoption.answers import FieldValue
from pluginkit.errors import UsageError

Tensor = tuple[int, int, tuple[int, ...]]
"""`nvinfer1::DataType`, `nvinfer1::TensorFormat` and dimensions, as numbers."""


class Target(str, Enum):
    """What reads the input; the value is the id of the check that says what is asked of it."""

    FIELDS = "Z1"
    SERIALIZED = "Z2"
    FORMATS = "Z3"
    SHAPES = "Z4"


@dataclass(frozen=True)
class FuzzInput:
    """What one call is given.

    Attributes:
        target: what is called.
        data: SERIALIZED of the second generation: the bytes.
        fields: FIELDS, and SERIALIZED of an IPluginV3.
        tensors: FORMATS: all inputs, then all outputs. SHAPES: the inputs, of which the dimensions count.
        position: FORMATS: the tensor that is asked about.
    """

    target: Target
    data: bytes = b""
    fields: tuple[FieldValue, ...] = ()
    tensors: tuple[Tensor, ...] = ()
    position: int = 0

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "target": self.target.name.lower(),
            "data": self.data.hex(),
            "fields": [
                [name, kind, None if data is None else data.hex(), size] for name, kind, data, size in self.fields
            ],
            "tensors": [[kind, form, list(dims)] for kind, form, dims in self.tensors],
            "position": self.position,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> FuzzInput:
        """The input of what `to_json` has made.

        Raises:
            ValueError, KeyError, TypeError, AttributeError, OverflowError: it is none.
        """
        tensors = tuple(
            (_integer(kind), _integer(form), tuple(_integer(one, bits=64) for one in dims))
            for kind, form, dims in found["tensors"]
        )
        fields = tuple(
            (str(name), _integer(kind), None if data is None else bytes.fromhex(data), _integer(length))
            for name, kind, data, length in found["fields"]
        )
        target = Target[found["target"].upper()]
        return cls(target, bytes.fromhex(found["data"]), fields, tensors, _integer(found["position"]))

    @property
    def digest(self) -> str:
        """What names it among others."""
        return hashlib.sha256(json.dumps(self.to_json()).encode()).hexdigest()[:16]

    def __str__(self) -> str:
        if self.target is Target.FORMATS:
            return f"position {self.position} of (type, format, dimensions) {list(self.tensors)}"
        if self.target is Target.SHAPES:
            return f"dimensions {[dims for _, _, dims in self.tensors]}"
        if self.fields or self.target is Target.FIELDS:
            return f"{len(self.fields)} fields: {', '.join(map(_field, self.fields))}"
        return f"{len(self.data)} bytes {_hex(self.data)}".rstrip()


def _integer(value: Any, bits: int = 32) -> int:
    """A number that a plugin can be given: the headers have int32_t, and int64_t for dimensions."""
    number = int(value)
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise OverflowError
    return number


def _field(one: FieldValue) -> str:
    name, kind, data, length = one
    return f"{name!r} (type {kind}, length {length}, {'null' if data is None else _hex(data)})"


def _hex(data: bytes, most: int = 32) -> str:
    return data[:most].hex() + ("..." if len(data) > most else "")


@dataclass(frozen=True)
class KeptInput:
    """An input of a corpus, with the plugin that it is for, and how it was drawn.

    Attributes:
        plugin: its creator as `Name:version`.
        input: what it was given.
        seed: from which it is drawn again; empty for one of a file.
    """

    plugin: str
    input: FuzzInput
    seed: str = ""

    @property
    def name(self) -> str:
        """Its file's name."""
        plugin = "".join(letter if letter.isalnum() else "_" for letter in self.plugin)
        return f"{plugin}-{self.input.target.name.lower()}-{self.input.digest}.json"

    def write(self, folder: Path) -> Path:
        """Write it to a folder.

        Raises:
            UsageError: that isn't possible.
        """
        path = folder / self.name
        text = json.dumps({"plugin": self.plugin, "seed": self.seed, **self.input.to_json()}, indent=1)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Two runs may share the folder, and find the same input.
            partial = path.with_suffix(f".{os.getpid()}.partial")
            partial.write_text(text + "\n", encoding="utf-8")
            partial.replace(path)
        except OSError as error:
            raise UsageError(
                f"{path} cannot be written: {error.strerror}.", hint="--corpus DIR names another."
            ) from None
        return path


def read(path: Path) -> KeptInput:
    """The input of a file that `KeptInput.write` has written.

    Raises:
        UsageError: there is none, or it is no such file.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return KeptInput(str(found["plugin"]), FuzzInput.from_json(found), str(found["seed"]))
    except FileNotFoundError:
        raise UsageError(f"There is no input {path}.", hint="--fuzz writes inputs to its --corpus folder.") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        hint = "An input is a JSON file of the --corpus folder of pluginkit check --fuzz."
        raise UsageError(f"{path} is not an input of pluginkit check --fuzz.", hint=hint) from None


def read_folder(folder: Path) -> Sequence[KeptInput]:
    """All inputs of a folder; none where it isn't there yet.

    Raises:
        UsageError: a JSON file in it is none.
    """
    return [read(path) for path in sorted(folder.glob("*.json"))]
