"""`pluginkit import` with real libraries, NVIDIA's parser and builder, and the run on the CPU."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import cli, parser_operators
from pluginkit.importing import Imported, ImportOptions, run, running
from pluginkit.importing.building import advice
from pluginkit.importing.implementations import Implementation
from pluginkit.importing.onnx_graph import Place
from pluginkit.network.networks import NetworkProfile
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.verdict import BuildVerdict
from tests.compilers import default_cxx

from .models import BAR, CONDITION, DOMAIN, branch, conditional, function, model, scale, value

pytestmark = [
    pytest.mark.compile,
    pytest.mark.rtx,
    pytest.mark.xdist_group("projects"),
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here"),
]

A, B = value("a", ["n", 3, 4, 4]), value("b", ["m", 3, 4, 4])
OUTPUTS = [value("copy", ["m", 3, 4, 4]), value("joined", ["k", 3, 4, 4])]


def library(project: Path) -> Path:
    return next((project / "build" / "cpu").glob("*.so"))


def imported(tmp_path: Path, proto: onnx.ModelProto, *plugins: Path, profiles: tuple[str, ...] = ()) -> Imported:
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    return run(ImportOptions(path, plugins, profiles))


def bar_node(name: str = "bar", inputs: tuple[str, str] = ("a", "b"), outputs: tuple[str, str] = ("copy", "joined"),
             **attributes: Any) -> onnx.NodeProto:  # fmt: skip
    return helper.make_node("BarPlugin", inputs, outputs, name, domain=DOMAIN, **{**BAR, **attributes})


def test_a_model_with_the_sample(bar: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [
        helper.make_node("Relu", ["a"], ["positive"], "relu"),
        bar_node(inputs=("positive", "b"), outputs=("c", "joined")),
        helper.make_node("Neg", ["c"], ["copy"], "neg"),
    ]
    path = tmp_path / "model.onnx"
    onnx.save(model(nodes, [A, B], OUTPUTS), path)
    # A project: it is built first, which here finds all done.
    assert cli.run(["import", str(path), "--plugins", str(bar), "--profile", "a:min=1x3x4x4,max=5x3x4x4"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "plugin BarPlugin 1 of libbar_plugin.so" in out
    assert "a: min 1x3x4x4, opt 5x3x4x4, max 5x3x4x4" in out
    assert "b: min 1x3x4x4, opt 4x3x4x4, max 16x3x4x4 (default; --profile sets it)" in out
    assert "2 outputs as expected" in out
    # A library in its project's folder belongs to it.
    assert cli.run(["import", str(path), "--plugins", str(library(bar)), "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert [node["by"] for node in output["nodes"]] == ["native", "plugin", "native"]
    assert (output["build"]["status"], output["run"]["status"], output["problems"]) == ("built", "compared", [])
    assert output["profile_defaulted"] == ["a", "b"]


def test_plugins_in_branches_bodies_and_functions(bar: Path, tmp_path: Path) -> None:
    inner = [
        bar_node("inner", ("first", "second"), ("c", "j")),
        helper.make_node("Add", ["c", "c"], ["twice"], "add"),
    ]
    wrap = helper.make_function(
        "local",
        "Wrap",
        ["first", "second"],
        ["twice", "j"],
        inner,
        [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)],
    )
    then = branch([bar_node("then", ("a", "w"), ("t", "_t"))], value("t", None))
    other = branch([helper.make_node("Identity", ["w"], ["e"], "else")], value("e", None))
    state = [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("s", None)]
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["on"], "keep"),
            bar_node("inside", ("a", "s"), ("next", "_j")),
            helper.make_node("Neg", ["next"], ["negative"], "turn"),
        ],
        "body",
        state,
        [value("on", [], TensorProto.BOOL), value("negative", None)],
    )
    nodes = [
        helper.make_node("Wrap", ["a", "b"], ["w", "joined"], "call", domain="local"),
        helper.make_node("If", ["condition"], ["chosen"], "if", then_branch=then, else_branch=other),
        helper.make_node("Loop", ["trips", "yes", "chosen"], ["copy"], "loop", body=body),
    ]
    constants = [
        helper.make_tensor("trips", TensorProto.INT64, [], [3]),
        helper.make_tensor("yes", TensorProto.BOOL, [], [True]),
    ]
    proto = model(
        nodes, [A, B, CONDITION], OUTPUTS, domains=(DOMAIN, "local"), functions=[wrap], initializers=constants
    )
    found = imported(tmp_path, proto, library(bar))
    by_label = {one.place.label: one.by for one in found.implementations}
    assert by_label["if/then_branch/then"] == "plugin"
    assert by_label["loop/body/inside"] == "plugin"
    assert by_label["local::Wrap/inner"] == "plugin"
    assert by_label["call"] == "function"
    assert found.verdict is not None
    assert found.verdict.ok, found.verdict.message
    assert found.ran.status == "compared", found.ran
    assert len(found.ran.outputs) == 2
    assert found.exit_code == 0


def test_int8_with_scales_and_two_libraries(bar: Path, scale_project: Path, tmp_path: Path) -> None:
    constants = [
        helper.make_tensor("xs", TensorProto.FLOAT, [], [0.03]),
        helper.make_tensor("ys", TensorProto.FLOAT, [], [0.05]),
        helper.make_tensor("zero", TensorProto.INT8, [], [0]),
    ]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "zero"], ["q"], "q"),
        scale(["q"], ["r"], x_scale=0.03, y_scale=0.05),
        helper.make_node("DequantizeLinear", ["r", "ys", "zero"], ["z"], "d"),
        bar_node("join", ("z", "x"), ("c", "y")),
    ]
    inputs, outputs = [value("x", ["n", 4, 1, 1])], [value("y", ["k", 4, 1, 1]), value("c", ["n", 4, 1, 1])]
    # Scale is of two dimensions.
    reshape = [helper.make_tensor("two", TensorProto.INT64, [2], [-1, 4])]
    reshape += [helper.make_tensor("four", TensorProto.INT64, [4], [-1, 4, 1, 1])]
    nodes[1:2] = [
        helper.make_node("Reshape", ["q", "two"], ["q2"], "flat"),
        scale(["q2"], ["r2"], x_scale=0.03, y_scale=0.05),
        helper.make_node("Reshape", ["r2", "four"], ["r"], "back"),
    ]
    proto = model(nodes, inputs, outputs, initializers=[*constants, *reshape])
    found = imported(tmp_path, proto, library(bar), library(scale_project))
    assert {one.library.path.name for one in found.implementations if one.library} == {
        "libbar_plugin.so",
        "libscale.so",
    }
    assert found.verdict is not None
    assert found.verdict.ok, found.verdict.message
    assert {record.node for record in found.verdict.configured} == {"s", "join"}
    assert found.ran.status == "compared", found.ran.message


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"plugin_version": 1}, "M1"),
        ({"plugin_version": "2"}, "M11"),
        ({"plugin_namespace": "other"}, "M11"),
        ({"op": "Scales"}, "M11"),
        ({"factor": 2}, "M12"),
        ({"mode": 2.0}, "M12"),
        ({"mode": helper.make_tensor("t", TensorProto.INT64, [1], [2])}, "M12"),
        ({"tensorrt_plugin_shape_input_indices": [7]}, "M5"),
        ({"inputs": ["x", "x"]}, "M15"),
        ({"outputs": ["y", "z"]}, "M15"),
        ({"factor": [2.0, 3.0]}, "M12"),
        ({"x": (["n", "c"], TensorProto.INT64)}, "M17"),
        ({"x": (["n", "c"], TensorProto.BFLOAT16)}, "M17"),
        ({"x": (["n", "c", 2], TensorProto.FLOAT)}, "M18"),
    ],
)
def test_what_is_an_error_here_nvidia_refuses(
    scale_project: Path, tmp_path: Path, changed: dict[str, Any], rule: str
) -> None:
    shape, kind = changed.pop("x", (["n", "c"], TensorProto.FLOAT))
    proto = model([scale(**changed)], [value("x", shape, kind)], [value("y", shape, kind)])
    found = imported(tmp_path, proto, library(scale_project))
    assert rule in {problem.rule for problem in found.problems if problem.level == "error"}
    assert found.verdict is not None
    assert found.verdict.status == "refused"
    assert "cudaError" not in found.verdict.message
    assert re.search(r": [1-9] errors?; ", found.last_line)
    assert found.exit_code == 1


def test_what_is_dropped_or_cut_builds_and_is_said(scale_project: Path, tmp_path: Path) -> None:
    found = imported(tmp_path, model([scale(extra=1.0)]), library(scale_project))
    assert ([problem.rule for problem in found.problems], found.exit_code) == (["M3"], 0)
    assert replace(found, strict=True).exit_code == 1
    assert "1 warning; built by TensorRT-RTX; run on the CPU, 1 output as expected" in found.last_line
    found = imported(tmp_path, model([scale(mode=2**33 + 1)]), library(scale_project))
    assert ([problem.rule for problem in found.problems], found.exit_code) == (["M4"], 1)
    assert found.verdict is not None
    assert found.verdict.ok


def test_domains_as_nvidia_takes_them(scale_project: Path, tmp_path: Path) -> None:
    node = scale(domain="acme", plugin_namespace=None)
    found = imported(tmp_path, model([node]), library(scale_project))
    assert (found.exit_code, found.ran.status) == (0, "compared"), found
    found = imported(tmp_path, model([scale(domain="")]), library(scale_project))
    assert [problem.rule for problem in found.problems] == ["M14"]
    assert found.verdict is not None
    assert found.verdict.ok
    # The model's function of a native name is ignored by NVIDIA too: what it calls exists nowhere, and it builds.
    broken = function("local", "Relu", [helper.make_node("Nope", ["x"], ["y"])])
    proto = model([helper.make_node("Relu", ["x"], ["y"], "r", domain="local")], domains=("local",), functions=[broken])
    found = imported(tmp_path, proto)
    assert found.verdict is not None
    assert found.verdict.ok
    assert "M2" in {problem.rule for problem in found.problems}


def test_a_reference_that_says_otherwise(
    scale_project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = shutil.copytree(scale_project, tmp_path / "scale")
    (project / "reference.py").write_text("def reference(x, *, factor, mode):\n    return x + mode * 1.5\n")
    found = imported(tmp_path, model([scale()]), library(project))
    assert found.ran.status == "failed"
    assert "expected" in found.ran.message
    assert found.exit_code == 1
    (project / "reference.py").write_text("def reference(x, *, factor, mode):\n    raise ValueError('odd')\n")
    found = imported(tmp_path, model([scale()]), library(project))
    assert found.ran.status == "failed"
    assert "raised ValueError: odd" in found.ran.message


def test_what_the_device_finds_is_said_of_the_node(scale_project: Path, tmp_path: Path) -> None:
    """Outputs don't show it; where and what it is the runtime of target cpu says."""

    def found(name: str, *factors: float) -> Imported:
        ends = ["x", *(f"t{index}" for index in range(1, len(factors))), "y"]
        pairs = zip(factors, ends, ends[1:], strict=False)
        nodes = [scale([a], [b], name=f"{name}{i}", factor=f) for i, (f, a, b) in enumerate(pairs)]
        return imported(tmp_path, model(nodes), library(scale_project))

    stream = found("s", 2.0, 13.0)
    (problem,) = stream.problems
    assert (problem.level, problem.node, stream.ran.status, stream.exit_code) == ("error", "s1", "failed", 1)
    assert "work on another stream: scaleKernel<float> uses the default stream" in problem.text
    assert re.search(r"at src/scale\.cu:\d+, in ", problem.text)
    assert "the stream that enqueue() is given" in problem.fix
    assert stream.ran.message == "1 defect of s1, see the errors above; 1 output as expected"
    # Nobody asks for it: a warning. Two nodes with one finding are told of once.
    costs = found("a", 17.0, 17.0)
    problem, freed = costs.problems
    assert (problem.level, problem.node, costs.ran.status) == ("warning", "a0", "compared")
    assert "[E4] an allocation in enqueue: cudaMalloc" in problem.text
    assert "[E4] an allocation in enqueue: cudaFree" in freed.text
    assert "also in node a1" in problem.text
    assert (costs.exit_code, replace(costs, strict=True).exit_code) == (0, 1)
    trap = found("t", 19.0)
    assert [(one.level, one.node) for one in trap.problems] == [("error", "t0")]
    assert "in kernel scaleKernel<float>, block (0, 0, 0), thread (0, 0, 0)" in trap.problems[0].text
    assert (trap.ran.status, trap.exit_code) == ("failed", 1)
    assert "1 error; built by TensorRT-RTX; failed on the CPU: 1 defect of t0, see the errors above" in trap.last_line


def test_nodes_of_a_plugins_name_that_nvidia_serves_are_not_the_plugins(relu: Path, tmp_path: Path) -> None:
    """Both are called Relu: the one that names a namespace is the plugin's, in NVIDIA's engine and in the run here."""
    nodes = [
        helper.make_node("Relu", ["x"], ["t"], "native"),
        helper.make_node("Relu", ["t"], ["y", "z"], "ours", domain=DOMAIN, plugin_namespace="acme"),
    ]
    found = imported(tmp_path, model(nodes), relu)
    assert [one.by for one in found.implementations] == ["native", "plugin"]
    assert found.verdict is not None
    assert [record.node for record in found.verdict.configured] == ["ours"]
    assert found.ran.message.startswith("1 output, not compared, because librelu.so belongs to no project")
    # Who tells them apart means both.
    assert "M2" not in {problem.rule for problem in found.problems}


@pytest.mark.parametrize(
    ("domain", "attributes", "asked"),
    [
        ("", {}, False),
        ("acme", {}, False),
        (DOMAIN, {"plugin_version": "1"}, False),
        ("", {"plugin_namespace": ""}, False),
        ("acme", {"plugin_namespace": "acme", "plugin_version": "2"}, False),
        ("", {"plugin_namespace": "acme"}, True),
        (DOMAIN, {"plugin_namespace": "acme", "plugin_version": "1"}, True),
    ],
)
def test_a_plugin_that_the_parser_would_not_ask_is_an_error(
    relu: Path, tmp_path: Path, domain: str, attributes: dict[str, str], asked: bool
) -> None:
    """F22, against NVIDIA's parser: it looks at no domain, only at a namespace that the node names."""
    ends = ["y", "z"] if asked else ["y"]
    found = imported(tmp_path, model([helper.make_node("Relu", ["x"], ends, "r", domain=domain, **attributes)]), relu)
    assert found.verdict is not None
    assert found.verdict.ok, found.verdict.message
    assert [record.node for record in found.verdict.configured] == (["r"] if asked else [])
    assert [one.by for one in found.implementations] == ["plugin" if asked else "native"]
    errors = [problem for problem in found.problems if problem.level == "error"]
    assert [problem.rule for problem in errors] == ([] if asked else ["M2"])
    assert all('plugin_namespace="acme"' in problem.fix for problem in errors)
    assert found.exit_code == (0 if asked else 1)
    # The library's other plugins, or none: a node of the parser's own is nothing to speak of.
    if not (domain or attributes):
        assert not imported(tmp_path, model([helper.make_node("Relu", ["x"], ["y"], "r")])).problems


def test_what_rtx_makes_a_plugin_of_that_it_does_not_have(tmp_path: Path) -> None:
    integers = TensorProto.INT64
    align = helper.make_node("RoiAlign", ["x", "r", "b"], ["y"], "n", output_height=2, output_width=2, sampling_ratio=2)
    nodes = {
        "NonZero": (
            helper.make_node("NonZero", ["x"], ["y"], "n"),
            [value("x", [2, 3])],
            value("y", [2, "k"], integers),
        ),
        "RoiAlign": (
            align,
            [value("x", [1, 4, 6, 6]), value("r", [3, 4]), value("b", [3], integers)],
            value("y", [3, 4, 2, 2]),
        ),
    }
    # The rest of them are nodes of test_agreement's models.
    assert set(nodes) <= set(parser_operators.PLUGINS_OF_RTX)
    for name, (node, inputs, output) in nodes.items():
        found = imported(tmp_path, model([node], inputs, [output]))
        assert [(problem.rule, problem.level, problem.node) for problem in found.problems] == [("M11", "error", "n")]
        assert name in found.problems[0].text
        assert found.verdict is not None
        assert "found in" in found.verdict.message
        assert "plugin registry" in found.verdict.message
        assert (found.ran.status, found.exit_code) == ("ran", 1)


@pytest.mark.parametrize("closed", [True, False])
def test_branches_of_other_shapes_are_told_whatever_is_built(tmp_path: Path, closed: bool) -> None:
    shape = [4, 8] if closed else ["n", "c"]
    then = branch([helper.make_node("Identity", ["x"], ["t"], "same")], value("t", shape))
    twice = helper.make_node("Concat", ["x", "x"], ["e"], "twice", axis=0)
    proto = model(
        [conditional(then, branch([twice], value("e", ["m", shape[1]])))],
        [value("x", shape), CONDITION],
        [value("y", ["k", shape[1]])],
    )
    found = imported(tmp_path, proto)
    assert found.verdict is not None
    # A leniency, and an assertion that says nothing about the If.
    assert found.verdict.status == ("built" if closed else "refused")
    assert [(problem.rule, problem.level, problem.node) for problem in found.problems] == [("M7", "warning", "if")]
    output = "its branches give [8, 8] (else_branch) and [4, 8] (then_branch) as output 0; NvInfer.h"
    at = "its branches give [2, 1] (else_branch) and [1, 1] (then_branch) as output 0, at the profile's min; NvInfer.h"
    assert found.problems[0].text.startswith(output if closed else at)
    assert found.exit_code == (0 if closed else 1)


def test_an_operator_of_another_domain_is_run_as_nvidia_has_it(tmp_path: Path) -> None:
    found = imported(tmp_path, model([helper.make_node("Relu", ["x"], ["y"], "r", domain="acme", plugin_version="1")]))
    assert (found.ran.status, found.exit_code) == ("ran", 0)
    assert [(problem.rule, problem.level) for problem in found.problems][:1] == [("M2", "warning")]


def test_a_field_that_the_reference_is_not_told_of(scale_project: Path, tmp_path: Path) -> None:
    alone = tmp_path / "given"
    alone.mkdir()
    shutil.copy(library(scale_project), alone)
    text = (scale_project / "pluginkit.toml").read_text()
    kept = re.sub(r'\[\[fields\]\]\nname = "mode"[^\[]*', "", text)
    assert kept != text
    (alone / "pluginkit.toml").write_text(kept)
    # Of a kernel that has a mode it knows nothing, so that it says otherwise means nothing.
    (alone / "reference.py").write_text("def reference(x, *, factor):\n    return x + 1\n")
    found = imported(tmp_path, model([scale()]), next(alone.glob("*.so")))
    assert [(problem.rule, problem.level) for problem in found.problems] == [("M15", "warning")]
    assert (found.ran.status, found.exit_code) == ("ran", 0)
    assert "1 output, not compared, because node s has the field mode, which pluginkit.toml does not" in found.last_line
    found = imported(tmp_path, model([scale(mode=None)]), next(alone.glob("*.so")))
    assert (found.ran.status, found.exit_code) == ("failed", 1)


def test_what_cannot_be_run_is_said(scale_project: Path, tmp_path: Path) -> None:
    alone = shutil.copy(library(scale_project), tmp_path / "libalone.so")
    found = imported(tmp_path, model([scale()]), Path(alone))
    assert found.ran.status == "ran"
    assert "no reference.py" in found.ran.message
    assert (found.exit_code, replace(found, strict=True).exit_code) == (0, 0)
    found = imported(tmp_path, model([scale()]))
    assert "nothing implements s" in found.ran.message
    assert found.last_line.endswith(
        "not run on the CPU: nothing implements s; to run it, give the library that has it by --plugins"
    )
    # A library that can't be run here says what would run it; that it wasn't is an error only where one asks for it.
    (library_,) = (one.library for one in imported(tmp_path, model([scale()]), library(scale_project)).implementations)
    assert library_ is not None
    implementations = [Implementation(Place(scale()), "plugin", replace(library_, target="gpu"), library_.creators[0])]
    outcome = running.run(model([scale()]), implementations, NetworkProfile("p", {}, {}), seed=0, timeout=1.0)
    assert (outcome.status, "target gpu" in outcome.message) == ("not run", True)
    assert "pluginkit build --target cpu" in outcome.remedy
    left = Imported(tmp_path / "m.onnx", tuple(implementations), (), "", verdict=BuildVerdict("built", ""), ran=outcome)
    assert (left.exit_code, replace(left, strict=True).exit_code) == (0, 1)
    assert left.last_line.endswith(
        f"built by TensorRT-RTX; not run on the CPU: {outcome.message}; to run it, {outcome.remedy}"
    )
    assert "by --strict" in replace(left, strict=True).last_line


def test_a_model_without_plugins_is_run(tmp_path: Path) -> None:
    relu = helper.make_node("Relu", ["x"], ["y"], "r")
    wide = [value("x", ["n", "c"], TensorProto.DOUBLE)], [value("y", ["n", "c"], TensorProto.DOUBLE)]
    for proto, strictly in ((model([relu]), 0), (model([relu], *wide), 1)):
        found = imported(tmp_path, proto)
        assert (found.ran.status, found.exit_code) == ("ran", 0)
        assert "1 output by onnxruntime; no plugin takes part" in found.ran.message
        # NVIDIA's parser makes float32 of float64 (M20).
        assert replace(found, strict=True).exit_code == strictly


def test_float64_around_a_plugin_is_run_as_nvidia_has_it(scale_project: Path, tmp_path: Path) -> None:
    kind = TensorProto.DOUBLE
    nodes = [scale(["x"], ["z"]), helper.make_node("Neg", ["z"], ["y"], "neg")]
    proto = model(nodes, [value("x", ["n", "c"], kind)], [value("y", ["n", "c"], kind)])
    found = imported(tmp_path, proto, library(scale_project))
    assert (found.ran.status, found.exit_code) == ("compared", 0)
    assert [one.rule for one in found.problems] == ["M17", "M20", "M20"]
    assert replace(found, strict=True).exit_code == 1


@pytest.mark.parametrize("with_plugin", [False, True])
def test_a_reshape_that_does_not_fit(scale_project: Path, tmp_path: Path, with_plugin: bool) -> None:
    shape = helper.make_tensor("shape", TensorProto.INT64, [2], [4, 5])
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["r"], "fold")]
    nodes.append(scale(["r"]) if with_plugin else helper.make_node("Neg", ["r"], ["y"], "n"))
    proto = model(nodes, [value("x", [2, 3])], [value("y", [4, 5])], initializers=[shape])
    found = imported(tmp_path, proto, *([library(scale_project)] if with_plugin else []))
    assert found.verdict is not None
    assert (found.verdict.status, found.exit_code) == ("refused", 1)
    assert "another number of elements" in advice(found.verdict)
    assert "cudaError" not in found.verdict.message
    assert found.ran.status == "not run"
    assert "Reshape node 'fold' can't be computed: " in found.ran.message
    assert "reshape" in found.ran.message.split("computed: ")[1]
    assert "/onnxruntime_src" not in found.ran.message


def test_a_plugin_that_the_builder_does_without(scale_project: Path, tmp_path: Path) -> None:
    nodes = [
        scale(["x"], ["unused"]),
        helper.make_node("Shape", ["unused"], ["shape"], "shape"),
        helper.make_node("Expand", ["x", "shape"], ["y"], "expand"),
    ]
    found = imported(tmp_path, model(nodes), library(scale_project))
    assert ("participation", "s") in {(problem.rule, problem.node) for problem in found.problems}


def test_without_nvidia(scale_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tensorrt_rtx.Availability(False, reason="not here", remedy="get it")
    monkeypatch.setattr(tensorrt_rtx, "probe", lambda: missing)
    found = imported(tmp_path, model([scale()]), library(scale_project), profiles=("x:2x3",))
    assert found.verdict is None
    assert "not here" in found.not_built
    assert "by its recorded list" in found.evaluator
    assert found.ran.status == "compared"
    assert found.exit_code == 0


def test_wrong_files_and_options(bar: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = tmp_path / "good.onnx"
    onnx.save(model([helper.make_node("Relu", ["x"], ["y"], "r")]), good)
    text = tmp_path / "text.onnx"
    text.write_text("hello")
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(good.read_bytes()[:-20])
    pointer = tmp_path / "pointer.onnx"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n")
    picture = tmp_path / "picture.onnx"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    empty = tmp_path / "empty.onnx"
    empty.write_bytes(b"")
    weights = tmp_path / "weights.onnx"
    big = model(
        [helper.make_node("Add", ["x", "w"], ["y"], "add")],
        initializers=[onnx.numpy_helper.from_array(np.ones((1, 400), np.float32), "w")],
    )
    onnx.save(big, weights, save_as_external_data=True, location="w.bin", size_threshold=0)
    (tmp_path / "w.bin").unlink()
    for arguments, expected in (
        ([tmp_path / "nope.onnx"], "There is no file"),
        ([tmp_path], "is a folder"),
        ([text], "is text"),
        ([empty], "is empty"),
        ([cut], "it is cut off or damaged"),
        ([pointer], "git lfs pull"),
        ([picture], "not an ONNX model"),
        ([weights], "external data"),
        ([good, "--plugins", text], "not an ELF file"),
        ([good, "--plugins", tmp_path], "no pluginkit.toml"),
        ([good, "--profile", "x=1"], "--profile"),
        ([good, "--profile", "z:1x2"], "no input 'z'"),
    ):
        assert cli.run(["import", *map(str, arguments)]) == 2, expected
        output = capsys.readouterr().err
        assert expected in " ".join(output.split())
        assert "Traceback" not in output


def test_external_data_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "somewhere"
    folder.mkdir()
    weights = onnx.numpy_helper.from_array(np.ones((1, 400), np.float32), "w")
    proto = model([helper.make_node("Add", ["x", "w"], ["y"], "add")], [value("x", ["n", 400])], initializers=[weights])
    onnx.save(proto, folder / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    found = run(ImportOptions(folder / "m.onnx"))
    assert found.verdict is not None
    assert found.verdict.ok, found.verdict.message
    assert not found.problems


def test_a_library_that_crashes(tmp_path: Path) -> None:
    source = tmp_path / "crash.cpp"
    source.write_text("#include <csignal>\n__attribute__((constructor)) static void crash() { raise(SIGSEGV); }\n")
    crashing = tmp_path / "libcrash.so"
    subprocess.run([default_cxx(), "-shared", "-fPIC", "-o", crashing, source], check=True)
    path = tmp_path / "model.onnx"
    onnx.save(model([scale()]), path)
    assert cli.run(["import", str(path), "--plugins", str(crashing)]) == 6


@pytest.fixture(scope="module")
def behaving(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin of the runtimes' tests, whose field `fault` says what it does wrong."""
    tests, out = Path(__file__).resolve().parents[1], tmp_path_factory.mktemp("behaving") / "libbehaving.so"
    include = tests.parent / "pluginkit" / "include"
    flags = ["-std=c++17", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{include}", "-ldl"]
    subprocess.run([default_cxx(), tests / "runtimes" / "behaving.cpp", "-o", out, *flags], check=True)
    return out


@pytest.fixture(scope="module")
def relu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same plugin, called as an operator that NVIDIA's parser has itself, of the namespace acme."""
    tests, folder = Path(__file__).resolve().parents[1], tmp_path_factory.mktemp("relu")
    text = (tests / "runtimes" / "behaving.cpp").read_text()
    for old, new in (
        ('return "Behaving";', 'return "Relu";'),
        ("std::string mNamespace;", 'std::string mNamespace{"acme"};'),
    ):
        assert text.count(old) == 2
        text = text.replace(old, new)
    (folder / "relu.cpp").write_text(text)
    flags = ["-std=c++17", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{tests.parent / 'pluginkit' / 'include'}"]
    subprocess.run([default_cxx(), folder / "relu.cpp", "-o", folder / "librelu.so", *flags, "-ldl"], check=True)
    return folder / "librelu.so"


def misbehaving(tmp_path: Path, library: Path, fault: int) -> Imported:
    node = helper.make_node(
        "Behaving", ["x"], ["y", "z"], "b", domain=DOMAIN, plugin_version="1", fault=fault, alpha=2.0
    )
    outputs = [value("y", ["n", "c"]), value("z", ["n", "c"])]
    return imported(tmp_path, model([node], outputs=outputs), library)


def test_plugins_that_misbehave(behaving: Path, tmp_path: Path) -> None:
    fine = misbehaving(tmp_path, behaving, 0)
    assert (fine.exit_code, fine.ran.status) == (0, "ran")
    in_builder = misbehaving(tmp_path, behaving, 1)
    assert in_builder.verdict is not None
    assert in_builder.verdict.status == "crashed"
    assert "configurePlugin of layer 'b'" in in_builder.verdict.message
    assert in_builder.exit_code == 6
    in_run = misbehaving(tmp_path, behaving, 3)
    assert (in_run.ran.status, in_run.exit_code) == ("crashed", 6)
    assert "enqueue" in in_run.ran.message
    wrong = misbehaving(tmp_path, behaving, 6)
    assert (wrong.ran.status, wrong.exit_code) == ("failed", 1)


def test_what_a_plugin_says_of_its_failure(behaving: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert misbehaving(tmp_path, behaving, 9).exit_code == 1
    assert cli.run(["import", str(tmp_path / "model.onnx"), "--plugins", str(behaving)]) == 1
    out = capsys.readouterr().out
    by_nvidia, by_host = out.split("run on the CPU, against")
    for output in ("Failed to load libnothing.so.8", "error: libnothing.so.8 is older than needed"):
        assert output in by_nvidia
        assert output in by_host
    assert "(cudaError 35" not in out


def test_a_manifest_beside_a_library(bar: Path, tmp_path: Path) -> None:
    """As a library comes that somebody else has built: with its pluginkit.toml, without a project."""
    alone = tmp_path / "given"
    alone.mkdir()
    shutil.copy(library(bar), alone)
    nodes = [helper.make_node("Cast", ["a"], ["half"], "cast", to=TensorProto.FLOAT16), bar_node(inputs=("half", "b"))]
    proto = model(nodes, [A, B], OUTPUTS)
    found = imported(tmp_path, proto, next(alone.glob("*.so")))
    assert not found.problems
    shutil.copy(bar / "pluginkit.toml", alone)
    found = imported(tmp_path, proto, next(alone.glob("*.so")))
    assert [(problem.rule, problem.level, problem.node) for problem in found.problems] == [("M17", "error", "bar")]
    assert found.verdict is not None
    assert found.verdict.status == "refused"
    assert "supportsFormatCombination" in advice(found.verdict)
    assert found.ran.status == "not run"


def test_what_nvidia_builds_against_the_manifest_is_a_warning(bar: Path, tmp_path: Path) -> None:
    alone = tmp_path / "given"
    alone.mkdir()
    shutil.copy(library(bar), alone)
    text = (bar / "pluginkit.toml").read_text()
    (alone / "pluginkit.toml").write_text(text.replace('"float32", "float16", "bfloat16", "int8"', '"float16"'))
    found = imported(tmp_path, model([bar_node()], [A, B], OUTPUTS), next(alone.glob("*.so")))
    assert {(problem.rule, problem.level) for problem in found.problems} == {("M17", "warning")}
    assert (found.exit_code, replace(found, strict=True).exit_code) == (0, 1)


def test_a_library_without_v3_creators(tmp_path: Path) -> None:
    tests, source, out = Path(__file__).resolve().parents[1], tmp_path / "v2.cpp", tmp_path / "libv2.so"
    text = (tests / "runtimes" / "behaving.cpp").read_text()
    shown = 'extern "C" __attribute__((visibility("default")))'
    creators = "static behaving::BehavingCreator c; static nvinfer1::IPluginCreatorInterface* list[]{&c};"
    entries = f"{shown} void setLoggerFinder(nvinfer1::ILoggerFinder*) {{}}\n{shown} auto getCreators(int32_t& n) "
    entries += f"-> nvinfer1::IPluginCreatorInterface* const* {{ {creators} n = 1; return list; }}\n"
    source.write_text(text.replace("PLUGINKIT_PLUGINS(Behaving, behaving::BehavingCreator)", entries))
    include = f"-I{tests.parent / 'pluginkit' / 'include'}"
    flags = ["-std=c++17", "-fPIC", "-shared", "-fvisibility=hidden", include, "-ldl"]
    subprocess.run([default_cxx(), source, "-o", out, *flags], check=True)
    found = misbehaving(tmp_path, out, 0)
    assert found.verdict is not None
    assert found.verdict.status == "refused"
    assert "TensorRT-RTX takes V3 plugins only" in advice(found.verdict)
    assert found.ran.status == "ran"
