"""What a manifest means in C++: the snippets that the template puts in its places."""

from __future__ import annotations

import re
from typing import Any

from pluginkit.bases import BASES
from pluginkit.dtypes import DType
from pluginkit.formats import Format
from pluginkit.manifest import Manifest, Tensor
from pluginkit.scaffold.fields import cpp as cpp_fields

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

_IN_LAYER = re.compile("(sum|result|fields|kernels)(Input)*")
"""Names in the function of one element, `templates/project/templates/kernels/elementwise.cu`, and what inputs of these
names are called there."""


def snippets(manifest: Manifest) -> dict[str, Any]:
    """The variables of the template's C++ files, and of README (`templates/README.md` says more)."""
    given = manifest.execution_inputs()
    tensors = (*given, *manifest.outputs)
    quantized = [kind for kind in manifest.precisions() if kind.is_quantized]
    stored = tuple(tensor for tensor in manifest.outputs if tensor.upper is None)
    inputs = [_input(manifest, tensor) for tensor in given]
    name = manifest.plugin.name
    # fmt: off
    return {
        "kernel": f"{name[0].lower()}{name[1:]}Kernel",
        **cpp_fields.snippets(manifest),
        "precisions": [{"trt": p.trt, "cpp": _CPP[p]} for p in manifest.precisions()],
        "inputs": inputs,
        "shape_inputs": [_shape_input(manifest, tensor) for tensor in manifest.shape_inputs()],
        "outputs": [
            {**_tensor(manifest, t), "result": _result(t, whole_value(manifest, t)), "about": _about(t),
             "upper": t.upper is not None}
            for t in manifest.outputs
        ],
        # TensorRT gives scales of INT8 alone (NvInferRuntimePlugin.h, PluginTensorDesc::scale).
        "described": any(t.scale and t.scale_axis is None and DType.INT8 in t.types for t in tensors),
        "channels": any(t.scale_axis is not None for t in tensors),
        "scale_names": ", ".join(dict.fromkeys(f"`{t.scale}`" for t in tensors if t.scale)),
        "float8": DType.FLOAT8 in quantized,
        "quantized": " or ".join(kind.short for kind in quantized),
        "one_precision": _one_precision(manifest),
        "summed": _summed(manifest),
        "half": any(DType.FLOAT16 in t.types for t in tensors),
        "bfloat16": any(DType.BFLOAT16 in t.types for t in tensors),
        "vectorized": any(form is not Format.LINEAR for t in tensors for form in t.formats),
        "workspace": manifest.plugin.workspace is not None,
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
        "static": not BASES[manifest.plugin.base].dynamic_shapes,
        "batched": manifest.batch() is not None,
    }
    # fmt: on


def _summed(manifest: Manifest) -> str:
    """Of what the generated layer is a leaky ReLU: the words for it in comments."""
    multiplied, added = cpp_fields.split(manifest.plain_fields())
    inputs = "inputs" if len(manifest.execution_inputs()) > 1 else "input"
    if added:
        return f"the sum of the {inputs} and the fields" + (f" but {multiplied.name}" if multiplied else "")
    return f"the sum of the {inputs}" if inputs == "inputs" else "the input"


def _one_precision(manifest: Manifest) -> str:
    """What README says of testing one of several precisions; empty where there is one only."""
    found = [kind for kind in manifest.precisions() if not kind.is_integer]
    if len(found) < 2:
        return ""
    kind = DType.INT8 if DType.INT8 in found else found[0]
    return f"; --{kind.short.lower()} for that one only"


def _tensor(manifest: Manifest, tensor: Tensor) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "cpp": _type(manifest, tensor),
        "quantized": any(kind.is_quantized for kind in tensor.types),
        "types": ", ".join(tensor.types),
        "shape": f"[{', '.join(manifest.written(tensor))}]",
    }


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


def _input(manifest: Manifest, tensor: Tensor) -> dict[str, Any]:
    return {**_tensor(manifest, tensor), "load": _load(manifest, tensor), "argument": _argument(tensor.name)}


def _shape_input(manifest: Manifest, tensor: Tensor) -> dict[str, Any]:
    values = tensor.values or ()
    return {
        "name": tensor.name,
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
