"""What a worker with PyTorch in it finds out of a module or an operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pluginkit.network.networks import Array


@dataclass(frozen=True)
class TensorFound:
    """An input or an output.

    Attributes:
        name: as the plugin is to call it.
        kind: of PyTorch's types, as float32.
        dims: symbols, numbers and expressions of them; None: one that no shape expression can be.
        array: its value in the example; bfloat16 as float32.
        parameter: of a weight, what the module calls it; else empty.
    """

    name: str
    kind: str
    dims: tuple[str | None, ...]
    array: Array
    parameter: str = ""


@dataclass(frozen=True)
class FieldFound:
    """An argument that a plugin can have as a field.

    Attributes:
        name: of the argument.
        value: a number, a text, or a tuple of numbers.
        boolean: whether PyTorch takes it as a bool.
    """

    name: str
    value: Any
    boolean: bool = False


@dataclass(frozen=True)
class TorchFound:
    """A module or an operator.

    Attributes:
        name: of the plugin, if no other is given.
        namespace: the operator's; empty for a module.
        is_module: whether it is a module; else an operator.
        is_class: whether it is a class of modules, which is made with the arguments.
        folder: what has to be searched to import it; empty if it is an installed package's.
        inputs: what it is called with, then the weights that it uses.
        outputs: what it returns.
        fields: the arguments that can be fields.
        fixed: the other arguments, as Python writes them: positional ones, and `name=value`.
        ranges: of each symbol, min, opt and max.
        wide: whether it computes in float64.
        notes: what was assumed or left out.
    """

    name: str
    namespace: str
    is_module: bool
    is_class: bool
    folder: str
    inputs: tuple[TensorFound, ...]
    outputs: tuple[TensorFound, ...]
    fields: tuple[FieldFound, ...]
    fixed: tuple[str, ...]
    ranges: dict[str, tuple[int, int, int]]
    wide: bool
    notes: tuple[str, ...]
