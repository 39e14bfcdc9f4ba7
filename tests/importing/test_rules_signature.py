"""Nodes against their plugins' pluginkit.toml: M15, M17, M18, what is known of tensors, and what fits."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit.importing import onnx_graph, signature
from pluginkit.importing.implementations import PluginLibrary, find_implementations
from pluginkit.importing.rules import plugins as rules_plugins
from pluginkit.importing.rules import signature as rules_signature
from pluginkit.importing.rules import tensor_types
from pluginkit.library import Problem
from pluginkit.manifest import Manifest

from .models import CONDITION, branch, conditional, function, library, model, scale, value

FLOAT, HALF, INT8, INT32 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.INT32

MANIFEST = """
[plugin]
name = "Scale"
namespace = "acme"
[[inputs]]
name = "x"
types = ["float32", "float16"]
shape = ["n", "c"]
[[inputs]]
name = "bias"
types = ["float32", "float16"]
shape = ["c", 2]
[[inputs]]
name = "index"
types = ["int32"]
shape = ["n"]
[[outputs]]
name = "y"
types = ["float32", "float16"]
shape = ["n", "2 * c"]
[[fields]]
name = "factor"
type = "float32"
[[fields]]
name = "mode"
type = "int32"
default = 1
[[profiles]]
name = "default"
symbols = { n = [1, 2, 4], c = [1, 2, 4] }
"""
X, BIAS, INDEX = value("x", ["n", 3]), value("bias", [3, 2]), value("index", ["n"], INT32)
NAMES = ("x", "bias", "index")


def own() -> PluginLibrary:
    return library(manifest=Manifest.parse(MANIFEST))


def problems(proto: onnx.ModelProto, *libraries: PluginLibrary) -> list[Problem]:
    """What the rules of `rules.signature` and M12 say."""
    implementations = find_implementations(proto, libraries, onnx.defs.has)
    known = onnx_graph.shapes(proto)
    output = rules_plugins.check(implementations, libraries, known, tensor_types.types(proto, implementations))
    return [problem for problem in output if problem.rule in {"M12", "M15", "M17", "M18"}]


def of(inputs: Sequence[onnx.ValueInfoProto], **changed: object) -> list[Problem]:
    # The plugin gives float16 for float16.
    outputs = [value("y", ["n", "c"], HALF)] if inputs[0].type.tensor_type.elem_type == HALF else None
    return problems(model([scale(NAMES, **changed)], inputs, outputs), own())


def one(found: Sequence[Problem], rule: str) -> Problem:
    assert [problem.rule for problem in found] == [rule], found
    return found[0]


@pytest.mark.parametrize(
    "inputs",
    [
        (X, BIAS, INDEX),
        (value("x", ["n", 3], HALF), value("bias", [3, 2], HALF), INDEX),
        (value("x", ["batch", "width"]), value("bias", ["?", "k"]), value("index", [None], INT32)),
        (value("x", None), value("bias", None), value("index", None, INT32)),
        # What exporters write for a dynamic dimension.
        (value("x", [-1, 0]), value("bias", [3, -1]), INDEX),
    ],
)
def test_what_fits_breaks_no_rule(inputs: Sequence[onnx.ValueInfoProto]) -> None:
    assert not of(inputs)


def test_m15_counts_and_fields() -> None:
    assert "must be given" in one(of((X, BIAS, INDEX), factor=None), "M15").text
    assert not of((X, BIAS, INDEX), mode=None)
    found = problems(model([scale(["x", "bias"])], [X, BIAS]), own())
    assert "it has 2 inputs; Scale has 3: x, bias, index." in one(found, "M15").text
    found = problems(model([scale(NAMES, ["y", "z"])], [X, BIAS, INDEX]), own())
    assert "it has 2 outputs; Scale has 1: y." in one(found, "M15").text


def test_m12_a_list_for_a_number_is_an_error_where_the_manifest_says_that_it_is_one() -> None:
    assert one(of((X, BIAS, INDEX), factor=[1.0, 2.0]), "M12").level == "error"


@pytest.mark.parametrize("kind", [TensorProto.INT64, TensorProto.BOOL, TensorProto.BFLOAT16, FLOAT])
def test_m17_another_type(kind: int) -> None:
    problem = one(of((X, BIAS, value("index", ["n"], kind))), "M17")
    name = "float32" if kind == FLOAT else TensorProto.DataType.Name(kind).lower()
    assert problem.node == "s"
    assert f"its input 2, index, gets index of type {name}; pluginkit.toml says int32." in problem.text
    assert "Cast to INT32" in problem.fix


def test_m17_types_that_do_not_go_together() -> None:
    problem = one(of((value("x", ["n", 3], HALF), BIAS, INDEX)), "M17")
    assert "x float16, bias float32, index int32" in problem.text
    assert "(float32, float32, int32) or (float16, float16, int32)" in problem.text


def test_m17_inputs_in_another_order() -> None:
    proto = model([scale(("x", "index", "bias"))], [X, BIAS, INDEX])
    found = problems(proto, own())
    assert {problem.fix for problem in found if problem.rule == "M17"} == {"Is the order x, bias, index meant?"}


def test_m17_float64_is_float32_and_said() -> None:
    wide = value("x", ["n", 3], TensorProto.DOUBLE)
    problem = one(of((wide, BIAS, INDEX)), "M17")
    assert problem.level == "warning"
    assert rules_signature.built_all_the_same(problem) == problem


def test_m18_another_rank() -> None:
    problem = one(of((value("x", ["n", 3, 1]), BIAS, INDEX)), "M18")
    assert (
        "its input 0, x, gets x of shape [n, 3, 1], of rank 3; pluginkit.toml says [n, c], of rank 2." in problem.text
    )
    assert "Reshape" in problem.fix
    assert "of rank 0" in one(of((X, BIAS, value("index", [], INT32))), "M18").text


def test_m18_another_number_and_two_numbers_for_a_symbol() -> None:
    problem = one(of((X, value("bias", [3, 4]), INDEX)), "M18")
    assert "pluginkit.toml says [c, 2]: dimension 1 is 4, not 2." in problem.text
    problem = one(of((X, value("bias", [5, 2]), INDEX)), "M18")
    assert "c of pluginkit.toml is one number, and comes as two: 3 as dimension 1 of x, 5 as dimension 0 of bias." in (
        problem.text
    )


def test_what_nvidia_built_is_no_error_but_said() -> None:
    problem = rules_signature.built_all_the_same(one(of((X, value("bias", [3, 4]), INDEX)), "M18"))
    assert problem.level == "warning"
    assert "took it nevertheless" in problem.text
    given = one(of((X, BIAS, INDEX), factor=None), "M15")
    assert rules_signature.built_all_the_same(given) == given


def test_what_comes_out_of_a_plugin_is_known_behind_it() -> None:
    nodes = [
        scale(NAMES, ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        # [n, 2 * c]: 6 where bias has 3; and rank 2 where index needs 1.
        scale(["b", "bias", "b"], ["c"], name="second"),
        helper.make_node("Cast", ["c"], ["y"], "cast", to=HALF),
    ]
    found = problems(model(nodes, [X, BIAS, INDEX]), own())
    assert {problem.node for problem in found} == {"second"}
    texts = " ".join(problem.text for problem in found)
    assert "6 as dimension 1 of x, 3 as dimension 0 of bias" in texts
    assert "its input 2, index, gets b of shape [?, 6], of rank 2" in texts
    assert "its input 2, index, gets b of type float32" in texts


def test_tensors_of_one_name_in_two_branches_are_two() -> None:
    def arm(kind: int) -> onnx.GraphProto:
        cast = helper.make_node("Cast", ["x"], ["same"], "cast", to=kind)
        node = scale(["same", "bias", "index"], ["out"], name="inner")
        back = helper.make_node("Cast", ["out"], ["result"], "back", to=FLOAT)
        return branch([cast, node, back], value("result", None))

    proto = model([conditional(arm(FLOAT), arm(INT8))], [X, BIAS, INDEX, CONDITION])
    found = problems(proto, own())
    assert [(problem.node, problem.rule) for problem in found] == [("if/else_branch/inner", "M17")]
    assert "of type int8" in found[0].text
    # In a branch too what came out of a plugin is known behind it.
    both = branch(
        [scale(NAMES, ["a"], name="one"), scale(["a", "bias", "index"], ["result"], name="two")], value("result", None)
    )
    found = problems(model([conditional(both, arm(FLOAT))], [X, BIAS, INDEX, CONDITION]), own())
    assert [(problem.node, problem.rule) for problem in found] == [("if/then_branch/two", "M18")]


def test_bodies_of_functions_are_not_judged_by_what_the_main_graph_calls_alike() -> None:
    mine = function("local", "Wrap", [scale(["x", "x", "x"], ["y"], name="inner")])
    proto = model(
        [helper.make_node("Wrap", ["x"], ["y"], "w", domain="local")],
        [value("x", ["n", "c", "d"], INT8)],
        functions=[mine],
        domains=("local", "pluginkit"),
    )
    assert not problems(proto, own())


def test_without_a_manifest_nothing_is_held_against_it() -> None:
    assert not problems(model([scale(NAMES)], [value("x", ["n", 3, 1], INT8), BIAS, INDEX]), library())


ANY_RANK = """
[plugin]
name = "P"
[[inputs]]
name = "x"
types = ["float32"]
shape = ["n", "...", "c"]
[[outputs]]
name = "y"
types = ["float32"]
shape = ["c", "...", "min(n, k)", "1 if k > 2"]
[[fields]]
name = "k"
type = "int32"
default = 2
[[profiles]]
symbols = { n = [1, 2, 4], c = [3, 3, 3] }
rest = []
"""


@pytest.mark.parametrize(
    ("given", "fields", "expected"),
    [
        ([7, 3], {}, [3, 2]),
        ([7, 5, 6, 3], {}, [3, 5, 6, 2]),
        (["n", 5, 3], {"k": 4}, [3, 5, None, 1]),
        (None, {}, None),
        ([7], {}, [None, None]),
    ],
)
def test_a_node_of_any_rank_has_outputs_of_its_inputs_rank(
    given: list[int | str] | None, fields: dict[str, int], expected: list[int | None] | None
) -> None:
    """And of its attributes' shape; of no known rank nothing is known, of a wrong one no size."""
    node = helper.make_node("P", ["a"], ["b"], **fields)
    known = {"a": helper.make_tensor_type_proto(FLOAT, given).tensor_type}
    found = signature.outputs(Manifest.parse(ANY_RANK), node, known)
    sizes = None if not found else onnx_graph.dims(found["b"].tensor_type)
    assert (None if sizes is None else list(sizes)) == expected
