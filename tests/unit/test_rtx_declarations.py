"""The model from which RTX's parser makes declared plugin layers: by Python, and the same by `pluginkit/rtx.h`."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper, numpy_helper

import pluginkit
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.field_types import CARRIED_INTEGERS
from pluginkit.rtx import Declaration, Input, declaration, layers
from tests.compilers import default_cxx

DECLARED = Declaration(
    "a",
    "acme::Two",
    [Input("float16", (-1, 300))],
    {"alpha": 0.5, "count": -3, "axes": [1, 200000], "weights": [1.5, -2], "mode": "nearest"},
    version="3",
    shape_inputs=[Input("int64", (2,))],
)
LISTED = {"alpha": "FLOAT32", "count": "INT32", "axes": "INT64", "weights": "FLOAT32", "mode": "CHAR"}


def parsed(content: bytes) -> onnx.ModelProto:
    """A model, checked, with its attributes in the order of their names."""
    model = onnx.load_from_string(content)
    onnx.checker.check_model(model)
    for node in model.graph.node:
        attributes = sorted(node.attribute, key=lambda one: one.name)
        del node.attribute[:]
        node.attribute.extend(attributes)
    return model


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    program = tmp_path_factory.mktemp("rtx") / "declared"
    source = Path(__file__).parents[1] / "host" / "rtx_declared.cpp"
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
    command = [default_cxx(), "-std=c++17", *warnings, f"-I{pluginkit.include_dir()}", source, "-o", program]
    subprocess.run(command, check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.compile
def test_the_header_writes_the_same_model(printed: list[str]) -> None:
    python = declaration.model([(DECLARED, declaration.field_values(DECLARED, LISTED), 2)])
    assert parsed(bytes.fromhex(printed[5])) == parsed(python)
    for line, name in zip(printed[-5:], ("float32", "bfloat16", "int8", "int32", "float8"), strict=True):
        tensor = onnx.TensorProto.FromString(bytes.fromhex(line))
        expected = np.ones((2, 1), DType(name).numpy)
        assert tensor == numpy_helper.from_array(expected, "t")


@pytest.mark.compile
def test_what_the_header_gives_the_creator_and_refuses(printed: list[str]) -> None:
    fields = ["field alpha 1 1", "field count 5 1", "field axes 5 2", "field weights 1 2", "field mode 6 8"]
    assert printed[:5] == fields
    assert printed[6:12] == [
        "a takes 2 inputs, and is given 1",
        "a, input 0: its nvinfer1::DataType is 0, declared is 1",
        "a, input 0: its rank is 1, declared is 2",
        "a, input 0: dimension 1 is 301, declared is 300",
        "wired 1 1 2",
        "The network has layers already: declare all plugins in one call, before the first layer, and wire them later",
    ]
    assert printed[17:22] == [
        "Several plugin layers are called a",
        "a: the registry has no V3 creator of Two version 1",
        "field mode 6 7",
        "a: the creator of acme::Two makes no plugin of these fields",
        "A plugin's input can't be of nvinfer1::DataType 4",
    ]
    assert printed[23:25] == ["RTX's parser refuses the declared plugins:", "no such node"]


@pytest.mark.parametrize(
    ("dtype", "name"),
    [("float32", "float32"), (np.float16, "float16"), (np.dtype(np.int8), "int8"), (ml_dtypes.bfloat16, "bfloat16")],
)
def test_a_type_by_any_name(dtype: Any, name: str) -> None:
    assert Input(dtype, (1,)).dtype == name


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Input("bool", (1,)), "can't be of type bool"),
        (lambda: Input(None, (1,)), "can't be of type float64"),
        (lambda: Input("float33", (1,)), "can't be of type float33"),
        (lambda: Input("float32", (-2,)), r"\(-2,\) is not a shape"),
        (lambda: Input("float32", (1,) * 9), "is not a shape"),
        (lambda: Declaration("", "Two", []), "names no layer"),
        (lambda: Declaration("a", "acme::", []), "names no plugin"),
        (lambda: Declaration("a", "Two", [], shape_inputs=[Input("float32", (1,))]), "is not a shape input"),
        (lambda: Declaration("a", "Two", [], shape_inputs=[Input("int32", (1, 1))]), "is not a shape input"),
        (lambda: Declaration("a", "Two", [], shape_inputs=[Input("int32", (-1,))]), "is not a shape input"),
    ],
)
def test_what_can_not_be_declared(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


def attribute(value: Any, kind: str) -> Any:
    """What a node's attribute holds of a field's value."""
    declared = Declaration("a", "Two", [], {"f": value})
    model = parsed(declaration.model([(declared, declaration.field_values(declared, {"f": kind}), 1)]))
    return next(helper.get_attribute_value(one) for one in model.graph.node[0].attribute if one.name == "f")


@given(st.integers(CARRIED_INTEGERS[0], CARRIED_INTEGERS[-1]), st.sampled_from(["INT8", "INT32", "INT64"]))
def test_whole_numbers(number: int, kind: str) -> None:
    assert attribute(number, kind) == number
    assert attribute([number], kind) == [number]
    assert attribute(float(number), kind) == number
    assert attribute(np.array([number, 0]), kind) == [number, 0]


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats(number: float) -> None:
    assert attribute(number, "FLOAT32") == number
    assert attribute((number, 1), "FLOAT32") == [number, 1.0]
    array = numpy_helper.to_array(attribute(np.array([number], np.float32), "FLOAT32"))
    assert array.dtype == np.float32
    assert array.tolist() == [number]


def test_a_whole_number_for_a_float_field() -> None:
    """RTX's parser would give it as kINT32."""
    assert isinstance(attribute(2, "FLOAT32"), float)
    assert attribute([], "FLOAT32") == []
    assert attribute([], "INT32") == []


@pytest.mark.parametrize(
    ("value", "kind"),
    [("1", "INT32"), (1, "CHAR"), (0.5, "INT8"), (float("nan"), "INT32"), (float("inf"), "INT64"), (2**31, "INT64"),
     (object(), "FLOAT32"), (["a"], "FLOAT32")],
)  # fmt: skip
def test_values_that_do_not_go_with_the_field(value: Any, kind: str) -> None:
    with pytest.raises(UsageError, match="field 'f'"):
        attribute(value, kind)


class StandInCreator(SimpleNamespace):
    """A creator as NVIDIA's module shows it, of no class of its own."""


@pytest.mark.parametrize(("v3", "error", "message"), [
    (False, UsageError, "the creator of Two is an StandInCreator; RTX's parser takes IPluginCreatorV3One"),
    (True, CheckFailed, "Two has no capability kBUILD"),
])  # fmt: skip
def test_a_plugin_that_the_parser_can_not_make(v3: bool, error: type[Exception], message: str) -> None:
    """A V2 creator, a null collection of fields, a plugin without kBUILD: none ends with an AttributeError."""
    plugin = SimpleNamespace(get_capability_interface=lambda _: None)
    creator = StandInCreator(
        name="Two", plugin_version="1", plugin_namespace="", field_names=None, create_plugin=lambda *_: plugin
    )
    trt = SimpleNamespace(
        IPluginCreatorV3One=StandInCreator if v3 else int, PluginFieldCollection=list,
        TensorRTPhase=SimpleNamespace(BUILD=0), PluginCapabilityType=SimpleNamespace(BUILD=0),
    )  # fmt: skip
    with pytest.raises(error, match=message):
        layers._made(trt, SimpleNamespace(all_creators_recursive=[creator]), Declaration("a", "Two", []))
