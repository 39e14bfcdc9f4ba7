"""Sizes of open dimensions that make sense: the least that a model takes (F62)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from pluginkit.importing import ImportOptions, run
from pluginkit.importing.sizes.search import MOST, find
from pluginkit.runtimes.rtx import session as tensorrt_rtx

from .models import model, value

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


def test_names_of_dimensions_tie_inputs_together() -> None:
    from pluginkit.importing.sizes import profile as sizes
    from pluginkit.network.model import NetworkProfile

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
    found = sizes.least(proto, before, {"x", "z"}, 60)
    assert found.shapes["x"] == found.shapes["z"] == ((1, 1, 9), (4, 1, 36), (16, 1, 144))
