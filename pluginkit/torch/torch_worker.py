"""The worker's side of `pluginkit new --from-torch`: the module is imported, called on the example, and exported."""

from __future__ import annotations

import sys

from pluginkit import installation
from pluginkit.errors import ToolMissing, UsageError
from pluginkit.torch import loading
from pluginkit.torch.custom_operator import OperatorSubject
from pluginkit.torch.facts import TorchFound
from pluginkit.torch.modules import SEED, ModuleSubject
from pluginkit.torch.subject import TorchSubject
from pluginkit.torch.target import TorchTarget


def find(target: TorchTarget, example: str, folder: str) -> TorchFound:
    """What there is to know of a module or an operator.

    Args:
        target: which.
        example: an expression of Python: the tensor, or the tensors, that it is called with.
        folder: where Python looks for modules first.

    Raises:
        ToolMissing: PyTorch isn't installed.
        UsageError: there is no such class, or it can't be made, called or described.
    """
    try:
        import torch
    except ImportError as error:
        raise ToolMissing(
            f"--from-torch needs PyTorch, which {sys.executable} can't import: {error}",
            hint=f"Install it where pluginkit is: {installation.pip('torch')}",
        ) from None
    sys.path.insert(0, folder)
    module = loading.imported(target, folder)
    found = loading.named(target, module)
    torch.manual_seed(SEED)
    if isinstance(found, type):
        subject: TorchSubject = ModuleSubject(target, lambda args: found(*args.args, **args.kwargs).eval(), found)
    elif isinstance(found, torch.nn.Module):
        if target.args or target.kwargs:
            raise UsageError(f"{target.text} is a module already, and takes no arguments.")
        subject = ModuleSubject(target, lambda _: found.eval(), None)
    else:
        subject = OperatorSubject(target, found)
    given = loading.example(example, module, subject.hint())
    return subject.found(given, loading.folder_of(module, folder))
