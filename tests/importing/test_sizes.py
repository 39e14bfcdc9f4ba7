"""Sizes of dynamic dimensions that make sense: the least that a model takes (F62)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from pluginkit.importing import ImportOptions, importer, run
from pluginkit.importing.sizes import profile as sizes_profile
from pluginkit.importing.sizes.search import MOST, find
from pluginkit.network.networks import NetworkProfile
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.verdict import BuildVerdict

from .models import model, value

pytestmark = pytest.mark.usefixtures("one_process")
RULES: dict[str, Callable[[int], bool]] = {
    "any": lambda size: True,
    "at least 192": lambda size: size >= 192,
    "192 to 703": lambda size: 192 <= size <= 703,
    "multiples of 32": lambda size: size % 32 == 0,
}


@pytest.mark.parametrize(
    ("rule", "low"), [("any", 1), ("at least 192", 192), ("192 to 703", 192), ("multiples of 32", 32)]
)
def test_the_least_size_is_found(rule: str, low: int) -> None:
    found = find(["batch", "width"], lambda sizes: RULES[rule](sizes["width"]))
    assert found is not None
    least, best, most = found
    assert (least["batch"], least["width"]) == (1, low)
    assert all(RULES[rule](sizes["width"]) for sizes in found)
    assert least["width"] <= best["width"] <= most["width"]


def test_nothing_fits() -> None:
    assert find(["a"], lambda _: False) is None


@given(st.integers(1, 900), st.integers(1, 64), st.integers(0, 900))
def test_whatever_is_found_was_tried(low: int, step: int, width: int) -> None:
    tried = []

    def runs(sizes: dict[str, int]) -> bool:
        tried.append(dict(sizes))
        return low <= sizes["a"] <= low + width and sizes["b"] % step == 0

    found = find(["n", "a", "b"], runs)
    assert len(tried) <= MOST
    for sizes in found or ():
        assert sizes in tried
        assert low <= sizes["a"] <= low + width
        assert sizes["b"] % step == 0


@pytest.mark.rtx
@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here")
def test_a_model_of_long_inputs_is_built_with_its_own_sizes(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    weights = onnx.numpy_helper.from_array(np.ones((2, 1, 40), np.float32), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], "conv")]
    proto = model(nodes, [value("x", ["n", 1, "samples"])], [value("y", ["n", 2, "m"])], initializers=[weights])
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    found = run(ImportOptions(path))
    assert found.verdict is not None
    assert found.verdict.ok, found.verdict.message
    assert found.profile is not None
    assert found.profile.shapes["x"] == ((1, 1, 40), (4, 1, 160), (16, 1, 640))
    assert found.sizes_found
    assert found.ran.status == "ran"
    # Who gives sizes has them.
    given_ones = run(ImportOptions(path, profiles=("x:2x1x20",)))
    assert given_ones.verdict is not None
    assert not given_ones.verdict.ok
    assert not given_ones.sizes_found


@pytest.mark.rtx
@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here")
def test_values_of_a_shape_tensor_may_be_negative(tmp_path: Path) -> None:
    """NvInferRuntime.h says so of IOptimizationProfile::setShapeValuesV2."""
    pytest.importorskip("onnxruntime")
    ends = [helper.make_tensor(name, TensorProto.INT64, [1], [at]) for name, at in (("ends", 2**31 - 1), ("axes", 1))]
    node = helper.make_node("Slice", ["x", "starts", "ends", "axes"], ["y"], "slice")
    inputs = [value("x", ["n", 8]), value("starts", [1], TensorProto.INT64)]
    path = tmp_path / "model.onnx"
    onnx.save(model([node], inputs, [value("y", ["n", None])], initializers=ends), path)
    found = run(ImportOptions(path, profiles=("x:2x8", "starts:min=-4,opt=-3,max=-1")))
    assert found.verdict is not None
    assert found.verdict.ok, found.verdict.message
    assert found.profile is not None
    assert found.profile.values == {"starts": ((-4,), (-3,), (-1,))}
    assert (found.ran.status, found.exit_code) == ("ran", 0)


def test_names_of_dimensions_tie_inputs_together() -> None:
    pytest.importorskip("onnxruntime")
    weights = onnx.numpy_helper.from_array(np.ones((1, 1, 9), np.float32), "w")
    nodes = [
        helper.make_node("Add", ["x", "z"], ["sum"], "add"),
        helper.make_node("Conv", ["sum", "w"], ["y"], "conv"),
    ]
    inputs = [value("x", [None, 1, "length"]), value("z", [None, 1, "length"]), value("k", [], TensorProto.INT64)]
    proto = model(nodes, inputs, [value("y", [None, 1, "m"])], initializers=[weights])
    ends = ((1, 1, 1), (4, 1, 4), (16, 1, 16))
    before = NetworkProfile("default", {"x": ends, "z": ends, "k": ((), (), ())})
    found = sizes_profile.least(proto, before, {"x", "z"}, 60)
    assert found.shapes["x"] == found.shapes["z"] == ((1, 1, 9), (4, 1, 36), (16, 1, 144))


WIDE = NetworkProfile("default", {"x": ((1, 3, 1), (4, 3, 4), (16, 3, 16)), "k": ((2,), (2,), (2,))})


class Builder:
    """A builder that takes widths of one size alone, and says of others what NVIDIA's says."""

    def __init__(self, width: int, words: str) -> None:
        self.width, self.words = width, words
        self.asked: list[NetworkProfile] = []

    def build(self, _: Path, profile: NetworkProfile) -> BuildVerdict:
        self.asked.append(profile)
        fits = {shape[2] for shape in profile.shapes["x"]} == {self.width}
        return BuildVerdict("built", "") if fits else BuildVerdict("refused", self.words)


def searched(builder: Builder, monkeypatch: pytest.MonkeyPatch) -> tuple[BuildVerdict, NetworkProfile]:
    # onnxruntime runs the model with every size.
    monkeypatch.setattr(importer.sizes, "least", lambda _, profile, *__: profile)
    refused = BuildVerdict("refused", builder.words)
    return importer._with_sizes(builder, ImportOptions(Path("m.onnx")), onnx.ModelProto(), refused, WIDE, ["x"])  # type: ignore[arg-type]


@pytest.mark.parametrize("width", importer.SINGLE)
def test_one_size_for_all_dimensions(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = Builder(width, "dimensions must be equal")
    verdict, found = searched(builder, monkeypatch)
    assert verdict.ok
    # The batch, and what the model has as a number, stay as they are.
    assert found.shapes == {"x": ((1, 3, width), (4, 3, width), (16, 3, width)), "k": ((2,), (2,), (2,))}
    assert builder.asked[-1] == found


@pytest.mark.parametrize(
    ("width", "words", "asked"),
    [(33, "dimensions must be equal", 1 + len(importer.SINGLE)), (64, "a kernel is missing", 1)],
)
def test_no_size_fits(width: int, words: str, asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a refusal that sizes don't fix only larger ones are tried: each build costs the user's time."""
    builder = Builder(width, words)
    verdict, found = searched(builder, monkeypatch)
    assert (verdict.ok, found, len(builder.asked)) == (False, WIDE, asked)


@pytest.mark.rtx
@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here")
def test_sizes_that_only_the_builder_takes_are_no_default(tmp_path: Path) -> None:
    """NVIDIA builds a pooling that leaves nothing of 4x4; a model of such sizes can't be run."""
    pytest.importorskip("onnxruntime")
    weights = onnx.numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv", strides=[2, 2]),
        helper.make_node("MaxPool", ["c"], ["p"], "pool", kernel_shape=[5, 5], strides=[3, 3]),
        helper.make_node("GlobalAveragePool", ["p"], ["y"], "mean"),
    ]
    shapes = [value("x", ["n", 3, "h", "w_"])], [value("y", ["n", 4, 1, 1])]
    onnx.save(model(nodes, *shapes, initializers=[weights]), tmp_path / "m.onnx")
    found = run(ImportOptions(tmp_path / "m.onnx"))
    assert found.verdict is not None
    assert (found.verdict.status, found.ran.status, found.sizes_found) == ("built", "ran", True)
