"""The pattern `transpose`: an input with two groups of its last dimensions exchanged, as NCHW and NHWC have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pluginkit.manifest import REST, Manifest
from pluginkit.scaffold.kernels import fitting

_MOST_BYTES = 4
"""Of an element that `pluginkit/kernels/transpose.cuh` moves."""


def misfit(manifest: Manifest) -> str:
    if problem := fitting.one_to_one(manifest):
        return problem
    (x,), (y,) = manifest.inputs, manifest.outputs
    if y.alias:
        return "its output is in its input's memory"
    large = [kind.value for kind in x.types if kind.itemsize > _MOST_BYTES]
    if large:
        return f"elements of {large[0]} are larger than {_MOST_BYTES} bytes"
    if groups(manifest) is None:
        shapes = " and ".join(f"[{', '.join(manifest.written(tensor))}]" for tensor in (x, y))
        return (
            f"{shapes} aren't a shape and the same with two neighbouring groups of its last dimensions exchanged, as "
            "[n, c, h, w] and [n, h, w, c]"
        )
    return ""


def groups(manifest: Manifest) -> tuple[int, int] | None:
    """How many dimensions the two exchanged groups have, in the input's order; the smallest ones that fit."""
    (x,), (y,) = manifest.inputs, manifest.outputs
    given, made = manifest.written(x), manifest.written(y)
    rank = len(given)
    for exchanged in range(2, rank + 1):
        last = given[rank - exchanged :]
        for first in range(1, exchanged):
            if REST not in last and given[: rank - exchanged] + last[first:] + last[:first] == made:
                return first, exchanged - first
    return None


def resembles(manifest: Manifest) -> bool:
    """Whether the output has the input's dimensions in another order."""
    if len(manifest.inputs) != 1 or len(manifest.outputs) != 1:
        return False
    given, made = (manifest.written(one) for one in (*manifest.inputs, *manifest.outputs))
    return given != made and sorted(given) == sorted(made)


def variables(manifest: Manifest) -> Mapping[str, Any]:
    """`exchanged` for the kernel: what `groups` says."""
    return {"exchanged": groups(manifest)}


def reference(manifest: Manifest) -> list[str]:
    (x,) = manifest.inputs
    first, second = groups(manifest) or (1, 1)
    if (first, second) == (1, 1):
        return [f"return np.swapaxes({x.name}, -2, -1)"]
    sources, places = list(range(-first - second, -second)), list(range(-first, 0))
    return [f"return np.moveaxis({x.name}, {sources}, {places})"]


def test(manifest: Manifest, arguments: list[str]) -> list[str]:
    first, second = groups(manifest) or (1, 1)
    return [
        "(shape,) = SHAPES",
        "numbers = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)",
        f"output = reference({', '.join(['numbers', *arguments])})",
        f"columns = int(np.prod(shape[{-second}:]))",
        f"rows = int(np.prod(shape[{-first - second}:{-second}]))",
        "for i, matrix in enumerate(output.reshape(-1, columns, rows)):",
        "    before = numbers.reshape(-1, rows, columns)[i]",
        "    np.testing.assert_array_equal(matrix, before.T)",
    ]
