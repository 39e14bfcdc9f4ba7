"""What is replaced: a pattern by its name, in a file, of a few words on the command line, or as a Python function."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pluginkit.errors import UsageError
from pluginkit.patterns import Pattern, of_data, of_file, of_text, shipped_by

FORMS = "nodes:NAME,...; values:FROM,...->TO,...; scope:PATH; chain:TYPE,...; FILE.toml; FILE.py:FUNCTION"


@dataclass(frozen=True)
class FunctionPattern:
    """A pattern as a function of onnxscript's rewriter.

    Attributes:
        function: `def NAME(op, x, epsilon): ...`, which returns what is replaced. Parameters that are called as the
            plugin's inputs are its inputs; what else it names may be constants or attributes.
        attributes: `def NAME_attributes(**bound)`, which makes the node's attributes of what is bound; if the file has
            it.
        plugin: as of `Pattern`.
    """

    function: Callable[..., Any]
    attributes: Callable[..., Mapping[str, Any]] | None = None
    plugin: str = ""
    constants: dict[str, Any] = field(default_factory=dict)


def read(text: str, project: Path | None, bundled: Mapping[str, str] | None = None) -> Pattern | FunctionPattern:
    """What the user names by --replace.

    Args:
        text: of one of `FORMS`, or the name of a pattern that comes with the plugin.
        project: the plugin's folder, if it has one.
        bundled: of a plugin out of a bundle: the bundle's patterns, as TOML, by name.

    Raises:
        UsageError: it is none, its file can't be read, or says something else than a pattern.
    """
    kind, colon, rest = text.partition(":")
    if colon and kind in {"nodes", "chain"}:
        return of_data({"names" if kind == "nodes" else kind: _listed(rest)}, text)
    if colon and kind == "scope":
        return of_data({"scope": rest}, text)
    if colon and kind == "values":
        start, arrow, end = rest.partition("->")
        if not arrow:
            raise UsageError(f"--replace {text!r} has no '->'.", hint="Write values:FROM,...->TO,...")
        return of_data({"values": {"from": _listed(start), "to": _listed(end)}}, text)
    if match := re.fullmatch(r"(.+\.py):(\w+)", text):
        return _function(Path(match[1]), match[2])
    if text.endswith(".toml"):
        return of_file(Path(text))
    return _shipped(text, project) if bundled is None else _bundled(text, bundled)


def _shipped(name: str, project: Path | None) -> Pattern:
    shipped = shipped_by(project)
    if name not in shipped:
        known = ", ".join(shipped) or "none"
        raise UsageError(
            f"--replace {name!r} is not a pattern.", hint=f"The plugin's project ships {known}. Else: {FORMS}."
        )
    return of_file(shipped[name])


def _bundled(name: str, bundled: Mapping[str, str]) -> Pattern:
    if name not in bundled:
        known = ", ".join(bundled) or "none"
        raise UsageError(
            f"--replace {name!r} is not a pattern.", hint=f"The plugin's bundle brings {known}. Else: {FORMS}."
        )
    return of_text(bundled[name], f"pattern {name} of the bundle")


def _function(path: Path, name: str) -> FunctionPattern:
    spec = importlib.util.spec_from_file_location("pluginkit_pattern", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"There is no file {path}.")
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up.
    sys.modules[module.__name__] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's own code
        raise UsageError(f"{path} can't be imported: {type(error).__name__}: {error}.") from None
    found = getattr(module, name, None)
    if not callable(found):
        raise UsageError(f"{path} has no function {name}.")
    attributes = getattr(module, f"{name}_attributes", None)
    if attributes is not None and not callable(attributes):
        raise UsageError(f"{path}: {name}_attributes is not a function.")
    return FunctionPattern(found, attributes)


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
