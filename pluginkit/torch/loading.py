"""Imports what `--from-torch` names, in the worker that has PyTorch."""

from __future__ import annotations

import difflib
import importlib
import inspect
import traceback
from pathlib import Path
from typing import Any

from pluginkit.errors import UsageError
from pluginkit.torch.target import TorchTarget


def imported(target: TorchTarget, folder: str) -> Any:
    """The module.

    Raises:
        UsageError: there is none, or importing it fails.
    """
    try:
        return importlib.import_module(target.module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{target.module}.".startswith(f"{error.name}."):
            raise UsageError(f"Importing {target.module} fails: {said(error)}") from None
        raise UsageError(
            f"There is no Python module {target.module}: neither in {folder} nor among the installed packages.",
            hint="Go to the folder that it is in, or install its package where pluginkit is.",
        ) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's module raises
        raise UsageError(f"Importing {target.module} fails: {said(error)}") from None


def named(target: TorchTarget, module: Any) -> Any:
    """What has the name: a class of modules, a module, or an operator's overload.

    Raises:
        UsageError: nothing has it, or it is something else.
    """
    import torch

    if target.is_operator:
        namespace, name = target.name.split("::")
        packet = getattr(getattr(torch.ops, namespace), name, None)
        if packet is None:
            raise UsageError(f"After importing {target.module}, PyTorch has no operator {target.name}.")
        return packet.default
    found = module
    for part in target.name.split("."):
        if not hasattr(found, part):
            known = [name for name, value in vars(found).items() if _fits(value)]
            close = difflib.get_close_matches(part, known, n=1)
            hint = f"Is {close[0]} meant?" if close else f"It has {', '.join(known[:8]) or 'no module or operator'}."
            raise UsageError(f"{target.module} has no {part}.", hint=hint)
        found = getattr(found, part)
    if not _fits(found):
        raise UsageError(
            f"{target.text} is a {type(found).__name__}, and neither a torch.nn.Module nor an operator.",
            hint="Put what it computes into the forward of a torch.nn.Module, or make it a torch.library.custom_op.",
        )
    overload = getattr(found, "_opoverload", found)
    return overload.default if isinstance(overload, torch._ops.OpOverloadPacket) else overload


def _fits(value: Any) -> bool:
    import torch

    kinds = (torch.nn.Module, torch._ops.OpOverload, torch._ops.OpOverloadPacket, torch.library.CustomOpDef)
    return isinstance(value, kinds) or (isinstance(value, type) and issubclass(value, torch.nn.Module))


def folder_of(module: Any, folder: str) -> str:
    """The folder, if the module comes from it."""
    file = getattr(module, "__file__", None)
    return folder if file and Path(file).resolve().is_relative_to(Path(folder).resolve()) else ""


def said(error: BaseException) -> str:
    """An exception's first line, and the last line of the user's code that it came through."""
    text = (str(error).splitlines() or [""])[0]
    own = [one for one in traceback.extract_tb(error.__traceback__) if "site-packages" not in one.filename]
    own = [one for one in own if not one.filename.startswith(("<", str(Path(__file__).parents[1])))]
    own = [one for one in own if not one.filename.startswith(str(Path(inspect.__file__).parent))]
    where = f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {text}{where}"


def example(text: str, module: Any, hint: str) -> tuple[Any, ...]:
    """The tensors that an expression gives, with the module's names in it.

    Raises:
        UsageError: it fails, or gives something else; `hint` says what to write.
    """
    import torch

    try:
        value = eval(text, {"torch": torch, **vars(module)})
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's expression raises
        raise UsageError(f"--example {text!r} fails: {said(error)}", hint=hint) from None
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    for one in given:
        if not isinstance(one, torch.Tensor):
            raise UsageError(f"--example {text!r} gives a {type(one).__name__}, no tensor.", hint=hint)
    return tuple(one.detach() for one in given)
