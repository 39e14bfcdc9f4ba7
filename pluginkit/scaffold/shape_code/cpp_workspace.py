"""The workspace of `pluginkit.toml` in C++: its bytes by the inputs' dimensions and the fields."""

from __future__ import annotations

from typing import Any

from pluginkit import shapes
from pluginkit.bases import BASES
from pluginkit.manifest import Manifest
from pluginkit.scaffold.shape_code import cpp_dimensions, cpp_numbers


def snippets(manifest: Manifest) -> dict[str, Any]:
    """The template's variables; `workspace` is empty where the manifest has none."""
    text = manifest.plugin.workspace
    if text is None:
        return {"workspace": {}, "workspace_places": []}
    expr = shapes.lowered(shapes.parse(text))
    symbols = [name for name in manifest.symbols() if name in shapes.symbols(expr)]
    static = not BASES[manifest.plugin.base].dynamic_shapes

    def named(made: shapes.Name) -> str:
        name = made.name
        if name not in symbols:
            return cpp_numbers.member(made, "parameters")
        if static:
            # As configurePlugin() has them: without a batch that stands beside the dimensions.
            of_one = f"sizes[{symbols.index(name)}]"
            return f"{of_one} * batchSize" if name == manifest.batch() else of_one
        return "at({}, {})".format(*cpp_dimensions.place(manifest, name))

    bytes_ = cpp_numbers.dimension(expr, named)
    return {
        "workspace": {
            "text": text,
            "bytes": bytes_[1:-1] if bytes_.startswith("(") else bytes_,
            "parameters": "parameters." in bytes_,
            "batch": "batchSize" in bytes_,
        },
        # The input dimensions that it is made of: (input, dimension).
        "workspace_places": [cpp_dimensions.place(manifest, name) for name in symbols],
    }
