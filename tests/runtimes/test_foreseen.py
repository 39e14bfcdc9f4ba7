"""What TensorRT 8.5 refuses whatever the plugin, as the table of its behaviours has it, in networks of all families."""

from __future__ import annotations

from dataclasses import replace

import onnx
import pytest
from onnx import parser

from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.layouts import TARGETS, TargetName, targets
from pluginkit.manifest import Manifest
from pluginkit.network.plan import Plan
from pluginkit.run import targeted
from pluginkit.runtimes.tensorrt import foreseen
from pluginkit.testing.report import Outcome

LOOPS = {
    "loop-count", "loop-while", "loop-zero-trips", "scan-forward", "scan-reverse-input", "scan-reverse-output",
    "scan-axis-1", "if-in-loop", "loop-in-if", "loop-in-loop", "api-loop-count", "api-loop-while",
    "api-loop-count-while", "api-loop-iterator-0", "api-loop-iterator-1", "api-loop-iterator-0-reversed",
    "api-loop-iterator-1-reversed", "api-loop-reverse-0", "api-loop-reverse-1", "api-loop-iterator-axes",
    "api-concat-longer",
}  # fmt: skip
"""The families in which the plugin is in a loop, on what changes there: the 21 that 8.5.3 refused of 44 networks of a
new project, with `if-in-if` (docs/behaviours.md). What nothing depends on, as in `api-unused`, is left out."""


def test_each_family_is_refused_by_its_row(whole_plan: Plan) -> None:
    found: dict[str, set[str]] = {}
    for network in whole_plan.networks:
        if network.precision is DType.FLOAT32 and (row := foreseen.of_network(network, "8.5")):
            found.setdefault(row.id, set()).add(network.family)
    there = {network.family for network in whole_plan.networks if network.precision is DType.FLOAT32}
    assert found == {"plugin-in-loop": LOOPS & there, "plugin-in-if-in-if": {"if-in-if"}}
    assert len(LOOPS) == 21
    assert {"loop-invariant", "cond-then", "api-cond-lazy"} <= there


def test_int8_in_flow_is_refused(whole_plan: Plan) -> None:
    rows = {one.family: foreseen.of_network(one, "8.5") for one in whole_plan.networks if one.precision is DType.INT8}
    for family in ("cond-then", "loop-invariant"):
        row = rows[family]
        assert row is not None
        assert row.id == "quantized-in-flow"


def test_int8_of_few_dimensions_is_refused(whole_plan: Plan) -> None:
    one = next(one for one in whole_plan.networks if one.id == "plain/int8")
    (call,) = one.calls
    assert {len(shape) for three in call.inputs[0] for shape in three} == {2}
    assert foreseen.of_network(one, "8.5") == foreseen.FEW_DIMENSIONS
    more = tuple(tuple(tuple((*dims, 5) for dims in three) for three in profile) for profile in call.inputs)
    assert foreseen.of_network(replace(one, calls=(replace(call, inputs=more),)), "8.5") is None  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["10", "11", "rtx"])
def test_of_others_no_refusal_is_known(whole_plan: Plan, name: TargetName) -> None:
    assert not any(foreseen.of_network(network, name) for network in whole_plan.networks)


MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
agraph (int64 trips, float[3] x, bool flag) => (float[3] last, float[3] either)
{
  yes = Constant <value: tensor = bool {1}> ()
  last = Loop <body = body (int64 i, bool going, float[3] state) => (bool still, float[3] next) {
    still = Identity (going)
    same = Plugin (x)
    other = Add (state, same)
    next = Plugin (other)
  }> (trips, yes, x)
  either = If <then_branch = yes_ () => (float[3] a) { a = Plugin (last) },
               else_branch = no_ () => (float[3] b) { b = Identity (x) }> (flag)
}"""


def test_what_does_not_change_in_a_loop_is_not_refused() -> None:
    graph = parser.parse_model(MODEL).graph

    def is_plugin(node: onnx.NodeProto) -> bool:
        return bool(node.op_type == "Plugin")

    found = [(one.looped, one.conditionals) for one in foreseen.places(graph, is_plugin)]
    assert found == [(False, 0), (True, 0), (False, 1)]


def test_a_report_has_what_is_refused_and_what_ran_in_tensorrt_itself_is_left_out(
    manifest: Manifest, whole_plan: Plan
) -> None:
    asked = manifest.for_targets(["8.5", "rtx"])
    networks = [one for one in whole_plan.networks if one.id in ("plain/float32", "loop-count/float32")]
    (one,) = targeted.verdicts(asked, networks, ())
    assert (one.network, one.runtime, one.outcome) == (
        "loop-count/float32", "TensorRT 8.5.3, by tables", Outcome.SKIPPED
    )  # fmt: skip
    assert "(plugin-in-loop), whatever the plugin (by a run).\nWhat to do: compute" in one.message
    assert list(targeted.verdicts(asked, networks, {"loop-count/float32"})) == []
    assert list(targeted.verdicts(manifest, networks, ())) == [], "the default has no 8.5"


def test_what_8_5_has_not_is_said(manifest: Manifest, whole_plan: Plan) -> None:
    plain = next(one for one in whole_plan.networks if one.id == "plain/float32")
    asked = manifest.for_targets(["8.5", "10"])
    (one,) = targeted.verdicts(asked, [replace(plain, precision=DType.BFLOAT16)], ())
    assert one.message.startswith("TensorRT 8.5.3 has no BF16 for plugins (by a document)")
    v3 = asked.model_copy(update={"plugin": asked.plugin.model_copy(update={"interfaces": ("v3",)})})
    (one,) = targeted.verdicts(v3, [plain], ())
    assert one.outcome is Outcome.FAILED
    assert "has no IPluginV3" in one.message


@pytest.mark.parametrize(
    ("name", "matter", "text"),
    [
        ("8.5", "plugins in loops", "PLUGIN_V2 operation not supported"),
        ("rtx", "plugins in loops", "builds with the V3 adapter (by a run)"),
        ("10", "plugins in loops", "plugins in loops: not known"),
        ("11", "INT8 by calibration", "INT8 by calibration: has no calibrators (by a document)"),
        ("10", "INT8 by calibration", "INT8 by calibration: not known"),
    ],
)
def test_how_a_matter_is_known_is_marked(name: TargetName, matter: str, text: str) -> None:
    (line,) = [one.line for one in foreseen.of_table(name) if one.what == matter]
    assert text in line


def test_what_for_takes() -> None:
    assert targets(["8.5,rtx", "8.5"]) == ("8.5", "rtx")
    assert targets([]) == ()
    with pytest.raises(UsageError, match=r"--for 9: that is none of 8.5, 10, 11, rtx"):
        targets(["9"])
    assert set(TARGETS) == {"8.5", "10", "11", "rtx"}


def test_pluginkit_toml_names_them(manifest: Manifest) -> None:
    from tests.runtimes.conftest import TOML

    named = Manifest.parse(TOML + '\n[targets]\ntensorrt = ["8.5"]\n')
    assert named.targets.tensorrt == ("8.5",)
    assert manifest.targets.tensorrt == ("10", "11", "rtx")
    with pytest.raises(UsageError, match=r"targets.tensorrt"):
        Manifest.parse(TOML + '\n[targets]\ntensorrt = ["9"]\n')
