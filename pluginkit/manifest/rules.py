"""Rules on a signature as a whole: names and types; `shape_rules` has those on shapes and profiles."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping

from pluginkit import shapes
from pluginkit.dtypes import PRECISIONS, DType
from pluginkit.field_types import FieldType
from pluginkit.manifest import (
    base_rules,
    bench_rules,
    field_rules,
    shape_rules,
    type_rules,
    v3_rules,
    workspace_rules,
)
from pluginkit.manifest.fields import Attribute
from pluginkit.manifest.mistakes import unknown
from pluginkit.manifest.signature import (
    MAX_NAME,
    MAX_TENSOR_NAME,
    ManifestModel,
    Tensor,
)
from pluginkit.manifest.tuning import rules as tuning_rules


def problems(manifest: ManifestModel) -> list[str]:
    """What is wrong in the manifest, the most important first."""
    empty = [
        f"{key}: at least one is needed" for key in ("inputs", "outputs", "profiles") if not getattr(manifest, key)
    ]
    empty += [f"{t.name}.types: at least one is needed" for t in (*manifest.inputs, *manifest.outputs) if not t.types]
    if empty:
        return empty
    shaped = v3_rules.problems(manifest) or shape_rules.problems(manifest)
    return [
        *_naming(manifest),
        *shaped,
        *([] if shaped else [*workspace_rules.problems(manifest), *v3_rules.bounds_problems(manifest)]),
        *_typing(manifest),
        *_special(manifest),
    ]


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
        elif problem := _scale(manifest, tensor, by_name):
            found.append(f"{tensor.name}.{problem}")
    return [*found, *field_rules.problems(manifest)]


def _scale(manifest: ManifestModel, tensor: Tensor, fields: Mapping[str, Attribute]) -> str:
    """What is wrong with the scale of a tensor, behind the tensor's name; empty if nothing is."""
    axis = tensor.scale_axis
    field = fields[tensor.scale] if tensor.scale is not None else None
    if field is None:
        return "scale_axis: there is no scale: write the field that carries it as `scale`" if axis is not None else ""
    if field.type is not FieldType.FLOAT32 or isinstance(field.length, tuple):
        return (
            f"scale: the field '{field.name}' must be of type float32: one number, or a list with an element for each "
            "channel (length: the dimension, as it stands in the shape)"
        )
    if not field.is_list:
        wrong = f"scale_axis: the field '{field.name}' is one number: leave scale_axis out"
        return wrong if axis is not None else ""
    shape = manifest.written(tensor)
    if any(re.search(r"\bif\b(?!.*\belse\b)", dim) for dim in shape):
        return f"scale: '{field.name}' is a list, and {list(shape)} has not always the same number of dimensions"
    if axis is None or axis >= len(shape) or shape[axis] != str(field.length):
        places = [str(index) for index, dim in enumerate(shape) if dim == str(field.length)]
        there = f"write scale_axis = {' or '.join(places)}" if places else f"no dimension of {list(shape)} is that"
        return f"scale_axis: the field '{field.name}' has {field.length} elements, one for each along an axis: {there}"
    return ""


def _special(manifest: ManifestModel) -> list[str]:
    given = manifest.test.special
    if len(set(given)) < len(given):
        return [f"test.special: {given[0]} stands there twice"]
    floating = any(kind is not DType.INT8 and not kind.is_integer for t in manifest.inputs for kind in t.types)
    return ["test.special: no input is of a type that has NaN or infinities"] if given and not floating else []


def _typing(manifest: ManifestModel) -> list[str]:
    if not manifest.precisions():
        return ["no input is of type float32, float16, bfloat16, int8 or float8: there would be nothing to test"]
    available = set(manifest.precisions())
    found = [
        f"{tensor.name}.types: {kind.value} is not an input's type, so no precision would ever choose it"
        for tensor in manifest.outputs
        for kind in tensor.types
        if kind in PRECISIONS and kind not in available
    ]
    return [
        *found,
        *type_rules.problems(manifest),
        *base_rules.problems(manifest),
        *bench_rules.problems(manifest),
        *tuning_rules.problems(manifest),
    ]
