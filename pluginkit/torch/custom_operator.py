"""An operator of `torch.library`; in the worker that has PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from pluginkit.errors import UsageError
from pluginkit.torch import sizes
from pluginkit.torch.facts import FieldFound
from pluginkit.torch.subject import TorchSubject, floats, numbers, plain, tensors_of
from pluginkit.torch.target import TorchTarget


class OperatorSubject(TorchSubject):
    """An operator of `torch.library`."""

    is_module = False

    def __init__(self, target: TorchTarget, overload: Any) -> None:
        super().__init__(target)
        self._overload = overload
        schema = overload._schema
        self.namespace, _, name = schema.name.partition("::")
        self.name = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
        if schema.is_mutable:
            raise UsageError(f"The operator {schema.name} writes into its inputs: {schema}.")
        self._tensors = [one.name for one in schema.arguments if str(one.type) == "Tensor"]
        others = [one for one in schema.arguments if one.name not in self._tensors]
        given = dict(target.kwargs)
        if target.args or set(given) - {one.name for one in others}:
            raise UsageError(f"The operator's fields are {', '.join(one.name for one in others) or 'none'}: {schema}.")
        missing = [one.name for one in others if one.name not in given and not one.has_default_value()]
        if missing:
            shown = ", ".join(f"{name}=..." for name in missing)
            raise UsageError(
                f"The operator {schema.name} needs {', '.join(missing)}: {schema}.",
                hint=f"Write: --from-torch '{target.text}({shown})'",
            )
        self._values = {one.name: _typed(one, given.get(one.name, one.default_value)) for one in others}

    def input_names(self, count: int) -> list[str]:
        if count > len(self._tensors):
            raise UsageError(f"The operator takes {len(self._tensors)} tensors, not {count}: {self._overload._schema}.")
        return self._tensors[:count]

    @override
    def call(self, count: int, weights: Sequence[str]) -> sizes.Call:
        def called(*tensors: Any) -> tuple[Any, ...]:
            named = dict(zip(self._tensors, tensors, strict=True))
            return tensors_of(self._overload(**named, **self._values), self.target.text)

        return called

    def wide(self, given: Sequence[Any]) -> bool:
        tensors = [one.double() if one.is_floating_point() else one for one in given]
        try:
            self.call(len(given), [])(*tensors)
        except Exception:  # noqa: BLE001 - whatever it raises means that it does not take them
            return False
        return True

    @override
    def fields(self, given: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[FieldFound], list[str]]:
        found = [
            FieldFound(name, plain(value), isinstance(value, bool))
            for name, value in self._values.items()
            if isinstance(value, (bool, int, float, str)) or numbers(value)
        ]
        names = {one.name for one in found}
        fixed = [f"{name}={value!r}" for name, value in dict(self.target.kwargs).items() if name not in names]
        return found, fixed


def _typed(argument: Any, value: Any) -> Any:
    """A value as the operator has it: a whole number for a float is one, too."""
    return floats(value) if "float" in str(argument.type) else value
