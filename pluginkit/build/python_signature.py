"""Writes the signature of pluginkit.toml as a C++ header for a project's Python module.

`python -m pluginkit.build.python_signature PROJECT SLUG NAME TARGET FILE` writes pluginkit_built.h for
`pluginkit_add_python_module`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pluginkit.errors import PluginkitError
from pluginkit.manifest import FILE_NAME, Manifest, Tensor
from pluginkit.manifest.project import members

_DELIMITER = "pluginkit"


def header(project: Path, slug: str, name: str, target: str) -> str:
    """The text of pluginkit_built.h: `PLUGINKIT_BUILT`, of the type `pluginkit::python::Built`.

    Raises:
        UsageError: a manifest of the project can't be read.
    """
    manifests = [member.manifest for member in members(project)] if (project / FILE_NAME).exists() else []
    text = json.dumps([_signature(one) for one in manifests])
    raw = f'R"{_DELIMITER}({text}){_DELIMITER}"'
    return f'#define PLUGINKIT_BUILT {{"lib{slug}.so", "init{name}Plugins", "{target}", {raw}}}\n'


def _signature(manifest: Manifest) -> dict[str, Any]:
    return {
        "name": manifest.plugin.name,
        "description": manifest.plugin.description,
        "inputs": [_tensor(manifest, tensor) for tensor in manifest.inputs],
        "outputs": [_tensor(manifest, tensor) for tensor in manifest.outputs],
        "fields": [
            {"name": one.name, "type": one.written(), "default": one.default, "description": one.description}
            for one in manifest.fields
        ],
    }


def _tensor(manifest: Manifest, tensor: Tensor) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "types": ", ".join(kind.numpy.name for kind in tensor.types),
        "shape": list(manifest.written(tensor)),
        "shape_input": tensor.is_shape_input,
    }


def main() -> int:
    """The command line; the exit code."""
    project, slug, name, target, file = sys.argv[1:]
    try:
        Path(file).write_text(header(Path(project), slug, name, target), encoding="utf-8")
    except PluginkitError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
