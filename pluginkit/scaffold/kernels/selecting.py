"""The pattern `nonzero`: the indices of some of a tensor's elements, and how many there are."""

from __future__ import annotations

from pluginkit.dtypes import DType
from pluginkit.manifest import REST, Manifest
from pluginkit.scaffold.kernels import fitting
from pluginkit.shapes import parse

_INDICES = ((DType.INT32,), (DType.INT64,))


def misfit(manifest: Manifest) -> str:
    if len(manifest.inputs) != 1 or len(manifest.execution_inputs()) != 1 or len(manifest.outputs) != 2:
        return "it takes one input, and has two outputs: indices, and how many"
    (x,), (indices, found) = manifest.inputs, manifest.outputs
    shape = manifest.written(x)
    reasons = [
        *(["a scalar has no indices"] if not shape else []),
        *([f"'{x.name}' may have any number of dimensions"] if REST in shape else []),
        *([f"'{indices.name}' isn't int32 or int64 alone"] if indices.types not in _INDICES else []),
        *([f"'{found.name}' isn't a size tensor: give it upper"] if found.upper is None else []),
        *([f"'{indices.name}' has another shape than [{len(shape)}, {found.name}]"]
          if tuple(str(size) for size in manifest.written(indices)) != (str(len(shape)), found.name) else []),
        *([f"'{x.name}' has other formats than linear"] if fitting.not_linear(x) else []),
        *([f"'{x.name}' has a scale for each channel"] if x.scale_axis is not None else []),
    ]  # fmt: skip
    if reasons:
        return reasons[0]
    count = " * ".join(shape)
    if parse(found.upper or "") != parse(count):
        return f"every element may have an index, and the upper bound of '{found.name}' isn't '{count}'"
    needed = f"ceil_div({count}, 8192) * 1056"  # selectWorkspace of pluginkit/kernels/select.cuh
    workspace = manifest.plugin.workspace
    if workspace is None or parse(workspace) != parse(needed):
        return f"its workspace isn't '{needed}'"
    return fitting.dimensions(manifest)


def reference(manifest: Manifest) -> list[str]:
    (x,), (indices, _) = manifest.inputs, manifest.outputs
    kind = "int32" if indices.types == (DType.INT32,) else "int64"
    name = fitting.local(manifest, "indices")
    return [
        f"{name} = np.stack(np.nonzero({x.name})).astype(np.{kind})",
        f"return {name}, np.array({name}.shape[1])",
    ]


def test(_manifest: Manifest, arguments: list[str]) -> list[str]:
    return [
        "(shape,) = SHAPES",
        "numbers = np.resize([0.0, 2.0, -1.0, 0.0, 0.0], shape)",
        f"indices, found = reference({', '.join(['numbers', *arguments])})",
        "expected = [index for index in np.ndindex(*shape) if numbers[index] != 0]",
        "assert [tuple(index) for index in indices.T] == expected",
        "assert found == len(expected)",
    ]
