"""What a manifest means in C++: the snippets that the template puts in its places."""

from __future__ import annotations

import re
from typing import Any

from pluginkit.bases import BASES
from pluginkit.dtypes import DType
from pluginkit.formats import Format
from pluginkit.manifest import Manifest, Tensor
from pluginkit.scaffold.fields import cpp as cpp_fields
from pluginkit.scaffold.shape_code import cpp_dimensions, cpp_workspace

_CPP = {
    DType.FLOAT32: "float",
    DType.FLOAT16: "__half",
    DType.BFLOAT16: "__nv_bfloat16",
    DType.INT8: "int8_t",
    DType.FLOAT8: "__nv_fp8_e4m3",
    DType.INT32: "int32_t",
    DType.INT64: "int64_t",
}
_LOAD = {
    DType.FLOAT32: "element",
    DType.FLOAT16: "__half2float(element)",
    DType.BFLOAT16: "__bfloat162float(element)",
    DType.INT8: "static_cast<float>(element) * scale",
    DType.FLOAT8: "static_cast<float>(element) * scale",
    DType.INT32: "static_cast<float>(element)",
    DType.INT64: "static_cast<float>(element)",
}
_STORE = {
    DType.FLOAT32: ["element = number;"],
    DType.FLOAT16: ["element = __float2half(number);"],
    DType.BFLOAT16: ["element = __float2bfloat16(number);"],
    DType.INT8: [
        "// Half to even, as TensorRT quantizes; what is too large becomes the largest.",
        "element = static_cast<int8_t>(fminf(fmaxf(rintf(number / scale), -128.0F), 127.0F));",
    ],
    DType.FLOAT8: [
        "// To the nearest, half to even; what is too large becomes the largest, 448, and NaN stays NaN.",
        "element = __nv_fp8_e4m3{number / scale};",
    ],
    DType.INT32: [
        "// 2147483520 is the largest float that an int32_t can hold.",
        "element = static_cast<int32_t>(fminf(fmaxf(rintf(number), -2147483648.0F), 2147483520.0F));",
    ],
    DType.INT64: [
        "// 9223371487098961920 is the largest float that an int64_t can hold.",
        "element = static_cast<int64_t>(fminf(fmaxf(rintf(number), -9223372036854775808.0F), 9223371487098961920.0F));",
    ],
}

_IN_LAYER = re.compile("(sum|result|parameters|kernels)(Input)*")
"""Names in the function of one element, `templates/project/templates/kernels/elementwise.cu`, and what inputs of these
names are called there."""


def snippets(manifest: Manifest) -> dict[str, Any]:
    """The variables of the template's C++ files (`templates/README.md` lists them)."""
    given = manifest.execution_inputs()
    tensors = (*given, *manifest.outputs)
    fixed, open_ended = cpp_fields.stored(manifest)
    fields = cpp_fields.snippets(manifest)
    quantized = [kind for kind in manifest.precisions() if kind.is_quantized]
    nb_inputs = len(given)
    scaled = [
        ({"index": index, "scale": t.scale, "desc": f"{side}[{place}]"}, t)
        for index, (side, place, t) in enumerate(
            [*(("in", i, t) for i, t in enumerate(given)), *(("out", i, t) for i, t in enumerate(manifest.outputs))]
        )
        if t.scale and t.scale_axis is None
    ]
    inputs = [_input(manifest, index) for index in range(len(given))]
    dims = [cpp_dimensions.statements(manifest, tensor) for tensor in manifest.outputs]
    open_shapes = BASES[manifest.plugin.base].dynamic_shapes
    static = [[] if open_shapes else cpp_dimensions.numbers(manifest, tensor) for tensor in manifest.outputs]
    shown = dims if open_shapes else static
    bounded = manifest.bounded()
    most = [
        [cpp_dimensions.in_enqueue(bounded, dim) for dim in t.shape] if bounded.is_sized(t) else []
        for t in bounded.outputs
    ]
    upper = [cpp_dimensions.in_enqueue(manifest, t.upper) if t.upper is not None else "" for t in manifest.outputs]
    in_enqueue = [*upper, *(dim for dims_ in most for dim in dims_)]
    sizes = cpp_dimensions.size_tensors(manifest)
    stored = tuple(tensor for tensor in manifest.outputs if tensor.upper is None)
    in_shapes = [*dims, *(size["lines"] for size in sizes)]
    checks = cpp_dimensions.checks(manifest)
    workspace = cpp_workspace.snippets(manifest)
    name = manifest.plugin.name
    # fmt: off
    return {
        "kernel": f"{name[0].lower()}{name[1:]}Kernel",
        **fields,
        "checks": [*fields["checks"], *checks],
        "precisions": [
            {"trt": p.trt, "cpp": _CPP[p], "row": ", ".join(f"DataType::{manifest.type_of(t, p).trt}" for t in tensors)}
            for p in manifest.precisions()
        ],
        "inputs": inputs,
        "shape_inputs": [_shape_input(manifest, tensor) for tensor in manifest.shape_inputs()],
        "outputs": [
            {"name": t.name, "cpp": _type(manifest, t), "quantized": any(kind.is_quantized for kind in t.types),
             "int8": DType.INT8 in t.types,  # templates/before_update
             "index": nb_inputs + k,
             "result": _result(t, whole_value(manifest, t)), "dims": dims[k],
             "static_dims": ", ".join(static[k]),
             **_channeled(manifest, t),
             "about": _about(t), "upper": upper[k], "most": most[k], "rank": len(t.shape),
             "types": ", ".join(t.types), "shape": f"[{', '.join(manifest.written(t))}]"}
            for k, t in enumerate(manifest.outputs)
        ],
        "scaled": [one for one, _ in scaled],
        # TensorRT gives scales of INT8 alone (NvInferRuntimePlugin.h, PluginTensorDesc::scale).
        "described": [one for one, tensor in scaled if DType.INT8 in tensor.types],
        "channels": [
            {"index": index, "scale": t.scale} for index, t in enumerate(tensors) if t.scale_axis is not None
        ],
        "scale_names": ", ".join(dict.fromkeys(f"`{t.scale}`" for t in tensors if t.scale)),
        "tensor_count": len(tensors),
        "int8": DType.INT8 in quantized,
        "float8": DType.FLOAT8 in quantized,
        "one_quantized": quantized[0].trt if len(quantized) == 1 else "",
        "quantized": " or ".join(kind.short for kind in quantized),
        "half": any(DType.FLOAT16 in t.types for t in tensors),
        "bfloat16": any(DType.BFLOAT16 in t.types for t in tensors),
        **_layouts(manifest),
        "sizes": sizes,
        "enqueue_at": any("at(" in text for text in in_enqueue),
        "aliases": [
            {"output": k, "input": [i.name for i in given].index(t.alias), "name": t.name, "source": t.alias}
            for k, t in enumerate(manifest.outputs) if t.alias
        ],
        **workspace,
        "workspace_bytes": manifest.plugin.workspace or "",
        "same": any(tensor["load"] == "load" for tensor in inputs),
        "once": any(tensor["load"] == "loadOnce" for tensor in inputs),
        "cyclic": any(tensor["load"] == "loadCyclic" for tensor in inputs),
        "stored": stored,
        "conditional": any("std::" in _type(manifest, tensor) for tensor in tensors),
        "loads": [_conversion(kind) for kind in _used(manifest, given)],
        "stores": [_conversion(kind) for kind in _used(manifest, stored)],
        "flattened": any(not is_whole(t) for t in manifest.outputs),
        "whole": any(is_whole(t) for t in manifest.outputs),
        "operations": any("apply(" in line for lines in in_shapes for line in lines),
        "computed_constants": any("fixed(" in line for lines in in_shapes for line in lines),
        "dimension_header": bool(workspace["workspace"]) or cpp_dimensions.uses_dimension(
            made for lines in (*shown, *in_shapes, checks, in_enqueue) for made in lines
        ),
        "optional_dims": any(cpp_dimensions.NO_DIMENSION in dim for dims in static for dim in dims),
        "constants": any("exprBuilder" in line for lines in dims for line in lines) or bool(sizes),
        "static": not BASES[manifest.plugin.base].dynamic_shapes,
        "static_at": any("at(" in dim for texts in static for dim in texts) or bool(fields["counted_at"]),
        "static_helpers": [
            name for name in ("floorDiv", "ceilDiv") if any(name in d for dims_ in (*static, in_enqueue) for d in dims_)
        ],
        "batched": manifest.batch() is not None,
        # What a v3 plugin keeps in an engine: its fields, and the scales as one more.
        "kept_count": len(manifest.fields) + bool(quantized),
        "serialized_size": " + ".join([
            f"pluginkit::serializedSize<{', '.join([*fixed, *_kept_scales(manifest, quantized)])}>()",
            *(f"pluginkit::storedSize(mParameters.{name})" for name in open_ended),
        ]),
    }
    # fmt: on


def _about(output: Tensor) -> str:
    """What README says of an output besides its types and shape."""
    found = [f"in the memory of `{output.alias}`"] if output.alias else []
    if output.upper is not None:
        found.append(f"a size tensor of at most `{output.upper}`")
    if output.valid:
        found.append(f"of which `{output.valid}` rows mean something")
    return "".join(f", {one}" for one in found)


def is_whole(tensor: Tensor) -> bool:
    """Whether an output is INT32 or INT64 in every precision: it is a sign, because float arithmetic can't change that.

    A rounded number would be another one where the sum lies halfway between two, and integers are compared exactly.
    """
    return len(tensor.types) == 1 and tensor.types[0].is_integer


def whole_value(manifest: Manifest, output: Tensor) -> int:
    """What an output has where the sum isn't negative, or how often it has the result: its number, from 1.

    One that says how many rows of another are valid has 1: there may not be more rows.
    """
    counts = any(other.valid == output.name for other in manifest.outputs)
    return 1 if counts else [tensor.name for tensor in manifest.outputs].index(output.name) + 1


def _result(output: Tensor, number: int) -> str:
    if is_whole(output):
        return f"sum >= 0.0F ? {number}.0F : 0.0F"
    return "result" if number == 1 else f"{number}.0F * result"


def same_shape(manifest: Manifest, tensor: Tensor) -> bool:
    """Whether an input has every output's shape, so that element i goes to element i."""
    return all(manifest.written(tensor) == manifest.written(output) for output in manifest.outputs)


def _kept_scales(manifest: Manifest, quantized: list[DType]) -> list[str]:
    return ["float"] * (len(manifest.execution_inputs()) + len(manifest.outputs) if quantized else 0)


def _input(manifest: Manifest, index: int) -> dict[str, Any]:
    tensor = manifest.execution_inputs()[index]
    return {
        "name": tensor.name,
        "index": index,
        "rank": len(tensor.shape),
        "rank_check": cpp_dimensions.rank_checks(manifest)[index],
        "cpp": _type(manifest, tensor),
        "quantized": any(kind.is_quantized for kind in tensor.types),
        "int8": DType.INT8 in tensor.types,  # templates/before_update
        **_channeled(manifest, tensor),
        "load": _load(manifest, tensor),
        "argument": _argument(tensor.name),
        "types": ", ".join(tensor.types),
        "shape": f"[{', '.join(manifest.written(tensor))}]",
    }


def _channeled(manifest: Manifest, tensor: Tensor) -> dict[str, Any]:
    """Where a tensor's scales of channels lie in the plugin (None: it has one scale), and the axis of the channels."""
    own = [one.name for one in (*manifest.execution_inputs(), *manifest.outputs) if one.scale_axis is not None]
    slot = own.index(tensor.name) if tensor.name in own else None
    return {"channel_slot": slot, "scale": tensor.scale, "scale_axis": tensor.scale_axis}


def _shape_input(manifest: Manifest, tensor: Tensor) -> dict[str, Any]:
    values = tensor.values or ()
    return {
        "name": tensor.name,
        "count": len(values),
        "types": ", ".join(tensor.types),
        "shape": f"[{', '.join(manifest.written(tensor))}]",
        "about": f", a shape input: `{', '.join(values)}`",
    }


def _argument(name: str) -> str:
    """An input as an argument of the layer's function, which has names of its own; another one for each input."""
    return f"{name}Input" if _IN_LAYER.fullmatch(name) else name


def _load(manifest: Manifest, tensor: Tensor) -> str:
    if same_shape(manifest, tensor):
        return "load"
    # Element i of an output in its memory may have been written by then: none is read a second time.
    return "loadOnce" if manifest.aliased(tensor) else "loadCyclic"


def _used(manifest: Manifest, tensors: tuple[Tensor, ...]) -> list[DType]:
    used = {manifest.type_of(tensor, precision) for tensor in tensors for precision in manifest.precisions()}
    return [kind for kind in DType if kind in used]


def _conversion(kind: DType) -> dict[str, Any]:
    return {"cpp": _CPP[kind], "load": _LOAD[kind], "store": _STORE[kind], "scaled": kind.is_quantized}


def _type(manifest: Manifest, tensor: Tensor) -> str:
    """The tensor's C++ type in the kernel, where T is the type of the precision.

    A tensor has its first type in the precisions that it doesn't declare; one condition distinguishes those.
    """
    types = {precision: manifest.type_of(tensor, precision) for precision in manifest.precisions()}
    others = [precision for precision, kind in types.items() if kind is not precision]
    if not others:
        return "T"
    first = tensor.types[0]
    own = [precision for precision, kind in types.items() if kind is precision and kind is not first]
    if not own:
        return _CPP[first]
    if len(others) <= len(own):
        return f"std::conditional_t<{_is_one_of(others)}, {_CPP[first]}, T>"
    return f"std::conditional_t<{_is_one_of(own)}, T, {_CPP[first]}>"


def _is_one_of(kinds: list[DType]) -> str:
    return " || ".join(f"std::is_same_v<T, {_CPP[kind]}>" for kind in kinds)


def _layouts(manifest: Manifest) -> dict[str, Any]:
    """The format combinations: a row for each precision and layout; empty where all tensors are linear."""
    tensors = (*manifest.execution_inputs(), *manifest.outputs)
    rows = []
    for index, precision in enumerate(manifest.precisions()):
        for layout in manifest.layouts(precision):
            forms = [manifest.format_of(t, manifest.type_of(t, precision), layout) for t in tensors]
            row = {"types": index, "formats": ", ".join(f"TensorFormat::{form.trt}" for form in forms)}
            rows += [row] if row not in rows else []
    used = [form for form in Format if any(form in t.formats for t in tensors)]
    return {
        "vectorized": used != [Format.LINEAR],
        "combinations": rows,
        "formats": [
            {"trt": form.trt, "axis": form.axis, "lanes": form.lanes, "minor": form.minor}
            for form in used
            if form is not Format.LINEAR
        ],
    }
