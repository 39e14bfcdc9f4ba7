"""Rules on `[plugin] workspace`: an expression of bytes that TensorRT's one question for a profile can answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from pluginkit import shapes
from pluginkit.errors import UsageError
from pluginkit.field_types import shown
from pluginkit.manifest import shape_rules
from pluginkit.manifest.signature import ManifestModel, Profile

_MOST_POINTS = 4096
"""How many points of a profile are tried."""
SUFFICIENT = (
    'rule C14: NvInferRuntime.h, getWorkspaceSize: "sufficient ... to deal with inputs and outputs of the given size '
    'or any smaller problem"'
)


def problems(manifest: ManifestModel) -> list[str]:
    """What the workspace is that can't be; for a manifest whose shapes and profiles are right."""
    text = manifest.plugin.workspace
    if text is None:
        return []
    if found := [f"plugin.workspace: {problem}" for problem in shape_rules.dimension_problems(manifest, text)]:
        return found
    expr = shapes.parse(text)
    if isinstance(expr, shapes.Choice) and expr.otherwise is None:
        return [f"plugin.workspace: '{text}' is not a number where the condition fails: write '{text} else 0'"]
    every: list[Mapping[str, shape_rules.Value]] = [
        {},
        *shape_rules.declared_values(manifest, manifest.workspace_fields()),
    ]
    return [problem for profile in manifest.profiles for values in every for problem in _at(manifest, profile, values)][
        :1
    ]


def _at(manifest: ManifestModel, profile: Profile, values: Mapping[str, shape_rules.Value]) -> Iterator[str]:
    """What is wrong with it in a profile, at the fields' values."""
    points = _points(manifest, profile)
    try:
        sizes = [manifest.workspace_bytes(values, point) for point in points]
    except UsageError as error:
        yield f"plugin.workspace in profile '{profile.name}'{_shown(values)}: {error.message}"
        return
    for point, size in zip(points, sizes, strict=True):
        where = f"{_shown(point, 'at') or ' at any shape'}{_shown(values)} (profile '{profile.name}')"
        if size < 0:
            yield f"plugin.workspace is {size} bytes{where}: it cannot be negative"
        elif size > sizes[0]:
            yield (
                f"plugin.workspace is {size} bytes{where}, and less, {sizes[0]}, at the profile's max, for which "
                f"TensorRT asks ({SUFFICIENT})"
            )


def _points(manifest: ManifestModel, profile: Profile) -> list[dict[str, int]]:
    """Points of a profile, its max first, with each used symbol at its ends and in between."""
    used = set(shapes.symbols(shapes.parse(manifest.plugin.workspace or 0)))
    names = [name for name in profile.symbols if name in used]
    count = int(_MOST_POINTS ** (1 / max(len(names), 1)))
    sizes = []
    for name in names:
        low, opt, high = profile.symbols[name]
        step = max((high - low) // count, 1)
        sizes.append(sorted({high, opt, *range(low, high, step)}, reverse=True))
    return [dict(zip(names, point, strict=True)) for point in itertools.product(*sizes)]


def _shown(values: Mapping[str, shape_rules.Value], word: str = "with") -> str:
    return f" {word} {', '.join(f'{name} = {shown(value)}' for name, value in values.items())}" if values else ""
