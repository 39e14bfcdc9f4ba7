"""Arrays that the user recorded for a model: inputs that it is run on, and the outputs expected of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx

from pluginkit.errors import UsageError
from pluginkit.network import npz
from pluginkit.network.networks import Array


@dataclass(frozen=True)
class Recorded:
    """What a run is given and held against.

    Attributes:
        inputs: arrays by the model's inputs, of `data`.
        outputs: arrays by the model's outputs, of `expected`.
        data: the file of the inputs, if any.
        expected: the file of the outputs, if any.
    """

    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    data: Path | None = None
    expected: Path | None = None


NOTHING = Recorded({}, {})
"""No file was given."""


def read(model: onnx.ModelProto, data: Path | None, expected: Path | None) -> Recorded:
    """Both files, each of them optional.

    Raises:
        UsageError: a file can't be read, or has a name that the model lacks; outputs are expected while inputs are
            missing.
    """
    constants = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in constants]
    given = arrays(data, names, "input") if data else {}
    wanted = arrays(expected, [value.name for value in model.graph.output], "output") if expected else {}
    if expected and not wanted:
        raise UsageError(f"{expected} has no arrays, so nothing would be compared.")
    missing = [name for name in names if name not in given]
    if expected and missing:
        raise UsageError(
            f"{expected} has the outputs of one run, and its input{'' if len(missing) == 1 else 's'} "
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not given.",
            hint="Give the inputs of the same run by --data IN.npz, under the model's names.",
        )
    return Recorded(given, wanted, data, expected)


def arrays(file: Path, names: Collection[str], what: str) -> dict[str, Array]:
    """The arrays of an .npz.

    Args:
        file: the .npz.
        names: those that an array may have.
        what: what these are, for the message.

    Raises:
        UsageError: it can't be read, or has another name.
    """
    found = npz.read(file)
    for name, array in found.items():
        if name not in names:
            raise UsageError(f"{file}: the model has no {what} {name!r}.", hint=f"It has {', '.join(names) or 'none'}.")
        if array.dtype.kind not in "biuf":
            raise UsageError(f"{file}: {name} is of type {array.dtype}, not of numbers or truth values.")
    return found


def fed(data: Path, given: Mapping[str, Array], feeds: Mapping[str, Array]) -> dict[str, Array]:
    """What the model is run on: the recorded inputs, and drawn ones for the rest.

    Args:
        data: the file of the recorded inputs.
        given: its arrays.
        feeds: drawn arrays, which have the shapes and types that the model is run on.

    Raises:
        UsageError: a recorded array has another type or shape.
    """
    for name, array in given.items():
        drawn = feeds[name]
        if array.dtype != drawn.dtype or array.shape != drawn.shape:
            hint = "The types are those of the model's inputs."
            if array.dtype == drawn.dtype:
                hint = f"Give the shape: --profile {name}:{'x'.join(map(str, array.shape)) or 1}"
            raise UsageError(
                f"{data}: {name} is {array.dtype} {list(array.shape)}, and the model is run on {drawn.dtype} "
                f"{list(drawn.shape)}.",
                hint=hint,
            )
    return {**feeds, **given}
