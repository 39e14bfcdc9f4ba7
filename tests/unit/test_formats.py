"""Tensor formats: TensorRT's mapping from coordinates to memory, and what manifests may say of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.formats import Format
from pluginkit.host.memory import layouts
from pluginkit.manifest import Manifest
from pluginkit.manifest.type_rules import undeclared

VECTORS = [form for form in Format if form is not Format.LINEAR]


def place(form: Format, coordinate: tuple[int, ...]) -> tuple[int, ...]:
    """Where NvInferRuntimeBase.h puts a coordinate: [n][c/V][h][w][c%V], or [n][h][w][c] for vector-minor formats."""
    channel = len(coordinate) - form.axis
    before, c, behind = coordinate[:channel], coordinate[channel], coordinate[channel + 1 :]
    if form.minor:
        return (*before, *behind, c)
    return (*before, c // form.lanes, *behind, c % form.lanes)


dims = st.lists(st.integers(1, 5), min_size=0, max_size=2)


@given(form=st.sampled_from(VECTORS), lead=dims, channels=st.integers(1, 70), data=st.data())
def test_every_element_has_the_documented_place(
    form: Format, lead: list[int], channels: int, data: st.DataObject
) -> None:
    behind = data.draw(st.lists(st.integers(1, 3), min_size=form.axis - 1, max_size=form.axis - 1))
    shape = (*lead, channels, *behind)
    values = np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)
    stored = np.full(form.storage(shape), -7, np.float32)
    layouts.pack(values, form, stored)
    for coordinate in itertools.product(*(range(size) for size in shape)):
        assert stored[place(form, coordinate)] == values[coordinate]
    assert (stored == -7).sum() == stored.size - values.size, "padded lanes keep what they had"
    assert form.pads(shape) == (stored.size > values.size) == bool(channels % form.lanes)
    np.testing.assert_array_equal(layouts.unpack(stored, form, shape), values)


def test_storage_of_an_empty_tensor_is_empty() -> None:
    for form in Format:
        assert np.prod(form.storage((0, 3, 5, 4, 4))) == 0
        assert not form.pads((0, 3, 5, 4, 4))


def test_lanes_and_types_are_tensorrts() -> None:
    message = {form.trt: (form.code, form.lanes, [kind.short for kind in form.types]) for form in VECTORS}
    assert message["kCHW2"] == (1, 2, ["FP16", "BF16"])
    assert message["kCHW4"] == (3, 4, ["INT8"])
    assert message["kCHW32"] == (5, 32, ["FP32", "FP16", "INT8"])
    assert message["kHWC16"] == (11, 16, ["FP16", "INT8", "FP8"])
    assert all(form.lanes == int("".join(filter(str.isdigit, form.trt)) or 1) for form in VECTORS)
    assert {Format.from_code(form.code) for form in Format} == set(Format)
    with pytest.raises(ValueError, match="TensorFormat 9 is not one of"):
        Format.from_code(9)


def manifest(types: str, shape: str, formats: str, more: str = "") -> Manifest:
    tensor = f'name = "{{}}"\ntypes = [{types}]\nshape = [{shape}]\nformats = [{formats}]\n{more}\n'
    return Manifest.parse(
        '[plugin]\nname = "MyPlugin"\n'
         "[[inputs]]\n" + tensor.format("x")
        + "[[outputs]]\n" + tensor.format("y")
        + "[[profiles]]\nsymbols = { n = [1, 2, 3], c = [1, 2, 3] }\n"
    )  # fmt: skip


def test_a_tensor_is_linear_where_its_type_has_not_the_format() -> None:
    made = manifest('"float32", "float16"', '"n", "c", 4', '"linear", "hwc8", "chw32"')
    assert made.layouts(DType.FLOAT32) == (Format.LINEAR, Format.CHW32)
    assert made.layouts(DType.FLOAT16) == (Format.LINEAR, Format.HWC8, Format.CHW32)
    x = made.inputs[0]
    assert made.format_of(x, DType.FLOAT32, Format.HWC8) is Format.LINEAR
    assert made.format_of(x, DType.FLOAT16, Format.HWC8) is Format.HWC8


def test_what_a_manifest_leaves_out_a_plugin_must_refuse() -> None:
    made = manifest('"float32", "float16"', '"n", "c", 4', '"linear", "hwc8"')
    assert undeclared(made, [DType.FLOAT32] * 2) == [(5, 5), (8, 8)]
    assert undeclared(made, [DType.FLOAT16] * 2) == [(1, 1), (5, 5), (11, 11)]
    assert undeclared(made, [DType.INT8] * 2) == undeclared(made, [DType.FLOAT32]) == []
    fixed, open_ = (manifest('"float32", "int8"', f'"c", {channels}, "n", 4', '"linear"') for channels in ("6", '"c"'))
    assert undeclared(fixed, [DType.INT8] * 2) == [(3, 3), (5, 5), (11, 11)]
    assert undeclared(open_, [DType.INT8] * 2) == [], "TensorRT can't choose them"


@pytest.mark.parametrize(
    ("types", "shape", "formats", "output"),
    [
        ('"float16"', '"n", "c", 4', '"linear", "chw33"', "unknown format 'chw33'; did you mean 'chw32'?"),
        ('"float16"', '"n", "c", 4', '"linear", "chw16"', "'chw16' is for DLA cores"),
        ('"float32"', '"n", "c", 4', '"linear", "chw2"', "kCHW2 is for float16, bfloat16; x is float32"),
        ('"float16"', '"n", "c"', '"linear", "chw2"', "kCHW2 needs at least 3 dimensions; x has 2"),
        ('"float16"', '"n", "c", 4', '"linear", "linear"', "'linear' stands there twice"),
        ('"float16"', '"n", "c", 4', "", "x.formats: at least one is needed"),
        ('"float32", "float16"', '"n", "c", 4', '"hwc8"', "none of them is for float32"),
        ('"float32", "int8"', '"n", "c", 4, 4', '"linear", "chw4"', "write a number instead of 'c'"),
    ],
)  # fmt: skip
def test_what_tensorrt_has_not_is_refused(types: str, shape: str, formats: str, output: str) -> None:
    with pytest.raises(UsageError) as error:
        manifest(types, shape, formats)
    assert output in error.value.message


def test_int8_without_fp32_needs_every_scale() -> None:
    with pytest.raises(UsageError, match="rule int8-calibration") as error:
        manifest('"int8"', '"n", "c", 4', '"linear"')
    assert "must offer FP32 too, or have the scale of every INT8 tensor set by a field" in error.value.message
    manifest('"float32", "int8"', '"n", "c", 4', '"linear"')
    text = (
        '[plugin]\nname = "MyPlugin"\n[[inputs]]\nname = "x"\ntypes = ["int8"]\nshape = ["n"]\nscale = "s"\n'
        '[[outputs]]\nname = "y"\ntypes = ["int8"]\nshape = ["n"]\nscale = "s"\n'
        '[[fields]]\nname = "s"\ntype = "float32"\n[[profiles]]\nsymbols = { n = [1, 2, 3] }\n'
    )
    assert Manifest.parse(text).precisions() == (DType.INT8,)
