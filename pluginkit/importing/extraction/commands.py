"""The commands that make projects of a model's missing operators, each tried before it is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import onnx

from pluginkit.errors import PluginkitError, UsageError
from pluginkit.importing.extraction.neighbours import Neighbour
from pluginkit.importing.extraction.project import FromModel, prepare
from pluginkit.importing.missing_operators import MissingOperator
from pluginkit.process.escapes import quoted


def tried(
    asked: FromModel,
    proto: onnx.ModelProto,
    found: Sequence[MissingOperator],
    given: Sequence[Neighbour],
    progress: Callable[[str], None],
) -> tuple[MissingOperator, ...]:
    """The operators with commands that make projects of them, typed in the order of `missing_operators.commands`.

    All is done but writing. What stands behind another missing operator gets that one's project by --plugins.

    Args:
        asked: of the model; the operator is filled in.
        proto: the model.
        found: the operators.
        given: plugins that are there; `asked.plugins` are the options that name them.
        progress: called with what is done.
    """
    made: dict[str, Neighbour] = {}
    options = {one.operator: one for one in found}
    left = [one.operator for one in found if one.command]
    before: int | None = None
    while left and len(left) != before:
        before = len(left)
        for operator in list(left):
            progress(f"trying the command for {operator}")
            options[operator], neighbour = _tried(asked, proto, options[operator], given, made)
            if neighbour is not None:
                made[operator] = neighbour
                left.remove(operator)
    return tuple(options[one.operator] for one in found)


def _tried(
    asked: FromModel,
    proto: onnx.ModelProto,
    one: MissingOperator,
    given: Sequence[Neighbour],
    made: dict[str, Neighbour],
) -> tuple[MissingOperator, Neighbour | None]:
    """An operator with its command, and the plugin that it makes; None where it makes none."""
    projects = [neighbour.manifest.slug for neighbour in made.values()]
    options = "".join(f" --profile {quoted(text)}" for text in asked.shapes)
    options += "".join(f" --plugins {quoted(str(path))}" for path in asked.plugins)
    tries = [("", tuple(given))]
    tries += [("".join(f" --plugins {quoted(name)}" for name in projects), (*given, *made.values()))] if made else []
    lacks = ""
    for plugins, neighbours in tries:
        try:
            ready = prepare(replace(asked, operator=one.operator), neighbours, proto)
        except UsageError as error:
            lacks = f"{error.message.rstrip('.')}. {error.hint}" if error.hint else error.message
            continue
        except PluginkitError as error:
            return replace(one, lacks=error.message), None
        slug = ready.manifest.slug
        if Path(slug).exists():
            lacks = (
                f"there is a folder {slug} already: give it by --plugins {quoted(slug)}, or add --dir to the command"
            )
            return replace(one, lacks=lacks), Neighbour(ready.manifest, None)
        command = f"{one.command}{options}{plugins}"
        return replace(one, command=command, after=len(projects) if plugins else 0), Neighbour(ready.manifest, None)
    return replace(one, lacks=lacks), None
