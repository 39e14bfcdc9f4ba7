"""Types that TensorRT has, and inputs that NVIDIA's parser wants as constants: M20, M21."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import onnx
from onnx import TensorProto

from pluginkit import parser_operators
from pluginkit.importing.onnx_graph import Place, places, type_name
from pluginkit.importing.rules.constants import Constants
from pluginkit.library import Problem
from pluginkit.network.networks import NetworkProfile

TYPES = frozenset(
    {
        TensorProto.FLOAT,
        TensorProto.FLOAT16,
        TensorProto.BFLOAT16,
        TensorProto.DOUBLE,
        TensorProto.INT8,
        TensorProto.UINT8,
        TensorProto.INT32,
        TensorProto.INT64,
        TensorProto.BOOL,
        TensorProto.FLOAT8E4M3FN,
        TensorProto.INT4,
        TensorProto.FLOAT4E2M1,
    }
)
"""The types that NVIDIA's parser converts; of float64 it makes float32."""
_REDUCTIONS = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"
CONSTANTS: Mapping[str, Mapping[int, str]] = {
    **{f"Reduce{name}": {1: "axes"} for name in _REDUCTIONS.split()},
    "Squeeze": {1: "axes"},
    "Resize": {2: "scales"},
    "Upsample": {1: "scales"},
    "QuantizeLinear": {2: "zero_point"},
    "DequantizeLinear": {2: "zero_point"},
    "CumSum": {1: "axis"},
    "Dropout": {2: "training_mode"},
    "OneHot": {1: "depth"},
    "STFT": {1: "frame_step"},
    "Unsqueeze": {1: "axes"},
}
"""Inputs that NVIDIA's parser wants as constants: of each operator, positions with names."""
AT_PROFILE = ("CumSum",)
"""Of these such an input may also be the network's, with one value in the profile."""
_ONE_VALUE = "Make it an initializer or a Constant, or give the profile one value of it."
FLOAT8 = (TensorProto.FLOAT8E4M3FN,)
"""Types whose zero points need be none."""
QUANTIZED = (TensorProto.FLOAT8E4M3FN, TensorProto.INT4, TensorProto.FLOAT4E2M1)
"""Types that enter and leave a network through QuantizeLinear and DequantizeLinear only."""
TAKES_UINT8 = ("Cast", "CastLike", "Equal", "DequantizeLinear", "QuantizeLinear")
"""Operators that NVIDIA's parser has of uint8; of the last two rule M22 says more."""
_NOT_OF_UINT8 = parser_operators.OPERATORS - {*TAKES_UINT8, "If", "Loop", "Scan"}
_INT32 = "Cast it to int32 where it is an integer, to float32 where it is a float."


def check(
    model: onnx.ModelProto, known: Mapping[str, onnx.TypeProto.Tensor], constants: Constants
) -> Iterator[Problem]:
    """What is wrong with the main graph and those in it, each tensor or node once; functions are not looked at."""
    found = [place for place in places(model.graph) if place.node.domain in {"", "ai.onnx"}]
    yield from _types(found, known, model)
    yield from _boundary(model, known)
    inputs = {value.name for value in model.graph.input} - constants.names
    for place in found:
        for position, name in CONSTANTS.get(place.node.op_type, {}).items():
            given = place.node.input[position] if len(place.node.input) > position else ""
            # A zero point of float8 is 0 anyhow.
            eight = given in known and known[given].elem_type in FLOAT8
            if given in inputs and place.node.op_type in AT_PROFILE:
                text = f"its input {name} ({given}) is given at run time; TensorRT-RTX 1.7.1 builds that for a profile "
                yield Problem("warning", f"{text}with one value of it.", _ONE_VALUE, "M21", place.label)
            elif given and given not in constants.names and not eight:
                text = f"its input {name} ({given}) is computed or given at run time; NVIDIA's parser wants a constant."
                yield Problem("error", text, f"Make {given} an initializer or a Constant.", "M21", place.label)


def chosen(model: onnx.ModelProto, profile: NetworkProfile) -> Iterator[Problem]:
    """M21: an axis that is an input, and of which the profile has several values."""
    for place in places(model.graph):
        for position, name in CONSTANTS.get(place.node.op_type, {}).items() if place.node.op_type in AT_PROFILE else ():
            values = profile.values.get(place.node.input[position])
            if values is not None and values[0] != values[2]:
                text = (
                    f"its input {name} is {list(values[0])} to {list(values[2])} in this profile; TensorRT-RTX 1.7.1 "
                )
                yield Problem("error", f"{text}wants one value.", _ONE_VALUE, "M21", place.label)


def _boundary(model: onnx.ModelProto, known: Mapping[str, onnx.TypeProto.Tensor]) -> Iterator[Problem]:
    """8 and 4 bits at the network's ends, which no quantization stands behind or before."""
    takers: dict[str, set[str]] = {}
    makers: dict[str, str] = {}
    for node in model.graph.node:
        for name in node.input:
            takers.setdefault(name, set()).add(node.op_type)
        makers.update(dict.fromkeys(node.output, node.op_type))
    ends = [(one.name, "DequantizeLinear", takers.get(one.name, set())) for one in model.graph.input]
    ends += [(one.name, "QuantizeLinear", {makers.get(one.name, "")}) for one in model.graph.output]
    for name, wanted, found in ends:
        if name in known and known[name].elem_type in QUANTIZED and found and wanted not in found:
            kind = type_name(known[name].elem_type)
            text = f"{name} is {kind} at the network's end; TensorRT has that only next to {wanted}."
            yield Problem("error", text, "Give the network float32 or float16 there.", "M20")


def _types(
    found: Sequence[Place], known: Mapping[str, onnx.TypeProto.Tensor], model: onnx.ModelProto
) -> Iterator[Problem]:
    seen: set[str] = set()
    for place in found:
        unsigned = [one for one in place.node.input if one in known and known[one].elem_type == TensorProto.UINT8]
        if unsigned and place.node.op_type in _NOT_OF_UINT8:
            text = f"its input {unsigned[0]} is uint8, which NVIDIA's parser has in Cast and Equal only."
            yield Problem("error", text, "Cast it to float32 or int32 first.", "M20", place.label)
    graph = [value.name for value in (*model.graph.input, *model.graph.output)]
    for label, names in (("", graph), *((one.label, [*one.node.input, *one.node.output]) for one in found)):
        for name in names:
            tensor = known.get(name)
            if not name or name in seen or tensor is None or not tensor.elem_type:
                continue
            seen.add(name)
            kind = type_name(tensor.elem_type)
            if tensor.elem_type not in TYPES:
                text = f"{name} is of type {kind}, which TensorRT does not have."
                yield Problem("error", text, _INT32, "M20", label)
            elif tensor.elem_type == TensorProto.DOUBLE:
                text = f"{name} is float64; NVIDIA's parser computes it in float32."
                yield Problem("warning", text, "Export the model in float32, and compare its outputs.", "M20", label)
