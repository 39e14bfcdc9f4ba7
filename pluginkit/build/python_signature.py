"""Writes the signature of pluginkit.toml as a C++ header for a project's Python module.

`python -m pluginkit.build.python_signature PROJECT SLUG NAME TARGET FILE` writes pluginkit_built.h for
`pluginkit_add_python_module`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from pluginkit import shapes
from pluginkit.errors import PluginkitError
from pluginkit.manifest import FILE_NAME, REST, Attribute, Manifest, Tensor
from pluginkit.manifest.project import members

_DELIMITER = "pluginkit"
TORCH_OPERATORS = Path(__file__).resolve().parents[1] / "torch" / "operators.py"
"""What the module runs to make PyTorch's operators of its plugins."""
DOMAIN = "pluginkit"
"""The domain of operators whose plugins have no namespace, in PyTorch and in ONNX."""


def header(project: Path, slug: str, name: str, target: str) -> str:
    """The text of pluginkit_built.h: `PLUGINKIT_BUILT`, of the type `pluginkit::python::Built`.

    Raises:
        UsageError: a manifest of the project can't be read.
    """
    manifests = [member.manifest for member in members(project)] if (project / FILE_NAME).exists() else []
    text = json.dumps([signature(one) for one in manifests])
    operators = _raw(TORCH_OPERATORS.read_text(encoding="utf-8"))
    built = f'"lib{slug}.so", "init{name}Plugins", "{target}", {_raw(text)}, kPluginkitTorchOperators'
    # By a constant, for compilers disagree on line breaks in a macro's raw strings.
    return f"constexpr char const* kPluginkitTorchOperators = {operators};\n#define PLUGINKIT_BUILT {{{built}}}\n"


def _raw(text: str) -> str:
    return f'R"{_DELIMITER}({text}){_DELIMITER}"'


def signature(manifest: Manifest) -> dict[str, Any]:
    """What the module knows of a plugin: as `pluginkit.toml` has it, and for PyTorch's operator of it.

    `combinations` are the types that inputs and outputs have together; `unknown` names the sizes that no input's shape
    says; `dims` of an output are expressions of Python, None where there is no such dimension.
    """
    return {
        "name": manifest.plugin.name,
        "description": manifest.plugin.description,
        "version": manifest.plugin.version,
        "namespace": manifest.plugin.namespace,
        "domain": re.sub(r"\W", "_", manifest.plugin.namespace) or DOMAIN,
        "inputs": [_tensor(manifest, tensor) for tensor in manifest.inputs],
        "outputs": [
            {**_tensor(manifest, tensor), "dims": _dims(manifest, tensor), "alias": tensor.alias}
            for tensor in manifest.outputs
        ],
        "combinations": [
            {side: [manifest.type_of(one, kind).numpy.name for one in tensors] for side, tensors in _sides(manifest)}
            for kind in manifest.precisions()
        ],
        "shape_inputs": [index for index, tensor in enumerate(manifest.inputs) if tensor.is_shape_input],
        "unknown": [*(one.name for one in manifest.size_tensors()), *sorted(manifest.value_symbols())],
        "fields": [_field(one) for one in manifest.fields],
    }


def _sides(manifest: Manifest) -> tuple[tuple[str, tuple[Tensor, ...]], ...]:
    return ("inputs", manifest.inputs), ("outputs", manifest.outputs)


def _field(field: Attribute) -> dict[str, Any]:
    return {
        "name": field.name,
        "type": field.written(),
        "kind": "text" if field.type.is_text else "int" if field.type.is_integer else "float",
        "is_list": field.is_list,
        "default": field.default,
        "description": field.description,
    }


def _tensor(manifest: Manifest, tensor: Tensor) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "types": ", ".join(kind.numpy.name for kind in tensor.types),
        "shape": list(manifest.written(tensor)),
        "shape_input": tensor.is_shape_input,
    }


def _dims(manifest: Manifest, tensor: Tensor) -> list[str]:
    return [one if one == REST else _python(shapes.parse(one)) for one in manifest.written(tensor)]


def _python(expr: shapes.Expr) -> str:
    absent = isinstance(expr, shapes.Choice) and expr.otherwise is None
    return shapes.render(expr) + " else None" * absent


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
