"""Whole models with plugin nodes in onnxruntime, the plugins by their kernels on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from pluginkit.errors import CheckFailed, PluginCrashed, UsageError
from pluginkit.onnxruntime import TensorInfo, session

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.compile

MODEL = """<ir_version: 8, opset_import: ["" : 17, "acme" : 1]>
g (float[n, c] x, bool[1] again, int64 trips) => (float[n, c] y, float[n, c] z)
  <float[1] two = {2.0}>
{
  a = Mul (x, two)
  b = acme.Scale <plugin_namespace = "acme", factor = 0.5> (a)
  y = If (again) <
    then_branch = t () => (float[n, c] p) {
      q = acme.Scale <plugin_namespace = "acme", factor = 3.0> (b)
      p = Add (q, x)
    },
    else_branch = e () => (float[n, c] p) { p = Neg (b) }
  >
  z = Loop (trips, , x) <body = l (int64 i, bool go, float[n, c] s) => (bool more, float[n, c] left) {
      more = Identity (go)
      half = acme.Scale <plugin_namespace = "acme", factor = 0.5> (s)
      left = Sub (half, b)
  }>
}"""


def scaled(x: np.ndarray, factor: float) -> np.ndarray:
    """What the plugin computes with mode 1: its reference.py."""
    return np.where(x + 1 >= 0, x + 1, factor * (x + 1)).astype(np.float32)


def test_plugins_in_a_branch_and_in_a_loop(scale_project: Path) -> None:
    """The real kernels, two runs of other shapes in one session; the inputs and outputs as onnxruntime has them."""
    model = onnx.parser.parse_model(MODEL)
    rng = np.random.default_rng(0)
    with session(model, [scale_project]) as opened:
        assert opened.get_inputs()[:2] == [
            TensorInfo("x", ("n", "c"), "tensor(float)"),
            TensorInfo("again", (1,), "tensor(bool)"),
        ]
        assert [one.name for one in opened.get_outputs()] == ["y", "z"]
        for rows, again in ((2, True), (3, False)):
            x = rng.standard_normal((rows, 4)).astype(np.float32)
            feeds = {"x": x, "again": np.array([again]), "trips": np.array(3)}
            y, z = opened.run(None, feeds)
            b = scaled(2 * x, 0.5)
            left = x
            for _ in range(3):
                left = scaled(left, 0.5) - b
            np.testing.assert_allclose(y, scaled(b, 3.0) + x if again else -b, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(z, left, rtol=1e-5, atol=1e-6)
            (only,) = opened.run(["z"], feeds)
            assert np.array_equal(only, z)


SHORT = (
    MODEL[: MODEL.index("  y = If")].replace(", bool[1] again, int64 trips", "").replace("y, float[n, c] z", "b") + "}"
)


def test_inputs_that_do_not_fit(scale_project: Path) -> None:
    """All in one session: a refusal leaves it usable."""
    fine: dict[str, Any] = {"x": np.zeros((1, 2), np.float32)}
    with session(onnx.parser.parse_model(SHORT), [scale_project]) as opened:
        wrong: tuple[tuple[dict[str, Any], str], ...] = (
            ({}, "input 'x' is not given"),
            ({**fine, "w": np.zeros(1, np.float32)}, "no input 'w'"),
            ({"x": np.zeros((1, 2))}, r"is tensor\(float\), and float64 is given"),
            ({"x": [[0.0, 0.0]]}, r"is tensor\(float\), and list is given"),
            ({"x": 0.0}, r"is tensor\(float\), and float is given"),
            ({"x": np.zeros((1, 2), [("a", np.int64)])}, r"is tensor\(float\), and .* is given"),
            ({"x": np.zeros(2, np.float32)}, "x"),
        )
        for feeds, message in wrong:
            with pytest.raises((UsageError, CheckFailed), match=message):
                opened.run(None, feeds)
        assert np.array_equal(opened.run(None, fine)[0], scaled(fine["x"], 0.5))


def test_an_operator_of_nobody_and_an_output_that_is_not_there(scale_project: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing implements acme::Scale"):
        session(onnx.parser.parse_model(SHORT), [])
    opened = session(onnx.parser.parse_model(SHORT), [scale_project])
    with opened, pytest.raises(UsageError, match="no output 'nothing'"):
        opened.run(["nothing"], {"x": np.zeros((1, 2), np.float32)})
    opened.close()
    with pytest.raises(UsageError, match="closed"):
        opened.run(None, {"x": np.zeros((1, 2), np.float32)})


def test_a_kernel_that_traps_ends_a_run_with_its_place(scale_project: Path) -> None:
    """Where factor is 19; where it is 17, enqueue allocates, which costs time only."""
    feeds = {"x": np.ones((1, 2), np.float32)}
    with session(onnx.parser.parse_model(SHORT.replace("0.5", "17.0")), [scale_project]) as opened:
        assert np.array_equal(opened.run(None, feeds)[0], scaled(2 * feeds["x"], 17.0))
    opened = session(onnx.parser.parse_model(SHORT.replace("0.5", "19.0")), [scale_project])
    with opened, pytest.raises((CheckFailed, PluginCrashed), match=r"scale\.cu:\d+"):
        opened.run(None, feeds)


def test_a_sequence_that_goes_past_a_plugin(scale_project: Path) -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "acme" : 1]> g (float[n, c] x) => (float[n, c] y) {
  kept = SequenceConstruct (x)
  b = acme.Scale <plugin_namespace = "acme", factor = 0.5> (x)
  first = Constant <value_int = 0> ()
  c = SequenceAt (kept, first)
  y = Add (b, c)
}"""
    )
    with session(model, [scale_project]) as opened, pytest.raises(UsageError, match="'kept' is not a tensor"):
        opened.run(None, {"x": np.zeros((1, 2), np.float32)})
