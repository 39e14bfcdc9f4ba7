"""Each rule of `pluginkit import` on a model that breaks it, and on one that does not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit.creators.facts import FieldFacts
from pluginkit.importing import onnx_graph
from pluginkit.importing.building import advice
from pluginkit.importing.implementations import Implementation, PluginLibrary, find_implementations
from pluginkit.importing.rules import operators as rules_operators
from pluginkit.importing.rules import plugins as rules_plugins
from pluginkit.importing.rules import whole_model
from pluginkit.importing.rules.constants import Constants
from pluginkit.library import Problem
from pluginkit.manifest import Manifest
from pluginkit.runtimes import BuildVerdict

from .models import CONDITION, DOMAIN, FLOAT, branch, conditional, function, library, model, scale, value


def implementations(proto: onnx.ModelProto, *libraries: PluginLibrary) -> list[Implementation]:
    """With all of ONNX's operators as the parser's own, but for DeformConv."""
    return find_implementations(proto, libraries, lambda name: name != "DeformConv" and onnx.defs.has(name))


def found(tmp_path: Path, proto: onnx.ModelProto, *libraries: PluginLibrary) -> list[Problem]:
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    known = onnx_graph.shapes(proto)
    ones = implementations(proto, *libraries)
    return [
        *rules_plugins.clashes(libraries),
        *rules_plugins.check(ones, libraries, known),
        *whole_model.functions(proto, libraries, ones),
        *whole_model.check(proto, [one.place for one in ones], known, Constants(proto), path),
    ]


def one(problems: Sequence[Problem], rule: str) -> Problem:
    """The only problem there is, of that rule."""
    assert [problem.rule for problem in problems] == [rule], problems
    return problems[0]


def test_a_right_model_breaks_no_rule(tmp_path: Path) -> None:
    assert not found(tmp_path, model([scale()]), library())


# ---- what implements


def test_the_parser_goes_before_plugins_and_plugins_before_functions() -> None:
    proto = model(
        [
            helper.make_node("Relu", ["x"], ["a"], "native", domain="foo"),
            scale(["a"], ["b"], name="plugin"),
            helper.make_node("Mine", ["b"], ["c"], "function", domain="elsewhere"),
            helper.make_node("Nope", ["c"], ["y"], domain=DOMAIN),
        ],
        functions=[
            function("local", "Scale", [helper.make_node("Neg", ["x"], ["y"])]),
            function("local", "Mine", [helper.make_node("Abs", ["x"], ["y"], "inner")]),
            function("local", "Unused", [helper.make_node("AlsoNope", ["x"], ["y"], "never")]),
        ],
    )
    output = {item.place.label: item.by for item in implementations(proto, library())}
    assert output == {
        "native": "native",
        "plugin": "plugin",
        "function": "function",
        "(Nope that makes y)": "missing",
        "local::Mine/inner": "native",
    }


def test_nodes_in_branches_bodies_and_functions_are_found() -> None:
    inside = branch([scale(name="then")], value("y", None))
    body = helper.make_graph(
        [conditional(inside, branch([scale(name="else")], value("y", None)), "z")],
        "body",
        [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL)],
        [value("go", [], TensorProto.BOOL), value("z", None)],
    )
    loop = helper.make_node("Loop", ["", "condition"], ["y"], "loop", body=body)
    places = [item.place for item in implementations(model([loop], [value("x", [1]), CONDITION]), library())]
    by_label = {place.label: place.flow for place in places}
    assert by_label["loop/body/if/then_branch/then"] == ("Loop", "If")
    assert set(by_label) == {"loop", "loop/body/if", "loop/body/if/then_branch/then", "loop/body/if/else_branch/else"}


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, "plugin"),
        ({"plugin_namespace": None}, "missing"),
        ({"plugin_namespace": None, "domain": "acme"}, "plugin"),
        ({"plugin_namespace": "other", "domain": "acme"}, "plugin"),
        ({"plugin_version": None}, "plugin"),
        ({"plugin_version": "2"}, "missing"),
        ({"plugin_version": 1}, "missing"),
        ({"op": "Scales"}, "missing"),
    ],
)
def test_what_a_plugin_is_found_by(attributes: dict[str, object], expected: str) -> None:
    assert [item.by for item in implementations(model([scale(**attributes)]), library())] == [expected]


# ---- M1 to M6, M11, M12, M15, M16: plugins and their fields


def test_m1_version_that_is_no_string(tmp_path: Path) -> None:
    problem = one(found(tmp_path, model([scale(plugin_version=1)]), library()), "M1")
    assert problem.node == "s"
    assert problem.level == "error"
    assert 'plugin_version="1"' in problem.fix


def test_m1_another_version_that_is_no_string(tmp_path: Path) -> None:
    problems = found(tmp_path, model([scale(plugin_version=2)]), library())
    assert [problem.rule for problem in problems] == ["M1", "M11"]
    assert 'plugin_version="1"' in problems[1].fix


def test_m1_namespace_that_is_no_string(tmp_path: Path) -> None:
    problem = one(found(tmp_path, model([scale(plugin_namespace=3)]), library(namespace="")), "M1")
    assert "plugin_namespace" in problem.text


def test_m2_native_operator_goes_before_a_plugin(tmp_path: Path) -> None:
    selu = helper.make_node("Selu", ["x"], ["y"], "s")
    problem = one(found(tmp_path, model([selu]), library("Selu", fields=(), namespace="")), "M2")
    assert problem.level == "error"
    assert "never asked" in problem.text
    # Where another node of that name reaches the plugin, a node without a word of plugins is the parser's own.
    asked = helper.make_node("Selu", ["y"], ["z"], "t", domain=DOMAIN, plugin_namespace="")
    given = library("Selu", fields=(), namespace="")
    assert not found(tmp_path, model([selu, asked], outputs=[value("z", ["n", "c"])]), given)
    meant = helper.make_node("Selu", ["x"], ["y"], "s", domain=DOMAIN, plugin_version="1")
    problem = one(found(tmp_path, model([meant]), library("Selu", fields=(), namespace="")), "M2")
    assert problem.level == "error"
    assert "ENABLE_PLUGIN_OVERRIDE" in problem.fix
    assert not found(tmp_path, model([selu]), library())


def test_m2_a_node_with_a_namespace_gets_the_plugin_of_a_native_name(tmp_path: Path) -> None:
    given = library("Selu", fields=(), namespace="")
    for attributes in ({"plugin_namespace": ""}, {"plugin_namespace": "", "plugin_version": "1"}):
        assert not found(
            tmp_path, model([helper.make_node("Selu", ["x"], ["y"], "s", domain=DOMAIN, **attributes)]), given
        )
    other = helper.make_node("Selu", ["x"], ["y"], "s", domain=DOMAIN, plugin_version="1", plugin_namespace="else")
    problem = one(found(tmp_path, model([other]), given), "M2")
    assert (problem.level, problem.fix) == ("error", 'Set plugin_namespace="" on the node.')
    assert "no library has version '1' in namespace 'else'" in problem.text
    newer = helper.make_node("Selu", ["x"], ["y"], "s", domain=DOMAIN, plugin_version="2", plugin_namespace="")
    fix = one(found(tmp_path, model([newer]), given), "M2").fix
    assert fix.startswith('Set plugin_namespace="" and plugin_version=')


def test_m2_native_operator_in_a_domain_of_ones_own(tmp_path: Path) -> None:
    problem = one(found(tmp_path, model([helper.make_node("Relu", ["x"], ["y"], "r", domain=DOMAIN)])), "M2")
    assert "ignores the domain" in problem.text


def test_m2_a_function_of_a_native_name_is_ignored(tmp_path: Path) -> None:
    mine = function("acme", "Relu", [helper.make_node("Abs", ["x"], ["y"])])
    proto = model([helper.make_node("Relu", ["x"], ["y"], "r", domain="acme")], functions=[mine])
    assert any("is ignored" in problem.text and problem.rule == "M2" for problem in found(tmp_path, proto))


def test_m2_a_plugin_and_a_function_of_one_name(tmp_path: Path) -> None:
    mine = helper.make_function(
        DOMAIN,
        "Scale",
        ["x"],
        ["y"],
        [helper.make_node("Neg", ["x"], ["y"])],
        [helper.make_opsetid("", 17)],
        ["plugin_version", "plugin_namespace", "factor", "mode"],
    )
    problem = one(found(tmp_path, model([scale()], functions=[mine]), library()), "M2")
    assert "since the node has the attribute plugin_namespace" in problem.text


def test_m3_attributes_that_are_dropped(tmp_path: Path) -> None:
    problem = one(found(tmp_path, model([scale(factr=1.0)]), library()), "M3")
    assert "factr" in problem.text
    assert problem.fix == "Did you mean factor?"
    assert problem.level == "warning"


def test_m4_integers_that_are_cut(tmp_path: Path) -> None:
    problem = one(found(tmp_path, model([scale(mode=2**33 + 1)]), library()), "M4")
    assert str(2**33 + 1) in problem.text
    fields = (FieldFacts("factor", "kFLOAT32", 1), FieldFacts("mode", "kINT32", 2))
    one(found(tmp_path, model([scale(mode=[1, -(2**31) - 1])]), library(fields=fields)), "M4")
    assert not found(tmp_path, model([scale(mode=-(2**31))]), library())


@pytest.mark.parametrize(
    ("given", "expected"), [([1], "names input 1"), ([-2], "names input -2"), ([0, -1], "twice"), (1, "not a list")]
)
def test_m5_shape_inputs(tmp_path: Path, given: object, expected: str) -> None:
    proto = model([scale(tensorrt_plugin_shape_input_indices=given)])
    problem = one(found(tmp_path, proto, library(kind="V3", base="IPluginV3")), "M5")
    assert expected in problem.text


def test_m5_shape_inputs_are_for_v3(tmp_path: Path) -> None:
    proto = model([scale(tensorrt_plugin_shape_input_indices=[0])])
    assert "IPluginV2DynamicExt" in one(found(tmp_path, proto, library()), "M5").text
    assert not found(tmp_path, proto, library(kind="V3", base="IPluginV3"))


def test_m6_what_v2_plugins_do_not_take(tmp_path: Path) -> None:
    proto = model([scale()], [value("x", ["n", "c"], TensorProto.INT32)])
    assert "int32" in one(found(tmp_path, proto, library()), "M6").text
    assert not found(tmp_path, proto, library(kind="V3", base="IPluginV3"))
    assert "dynamic dimensions" in one(found(tmp_path, model([scale()]), library(base="IPluginV2Ext")), "M6").text
    assert not found(tmp_path, model([scale()], [value("x", [2, 3])]), library(base="IPluginV2Ext"))


def test_m16_open_channels_in_int8(tmp_path: Path) -> None:
    def problems(dims: list[str | int], kind: int) -> list[Problem]:
        return found(tmp_path, model([scale()], [value("x", dims, kind)]), library())

    problem = one(problems(["n", "c", 8], TensorProto.INT8), "M16")
    assert problem.level == "warning"
    assert "constant at build time" in problem.text
    for dims, kind in ((["n", 3, "w"], TensorProto.INT8), (["n"], TensorProto.INT8), (["n", "c"], TensorProto.FLOAT)):
        assert "M16" not in [problem.rule for problem in problems(dims, kind)]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"plugin_version": "2"}, 'Set plugin_version="1"'),
        ({"plugin_namespace": ""}, 'Set plugin_namespace="acme"'),
        ({"plugin_namespace": "", "plugin_version": "3"}, 'plugin_version="1" and plugin_namespace="acme"'),
        ({"op": "Scal"}, "Is Scale meant?"),
        ({"op": "Elsewhere"}, "or write one: pluginkit doctor prints the command"),
    ],
)
def test_m11_nobody_serves_it(tmp_path: Path, changed: dict[str, object], expected: str) -> None:
    problem = one(found(tmp_path, model([scale(**changed)]), library()), "M11")
    assert expected in problem.fix
    assert problem.node == "s"


def test_what_else_is_wrong_with_a_node_that_nobody_serves_is_said_too(tmp_path: Path) -> None:
    problems = found(tmp_path, model([scale(plugin_version="2", extra=1, factor=2)]), library())
    assert sorted(problem.rule for problem in problems) == ["M11", "M12", "M3"]


def test_plugins_of_nvidias_own_libraries(tmp_path: Path) -> None:
    def reported(name: str, version: str) -> list[Problem]:
        node = helper.make_node(name, ["x"], ["y"], "roi", domain="trt", plugin_version=version, plugin_namespace="")
        return found(tmp_path, model([node]))

    assert not [one for one in reported("ROIAlign_TRT", "2") if one.rule in {"M2", "M11"}], "TensorRT-RTX has it"
    problem = one([one for one in reported("LReLU_TRT", "1") if one.rule != "M14"], "M11")
    said = "TensorRT's own plugin library has LReLU_TRT (version 1: TensorRT 8.5, TensorRT 10.0 to 10.16)"
    assert said in problem.fix


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"factor": 2}, "a float (2.0, not 2)"),
        ({"mode": 2.0}, "an integer (2, not 2.0)"),
        ({"factor": "two"}, "a float"),
        ({"mode": ["a", "b"]}, "Use numbers"),
        ({"mode": helper.make_tensor("t", TensorProto.INT64, [1], [2])}, "a tensor of int32"),
    ],
)
def test_m12_types_of_fields(tmp_path: Path, changed: dict[str, object], expected: str) -> None:
    problem = one(found(tmp_path, model([scale(**changed)]), library()), "M12")
    assert problem.level == "error"
    assert expected in problem.fix


def test_m12_lengths_of_fields(tmp_path: Path) -> None:
    fields = (FieldFacts("factor", "kFLOAT32", 3), FieldFacts("mode", "kINT32", 1))
    problem = one(found(tmp_path, model([scale(factor=[1.0, 2.0])]), library(fields=fields)), "M12")
    assert problem.level == "warning"
    assert not found(tmp_path, model([scale(factor=[1.0, 2.0, 3.0])]), library(fields=fields))
    tensor = helper.make_tensor("t", TensorProto.DOUBLE, [1], [2.0])
    assert not found(tmp_path, model([scale(factor=tensor)]), library())


MANIFEST = """
[plugin]
name = "Scale"
namespace = "acme"
[[inputs]]
name = "x"
types = ["float32"]
shape = ["n", "c"]
[[outputs]]
name = "y"
types = ["float32"]
shape = ["n", "c"]
[[fields]]
name = "factor"
type = "float32"
[[profiles]]
name = "default"
symbols = { n = [1, 2, 4], c = [1, 2, 4] }
"""


def test_m15_against_pluginkit_toml(tmp_path: Path) -> None:
    own = library(manifest=Manifest.parse(MANIFEST))
    assert not found(tmp_path, model([scale(mode=None)]), own)
    assert "must be given" in one(found(tmp_path, model([scale(factor=None, mode=None)]), own), "M15").text
    assert "2 inputs" in one(found(tmp_path, model([scale(["x", "x"], mode=None)]), own), "M15").text
    assert "2 outputs" in one(found(tmp_path, model([scale(["x"], ["y", "z"], mode=None)]), own), "M15").text


def test_m15_a_field_that_pluginkit_toml_does_not_have(tmp_path: Path) -> None:
    """The plugin takes it, and reference.py doesn't get it: what they compute may well differ."""
    own = library(manifest=Manifest.parse(MANIFEST))
    problem = one(found(tmp_path, model([scale(mode=1)]), own), "M15")
    assert "its attribute mode is a field that pluginkit.toml does not have" in problem.text
    assert problem.level == "warning"


def test_m12_a_list_for_a_number(tmp_path: Path) -> None:
    problem = one(found(tmp_path, model([scale(factor=[1.0, 2.0])]), library()), "M12")
    assert (problem.level, problem.fix) == ("warning", "Write one number, without brackets.")
    # The parser passes a list of one as one.
    assert not found(tmp_path, model([scale(factor=[1.0])]), library())
    tensor = helper.make_tensor("t", TensorProto.FLOAT, [2], [1.0, 2.0])
    assert "2 elements" in one(found(tmp_path, model([scale(factor=tensor)]), library()), "M12").text
    nothing = scale(mode=None)
    nothing.attribute.append(onnx.AttributeProto(name="mode", type=onnx.AttributeProto.INTS))
    assert "0 elements" in one(found(tmp_path, model([nothing]), library()), "M12").text


LISTS = """
[[fields]]
name = "factor"
type = "float32"
length = [1, 2]
[[fields]]
name = "mode"
type = "int64"
default = 1
"""


def test_m12_of_a_project_is_what_its_code_reads(tmp_path: Path) -> None:
    """An int64 comes as kINT32, which the generated code takes; and lengths are those of pluginkit.toml."""
    head, _, rest = MANIFEST.partition("[[fields]]")
    text = head + LISTS + rest[rest.index("[[profiles]]") :]
    fields = (FieldFacts("factor", "kFLOAT32", 0), FieldFacts("mode", "kINT64", 1))
    own = library(fields=fields, manifest=Manifest.parse(text))
    assert not found(tmp_path, model([scale(factor=[1.0, 2.0], mode=3)]), own)
    problem = one(found(tmp_path, model([scale(factor=[1.0, 2.0, 3.0], mode=3)]), own), "M12")
    assert "has 3 elements, the field has 1 to 2." in problem.text and problem.level == "error"
    assert "comes to the plugin as kFLOAT32" in one(found(tmp_path, model([scale(mode=3.0)]), own), "M12").text
    # Of a library without pluginkit.toml nobody knows that it takes an int32 too.
    assert "the field is kINT64" in one(found(tmp_path, model([scale(mode=3)]), library(fields=fields)), "M12").text


def test_b10_two_libraries_with_one_plugin(tmp_path: Path) -> None:
    problem = one(found(tmp_path, model([scale()]), library(), library(path="libother.so")), "B10")
    assert "libscale.so and libother.so" in problem.text
    assert not found(tmp_path, model([scale()]), library(), library(version="2"))


# ---- M7 to M10: control flow


def identity(output: str, name: str, of: str = "x") -> onnx.NodeProto:
    return helper.make_node("Identity", [of], [output], name)


def cond(then: onnx.GraphProto, other: onnx.GraphProto, kind: int = TensorProto.FLOAT) -> onnx.ModelProto:
    return model(
        [conditional(then, other)], [value("x", ["n", "c"], kind), CONDITION], [value("y", [None, None], kind)]
    )


def test_m7_types_that_cross_the_boundary_of_an_if(tmp_path: Path) -> None:
    kind = TensorProto.INT8
    then, other = (branch([identity(name, f"{name}n")], value(name, None, kind)) for name in "ab")
    problems = found(tmp_path, cond(then, other, kind))
    problem = one(problems, "M7")
    assert set(problem.text.partition(", of type")[0].split(", ")) == {"x", "a", "b"}
    then, other = (branch([identity(name, f"{name}n")], value(name, None)) for name in "ab")
    assert not found(tmp_path, cond(then, other))


def test_m7_branches_that_give_different_ranks(tmp_path: Path) -> None:
    then = branch([identity("a", "an")], value("a", ["n", "c"]))
    shape = helper.make_node("Constant", [], ["s"], "bs", value=helper.make_tensor("v", TensorProto.INT64, [1], [-1]))
    other = branch([shape, helper.make_node("Reshape", ["x", "s"], ["b"], "br")], value("b", [None]))
    assert any(
        p.rule == "M7" and {"float of rank 2", "float of rank 1"} <= set(re.findall(r"float of rank \d", p.text))
        for p in found(tmp_path, cond(then, other))
    )


def loop(state: Sequence[int | str], comes: Sequence[int | str], *, trips: str, scans: bool = False) -> onnx.ModelProto:
    one_more = helper.make_node("Concat", ["s", "s"], ["t"], "c", axis=0) if state != comes else identity("t", "i", "s")
    outputs = [value("on", [], TensorProto.BOOL), value("t", comes)]
    outputs += [value("scan", None)] if scans else []
    body = helper.make_graph(
        [identity("on", "keep", "go"), one_more, *([identity("scan", "other", "s")] if scans else [])],
        "body",
        [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("s", None)],
        outputs,
    )
    names = ["y", "all"] if scans else ["y"]
    node = helper.make_node("Loop", [trips, "condition", "x"], names, "loop", body=body)
    inputs = [value("x", state), CONDITION, *([value(trips, [], TensorProto.INT64)] if trips else [])]
    results = [value("y", [None, None]), *([value("all", [None, None, None])] if scans else [])]
    return model([node], inputs, results)


def test_m8_states_that_change_their_shape(tmp_path: Path) -> None:
    problem = one(found(tmp_path, loop([2, 3], [4, 3], trips="trips")), "M8")
    assert "[2, 3] and comes back as [4, 3]" in problem.text
    assert not found(tmp_path, loop([2, 3], [2, 3], trips="trips"))


def test_m8_scan_outputs_without_a_trip_count(tmp_path: Path) -> None:
    problem = one(found(tmp_path, loop([2, 3], [2, 3], trips="", scans=True)), "M8")
    assert "no trip count" in problem.text
    assert not found(tmp_path, loop([2, 3], [2, 3], trips="trips", scans=True))
    assert not found(tmp_path, loop([2, 3], [2, 3], trips=""))


def test_m8_a_condition_that_nobody_gives(tmp_path: Path) -> None:
    proto = loop([2, 3], [2, 3], trips="trips")
    proto.graph.node[0].input[1] = ""
    assert "uses the condition go" in one(found(tmp_path, proto), "M8").text


@pytest.mark.parametrize("operator", ["MaxPool", "PRelu"])
def test_m9_layers_that_do_not_stand_in_branches(tmp_path: Path, operator: str) -> None:
    more = {"kernel_shape": [1, 1]} if operator == "MaxPool" else {}
    inputs = ["x"] if operator == "MaxPool" else ["x", "x"]
    then = branch([helper.make_node(operator, inputs, ["a"], "an", **more)], value("a", None))
    proto = cond(then, branch([identity("b", "bn")], value("b", None)))
    problem = next(p for p in found(tmp_path, proto) if p.rule == "M9")
    assert problem.node == "if/then_branch/an"
    outside = model([helper.make_node(operator, inputs, ["y"], "an", **more)])
    assert "M9" not in {p.rule for p in found(tmp_path, outside)}


def test_m10_names_that_begin_like_others(tmp_path: Path) -> None:
    then, other = (branch([identity(n, name)], value(n, None)) for n, name in (("a", "node"), ("b", "node_2")))
    assert "'node' is the beginning of 'node_2'" in one(found(tmp_path, cond(then, other)), "M10").text


# ---- M13, M14: opsets, domains and the checker


def test_m13_opsets(tmp_path: Path) -> None:
    assert "below 7" in one(found(tmp_path, model([scale()], opset=6), library()), "M13").text
    newer = onnx.defs.onnx_opset_version() + 1
    assert (
        f"opset {newer}"
        in next(p for p in found(tmp_path, model([scale()], opset=newer), library()) if p.rule == "M13").text
    )
    relu = helper.make_node("Relu", ["x"], ["y"], "r")
    assert "M13" in {problem.rule for problem in found(tmp_path, model([relu], opset=None))}
    assert not found(tmp_path, model([scale()], opset=None), library())


def test_m14_unknown_operators_in_onnx_own_domain(tmp_path: Path) -> None:
    proto = model([scale(["x"], ["z"], domain="", name="a"), scale(["z"], ["y"], domain="", name="b")])
    problems = found(tmp_path, proto, library())
    assert [(problem.rule, problem.node) for problem in problems] == [("M14", "a"), ("M14", "b")]


def test_m14_a_domain_that_is_not_imported(tmp_path: Path) -> None:
    problems = found(tmp_path, model([scale(domain="acme")], domains=()), library())
    assert {problem.rule for problem in problems} == {"M14"}
    assert "make_opsetid('acme', 1)" in problems[0].fix


def test_m14_a_function_of_another_domain(tmp_path: Path) -> None:
    mine = function("acme", "Mine", [helper.make_node("Abs", ["x"], ["y"])])
    proto = model([helper.make_node("Mine", ["x"], ["y"], "m", domain=DOMAIN)], functions=[mine])
    assert any("'acme'" in p.fix and p.rule == "M14" for p in found(tmp_path, proto))


def test_m14_what_the_checker_says(tmp_path: Path) -> None:
    proto = model([helper.make_node("Relu", ["nowhere"], ["y"], "r")])
    assert "nowhere" in one(found(tmp_path, proto), "M14").text


# ---- what TensorRT has in some versions alone, and what no plugin can be


def test_m2_a_function_goes_before_a_plugin_without_a_namespace(tmp_path: Path) -> None:
    mine = function(DOMAIN, "Scale", [helper.make_node("Neg", ["x"], ["y"])])
    call = helper.make_node("Scale", ["x"], ["y"], "s", domain=DOMAIN)
    proto = model([call], functions=[mine])
    assert [item.by for item in implementations(proto, library(namespace=""))] == ["function", "native"]
    problem = one(found(tmp_path, proto, library(namespace="")), "M2")
    assert "is not used by TensorRT-RTX 1.7.1" in problem.text
    assert "10.7" in problem.text
    assert "plugin_namespace" in problem.fix


@pytest.mark.parametrize("held", ["initializer", "constant", "computed"])
def test_m7_a_constant_of_int64_does_not_cross(held: str, tmp_path: Path) -> None:
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [0])
    branch_of = branch([helper.make_node("Squeeze", ["x", "axes"], ["t"], "s")], value("t", ["c"]))
    other = branch([helper.make_node("ReduceSum", ["x", "axes"], ["e"], "r", keepdims=0)], value("e", ["c"]))
    node = helper.make_node("If", ["flag"], ["y"], "if", then_branch=branch_of, else_branch=other)
    flag = value("flag", [], TensorProto.BOOL)
    before = {
        "constant": [helper.make_node("Constant", [], ["axes"], "k", value=axes)],
        "computed": [helper.make_node("Cast", ["given"], ["axes"], "k", to=TensorProto.INT64)],
    }
    inputs = [flag, value("x", [1, "c"]), value("given", [1], TensorProto.INT32)]
    proto = model(
        [*before.get(held, []), node],
        inputs,
        [value("y", ["c"])],
        initializers=[axes] if held == "initializer" else [],
    )
    crossing = [item for item in found(tmp_path, proto) if item.rule == "M7" and "of type int64" in item.text]
    # Both branches read it, which is said once.
    assert len(crossing) == (held == "computed")


@pytest.mark.parametrize(
    ("operator", "text", "fix"),
    [
        ("DeformConv", "that of TensorRT 10.1 and later has", "Build the model with that TensorRT"),
        ("SequenceEmpty", "takes or gives a sequence", "a Concat of what the sequence has"),
        ("ConcatFromSequence", "takes or gives a sequence", "in a Loop a scan output"),
        ("OptionalHasElement", "takes or gives an optional", "without it"),
        ("StringNormalizer", "takes or gives strings", "before the engine"),
        ("Unique", "an operator of ONNX that NVIDIA's parser does not have", "write one"),
    ],
)
def test_m11_what_can_be_done_about_an_operator(operator: str, text: str, fix: str) -> None:
    node = helper.make_node(operator, ["x"], ["y"], "o")
    problem = one(list(rules_plugins.check(find_implementations(model([node]), (), lambda _: False), (), {})), "M11")
    assert text in problem.text
    assert fix in problem.fix


def scattered(kind: str, indices: list[Any], shape: list[int], **attributes: Any) -> list[Problem]:
    given = helper.make_tensor("i", TensorProto.INT64, shape, np.array(indices).reshape(-1))
    node = helper.make_node(kind, ["x", "i", "u"], ["y"], "scatter", **attributes)
    updates = [2, 3] if kind == "ScatterND" else shape
    proto = model([node], [value("x", [4, 3]), value("u", updates)], [value("y", [4, 3])], initializers=[given])
    return [
        item for item in rules_operators.check(proto, onnx_graph.shapes(proto), Constants(proto)) if item.rule == "M30"
    ]


def test_m30_indices_that_name_an_element_twice() -> None:
    assert not scattered("ScatterND", [[1], [2]], [2, 1])
    (problem,) = scattered("ScatterND", [[1], [1]], [2, 1])
    assert problem.level == "warning"
    assert "name [1] more than once" in problem.text
    assert scattered("ScatterND", [[3], [-1]], [2, 1])  # from the end
    assert not scattered("ScatterND", [[1], [1]], [2, 1], reduction="add")
    assert not scattered("ScatterElements", [[0, 0, 0], [1, 1, 1]], [2, 3])
    assert scattered("ScatterElements", [[0, 0, 0], [1, 0, 1]], [2, 3])
    assert scattered("ScatterElements", [[0, 1, 1]], [1, 3], axis=1)
    assert not scattered("ScatterElements", [[0, 1, 2]], [1, 3], axis=-1)


def test_m30_grids_of_rank_5() -> None:
    for rank, count in ((4, 0), (5, 1)):
        inputs = [value("x", [1, 2, *[4] * (rank - 2)]), value("g", [1, *[4] * (rank - 2), rank - 2])]
        node = helper.make_node("GridSample", ["x", "g"], ["y"], "grid")
        proto = model([node], inputs, [value("y", [1, 2, *[4] * (rank - 2)])], opset=20)
        faults = [one_.text for one_ in rules_operators.check(proto, onnx_graph.shapes(proto), Constants(proto))]
        assert len(faults) == count
        assert all("TensorRT 11.2 and later have it; 10.6 refuses it" in text for text in faults)


@pytest.mark.parametrize(("before", "behind", "named"), [("D", "Q", True), ("D", "", False), ("", "Q", False)])
def test_a_plugin_of_int8_alone_goes_between_q_and_dq(before: str, behind: str, named: bool) -> None:
    step = helper.make_tensor("s", FLOAT, [], [0.5])
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s"], ["q"], "q1"),
        helper.make_node("DequantizeLinear", ["q", "s"], ["d"], "d1"),
        scale(["d" if before else "x"], ["p"]),
        helper.make_node("QuantizeLinear" if behind else "Relu", ["p", "s"] if behind else ["p"], ["y"], "last"),
    ]
    said = advice(
        BuildVerdict("refused", "formatTacticCombinations.empty()"),
        implementations(model(nodes, initializers=[step]), library()),
    )
    assert "takes no format for the types" in said
    assert ("give it the QuantizeLinear's output" in said) is named
