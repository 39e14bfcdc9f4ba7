"""Rules on a signature as a whole: names and types; `shape_rules` has those on shapes and profiles."""

from __future__ import annotations

import keyword
import re

from pluginkit import shapes
from pluginkit.dtypes import PRECISIONS
from pluginkit.manifest import bench_rules, field_rules, shape_rules, type_rules
from pluginkit.manifest.mistakes import unknown
from pluginkit.manifest.signature import (
    MAX_NAME,
    MAX_TENSOR_NAME,
    ManifestModel,
)


def problems(manifest: ManifestModel) -> list[str]:
    """What is wrong in the manifest, the most important first."""
    empty = [
        f"{key}: at least one is needed" for key in ("inputs", "outputs", "profiles") if not getattr(manifest, key)
    ]
    empty += [f"{t.name}.types: at least one is needed" for t in (*manifest.inputs, *manifest.outputs) if not t.types]
    return empty or [*_naming(manifest), *shape_rules.problems(manifest), *_typing(manifest)]


def _naming(manifest: ManifestModel) -> list[str]:
    found = []
    plugin, tensors = manifest.plugin, (*manifest.inputs, *manifest.outputs)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", plugin.name):
        found.append(f"plugin.name: '{plugin.name}' is not a C++ identifier")
    if not plugin.version:
        found.append("plugin.version: must not be empty")
    found += [
        f"plugin.{key}: longer than TensorRT's limit of {MAX_NAME} bytes"
        for key in ("name", "version", "namespace")
        if len(getattr(plugin, key).encode()) > MAX_NAME
    ]
    found += [
        f"{tensor.name[:40]}...: a tensor's name is longer than TensorRT's limit of {MAX_TENSOR_NAME} bytes"
        for tensor in tensors
        if len(tensor.name.encode()) > MAX_TENSOR_NAME
    ]
    names = [tensor.name for tensor in tensors] + [field.name for field in manifest.fields]
    found += [
        f"'{name}' is not usable as a name: it must be an identifier and no Python keyword"
        for name in names
        if not shapes.SYMBOL.match(name) or keyword.iskeyword(name)
    ]
    found += [f"two tensors or fields are called '{name}'" for name in dict.fromkeys(names) if names.count(name) > 1]
    by_name = {field.name: field for field in manifest.fields}
    for tensor in tensors:
        if tensor.scale is not None and tensor.scale not in by_name:
            found.append(f"{tensor.name}.scale: {unknown('field', tensor.scale, list(by_name))}")
        elif tensor.scale is not None and by_name[tensor.scale].written() != "float32":
            found.append(f"{tensor.name}.scale: the field '{tensor.scale}' must be of type float32, and no list")
    return [*found, *field_rules.problems(manifest)]


def _typing(manifest: ManifestModel) -> list[str]:
    if not manifest.precisions():
        return ["no input is of type float32, float16, bfloat16 or int8: there would be nothing to test"]
    available = set(manifest.precisions())
    found = [
        f"{tensor.name}.types: {kind.value} is no input's type, so no precision would ever choose it"
        for tensor in manifest.outputs
        for kind in tensor.types
        if kind in PRECISIONS and kind not in available
    ]
    return [*found, *type_rules.problems(manifest), *bench_rules.problems(manifest)]
