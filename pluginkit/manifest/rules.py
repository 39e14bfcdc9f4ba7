"""Rules on a signature as a whole: names and types; `shape_rules` has those on shapes and profiles."""

from __future__ import annotations

import keyword
import re

from pluginkit import shapes
from pluginkit.dtypes import PRECISIONS
from pluginkit.manifest import bench_rules, shape_rules, type_rules
from pluginkit.manifest.mistakes import unknown
from pluginkit.manifest.signature import (
    MAX_NAME,
    MAX_TENSOR_NAME,
    PARSER_ATTRIBUTES,
    Attribute,
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
    found += [
        f"a field cannot be called '{field.name}': NVIDIA's ONNX parser has an attribute of that name"
        for field in manifest.fields
        if field.name in PARSER_ATTRIBUTES
    ]
    found += [problem for field in manifest.fields for problem in _field_problems(field)]
    by_name = {field.name: field for field in manifest.fields}
    for tensor in tensors:
        if tensor.scale is not None and tensor.scale not in by_name:
            found.append(f"{tensor.name}.scale: {unknown('field', tensor.scale, list(by_name))}")
        elif tensor.scale is not None and by_name[tensor.scale].type != "float32":
            found.append(f"{tensor.name}.scale: the field '{tensor.scale}' must be of type float32")
    return found


def _field_problems(field: Attribute) -> list[str]:
    where = f"the field '{field.name}'"
    low, high, default = field.min, field.max, field.default
    if field.choices and (low is not None or high is not None):
        return [f"{where} has choices, and min or max besides: give one of the two"]
    declared = {
        "min": low,
        "max": high,
        **{f"choices {number}": value for number, value in enumerate(field.choices, 1)},
    }
    if field.type == "int32" and (bad := [key for key, value in declared.items() if isinstance(value, float)]):
        return [f"{where} is int32, and {bad[0]} is no whole number ({declared[bad[0]]})"]
    if low is not None and high is not None and low > high:
        return [f"{where} has a min above its max ({low} above {high})"]
    inside = (low is None or default is None or low <= default) and (high is None or default is None or default <= high)
    if not inside:
        return [f"{where} has a default outside of min and max ({default})"]
    if field.choices and default is not None and default not in field.choices:
        return [f"{where} has a default that is none of its choices ({default})"]
    return []


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
