"""A `torch.nn.Module`: its weights are inputs, and arguments of its class fields; in the worker that has PyTorch."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pluginkit.errors import UsageError
from pluginkit.torch import sizes
from pluginkit.torch.facts import FieldFound
from pluginkit.torch.loading import said
from pluginkit.torch.subject import TorchSubject, floats, free, numbers, plain, tensors_of
from pluginkit.torch.target import TorchTarget

SEED = 0
"""Weights are drawn when a module is made: each time the same."""


class BoundArguments:
    """Arguments by name, as a signature binds them."""

    def __init__(self, bound: inspect.BoundArguments) -> None:
        self._bound = bound
        self.args, self.kwargs = bound.args, bound.kwargs

    def changed(self, name: str, value: Any) -> BoundArguments:
        """The same with another value."""
        bound = inspect.BoundArguments(self._bound.signature, self._bound.arguments.copy())
        bound.arguments[name] = value
        return BoundArguments(bound)

    def values(self) -> Mapping[str, Any]:
        """All of them."""
        return self._bound.arguments

    def default(self, name: str) -> Any:
        """The default."""
        return self._bound.signature.parameters[name].default

    def is_float(self, name: str) -> bool:
        """Whether it is a number that need not be whole, or a list of these, as its annotation or its default says."""
        parameter = self._bound.signature.parameters[name]
        words = set(re.findall(r"\w+", str(parameter.annotation)))  # list[float] is one text and List[float] another
        default = parameter.default if isinstance(parameter.default, (list, tuple)) else [parameter.default]
        return ("float" in words and "int" not in words) or any(type(one) is float for one in default)

    def plain(self) -> dict[str, Any]:
        """Those that are passed one by one."""
        kinds = self._bound.signature.parameters
        several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return {name: value for name, value in self.values().items() if kinds[name].kind not in several}


class ModuleSubject(TorchSubject):
    """A `torch.nn.Module`."""

    def __init__(self, target: TorchTarget, make: Callable[[BoundArguments], Any], kind: type | None) -> None:
        super().__init__(target)
        self._make = make
        self.is_class = kind is not None
        self.name = kind.__name__ if kind is not None else target.name.rpartition(".")[2].title().replace("_", "")
        self._arguments = (
            self._bound(kind) if kind is not None else BoundArguments(inspect.signature(lambda: None).bind())
        )
        try:
            self._module = make(self._arguments)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's class raises
            raise UsageError(f"{target.text} can't be made: {said(error)}") from None

    def _bound(self, kind: type) -> BoundArguments:
        target, signature = self.target, inspect.signature(kind)
        try:
            bound = signature.bind(*target.args, **dict(target.kwargs))
        except TypeError as error:
            needed = [
                name
                for name, one in signature.parameters.items()
                if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
            ]
            shown = ", ".join(f"{name}=..." for name in needed)
            raise UsageError(
                f"{target.text} can't be made with these arguments: {error}.",
                hint=f"It is {target.name}{signature}. Write: --from-torch '{target.text}({shown})'",
            ) from None
        bound.apply_defaults()
        return BoundArguments(bound)

    def input_names(self, count: int) -> list[str]:
        parameters = inspect.signature(self._module.forward).parameters
        names = [name for name, one in parameters.items() if one.kind is not one.VAR_KEYWORD]
        open_end = any(one.kind is one.VAR_POSITIONAL for one in parameters.values())
        if open_end or count > len(names):
            return [f"x{index}" for index in range(count)]
        return [free(name) for name in names[:count]]

    def weights(self) -> dict[str, Any]:
        return {**dict(self._module.named_parameters()), **dict(self._module.named_buffers())}

    def call(self, count: int, weights: Sequence[str]) -> sizes.Call:
        return self._call(self._module, count, weights)

    def _call(self, module: Any, count: int, weights: Sequence[str]) -> sizes.Call:
        import torch

        def called(*tensors: Any) -> tuple[Any, ...]:
            own = dict(zip(weights, tensors[count:], strict=True))
            return tensors_of(torch.func.functional_call(module, own, tensors[:count]), self.target.text)

        return called

    def wide(self, given: Sequence[Any]) -> bool:
        weights = self.weights()
        tensors = [one.double() if one.is_floating_point() else one for one in given]
        try:
            self._call(self._module, len(given) - len(weights), list(weights))(*tensors)
        except Exception:  # noqa: BLE001 - whatever it raises means that it does not take them
            return False
        return True

    def fields(self, given: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[FieldFound], list[str]]:
        found: list[FieldFound] = []
        fixed: list[str] = []
        values = self._arguments.values()
        for name, value in self._arguments.plain().items():
            value = floats(value) if self._arguments.is_float(name) else value  # noqa: PLW2901
            if isinstance(value, (bool, int, float, str)) or numbers(value):
                verdict = self._verdict(name, value, given, outputs)
                if not verdict:
                    found.append(FieldFound(name, plain(value), isinstance(value, bool)))
                    continue
                if verdict != "none":
                    self.notes.append(f"the argument {name}={value!r} is not a field: {verdict}.")
            default = self._arguments.default(name)
            if not (default is value or default == value):
                fixed.append(f"{name}={value!r}")
        several = [one for name, one in values.items() if name not in self._arguments.plain()]
        if any(several):
            self.notes.append("arguments of *args and **kwargs are not fields.")
            fixed += [repr(one) for one in several if isinstance(one, tuple) for one in one]
            fixed += [f"{k}={v!r}" for one in several if isinstance(one, dict) for k, v in one.items()]
        return found, fixed

    def _verdict(self, name: str, value: Any, given: Sequence[Any], outputs: Sequence[Any]) -> str:
        """Why an argument is not a field; empty if it is one, `none` if nothing has to be said."""
        import torch

        state = self._module.state_dict()
        for other in _others(value):
            try:
                torch.manual_seed(SEED)
                module = self._make(self._arguments.changed(name, other))
                theirs = module.state_dict()
            except Exception:  # noqa: BLE001 - the class does not take that value
                continue
            if {key: one.shape for key, one in theirs.items()} != {key: one.shape for key, one in state.items()}:
                return "the weights' sizes follow from it"
            try:
                module.load_state_dict(state)
                weights = {**dict(module.named_parameters()), **dict(module.named_buffers())}
                copies = [one.clone() for one in (*given, *weights.values())]  # a module may write into them
                with torch.no_grad():
                    made = self._call(module, len(given), list(weights))(*copies)
            except Exception:  # noqa: BLE001 - nor does it compute with it
                continue
            if [one.shape for one in made] != [one.shape for one in outputs]:
                return "the outputs' sizes follow from it, in a way that pluginkit.toml has to say"
            same = all(torch.equal(a, b) for a, b in zip(made, outputs, strict=True))
            return "none" if same else ""
        held = getattr(self._module, name, None)
        return "" if isinstance(value, str) and held == value else "no other value could be tried"


def _others(value: Any) -> list[Any]:
    """Other values of an argument, to see what follows from it."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, 2 * value, value - 1]
    if isinstance(value, float):
        return [1.5 * value + 0.25, 0.5 * value]
    if isinstance(value, (list, tuple)):
        return [type(value)(other) for other in zip(*(_others(one) for one in value), strict=False)]
    return []
