"""What a manifest means in C++: the snippets that the template puts in its places."""

from __future__ import annotations

from typing import Any

from pluginkit.bases import BASES
from pluginkit.dtypes import DType
from pluginkit.formats import Format
from pluginkit.manifest import Manifest, Tensor
from pluginkit.scaffold.fields import cpp as cpp_fields
from pluginkit.scaffold.shape_code import cpp_dimensions

_CPP = {
    DType.FLOAT32: "float",
    DType.FLOAT16: "__half",
    DType.BFLOAT16: "__nv_bfloat16",
    DType.INT8: "int8_t",
    DType.INT32: "int32_t",
}
_LOAD = {
    DType.FLOAT32: "element",
    DType.FLOAT16: "__half2float(element)",
    DType.BFLOAT16: "__bfloat162float(element)",
    DType.INT8: "static_cast<float>(element) * scale",
    DType.INT32: "static_cast<float>(element)",
}
_STORE = {
    DType.FLOAT32: ["element = number;"],
    DType.FLOAT16: ["element = __float2half(number);"],
    DType.BFLOAT16: ["element = __float2bfloat16(number);"],
    DType.INT8: [
        "// Half to even, as TensorRT quantizes; what is too large becomes the largest.",
        "element = static_cast<int8_t>(fminf(fmaxf(rintf(number / scale), -128.0F), 127.0F));",
    ],
    DType.INT32: [
        "// 2147483520 is the largest float that an int32_t can hold.",
        "element = static_cast<int32_t>(fminf(fmaxf(rintf(number), -2147483648.0F), 2147483520.0F));",
    ],
}


def snippets(manifest: Manifest) -> dict[str, Any]:
    """The variables of the template's C++ files (`templates/README.md` lists them)."""
    tensors = (*manifest.inputs, *manifest.outputs)
    fixed, open_ended = cpp_fields.stored(manifest)
    fields = cpp_fields.snippets(manifest)
    int8 = DType.INT8 in manifest.precisions()
    inputs = [_input(manifest, index) for index in range(len(manifest.inputs))]
    dims = [cpp_dimensions.statements(manifest, tensor) for tensor in manifest.outputs]
    open_shapes = BASES[manifest.plugin.base].dynamic_shapes
    static = [[] if open_shapes else cpp_dimensions.numbers(manifest, tensor) for tensor in manifest.outputs]
    shown = dims if open_shapes else static
    checks = cpp_dimensions.checks(manifest)
    name, nb_inputs = manifest.plugin.name, len(manifest.inputs)
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
        "outputs": [
            {"name": t.name, "cpp": _type(manifest, t), "int8": DType.INT8 in t.types,
             "index": len(manifest.inputs) + k,
             "result": _result(t, k + 1), "dims": dims[k],
             "static_dims": ", ".join(static[k]),
             "types": ", ".join(t.types), "shape": f"[{', '.join(manifest.written(t))}]"}
            for k, t in enumerate(manifest.outputs)
        ],
        "scaled": [
            {"index": index, "scale": t.scale,
             "desc": f"in[{index}]" if index < nb_inputs else f"out[{index - nb_inputs}]"}
            for index, t in enumerate(tensors) if t.scale
        ],
        "scale_names": ", ".join(f"`{t.scale}`" for t in tensors if t.scale),
        "tensor_count": len(tensors),
        "int8": int8,
        "half": any(DType.FLOAT16 in t.types for t in tensors),
        "bfloat16": any(DType.BFLOAT16 in t.types for t in tensors),
        **_layouts(manifest),
        "same": any(tensor["load"] == "load" for tensor in inputs),
        "cyclic": any(tensor["load"] == "loadCyclic" for tensor in inputs),
        "loads": [_conversion(kind) for kind in _used(manifest, manifest.inputs)],
        "stores": [_conversion(kind) for kind in _used(manifest, manifest.outputs)],
        "flattened": any(not is_whole(t) for t in manifest.outputs),
        "whole": any(is_whole(t) for t in manifest.outputs),
        "operations": any("apply(" in line for lines in dims for line in lines),
        "computed_constants": any("fixed(" in line for lines in dims for line in lines),
        "dimension_header": cpp_dimensions.uses_dimension(made for lines in (*shown, checks) for made in lines),
        "optional_dims": any(cpp_dimensions.NO_DIMENSION in dim for dims in static for dim in dims),
        "constants": any("exprBuilder" in line for lines in dims for line in lines),
        "static": not BASES[manifest.plugin.base].dynamic_shapes,
        "static_at": any("at(" in dim for texts in static for dim in texts) or bool(fields["counted_at"]),
        "static_helpers": [name for name in ("floorDiv", "ceilDiv") if any(name in d for dims in static for d in dims)],
        "batched": manifest.batch() is not None,
        # What a v3 plugin keeps in an engine: its fields, and the scales as one more.
        "kept_count": len(manifest.fields) + int8,
        "serialized_size": " + ".join([
            f"pluginkit::serializedSize<{', '.join([*fixed, *_kept_scales(manifest, int8)])}>()",
            *(f"pluginkit::storedSize(mParameters.{name})" for name in open_ended),
        ]),
    }
    # fmt: on


def is_whole(tensor: Tensor) -> bool:
    """Whether an output is INT32 in every precision: it is a sign, because float arithmetic can't change that.

    A rounded number would be another one where the sum lies halfway between two, and INT32 is compared exactly.
    """
    return tensor.types == (DType.INT32,)


def _result(output: Tensor, number: int) -> str:
    if is_whole(output):
        return f"sum >= 0.0F ? {number}.0F : 0.0F"
    return "result" if number == 1 else f"{number}.0F * result"


def same_shape(manifest: Manifest, tensor: Tensor) -> bool:
    """Whether an input has every output's shape, so that element i goes to element i."""
    return all(manifest.written(tensor) == manifest.written(output) for output in manifest.outputs)


def _kept_scales(manifest: Manifest, int8: bool) -> list[str]:
    return ["float"] * (len(manifest.inputs) + len(manifest.outputs) if int8 else 0)


def _input(manifest: Manifest, index: int) -> dict[str, Any]:
    tensor = manifest.inputs[index]
    return {
        "name": tensor.name,
        "index": index,
        "rank": len(tensor.shape),
        "rank_check": cpp_dimensions.rank_checks(manifest)[index],
        "cpp": _type(manifest, tensor),
        "int8": DType.INT8 in tensor.types,
        "load": "load" if same_shape(manifest, tensor) else "loadCyclic",
        "types": ", ".join(tensor.types),
        "shape": f"[{', '.join(manifest.written(tensor))}]",
    }


def _used(manifest: Manifest, tensors: tuple[Tensor, ...]) -> list[DType]:
    used = {manifest.type_of(tensor, precision) for tensor in tensors for precision in manifest.precisions()}
    return [kind for kind in DType if kind in used]


def _conversion(kind: DType) -> dict[str, Any]:
    return {"cpp": _CPP[kind], "load": _LOAD[kind], "store": _STORE[kind], "scaled": kind is DType.INT8}


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
    tensors = (*manifest.inputs, *manifest.outputs)
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
