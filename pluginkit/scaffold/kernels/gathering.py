"""The pattern `gather`: rows of a table by their numbers, as an embedding has them."""

from __future__ import annotations

from pluginkit.dtypes import DType
from pluginkit.manifest import REST, Manifest
from pluginkit.scaffold.kernels import fitting

_INDICES = ((DType.INT32,), (DType.INT64,))


def misfit(manifest: Manifest) -> str:
    if len(manifest.inputs) != 2 or len(manifest.execution_inputs()) != 2 or len(manifest.outputs) != 1:
        return "it takes a table and numbers of rows, and has one output"
    (table, indices), (y,) = manifest.inputs, manifest.outputs
    expected = [*manifest.written(indices), *manifest.written(table)[1:]]
    reasons = [
        *([f"'{indices.name}' isn't int32 or int64 alone"] if indices.types not in _INDICES else []),
        *([f"'{y.name}' has other types than '{table.name}'"] if y.types != table.types else []),
        *([f"'{table.name}' has no rows"] if not table.shape else []),
        *([f"the first dimension of '{table.name}' may be none, or several"]
          if REST in manifest.written(table)[:1] else []),
        *([f"'{y.name}' has other dimensions than [{', '.join(expected)}], those of '{indices.name}' and of a row"]
          if list(manifest.written(y)) != expected else []),
        *([f"'{y.name}' is in an input's memory"] if y.alias else []),
    ]  # fmt: skip
    return reasons[0] if reasons else fitting.dimensions(manifest) or fitting.plain(manifest)


def resembles(manifest: Manifest) -> bool:
    """Whether an output has the dimensions of integers and of a table's row, in this order."""
    if len(manifest.inputs) != 2 or len(manifest.outputs) != 1:
        return False
    (table, indices), (y,) = manifest.inputs, manifest.outputs
    rows = [*manifest.written(indices), *manifest.written(table)[1:]]
    integers = indices.types[0].is_integer and not table.types[0].is_integer
    return integers and bool(table.shape) and list(manifest.written(y)) == rows


def reference(manifest: Manifest) -> list[str]:
    table, indices = (tensor.name for tensor in manifest.inputs)
    rows, places, zeros = (fitting.local(manifest, name) for name in ("rows", "places", "zeros"))
    return [
        f"{rows} = {table}.shape[0]",
        f"{places} = {indices}.astype(np.int64)",
        f"{places} = np.where({places} < 0, {places} + {rows}, {places})",
        f"{places} = np.where(({places} < 0) | ({places} > {rows}), {rows}, {places})",
        f"{zeros} = np.zeros((1, *{table}.shape[1:]))",
        f"return np.concatenate([{table}, {zeros}])[{places}]",
    ]


def test(_manifest: Manifest, arguments: list[str]) -> list[str]:
    return [
        "table_shape, indices_shape = SHAPES",
        "rows = table_shape[0]",
        "table = np.arange(np.prod(table_shape), dtype=np.float32).reshape(table_shape)",
        "indices = np.resize(np.arange(-rows - 1, rows + 1), indices_shape)",
        f"output = reference({', '.join(['table', 'indices', *arguments])})",
        "for place in np.ndindex(*indices_shape):",
        "    index = indices[place]",
        "    row = table[index] if -rows <= index < rows else 0 * table[0]",
        "    np.testing.assert_array_equal(output[place], row)",
    ]
