"""M29, and inputs of one name (M19): what NVIDIA's parser refuses of a model apart from its operators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from pluginkit.importing import ImportOptions, profiles, run
from pluginkit.importing.building import ModelSession
from pluginkit.importing.rules import parser_limits, structure
from pluginkit.runtimes.rtx import session as tensorrt_rtx

from .models import CONDITION, branch, function, model, value

pytestmark = pytest.mark.usefixtures("one_process")
RTX = pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here")
RELU = helper.make_node("Relu", ["x"], ["y"])


def _sparse() -> onnx.ModelProto:
    values = numpy_helper.from_array(np.array([1, 2], np.float32), "w")
    places = numpy_helper.from_array(np.array([0, 3], np.int64), "at")
    proto = model([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [2, 3])])
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [2, 3]))
    return proto


def _short(size: int = 8) -> onnx.ModelProto:
    proto = model([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [2, 3])])
    proto.graph.initializer.append(
        TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 3], raw_data=bytes(size))
    )
    return proto


def _numbers(kind: int, count: int = 6, *, empty: bool = False) -> onnx.ModelProto:
    """Not in raw_data; `empty`: which is set to nothing all the same."""
    nodes = [helper.make_node("Cast", ["w"], ["c"], to=TensorProto.FLOAT), helper.make_node("Add", ["x", "c"], ["y"])]
    tensor = helper.make_tensor("w", kind, [count], [1] * count)
    tensor.dims[:] = [2, 3]
    if empty:
        tensor.raw_data = b""
    return model(nodes, [value("x", [2, 3])], initializers=[tensor])


def _weight_as_output() -> onnx.ModelProto:
    """As before IR version 4, a weight stands among the inputs."""
    proto = _short(24)
    proto.graph.input.append(value("w", [2, 3]))
    proto.graph.output.append(value("w", [2, 3]))
    return proto


def _half() -> onnx.ModelProto:
    then = branch([helper.make_node("Relu", ["x"], ["a"])], value("a", [2, 3]))
    return model([helper.make_node("If", ["condition"], ["y"], then_branch=then)], [CONDITION, value("x", [2, 3])])


ADD = helper.make_node("Add", ["x", "w"], ["y"])


def _constant(size: int) -> onnx.NodeProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 3], raw_data=bytes(size))
    return helper.make_node("Constant", [], ["w"], "c", value=tensor)


def _sparse_constant() -> onnx.NodeProto:
    return helper.make_node("Constant", [], ["w"], "c", sparse_value=_sparse().graph.sparse_initializer[0])


def _filled(size: int) -> onnx.ModelProto:
    """A ConstantOfShape with so many bytes as its value."""
    fill = TensorProto(name="one", data_type=TensorProto.FLOAT, dims=[1], raw_data=bytes(size))
    node = helper.make_node("ConstantOfShape", ["shape"], ["w"], "c", value=fill)
    shape = helper.make_tensor("shape", TensorProto.INT64, [2], [2, 3])
    return model([node, ADD], [value("x", [2, 3])], initializers=[shape])


def _in_function(*nodes: onnx.NodeProto, called: bool = True) -> onnx.ModelProto:
    """The nodes in a function that a function of the model calls, or that nothing calls."""
    inner = function("local", "Inner", nodes)
    outer = function("local", "Outer", [helper.make_node("Inner", ["x"], ["y"], "inner", domain="local")])
    outer.opset_import.append(helper.make_opsetid("local", 1))
    call = helper.make_node("Outer", ["x"], ["y"], "call", domain="local") if called else RELU
    domains = ("local", "pluginkit", "acme")
    return model([call], [value("x", [2, 3])], [value("y", [2, 3])], functions=[inner, outer], domains=domains)


def _half_in_function(*, called: bool = True) -> onnx.ModelProto:
    yes = helper.make_node("Constant", [], ["condition"], value=helper.make_tensor("yes", TensorProto.BOOL, [], [True]))
    return _in_function(yes, _half().graph.node[0], called=called)


def _in_branch() -> onnx.ModelProto:
    then = branch([_constant(8), helper.make_node("Add", ["x", "w"], ["a"])], value("a", [2, 3]))
    other = branch([helper.make_node("Relu", ["x"], ["b"])], value("b", [2, 3]))
    node = helper.make_node("If", ["condition"], ["y"], "if", then_branch=then, else_branch=other)
    return model([node], [CONDITION, value("x", [2, 3])])


REFUSED = {
    "sparse node": (model([_sparse_constant(), ADD], [value("x", [2, 3])]), "M29", "its value is a sparse tensor"),
    "short node": (model([_constant(8), ADD], [value("x", [2, 3])]), "M29", "its value has 8 bytes"),
    # It is read though nothing takes it.
    "short and unused": (model([_constant(8), RELU], [value("x", [2, 3])]), "M29", "its value has 8 bytes"),
    "short fill": (_filled(2), "M29", "its value has 2 bytes; its type and shape take 4"),
    "short in a branch": (_in_branch(), "M29", "its value has 8 bytes"),
    "short in a function": (_in_function(_constant(8), ADD), "M29", "its value has 8 bytes"),
    "half in a function": (_half_in_function(), "M29", "it has no else_branch"),
    "sparse": (_sparse(), "M29", "the constant w is a sparse tensor"),
    "short": (_short(), "M29", "the constant w has 8 bytes; its type and shape take 24"),
    "long": (_short(32), "M29", "the constant w has 32 bytes; its type and shape take 24"),
    "few": (_numbers(TensorProto.INT32, 2), "M29", "the constant w has 8 bytes; its type and shape take 24"),
    "none": (_numbers(TensorProto.FLOAT16, 0), "M29", "the constant w has 0 bytes; its type and shape take 12"),
    "half": (_half(), "M29", "it has no else_branch"),
    "twice": (model([RELU], [value("x", [2, 3]), value("x", [2, 3])]), "M19", "2 inputs have the name x"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_rules_say_what_it_is(name: str) -> None:
    proto, rule, text = REFUSED[name]
    (found,) = (*parser_limits.check(proto), *structure.check(proto))
    assert (found.rule, found.level) == (rule, "error")
    assert text in found.text


KINDS = {name: TensorProto.DataType.Value(name) for name in (
    "FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE", "INT8", "UINT8", "INT32", "INT64", "BOOL", "INT4", "FLOAT8E4M3FN",
)}  # fmt: skip
RIGHT = {
    "node": model([_constant(24), ADD], [value("x", [2, 3])]),
    "fill": _filled(4),
    "in a function": _in_function(_constant(24), ADD),
    "half in a function that nothing calls": _half_in_function(called=False),
    "long enough": _short(24),
    "large": model([RELU], [value("x", [2**31 - 1, 3])]),
    "weight as output": _weight_as_output(),
    "numbers and no bytes": _numbers(TensorProto.FLOAT, empty=True),
    **{name: _numbers(kind) for name, kind in KINDS.items()},
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_models_have_none_of_it(name: str) -> None:
    proto = RIGHT[name]
    assert not [*parser_limits.check(proto), *structure.check(proto)]


@pytest.mark.parametrize(("kind", "size"), [(TensorProto.BFLOAT16, 2), (TensorProto.INT64, 8), (TensorProto.BOOL, 1)])
def test_the_bytes_of_an_element(kind: int, size: int) -> None:
    """Of bfloat16 also where NumPy has no such type."""
    for count in (6, 5):
        proto = _short(count * size)
        proto.graph.initializer[0].data_type = kind
        assert len([*parser_limits.check(proto)]) == (count == 5)


@pytest.mark.rtx
@RTX
def test_nvidia_refuses_them(session: ModelSession, tmp_path: Path) -> None:
    for name, (proto, *_) in REFUSED.items():
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(proto.SerializeToString())
        found, refused = session.inputs(path, (), [one.name for one in profiles.given(proto)])
        assert (refused or session.build(path, profiles.profile(found, []))).status == "refused", name


@pytest.mark.rtx
@RTX
@pytest.mark.parametrize(
    "name",
    [
        "weight as output",
        "numbers and no bytes",
        "FLOAT16",
        "BFLOAT16",
        "node",
        "fill",
        "in a function",
        "half in a function that nothing calls",
    ],
)
def test_nvidia_takes_the_right_ones(name: str, session: ModelSession, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(RIGHT[name].SerializeToString())
    found, refused = session.inputs(path, (), ["x"])
    assert [one.name for one in found] == ["x"]
    assert (refused or session.build(path, profiles.profile(found, []))).status == "built"


@pytest.mark.rtx
@RTX
def test_a_dimension_of_41_bits_and_an_input_that_is_an_output_are_built_as_something_else(tmp_path: Path) -> None:
    large = model([RELU], [value("x", [2**40, 3])])
    through = model([RELU], [value("x", [2, 3])])
    through.graph.output.append(value("x", [2, 3]))
    for proto, text in ((large, "x has a dimension of 1099511627776"), (through, "calls the input __x")):
        path = tmp_path / "model.onnx"
        path.write_bytes(proto.SerializeToString())
        report = run(ImportOptions(path))
        assert report.verdict is not None
        assert report.verdict.status == "built"
        found = [one for one in report.problems if one.rule == "M29"]
        assert [one.level for one in found] == ["warning"] * len(found)
        assert any(text in one.text for one in found)
    assert report.ran.message == "NVIDIA's parser gives another name to x"
