"""FP8 (E4M3): its numbers, the networks around a plugin that has it, the oracle, and the comparison by its numbers."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from pluginkit import float8
from pluginkit.bench import values
from pluginkit.bench.measurements import BenchCase
from pluginkit.dtypes import DType
from pluginkit.host import Finding
from pluginkit.host.memory import guarded_tensors, surroundings
from pluginkit.interpreter import walker
from pluginkit.manifest import Close, Manifest
from pluginkit.network.networks import Case, Network, Tolerance
from pluginkit.network.plan import Plan
from pluginkit.testing import rounding
from pluginkit.testing.comparison import compare
from pluginkit.testing.plan import plan
from pluginkit.testing.precision import dequantize, quantize
from pluginkit.testing.reference import Reference

NUMBERS = np.arange(127, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
"""All from 0 to 448, in order."""
FLOATS = st.floats(-2000, 2000, width=32)
TOML = """
[plugin]
name = "Eighth"
base = "v3"
[[inputs]]
name = "x"
types = ["float32", "float8"]
shape = ["n", "c"]
scale = "x_scale"
[[outputs]]
name = "y"
types = ["float32", "float8"]
shape = ["n", "c"]
scale = "y_scale"
[[fields]]
name = "x_scale"
type = "float32"
default = 0.0
[[fields]]
name = "y_scale"
type = "float32"
default = 0.0
[[profiles]]
symbols = { n = [1, 8, 16], c = [4, 16, 32] }
"""


@pytest.fixture
def made(tmp_path: Path) -> Plan:
    file = tmp_path / "reference.py"
    file.write_text("import numpy as np\n\n\ndef reference(x):\n    return np.where(x >= 0, x, 0.5 * x)\n")
    reference = Reference.load(file, Manifest.parse(TOML))
    return plan(
        Manifest.parse(TOML), reference, families=["plain", "chain", "cond-both"], precisions=[DType.FLOAT8], random=0
    )


def _case(made: Plan, network_id: str, point: str) -> Case:
    return next(one for one in made.cases if one.network_id == network_id and one.point == point)


def test_types_of_arrays() -> None:
    assert all(DType.from_numpy(np.zeros(1, kind.numpy).dtype) is kind for kind in DType)
    with pytest.raises(ValueError, match="uint8 is not one of float32"):
        DType.from_numpy(np.dtype(np.uint8))


def test_places_count_the_numbers_of_float8() -> None:
    assert float8.place(NUMBERS).tolist() == list(range(127))
    assert float8.place(-NUMBERS).tolist() == [-number for number in range(127)]
    assert (float8.spacing(NUMBERS[:-1]) == np.diff(NUMBERS)).all()
    assert np.isnan(float8.place(np.array([np.nan]))).all()
    assert float8.place(np.array([(NUMBERS[8] + NUMBERS[9]) / 2])).tolist() == [8.5]


@settings(deadline=None)
@given(FLOATS, FLOATS)
def test_places_are_in_order(one: float, other: float) -> None:
    low, high = float8.place(np.array(sorted((one, other))))
    assert low <= high


@settings(deadline=None)
@given(st.lists(FLOATS, min_size=1, max_size=20), st.floats(2.0**-8, 8, width=32))
def test_the_oracle_and_the_network_quantize_as_onnx_does(numbers: list[float], scale: float) -> None:
    x = np.array([*numbers, np.nan, 1e30, -1e30], np.float32)
    constants = [
        helper.make_tensor("scale", TensorProto.FLOAT, [], [scale]),
        helper.make_tensor("zero", TensorProto.FLOAT8E4M3FN, [], [0]),
    ]
    node = helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"])
    infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None])]
    left = [helper.make_tensor_value_info("q", TensorProto.FLOAT8E4M3FN, [None])]
    model = helper.make_model(
        helper.make_graph([node], "q", infos, left, constants), opset_imports=[helper.make_opsetid("", 19)]
    )
    with np.errstate(all="ignore"):
        (wanted,) = ReferenceEvaluator(model).run(None, {"x": x})
    held = walker.quantized(x, np.array(scale, np.float32), np.zeros((), ml_dtypes.float8_e4m3fn))
    assert held.dtype == ml_dtypes.float8_e4m3fn
    assert np.array_equal(held.astype(np.float32), wanted.astype(np.float32), equal_nan=True)
    assert np.array_equal(quantize(x, scale, DType.FLOAT8), wanted.astype(np.float64), equal_nan=True)
    back = walker.dequantized(held, np.array(scale, np.float32))
    assert np.array_equal(back, dequantize(wanted.astype(np.float64), scale).astype(np.float32), equal_nan=True)
    assert back[-2:].tolist() == [np.float32(448) * np.float32(scale), -np.float32(448) * np.float32(scale)]


def test_a_network_quantizes_to_float8_in_the_first_opset_that_has_it(made: Plan) -> None:
    network = next(one for one in made.networks if isinstance(one, Network) and one.id == "plain/float8")
    model = onnx.load_from_string(network.model)
    assert [one.version for one in model.opset_import if not one.domain] == [19]
    kinds = {one.name: one.data_type for one in model.graph.initializer}
    around = [node for node in model.graph.node if "quantize" in node.op_type.lower()]
    assert [node.op_type for node in around] == ["QuantizeLinear", "DequantizeLinear"]
    assert all(kinds[node.input[2]] == TensorProto.FLOAT8E4M3FN for node in around)
    assert network.calls[0].types == network.calls[0].output_types == (DType.FLOAT8,)
    assert all(value > 0 for _, value in network.calls[0].fields.values())


def test_what_is_expected_is_a_number_of_float8_and_both_ends_are_reached(made: Plan) -> None:
    case = _case(made, "plain/float8", "max")
    steps = case.expected["y"] / case.tolerance.scales["y"]
    assert np.isin(np.abs(np.rint(steps * 512) / 512), NUMBERS).all()
    assert {steps.min().round(3), steps.max().round(3)} == {-448, 448}
    assert case.saturated["y"].any()
    assert 0.2 < case.clear["y"].mean() < 0.9
    assert case.tolerance.float8 == {"y"}


def test_special_values_reach_the_plugin_and_nan_stays_nan(made: Plan) -> None:
    case = _case(made, "plain/float8", "special")
    assert np.isnan(case.feeds["x"]).any()
    assert np.isinf(case.feeds["x"]).any()
    assert case.arbitrary["y"].any()
    assert not case.clear
    assert not case.saturated
    tiny = min(number for number in np.abs(case.feeds["x"]).ravel() if number > 0)
    scale = next(one for one in made.networks if one.id == "plain/float8").calls[0].scales[0]
    assert 0 < quantize(tiny, scale, DType.FLOAT8) < 2.0**-6


def test_a_step_is_to_the_next_number_and_what_is_computed_before_may_be_off() -> None:
    want = np.array([0.0, 1.0, 64.0, 448.0]) * 0.5
    tolerance = Tolerance("steps", atol=1e-6, steps=1, scales={"y": 0.5}, float8=frozenset({"y"}))

    def at(*steps: float) -> bool:
        return compare({"y": (np.array(steps) * 0.5).astype(np.float32)}, {"y": want}, tolerance).ok

    assert at(2.0**-9, 1.125, 72, 416)
    assert at(0, 0.9375, 60, 448)
    assert not at(2.0**-8, 1, 64, 448)
    assert not at(0, 1.25, 64, 448)
    assert not at(0, 1, 56, 448)
    assert not at(0, 1, 64, 384)
    assert not at(0, np.nan, 64, 448)
    loose = Tolerance("steps", atol=0.25, steps=1, scales={"y": 0.5}, float8=frozenset({"y"}))
    assert compare({"y": (np.array([0.25, 1, 64, 448]) * 0.5).astype(np.float32)}, {"y": want}, loose).ok
    (one,) = compare({"y": np.array([0, 0.75, 32, 224], np.float32)}, {"y": want}, tolerance).outputs
    assert (one.unit, one.allowed, one.index) == ("steps", 1, (1,))
    assert one.error == pytest.approx(4, abs=1e-3)
    assert "is 0.75 at [1], expected 0.5 (a step is to FP8's next number): off by 4 steps, allowed 1" in one.message


def test_a_cut_number_is_seen_where_the_exact_one_is_clear() -> None:
    off = Close(rtol=0, atol=1e-6)
    exact = np.array([1.1, 1.06, 1.0625, 1e-9, 2.0**-9 * 1.9, 447.9, 600.0])
    assert rounding.clear(exact, 1.0, DType.FLOAT8, off).tolist() == [True, False, False, True, True, True, False]
    # The smallest steps are no larger than what a computation is off.
    assert not rounding.clear(exact * 1e-5, 1e-5, DType.FLOAT8, off)[4]
    tolerance = Tolerance("steps", steps=1, scales={"y": 1.0}, float8=frozenset({"y"}))
    want = {"y": quantize(exact, 1.0, DType.FLOAT8)}
    clearly = {"y": rounding.clear(exact, 1.0, DType.FLOAT8, off)}
    assert rounding.evaluate({"y": want["y"].astype(np.float32)}, want, clearly, tolerance) == ""
    cut = {"y": np.array([1.0, *want["y"][1:]], np.float32)}
    assert "is 1 steps at [0], expected 1.125" in rounding.evaluate(cut, want, clearly, tolerance)
    beyond = {"y": rounding.saturated(exact, 1.0, DType.FLOAT8)}
    assert beyond["y"].tolist() == [False] * 6 + [True]
    short = np.array([*want["y"][:-1], 416.0], np.float32)
    assert rounding.short_of_end({"y": want["y"].astype(np.float32)}, beyond, tolerance) == ""
    assert "FP8 ends at -448 and at 448" in rounding.short_of_end({"y": short}, beyond, tolerance)


def test_a_nan_that_is_expected_is_not_a_wrong_step() -> None:
    """As where the manifest defines the layer for NaN: FP8 has one, and its element is not clear."""
    want = {"y": np.array([np.nan, 1.0], np.float32)}
    tolerance = Tolerance("steps", steps=1, scales={"y": 1.0}, float8=frozenset({"y"}))
    clearly = {"y": rounding.clear(want["y"], 1.0, DType.FLOAT8)}
    assert clearly["y"].tolist() == [False, True]
    assert rounding.evaluate(want, want, clearly, tolerance) == ""
    assert "at [1]" in rounding.evaluate({"y": np.array([np.nan, 1.125])}, want, clearly, tolerance)


def test_in_a_chain_a_step_is_that_of_the_largest_value(made: Plan) -> None:
    case = next(one for one in made.cases if one.network_id == "chain/float8")
    ((name, step),) = case.tolerance.scales.items()
    assert not case.tolerance.float8
    network = next(one for one in made.networks if one.id == "chain/float8")
    scale = network.calls[-1].output_scales[0]
    assert step == pytest.approx(scale * float8.spacing(np.abs(case.expected[name] / scale).max()))


def test_surroundings_and_runs_differ_by_more_than_a_step() -> None:
    one, two, three = (np.array([number], ml_dtypes.float8_e4m3fn) for number in (1.0, 1.125, 1.25))
    assert not surroundings._apart(one, two).any()
    assert surroundings._apart(one, three).all()
    for turn in range(3):
        beside = guarded_tensors.surroundings(DType.FLOAT8, turn)
        assert set(np.frombuffer(beside, ml_dtypes.float8_e4m3fn).astype(float)) <= {448.0, -448.0} or turn != 2


def test_bench_compares_in_steps(tmp_path: Path) -> None:
    file = tmp_path / "reference.py"
    file.write_text("def reference(x):\n    return 2 * x\n")
    manifest = Manifest.parse(TOML)
    case = BenchCase("float8", DType.FLOAT8, {"n": 8, "c": 16}, {"y_scale": 2.0, "x_scale": 0.5}, None, None, 0)
    drawn = values.make(manifest, Reference.load(file, manifest), case, seed=0)
    assert drawn.inputs[0].dtype == drawn.outputs[0].dtype == ml_dtypes.float8_e4m3fn
    wanted = (drawn.inputs[0].astype(np.float32) / 2).astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    assert np.array_equal(drawn.outputs[0].astype(np.float32), wanted)
    allowed = values.limits(manifest, case)
    assert allowed.steps == 1
    near = (drawn.outputs[0].view(np.uint8) ^ 1).view(ml_dtypes.float8_e4m3fn)
    values.check("y", near, drawn.outputs[0], allowed, "enqueue")
    far = (drawn.outputs[0].view(np.uint8) ^ 2).view(ml_dtypes.float8_e4m3fn)
    with pytest.raises(Finding, match="off by 2 steps"):
        values.check("y", far, drawn.outputs[0], allowed, "enqueue")
