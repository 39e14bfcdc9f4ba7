"""What a project is made of, called on an example; in the worker that has PyTorch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from pluginkit.errors import UsageError
from pluginkit.scaffold import names
from pluginkit.torch import sizes
from pluginkit.torch.facts import FieldFound, TensorFound, TorchFound
from pluginkit.torch.loading import said
from pluginkit.torch.target import TorchTarget

USED = frozenset(("module", "torch", "weights"))
"""Names that reference.py has for something else."""


class TorchSubject:
    """What a project is made of."""

    name = ""
    namespace = ""
    is_module = True
    is_class = False

    def __init__(self, target: TorchTarget) -> None:
        self.target = target
        self.notes: list[str] = []

    def input_names(self, count: int) -> list[str]:
        """What the first arguments of a call are called."""
        raise NotImplementedError

    def weights(self) -> dict[str, Any]:
        """The tensors of a module's own."""
        return {}

    def call(self, count: int, weights: Sequence[str]) -> sizes.Call:
        """A function of so many inputs, then these weights."""
        raise NotImplementedError

    def fields(self, given: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[FieldFound], list[str]]:
        """The fields, and the arguments that are none."""
        raise NotImplementedError

    def wide(self, given: Sequence[Any]) -> bool:
        """Whether it computes in float64."""
        raise NotImplementedError

    def hint(self) -> str:
        """What to write as the example."""
        inputs = ", ".join(self.input_names(1))
        return f"Give a tensor, or several, as forward takes them ({inputs}): --example 'torch.randn(2, 8)'"

    def found(self, given: Sequence[Any], folder: str) -> TorchFound:
        """All that there is to know, by this example."""
        import torch

        inputs = self.input_names(len(given))
        weights = self.weights()
        called = self.call(len(given), list(weights))
        tensors = [*given, *(one.detach() for one in weights.values())]
        try:
            with torch.no_grad():
                outputs = called(*(one.clone() for one in tensors))  # a module may write into what it is given
        except UsageError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's module raises
            shown = [f"{name} {tuple(one.shape)}" for name, one in zip(inputs, given, strict=False)]
            raise UsageError(
                f"{self.target.text} fails on the example: {said(error)}",
                hint=f"It was called with {', '.join(shown)}.",
            ) from None
        own = [free(name) for name in weights]
        fields, fixed = self.fields(given, outputs)
        taken = {*inputs, *own, *(one.name for one in fields), "y", *(f"y{i}" for i in range(len(outputs)))}
        dims = sizes.find(called, tensors, outputs, taken)
        kept = [index for index in range(len(tensors)) if index < len(given) or dims.used[index]]
        every = [(name, "") for name in inputs] + list(zip(own, weights, strict=True))
        results = ["y"] if len(outputs) == 1 else [f"y{index}" for index in range(len(outputs))]
        ins = tuple(_tensor(every[index][0], dims.inputs[index], tensors[index], every[index][1]) for index in kept)
        outs = tuple(_tensor(*one) for one in zip(results, dims.outputs, outputs, strict=True))
        with torch.no_grad():
            wide = self.wide([one.clone() for one in tensors])
        return TorchFound(
            name=self.name,
            namespace=self.namespace,
            is_module=self.is_module,
            is_class=self.is_class,
            folder=folder,
            inputs=ins,
            outputs=outs,
            fields=tuple(fields),
            fixed=tuple(fixed),
            ranges=dims.ranges,
            wide=wide,
            notes=(*self.notes, *dims.notes),
        )


def _tensor(name: str, dims: Sequence[str | None], tensor: Any, parameter: str = "") -> TensorFound:
    import torch

    kind = str(tensor.dtype).removeprefix("torch.")
    stored = tensor.to(torch.float32) if kind in {"bfloat16", "float8_e4m3fn"} else tensor
    return TensorFound(name, kind, tuple(dims), np.array(stored.detach().cpu().numpy()), parameter)


def free(name: str) -> str:
    """What a module's tensor is called in a project: a module is called by position, so any name will do."""
    made = re.sub(r"^(?=\d)", "w", name.replace(".", "_"))
    try:
        names.check_member(made, "a tensor")
    except UsageError:
        return f"{made}_"
    return f"{made}_" if made in USED else made


def tensors_of(made: Any, text: str) -> tuple[Any, ...]:
    """What a call returned, as a tuple.

    Raises:
        UsageError: it is not a tensor, and no tuple of them; `text` names what was called.
    """
    import torch

    several = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    for one in several:
        if not isinstance(one, torch.Tensor):
            raise UsageError(
                f"{text} returns a {type(made).__name__}"
                + (f" with a {type(one).__name__}" if made is not one else "")
                + ", and a plugin's outputs are tensors.",
                hint="Let it return a tensor or a tuple of tensors.",
            )
    return several


def numbers(value: Any) -> bool:
    """Whether an argument is a list of numbers."""
    return isinstance(value, (list, tuple)) and bool(value) and all(type(one) in (int, float) for one in value)


def floats(value: Any) -> Any:
    """A whole number, or those of a list, as numbers that need not be whole; anything else as it is."""
    if isinstance(value, (list, tuple)):
        made = [float(one) if type(one) is int else one for one in value]
        return tuple(made) if isinstance(value, tuple) else made
    return float(value) if type(value) is int else value


def plain(value: Any) -> Any:
    """An argument as a field has it: a list as a tuple, True as 1."""
    return tuple(value) if isinstance(value, list) else int(value) if isinstance(value, bool) else value
