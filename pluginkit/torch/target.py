"""What `--from-torch` names: a module of Python, and a class or an operator in it, with arguments."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from pluginkit.errors import UsageError

FORM = "As in: --from-torch layers:Swish, --from-torch 'layers:Swish(beta=1.5)', --from-torch ops:acme::swish"


@dataclass(frozen=True)
class TorchTarget:
    """A name in a module.

    Attributes:
        module: as `import` takes it.
        name: in the module, with dots; with `::` an operator, as PyTorch calls it.
        args, kwargs: numbers, texts and lists of them.
    """

    module: str
    name: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()

    @property
    def text(self) -> str:
        """As the user writes it, without arguments."""
        return f"{self.module}:{self.name}"

    @property
    def is_operator(self) -> bool:
        """Whether it is an operator by PyTorch's name for it."""
        return "::" in self.name


def parse(text: str) -> TorchTarget:
    """Read `module:Class`, `module:Class(dim=8)` or `module:namespace::operator`.

    Raises:
        UsageError: it is nothing of that.
    """
    module, colon, rest = text.partition(":")
    if module.endswith(".py"):
        proper = module.removesuffix(".py").replace("/", ".")
        raise UsageError(f"{module} is a file.", hint=f"Write it as Python imports it: {proper}:{rest or 'Class'}")
    if not colon or not all(part.isidentifier() for part in module.split(".")):
        raise UsageError(f"'{text}' names no class in a module.", hint=FORM)
    name, bracket, _ = rest.partition("(")
    args, kwargs = _arguments(text, rest[len(name) :]) if bracket else ((), ())
    parts = name.split("::") if "::" in name else name.split(".")
    if not all(part.isidentifier() for part in parts) or ("::" in name and len(parts) != 2):
        raise UsageError(f"'{text}' names no class in a module.", hint=FORM)
    return TorchTarget(module, name, args, kwargs)


def _arguments(text: str, written: str) -> tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]:
    try:
        call = ast.parse(f"f{written}", mode="eval").body
    except (SyntaxError, ValueError):
        call = None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise UsageError(f"The arguments in '{text}' are not Python.", hint=FORM)
    try:
        args = tuple(ast.literal_eval(one) for one in call.args)
        kwargs = tuple((one.arg or "", ast.literal_eval(one.value)) for one in call.keywords)
    except ValueError:
        args, kwargs = (), (("", None),)
    if any(not name for name, _ in kwargs):
        raise UsageError(
            f"The arguments in '{text}' are not all numbers, texts, True, False, None and lists of them.",
            hint="Write a class of yours that makes the rest itself, and name that one.",
        )
    return args, kwargs
