"""A plugin project from a module or an operator of PyTorch: signature, fields, reference.py and a case."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.importing.extraction import reference as shared_reference
from pluginkit.importing.extraction.fields import AttributeFacts, Value
from pluginkit.importing.extraction.manifest_text import manifest_of
from pluginkit.importing.extraction.signature import NodeSignature
from pluginkit.network.networks import Array
from pluginkit.process.worker import Worker
from pluginkit.scaffold import names, project
from pluginkit.testing import saved_cases
from pluginkit.torch import reference, target
from pluginkit.torch.facts import FieldFound, TensorFound, TorchFound

CHILD = "pluginkit.torch.torch_worker"
CASE = "example"
TYPES = {**{kind.numpy.name: kind for kind in DType}, "float64": DType.FLOAT32}
"""PyTorch's types, and what a plugin has for them."""


@dataclass(frozen=True)
class MadeOfTorch:
    """What was made.

    Attributes:
        project: its folder.
        case: the file with the example's data.
        notes: what was assumed or left out.
    """

    project: Path
    case: Path
    notes: tuple[str, ...]


def extract(
    text: str,
    example: str,
    *,
    name: str = "",
    directory: Path | None = None,
    base: str = "dynamic",
    timeout: float = 300.0,
) -> MadeOfTorch:
    """Write a project for a module or an operator.

    Args:
        text: as `target.parse` reads it.
        example: an expression of Python: the tensor, or the tensors, that it is called with.
        name: the plugin's; that of the class or operator if it is empty.
        directory: where the project's folder is made.
        base: the plugin's interface.
        timeout: seconds for PyTorch.

    Raises:
        UsageError: there is no such class, it can't be made or called, or no pluginkit.toml can describe it; or the
            folder is there already. Nothing is written.
        ToolMissing: PyTorch isn't installed.
    """
    wanted = target.parse(text)
    with Worker(CHILD, {}, timeout=timeout) as worker:
        found = worker.call("find", target=wanted, example=example, folder=str(Path.cwd()))
    assert isinstance(found, TorchFound)
    notes = list(found.notes)
    signature = _signature(wanted.text, found, notes)
    manifest, toml = manifest_of(
        signature, name or found.name, namespace=found.namespace, version="1", base=base, ranges=found.ranges
    )
    parent = (directory or Path()).resolve()
    above = os.path.relpath(found.folder, parent / manifest.slug) if found.folder else ""
    case = saved_cases.FOLDER / f"{CASE}.npz"
    made = project.write(
        toml,
        directory,
        {
            Path("reference.py"): reference.computed(found, wanted, above).encode(),
            case: _case(found),
            Path("tests") / f"test_{manifest.slug}.py": shared_reference.test_file,
        },
    )
    return MadeOfTorch(made, made / case, tuple(dict.fromkeys(notes)))


def _signature(text: str, found: TorchFound, notes: list[str]) -> NodeSignature:
    against: list[str] = []
    ins = tuple(_tensor(one, "input", against, notes) for one in found.inputs)
    outs = tuple(_tensor(one, "output", against, notes) for one in found.outputs)
    fields = tuple(_field(one, against) for one in found.fields)
    if against:
        lines = "".join(f"\n  {one}" for one in dict.fromkeys(against))
        raise UsageError(f"{text} has no signature that a pluginkit.toml can have:{lines}")
    return NodeSignature(
        ins,
        outs,
        tuple(one.name for one in found.inputs),
        tuple(one.name for one in found.outputs),
        tuple(range(len(ins))),
        fields,
        found.ranges,
        tuple(notes),
    )


def _tensor(one: TensorFound, what: str, against: list[str], notes: list[str]) -> str:
    kind = TYPES.get(one.kind)
    if kind is None:
        cast = " (let it be int32)" if one.kind == "bool" else ""
        against.append(
            f"the {what} {one.name} is {one.kind}, and a plugin has {', '.join(k.value for k in DType)}{cast}"
        )
    elif one.kind == "float64":
        notes.append(f"{one.name} is float64; TensorRT has float32.")
    for axis, dim in enumerate(one.dims):
        if dim is None:
            against.append(
                f"the size of the {what} {one.name}'s dimension {axis} follows from no sum, product or quotient of the "
                "inputs' dimensions (of a size that the values decide, docs/v3.md says what a plugin can have)"
            )
    _check(one.name, "a tensor", against)
    return f"{one.name}:{kind.value if kind else ''}:{','.join(str(dim) for dim in one.dims)}"


def _field(one: FieldFound, against: list[str]) -> AttributeFacts:
    _check(one.name, "a field", against)
    value: Value = one.value
    numbers = value if isinstance(value, tuple) else (value,)
    kind = "string" if isinstance(value, str) else "float32" if any(isinstance(n, float) for n in numbers) else "int32"
    if any(isinstance(number, int) and not -(2**31) <= number < 2**31 for number in numbers):
        against.append(f"the field {one.name} does not fit 32 bits, to which NVIDIA's parser cuts an attribute")
    length = f"[{len(value)}]" if isinstance(value, tuple) else ""
    written = ",".join(map(repr, value)) if isinstance(value, tuple) else str(value)
    others = (1 - one.value,) if one.boolean else ()
    return AttributeFacts(one.name, f"{one.name}:{kind}{length}={written}", (value, *others))


def _check(name: str, what: str, against: list[str]) -> None:
    try:
        names.check_member(name, what)
    except UsageError as error:
        against.append(error.message)


def _case(found: TorchFound) -> bytes:
    arrays: dict[str, Array] = {f"input.{one.name}": _narrow(one.array) for one in found.inputs}
    arrays |= {f"field.{one.name}": np.asarray(one.value) for one in found.fields}
    arrays |= {f"output.{one.name}": _narrow(one.array) for one in found.outputs}
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def _narrow(array: Array) -> Array:
    return array.astype(np.float32) if array.dtype == np.float64 else array
