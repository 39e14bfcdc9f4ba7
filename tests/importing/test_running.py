"""What becomes of a model's runs: the outcome of several, each with other checks; scales that bounds follow from."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from pluginkit.errors import UsageError
from pluginkit.importing import plugin_node
from pluginkit.importing.expected_worker import Oracle
from pluginkit.importing.implementations import find_implementations
from pluginkit.importing.plugin_node import Expected, field_value
from pluginkit.importing.running import RunOutcome, ready, tolerance, worst
from pluginkit.library import Problem
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Array
from pluginkit.testing.reference import Reference

from .models import model, value

WARNING, DEFECT = Problem("warning", "a warning"), Problem("error", "a defect")
FINE = RunOutcome("compared", "fine", problems=(WARNING,))
FAILED = RunOutcome("failed", "one defect", problems=(WARNING, DEFECT))
CRASHED = RunOutcome("crashed", "gone")
MISSING = RunOutcome("not run", "no such tool")


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ([FINE, FINE], "fine"),
        ([FINE, FAILED], "one defect"),
        ([FAILED, FINE], "one defect"),
        ([FAILED, CRASHED], "one defect"),
        ([CRASHED, FAILED], "gone"),
        ([FINE, MISSING], "no such tool"),
        ([MISSING, FAILED], "one defect"),
    ],
)
def test_the_first_that_went_wrong_is_the_outcome(outcomes: Sequence[RunOutcome], message: str) -> None:
    found = worst(outcomes)
    assert found.message == message
    # Of all runs, each once, the errors first.
    expected = [one for one in (DEFECT, WARNING) if any(one in outcome.problems for outcome in outcomes)]
    assert list(found.problems) == expected


@pytest.mark.parametrize(
    ("given", "length", "expected"),
    [
        (0.5, "", 0.5),
        (None, "", 2.0),
        ([0.5, 0.25], "length = [0, 8]\n", (0.5, 0.25)),
        (2, "", 2.0),
        (numpy_helper.from_array(np.array([0.5, 0.25], np.float32)), "length = [0, 8]\n", (0.5, 0.25)),
        (numpy_helper.from_array(np.array([0.25], np.float32)), "", 0.25),
    ],
)
def test_what_a_plugin_reads_of_an_attribute(given: object, length: str, expected: object) -> None:
    """Numbers, lists and tensors; the default where the node has none."""
    default = "default = [2.0]\n" if length else "default = 2.0\n"
    text = f'[[fields]]\nname = "factor"\ntype = "float32"\n{length}{default}'
    tensors = "".join(f'[[{what}]]\nname = "{name}"\ntypes = ["float32"]\nshape = ["n"]\n'
                      for what, name in (("inputs", "x"), ("outputs", "y")))  # fmt: skip
    profile = '[[profiles]]\nname = "default"\nsymbols = { n = [1, 2, 4] }\n'
    manifest = Manifest.parse(f'[plugin]\nname = "Leaky"\n{tensors}{text}{profile}')
    more = {} if given is None else {"factor": given}
    node = helper.make_node("Leaky", ["x"], ["y"], **more)
    assert field_value(node, manifest.fields[0]) == expected


@pytest.mark.parametrize(("opset", "domain"), [(13, "com.microsoft"), (17, "")])
def test_a_nodes_domain_stays_where_the_opset_is_older_than_onnx_own_operator(opset: int, domain: str) -> None:
    """ONNX has LayerNormalization since opset 17: a model of 13 has another one, which onnxruntime knows by domain."""
    node = helper.make_node("LayerNormalization", ["x", "x"], ["y"], "norm", domain="com.microsoft")
    proto = model([node], opset=opset, domains=("com.microsoft",))
    changed, _ = ready(proto, find_implementations(proto, [], lambda _: True))
    assert changed.graph.node[0].domain == domain


class Negative(Oracle):
    """A plugin that negates."""

    def _plugin(self, node: onnx.NodeProto, inputs: Sequence[Array]) -> list[Array]:
        return [-inputs[0]]


def test_a_plugin_in_a_scan_is_followed() -> None:
    """Backwards, along other axes than 0, with a value from outside: held against onnxruntime. And no slices at all,
    which ends onnxruntime's process here (SIGFPE)."""
    onnxruntime = pytest.importorskip("onnxruntime")
    text = """<ir_version: 8, opset_import: ["" : 17, "DOMAIN" : 1]>
    g (float[3] s0, float[2, n, 3] x, float[n, 2, 3] z) => (float[3] s, float[2, 3, k] all, float[k, 2, 3] more) {
      outer = Abs (s0)
      s, all, more = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0], scan_input_directions = [1, 0],
          scan_output_axes = [2, 0], scan_output_directions = [0, 1],
          body = b (float[3] t, float[2, 3] a, float[2, 3] b)
          => (float[3] t2, float[2, 3] c, float[2, 3] d) {
        m = DOMAIN.Turn (a)
        c = Add (m, t)
        r = ReduceSum <keepdims = 0> (b)
        t1 = Add (t, r)
        t2 = Sub (t1, outer)
        d = Mul (b, t)
      }> (s0, x, z)
    }"""
    rng = np.random.default_rng(2)
    for count in (4, 0):
        feeds = {name: rng.normal(size=shape).astype(np.float32)
                 for name, shape in (("s0", (3,)), ("x", (2, count, 3)), ("z", (count, 2, 3)))}  # fmt: skip
        oracle = Negative(onnx.parser.parse_model(text.replace("DOMAIN", plugin_node.DOMAIN)), {}, 0)
        got = oracle.outputs(feeds)
        if not count:
            assert [one.shape for one in got.values()] == [(3,), (2, 3, 0), (0, 2, 3)]
            np.testing.assert_array_equal(got["s"], feeds["s0"])
            continue
        standard = onnx.parser.parse_model(text.replace("DOMAIN.Turn", "Neg").replace(', "DOMAIN" : 1', ""))
        expected = onnxruntime.InferenceSession(standard.SerializeToString()).run(None, feeds)
        for one, other in zip(got.values(), expected, strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize(
    ("default", "given", "kind", "steps"),
    [
        ("0.5", {}, np.int8, 0.5),
        ("0.5", {"y_scale": 2.0}, np.int8, 2.0),
        ("0.0", {"x_scale": 0.25, "y_scale": 0.25}, np.int8, 0.25),
        # 448 is 32 away from the next number of FP8.
        ("0.5", {"y_scale": 2.0}, ml_dtypes.float8_e4m3fn, 64.0),
        # Of a node without INT8 its scales mean nothing.
        ("0.5", {"y_scale": 2.0}, np.float32, 0.0),
        ("0.0", {}, np.float32, 0.0),
    ],
)
def test_steps_of_scales_that_a_node_lacks_are_those_of_the_defaults(
    default: str, given: dict[str, float], kind: type[np.generic], steps: float
) -> None:
    oracle, feeds = leaky(default, given, kind)
    oracle.outputs(feeds)
    assert sum(oracle.steps.values()) == steps
    allowed = tolerance([], Expected({}, steps=oracle.steps)).atol - tolerance([], Expected({})).atol
    assert allowed == pytest.approx(steps)


def test_steps_that_stand_for_nothing_are_not_compared() -> None:
    oracle, feeds = leaky("0.0", {"y_scale": 0.5}, np.int8)
    with pytest.raises(UsageError, match="node s has INT8 tensors, and x_scale is 0"):
        oracle.outputs(feeds)


def leaky(default: str, given: dict[str, float], kind: type[np.generic]) -> tuple[Oracle, dict[str, Array]]:
    """The oracle of a model of one node, and what it is fed."""
    fields = "".join(f'[[fields]]\nname = "{name}_scale"\ntype = "float32"\ndefault = {default}\n' for name in "xy")
    tensors = "".join(
        f'[[{what}]]\nname = "{name}"\ntypes = ["float32", "int8", "float8"]\nshape = ["n"]\nscale = "{name}_scale"\n'
        for what, name in (("inputs", "x"), ("outputs", "y"))
    )
    profile = '[[profiles]]\nname = "default"\nsymbols = { n = [1, 2, 4] }\n'
    manifest = Manifest.parse(f'[plugin]\nname = "Leaky"\n{tensors}{fields}{profile}')
    node = helper.make_node("Leaky", ["x"], ["y"], "s", domain=plugin_node.DOMAIN, **given)
    number = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    proto = model([node], [value("x", ["n"], number)], [value("y", ["n"], number)], domains=(plugin_node.DOMAIN,))
    plugins = {("Leaky", "1", ""): (manifest, Reference(manifest, lambda x: x))}
    return Oracle(proto, plugins, 0), {"x": np.array([1, -2, 3], kind)}
