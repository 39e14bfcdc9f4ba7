"""`pluginkit new --from-onnx`: signature, fields, sizes, reference and cases from a model's nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import cli, shapes
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.importing.control_flow.types import declare
from pluginkit.importing.extraction import ranks
from pluginkit.importing.extraction.node_facts import Dim, NodeFacts, TensorFacts
from pluginkit.importing.extraction.project import Extracted, FromModel, extract
from pluginkit.importing.extraction.selection import select
from pluginkit.importing.onnx_graph import dims, own_types, subgraphs
from pluginkit.manifest import Manifest
from pluginkit.testing import plan, planning_worker, saved_cases
from pluginkit.testing.calibration import BY_DEFAULT
from pluginkit.testing.reference import Reference

from .models import CONDITION, branch, conditional, function, model, value

pytest.importorskip("onnxruntime")

SWISH = "    return x / (1 + np.exp(-beta * x)) if mode == 1 else x\n"


def swish(name: str, source: str, made: str, **changed: Any) -> onnx.NodeProto:
    attributes = {"beta": 1.5, "mode": 1, **changed}
    return helper.make_node("Swish2", [source], [made], name, domain="acme", **attributes)


def with_weights(second: onnx.NodeProto | None = None) -> onnx.ModelProto:
    """A node behind weights, and perhaps another."""
    weights = onnx.numpy_helper.from_array(np.random.default_rng(1).normal(size=(8, 6)).astype(np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], "matmul"), swish("first", "h", "y")]
    nodes += [second] if second else []
    outputs = [value("y", ["n", 6])] + ([value("z", None)] if second else [])
    return model(nodes, [value("x", ["n", 8])], outputs, initializers=[weights])


def extracted(folder: Path, proto: onnx.ModelProto, operator: str = "acme::Swish2", **more: Any) -> Extracted:
    path = folder / "model.onnx"
    onnx.save(proto, path)
    return extract(FromModel(path, operator=operator, **more), folder)


def kernel_of(found: Extracted) -> str:
    return next(found.project.glob("src/*.cu")).read_text()


def test_the_kernel_that_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(with_weights(), path)
    asked = ["new", "--from-onnx", str(path), "--op", "acme::Swish2", "--dir", str(tmp_path), "--kernel"]
    assert cli.run([*asked, "waves"]) == 2
    assert "There is no kernel pattern 'waves'" in capsys.readouterr().err
    assert not (tmp_path / "swish2").exists()
    assert cli.run([*asked, "rows"]) == 0
    assert "launchRows" in (tmp_path / "swish2" / "src" / "swish2.cu").read_text()
    assert "kernel: rows, a function of each row" in capsys.readouterr().out
    assert cli.run([*asked, "pool"]) == 2
    # Options that describe a signature are none of --from-onnx.
    assert "fix: Leave --kernel out, or take one that fits: elementwise, rows, scan, loop." in capsys.readouterr().err


def test_all_nodes_together_give_fields_and_sizes(tmp_path: Path) -> None:
    other = swish("second", "long", "z", beta=2.0)
    weights = onnx.numpy_helper.from_array(np.ones((8, 10), np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["long"], "matmul"), swish("first", "x", "y"), other]
    proto = model(nodes, [value("x", ["n", 8])], [value("y", ["n", 8]), value("z", ["n", 10])], initializers=[weights])
    found = extracted(tmp_path, proto)
    manifest = Manifest.load(found.project)
    assert [tensor.shape for tensor in (*manifest.inputs, *manifest.outputs)] == [("n", "c"), ("n", "c")]
    assert manifest.profiles[0].symbols == {"n": (1, 4, 16), "c": (8, 8, 10)}
    fields = {field.name: (field.default, field.choices) for field in manifest.fields}
    assert fields == {"beta": (1.5, (1.5, 2.0)), "mode": (1, ())}
    assert sorted(found.cases) == ["first", "second"]
    assert manifest.plugin.name == "Swish2"
    assert (found.kernel, "launchElementwise" in kernel_of(found)) == ("elementwise", True)


def test_a_case_has_the_real_data(tmp_path: Path) -> None:
    proto = with_weights()
    x = np.random.default_rng(5).normal(size=(3, 8)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x)
    found = extracted(tmp_path, proto, shapes=["x:3x8"], data=tmp_path / "data.npz")
    case = np.load(found.cases["first"])
    np.testing.assert_allclose(case["input.x"], x @ onnx.numpy_helper.to_array(proto.graph.initializer[0]), rtol=1e-5)
    assert (case["field.beta"], case["field.mode"]) == (1.5, 1)
    assert not found.computed
    assert "output.y" not in case.files


def test_lists_and_texts_are_fields(tmp_path: Path) -> None:
    node = helper.make_node("Own", ["x"], ["y"], "own", domain="acme", axes=[0, 1], mode="nearest", weights=[0.5, 2.0])
    empty = node.attribute.add()
    empty.name, empty.type = "pads", onnx.AttributeProto.INTS
    found = extracted(tmp_path, model([node]), "acme::Own")
    manifest = Manifest.load(found.project)
    assert {one.name: one.default for one in manifest.fields} == {
        "axes": (0, 1), "mode": "nearest", "weights": (0.5, 2.0), "pads": ()
    }  # fmt: skip
    reference = found.project / "reference.py"
    text = reference.read_text()
    reference.write_text(text[: text.index("    raise ")] + "    return x * weights[1] * (mode == 'nearest')\n")
    made = planning_worker.plan(manifest, found.project, None, ["plain"], 0, None, BY_DEFAULT)
    (case,) = [case for case in made.cases if "case-own" in case.network_id]
    np.testing.assert_allclose(case.expected["y"], 2 * case.feeds["x"])


def test_a_base_of_static_shapes_has_the_shape_of_opt(tmp_path: Path) -> None:
    found = extracted(tmp_path, with_weights(), base="ioext")
    first, other = Manifest.load(found.project).profiles
    assert first.symbols == {"n": (4, 4, 4), "c": (6, 6, 6)}
    assert other.symbols != first.symbols
    assert np.load(found.cases["first"])["input.x"].shape == (4, 6)


def test_data_for_no_input_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", q=np.ones(3))
    with pytest.raises(UsageError, match="the model has no input 'q'"):
        extracted(tmp_path, with_weights(), data=tmp_path / "data.npz")


def test_what_nobody_computes_is_a_stub_that_says_so(tmp_path: Path) -> None:
    found = extracted(tmp_path, with_weights())
    manifest = Manifest.load(found.project)
    with pytest.raises(CheckFailed, match="write here in NumPy what acme::Swish2 computes"):
        Reference.load(found.project, manifest)([np.ones((1, 6))], {"beta": 1.5, "mode": 1})


def test_pluginkit_test_runs_the_case(tmp_path: Path) -> None:
    found = extracted(tmp_path, with_weights(swish("second", "h", "z", beta=0.5)))
    reference = found.project / "reference.py"
    text = reference.read_text()
    reference.write_text(text[: text.index("    raise ")] + SWISH)
    manifest = Manifest.load(found.project)
    made = planning_worker.plan(manifest, found.project, None, ["plain"], 0, None, BY_DEFAULT)
    cases = {case.network_id: case for case in made.cases if "case-" in case.network_id}
    assert sorted(cases) == ["plain/float32-case-first", "plain/float32-case-second"]
    for name, beta in (("first", 1.5), ("second", 0.5)):
        case = cases[f"plain/float32-case-{name}"]
        x = np.load(found.cases[name])["input.x"]
        np.testing.assert_array_equal(case.feeds["x"], x)
        np.testing.assert_allclose(case.expected["y"], x / (1 + np.exp(-beta * x)), rtol=1e-5)
        network = next(one for one in made.networks if one.id == case.network_id)
        assert dict(network.calls[0].fields)["beta"][1] == beta  # type: ignore[union-attr]


def test_a_reference_that_differs_from_the_model_is_found(tmp_path: Path) -> None:
    found = extracted(tmp_path, model([helper.make_node("Det", ["x"], ["y"])], [value("x", ["n", 3, 3])],
                                      [value("y", ["n"])]), "Det", name="Determinant")  # fmt: skip
    assert found.computed
    manifest = Manifest.load(found.project)
    usual = plan.field_values(manifest)
    saved_cases.check(manifest, found.project, usual, Reference.load(found.project, manifest))
    wrong = Reference(manifest, lambda x: np.linalg.det(x) + 0.1)
    with pytest.raises(CheckFailed, match=r"Det-that-makes-y.*in the model it was"):
        saved_cases.check(manifest, found.project, usual, wrong)


def test_an_operator_of_onnxruntime_is_computed_by_it(tmp_path: Path) -> None:
    node = helper.make_node("QuickGelu", ["x"], ["y"], "gelu", domain="com.microsoft", alpha=1.25)
    found = extracted(tmp_path, model([node], domains=("com.microsoft",)), "com.microsoft::QuickGelu")
    assert found.computed
    x = np.linspace(-2, 2, 8).reshape(2, 4)
    (y,) = Reference.load(found.project, Manifest.load(found.project))([x], {"alpha": 0.5})
    np.testing.assert_allclose(y, x / (1 + np.exp(-0.5 * x)), rtol=1e-5, atol=1e-6)


def test_a_local_function_is_computed_by_its_body(tmp_path: Path) -> None:
    twice = function("local", "Twice", [helper.make_node("Add", ["x", "x"], ["y"], "add")])
    call = helper.make_node("Twice", ["x"], ["y"], "call", domain="local")
    found = extracted(
        tmp_path, model([call], domains=("local", "pluginkit", "acme"), functions=[twice]), "local::Twice"
    )
    assert found.computed
    np.testing.assert_array_equal(np.load(found.cases["call"])["output.y"], 2 * np.load(found.cases["call"])["input.x"])


def test_nodes_in_branches_and_loops_have_data(tmp_path: Path) -> None:
    then = branch([swish("inner", "x", "t")], value("t", ["n", "c"]))
    other = branch([swish("else", "x", "e")], value("e", ["n", "c"]))
    found = extracted(tmp_path, model([conditional(then, other)], [value("x", ["n", "c"]), CONDITION]))
    # Of an If's branches one is run.
    assert len(found.cases) == 1
    assert any("in a branch that was not taken" in note for note in found.notes)


@pytest.mark.parametrize(
    ("nodes", "inputs", "reason"),
    [
        ([helper.make_node("Own", ["x", "i"], ["y"], "own", domain="acme")],
         [value("x", ["n"]), value("i", ["n"], TensorProto.BOOL)], "input 1 is bool"),
        ([helper.make_node("Own", ["x"], ["y"], "own", domain="acme"),
          helper.make_node("Own", ["x", "x"], ["z"], "two", domain="acme")], [value("x", ["n"])],
         "different numbers of inputs"),
        ([helper.make_node("Own", ["x", "i"], ["y"], "own", domain="acme"),
          helper.make_node("Own", ["i", "x"], ["z"], "two", domain="acme")], [value("x", ["n"]), value("i", ["n", 2])],
         "input 0 has the ranks 1 and 2; input 1 has the ranks 1 and 2; output 0 has the ranks 1 and 2, and no shapes"),
        ([helper.make_node("Own", ["x"], ["y"], "own", domain="acme", big=2**40)], [value("x", ["n"])],
         "big does not fit 32 bits"),
        ([helper.make_node("Other", ["x"], ["q"], "other", domain="acme"),
          helper.make_node("Own", ["q"], ["y"], "own", domain="acme")], [value("x", ["n"])],
         "the type of input 0 of node own is not known"),
    ],
)  # fmt: skip
def test_what_a_signature_can_not_have_is_refused(
    nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto], reason: str, tmp_path: Path
) -> None:
    outputs = [value(name, None) for node in nodes for name in node.output if name != "q"]
    with pytest.raises(UsageError, match=reason):
        extracted(tmp_path, model(nodes, inputs, outputs), "acme::Own")
    assert not (tmp_path / "own").exists()


def test_an_output_of_another_shape(tmp_path: Path) -> None:
    nodes = [helper.make_node("Own", ["x"], ["y"], "own", domain="acme")]
    proto = model(nodes, [value("x", ["n", 3, 8, 8])], [value("y", ["n", 12, 4, 4])])
    found = extracted(tmp_path, proto, "acme::Own")
    manifest = Manifest.load(found.project)
    assert manifest.inputs[0].shape == ("n", "c", "h", "w")
    assert manifest.outputs[0].shape == ("n", "12", "4", "4")
    # Of which no element is a function of one of x's.
    assert (found.kernel, "for (int64_t i" in kernel_of(found)) == ("loop", True)


def test_one_node_is_chosen_by_its_name() -> None:
    proto = with_weights(swish("second", "h", "z", beta=0.5))
    assert select(proto, "", "second").labels == ("second",)
    with pytest.raises(UsageError) as caught:
        select(proto, "", "secnd")
    assert "Is second meant?" in caught.value.hint
    with pytest.raises(UsageError) as caught:
        select(proto, "Swish2", "")
    assert "Is acme::Swish2 meant?" in caught.value.hint


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--op", "acme::Swish2"], "need a model"),
        (["--from-onnx", "MODEL"], "--from-onnx needs --op"),
        (["--from-onnx", "MODEL", "--op", "a", "--node", "b"], "--from-onnx needs --op"),
        (["--from-onnx", "MODEL", "--op", "acme::Swish2", "--field", "a:float32"], "takes tensors, fields"),
        ([], "The plugin's name is missing"),
    ],
)
def test_options_that_make_no_sense(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(with_weights(), path)
    assert cli.run(["new", *(str(path) if one == "MODEL" else one for one in arguments)]) == 2
    assert message in capsys.readouterr().err


def looped(state: str, *scans: str, nodes: list[onnx.NodeProto]) -> onnx.NodeProto:
    """A Loop over x, whose body says nothing about its tensors' shapes."""
    inputs = [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("s", None)]
    outputs = [value("going", [], TensorProto.BOOL), *(value(name, None) for name in (state, *scans))]
    going = helper.make_node("Identity", ["c"], ["going"], "going")
    body = helper.make_graph([*nodes, going], "body", inputs, outputs)
    return helper.make_node("Loop", ["trips", "yes", "x"], ["y", *(f"all_{name}" for name in scans)], "loop", body=body)


CONSTANTS = (
    onnx.numpy_helper.from_array(np.random.default_rng(1).normal(size=(6, 6)).astype(np.float32), "w"),
    helper.make_tensor("trips", TensorProto.INT64, [], [3]),
    helper.make_tensor("yes", TensorProto.BOOL, [], [True]),
)


def test_a_node_in_a_loop_with_values_from_outside(tmp_path: Path) -> None:
    """The state's shape is that with which it begins; w is of the graph around; the first step's data are the case."""
    nodes = [
        helper.make_node("MatMul", ["s", "w"], ["m"], "matmul"),
        swish("inner", "m", "t"),
        helper.make_node("Add", ["t", "x"], ["s2"], "add"),
    ]
    behind = swish("behind", "all_t", "z", beta=2.0)
    proto = model(
        [looped("s2", "t", nodes=nodes), behind],
        [value("x", ["n", 6])],
        [value("y", ["n", 6]), value("z", None)],
        initializers=CONSTANTS,
    )
    x = np.random.default_rng(5).normal(size=(3, 6)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x)
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    shapes = ["x:min=1x6,opt=3x6,max=5x6"]
    found = extract(FromModel(path, node="inner", shapes=shapes, data=tmp_path / "data.npz"), tmp_path)
    manifest = Manifest.load(found.project)
    assert [tensor.shape for tensor in (*manifest.inputs, *manifest.outputs)] == [("n", "c")] * 2
    assert manifest.profiles[0].symbols == {"n": (1, 3, 5), "c": (6, 6, 6)}
    case = np.load(found.cases["loop-body-inner"])
    np.testing.assert_allclose(case["input.x"], x @ onnx.numpy_helper.to_array(CONSTANTS[0]), rtol=1e-5)
    # What the loop collects has a dimension more, and no value: nobody can run the body to its end.
    both = extract(FromModel(path, operator="acme::Swish2", name="Both"), tmp_path)
    assert [len(one.inputs[0].shape) for one in Manifest.load(both.project).ranked()] == [2, 3]
    assert any("no data of behind" in note for note in both.notes)


def test_all_steps_of_a_loop_that_can_be_run(tmp_path: Path) -> None:
    """An operator that onnxruntime has; the node behind the loop gets what came of all steps."""
    nodes = [helper.make_node("Celu", ["s"], ["s2"], "inner", alpha=0.5)]
    proto = model(
        [looped("s2", nodes=nodes), helper.make_node("Celu", ["y"], ["z"], "behind", alpha=2.0)],
        [value("x", ["n", 6])],
        [value("z", None)],
        initializers=CONSTANTS[1:],
    )
    x = np.random.default_rng(5).normal(size=(3, 6)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x)
    found = extracted(tmp_path, proto, "Celu", shapes=["x:3x6"], data=tmp_path / "data.npz", name="MyCelu")
    assert sorted(found.cases) == ["behind", "loop-body-inner"]
    once = lambda at: np.where(at > 0, at, 0.5 * np.expm1(at / 0.5))  # noqa: E731
    np.testing.assert_allclose(np.load(found.cases["behind"])["input.x"], once(once(once(x))), rtol=1e-4, atol=1e-6)


def test_types_in_bodies() -> None:
    """Of Loop and Scan; a state that the body makes larger is open there."""
    scanned = helper.make_graph(
        [helper.make_node("Add", ["s", "row"], ["s2"]), helper.make_node("Neg", ["s2"], ["out"])],
        "body",
        [value("s", None), value("row", None)],
        [value("s2", None), value("out", None)],
    )
    scan = helper.make_node("Scan", ["begin", "x"], ["end", "all"], "scan", body=scanned, num_scan_inputs=1,
                            scan_input_axes=[1], scan_output_axes=[-1])  # fmt: skip
    proto = model([scan], [value("begin", [4]), value("x", [4, "steps"])], [value("all", None)])
    for _ in range(3):
        proto = onnx.shape_inference.infer_shapes(proto)
        declare(proto.graph)
    known = own_types(proto.graph)
    inside = own_types(next(graph for _, graph in subgraphs(proto.graph.node[0])))
    assert {name: dims(inside[name]) for name in ("s", "row", "out")} == {"s": (4,), "row": (4,), "out": (4,)}
    assert (dims(known["end"]), dims(known["all"])) == ((4,), (4, "steps"))
    grown = looped("s2", nodes=[helper.make_node("Concat", ["s", "s"], ["s2"], axis=0)])
    body = next(graph for _, graph in subgraphs(grown))
    body.output[1].CopyFrom(value("s2", [7, 6]))
    proto = model([grown], [value("x", [3, 6])], [value("y", None)], initializers=CONSTANTS[1:])
    declare(proto.graph)
    inside = own_types(next(graph for _, graph in subgraphs(proto.graph.node[0])))
    assert dims(inside["s"]) == (None, 6)
    assert dims(inside["i"]) == ()
    # Nothing is new the second time.
    assert not declare(proto.graph)


def test_types_around_a_scan() -> None:
    """By its axes alone, where onnx infers nothing: each step gets a column, and gives one."""
    body = helper.make_graph([helper.make_node("Own", ["s", "column"], ["s2", "out"], domain="acme")], "body",
                             [value("s", None), value("column", None)],
                             [value("s2", None), value("out", [7])])  # fmt: skip
    scan = helper.make_node("Scan", ["begin", "x"], ["end", "all"], "scan", body=body, num_scan_inputs=1,
                            scan_input_axes=[1], scan_output_axes=[-1])  # fmt: skip
    proto = model([scan], [value("begin", [4]), value("x", [5, "steps"])], [value("all", None)])
    assert declare(proto.graph)
    inside = own_types(next(graph for _, graph in subgraphs(proto.graph.node[0])))
    assert (dims(inside["s"]), dims(inside["column"])) == ((4,), (5,))
    assert dims(own_types(proto.graph)["all"]) == (7, None)


def facts(*shapes: tuple[Dim, ...]) -> list[TensorFacts]:
    """A tensor in several nodes; every dynamic dimension is 1, 4 and 16."""
    ends = (1, 4, 16)
    return [
        TensorFacts(1, dims, tuple(tuple(dim if isinstance(dim, int) else end for dim in dims) for end in ends))
        for dims in shapes
    ]


def nodes_of(inputs: list[list[TensorFacts]], outputs: list[list[TensorFacts]]) -> list[NodeFacts]:
    return [
        NodeFacts(str(at), onnx.NodeProto(), {i: one[at] for i, one in enumerate(inputs)},
                  {i: one[at] for i, one in enumerate(outputs)})
        for at in range(len(inputs[0]))
    ]  # fmt: skip


X2, X3 = ("n", 6), ("n", 2, 3)


@pytest.mark.parametrize(
    ("inputs", "outputs", "shapes"),
    [
        ([facts(X2, X3)], [facts(X2, X3)], ["n,...", "n,..."]),
        # A rank of none has no batch.
        ([facts((), X2)], [facts((), X2)], ["...", "..."]),
        # The last dimension is another one in the output, and a weight has it.
        ([facts(X2, ("n", 2, 6)), facts((6,), (6,))], [facts(("n", 1), ("n", 2, 1))], ["...,c", "c", "...,1"]),
        # What a node makes one dimension more of.
        ([facts(X2, X3)], [facts(("n", 6, 2), ("n", 2, 3, 2))], ["n,...", "n,...,2"]),
        # Of which only the first dimension stays.
        ([facts(X2, X3)], [facts(("n",), ("n",))], ["n,...", "n"]),
        # Ranks that differ each for itself.
        ([facts(X2, X3), facts(X3, X2)], [facts(X2, X3)], None),
        # A rest that is another one in the output.
        ([facts(X2, X3)], [facts(("n", 7), ("n", 2, 5))], None),
    ],
)
def test_nodes_of_several_ranks(
    inputs: list[list[TensorFacts]], outputs: list[list[TensorFacts]], shapes: list[str] | None
) -> None:
    found = ranks.find(nodes_of(inputs, outputs), range(len(inputs)), range(len(outputs)))
    assert shapes == (found and [",".join(shape) for shape in (*found.inputs, *found.outputs)])


def test_each_rank_has_the_sizes_of_its_own_nodes() -> None:
    found = ranks.find(nodes_of([facts(("n", 6), (5, 2, 3))], [facts(("n", 6), (5, 2, 3))]), [0], [0])
    assert found is not None
    assert [(one.rank, one.symbols, one.rest) for one in found.profiles] == [
        (2, {"n": (1, 4, 16)}, ((6, 6, 6),)),
        (3, {"n": (5, 5, 5)}, ((2, 2, 2), (3, 3, 3))),
    ]


def test_the_profiles_of_several_ranks(tmp_path: Path) -> None:
    """One for each rank, with the sizes of its nodes; nodes of one rank together give ranges."""
    shape = [
        helper.make_tensor(name, TensorProto.INT64, [len(to)], to)
        for name, to in (("three", [-1, 2, 3]), ("wide", [-1, 3, 2]))
    ]
    nodes = [
        swish("flat", "x", "y"),
        helper.make_node("Reshape", ["x", "three"], ["r"], "reshape"),
        swish("deep", "r", "z", beta=2.0),
        helper.make_node("Reshape", ["x", "wide"], ["s"], "other"),
        swish("deeper", "s", "u", beta=2.0),
    ]
    outputs = [value("y", ["n", 6]), value("z", None), value("u", None)]
    proto = model(nodes, [value("x", ["n", 6])], outputs, initializers=shape)
    found = extracted(tmp_path, proto, shapes=["x:min=1x6,opt=3x6,max=5x6"])
    flat, deep = Manifest.load(found.project).ranked()
    assert flat.written(flat.inputs[0]) == flat.written(flat.outputs[0]) == ("n", "...")
    assert flat.profiles[0].symbols == {"n": (1, 3, 5), "d1": (6, 6, 6)}
    assert deep.profiles[0].symbols == {"n": (1, 3, 5), "d1": (2, 2, 3), "d2": (2, 3, 3)}
    assert (flat.profiles[0].name, deep.profiles[0].name) == ("default", "rank3")
    assert {name: np.load(path)["input.x"].ndim for name, path in found.cases.items()} == {
        "flat": 2, "deep": 3, "deeper": 3,
    }  # fmt: skip


def images(op: str, output: onnx.ValueInfoProto, size: int | str = "h", **attributes: Any) -> onnx.ModelProto:
    """A node from [n, 4, h, w] to an output; with a size, from images of that one."""
    node = helper.make_node(op, ["x"], ["y"], "own", domain="acme", **attributes)
    return model([node], [value("x", ["n", 4, size, "w" if size == "h" else size])], [output])


@pytest.mark.parametrize(
    ("attributes", "given", "made", "expected"),
    [
        ({"kernel": 3, "stride": 2, "pad": 1}, 16, 8, "(h + 2 * pad - kernel) // stride + 1"),
        ({"k": 5, "p": 0}, 16, 12, "h + 2 * p - k + 1"),
        ({"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 0]}, 16, 8,
         "(h + pads[0] + pads[2] - kernel_shape[0]) // strides[0] + 1"),
        ({"window": 3, "dilation": 2, "stride": 1}, 16, 12, "(h - (dilation * (window - 1)) - 1) // stride + 1"),
        ({"kernel_h": 3, "kernel_w": 5, "stride": 1, "pad_h": 0, "pad_w": 1}, 16, 14,
         "(h + 2 * pad_h - kernel_h) // stride + 1"),
        ({"kernel": 4, "stride": 2, "padding": 1}, 8, 16, "(h - 1) * stride - 2 * padding + kernel"),
        ({"factor": 3}, 5, 15, "h * factor"),
        ({"blocks": 4}, 16, 4, "blocks"),
        ({"bins": [5, 6]}, 16, 7, None),
    ],
)  # fmt: skip
def test_a_size_that_fields_give_is_their_formula(
    attributes: dict[str, Any], given: int, made: int, expected: str | None, tmp_path: Path
) -> None:
    """Else it is a number with a mark, and what tests leave out is named."""
    found = extracted(tmp_path, images("Own", value("y", ["n", 4, made, made]), given, **attributes), "acme::Own")
    (output,) = found.manifest.outputs
    if expected is not None:
        assert shapes.parse(output.shape[2]) == shapes.parse(expected)
    else:
        assert output.shape[2:] == (str(made), str(made))
        assert f"dimension 2 is {made}, dimension 3 is {made}, as in all nodes: is it always?" in found.toml
        assert any("the sizes of y are numbers: where they follow from bins" in note for note in found.notes)
    (mark,) = [one for one in found.checks if (one.table, one.key) == ("outputs", "shape")]
    line = next(line for line in found.toml.splitlines() if mark.text in line)
    assert line.startswith("shape = ")
    assert "# check: " in line
    sizes = found.manifest.profiles[0].symbols
    with_fields = found.manifest.with_fields({field.name: field.default for field in found.manifest.fields})
    low = {name: ends[0] for name, ends in sizes.items()}
    assert all(dim > 0 for dim in with_fields.output_shapes(low)["y"])


def test_a_window_begins_as_one_with_sizes_that_hold_it(tmp_path: Path) -> None:
    """By the fields' names alone, where the model says nothing about the output; the run is of sizes that hold it."""
    found = extracted(tmp_path, images("Own", value("y", None), window=16, step=16), "acme::Own", types=list(TYPES))
    manifest = found.manifest
    assert found.kernel == "pool"
    assert "launchWindows" in kernel_of(found)
    assert manifest.inputs[0].types == manifest.outputs[0].types == TYPES
    assert {name: ends[0] for name, ends in manifest.profiles[0].symbols.items()} == {"n": 1, "c": 4, "h": 16, "w": 16}
    case = np.load(found.cases["own"])["input.x"]
    height, width = case.shape[2:]
    assert min(height, width) >= 16
    assert height % width
    assert width % height
    assert {field.name: field.min for field in manifest.plain_fields()} == {"window": 1, "step": 1}
    assert found.toml.count("# check: taken for a field of a window, with 1 as its least value: is it?") == 2


def test_a_window_larger_than_the_least_image_is_tried_where_it_has_a_place(tmp_path: Path) -> None:
    """A declared value, here kernel = 6, in INT8: scales of such a network are those of its own sizes."""
    found = extracted(
        tmp_path, images("Own", value("y", None), kernel=3, stride=2, pad=1), "acme::Own", types=list(TYPES)
    )
    (found.project / "reference.py").write_text(
        "import numpy as np\n\n\ndef reference(x, *, kernel, pad, stride):\n"
        "    rim = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])\n"
        "    windows = np.lib.stride_tricks.sliding_window_view(rim, (kernel, kernel), (-2, -1))\n"
        "    return windows[..., ::stride, ::stride, :, :].mean(axis=(-2, -1))\n"
    )
    made = planning_worker.plan(found.manifest, found.project, [DType.INT8], ["plain"], 0, None, BY_DEFAULT)
    calls = [dict(network.calls[0].fields) for network in made.networks]
    assert {3, 6} <= {fields["kernel"][1] for fields in calls if "kernel" in fields}


def test_sizes_of_open_dimensions_differ_where_the_model_takes_that(tmp_path: Path) -> None:
    own = helper.make_node("Own", ["x"], ["y"], "own", domain="acme")
    proto = model([own], [value("x", ["n", "c", "h", "w"])], [value("y", None)])
    assert extracted(tmp_path, proto, "acme::Own").manifest.profiles[0].symbols == {
        "n": (1, 4, 16), "c": (1, 7, 17), "h": (1, 9, 20), "w": (1, 10, 23),
    }  # fmt: skip
    nodes = [
        helper.make_node("Add", ["x", "z"], ["s"], "add"),
        helper.make_node("Own", ["s"], ["y"], "own", domain="acme"),
    ]
    proto = model(nodes, [value("x", ["a", "b"]), value("z", ["c", "d"])], [value("y", None)])
    found = extracted(tmp_path, proto, "acme::Own", name="Other")
    # An Add doesn't: all are of one size then, as in `pluginkit import`.
    assert found.manifest.profiles[0].symbols["n"] == (1, 4, 16)
    assert sorted(found.cases) == ["own"]


def test_two_sizes_that_the_model_has_once_differ_at_max(tmp_path: Path) -> None:
    found = extracted(tmp_path, images("Own", value("y", ["n", 4, 8, 8]), 8), "acme::Own")
    assert found.manifest.profiles[0].symbols == {"n": (1, 4, 16), "c": (4, 4, 4), "h": (8, 8, 9), "w": (8, 8, 8)}
    assert "# check: h and w are both 8 in the model; h's max is 9" in found.toml
    static = extracted(tmp_path, images("Own", value("y", ["n", 4, 8, 8]), 8), "acme::Own", base="ioext", name="Static")
    assert static.manifest.profiles[0].symbols == {"n": (4, 4, 4), "c": (4, 4, 4), "h": (8, 8, 8), "w": (8, 8, 8)}
    assert not static.checks


TYPES = (DType.FLOAT32, DType.FLOAT16, DType.INT8)


def test_types_of_the_floating_tensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A constant of the model has no INT8; integers stay what they are; the model's own type can't be left out."""
    node = helper.make_node("Own", ["x", "g", "i"], ["y"], "own", domain="acme", eps=0.001)
    weights = onnx.numpy_helper.from_array(np.ones(6, np.float32), "g")
    inputs = [value("x", ["n", 6]), value("i", ["n"], TensorProto.INT64)]
    path = tmp_path / "model.onnx"
    onnx.save(model([node], inputs, [value("y", ["n", 6])], initializers=[weights]), path)
    asked = ["new", "--from-onnx", str(path), "--op", "acme::Own", "--dir", str(tmp_path), "--types"]
    assert cli.run([*asked, "float16,int8"]) == 2
    assert "--types leaves out float32, which input 0 is in the model" in capsys.readouterr().err
    assert cli.run([*asked, "float32,int32"]) == 2
    assert "'int32' is not a type of a floating tensor" in capsys.readouterr().err
    assert cli.run([*asked, "int8,float16,float32"]) == 0
    assert "pluginkit test --int8" in capsys.readouterr().out
    manifest = Manifest.load(tmp_path / "own")
    kinds = {tensor.name: tensor.types for tensor in (*manifest.inputs, *manifest.outputs)}
    assert kinds == {"x0": TYPES, "x1": TYPES[:2], "x2": (DType.INT64,), "y": TYPES}


def test_floats_are_the_shortest_decimals_of_their_float32(tmp_path: Path) -> None:
    nodes = [helper.make_node("Own", ["x"], [name], name, domain="acme", eps=eps, each=[0.1, -1e-30])
             for name, eps in (("y", 0.001), ("z", 1e-5))]  # fmt: skip
    found = extracted(tmp_path, model(nodes, None, [value("y", None), value("z", None)]), "acme::Own")
    assert "default = 0.001\nchoices = [0.001, 1e-05]" in found.toml
    assert "default = [0.1, -1e-30]" in found.toml
    assert np.load(found.cases["z"])["field.eps"] == 1e-05
    made = Reference(found.manifest, lambda x, *, eps, each: x * eps)
    saved_cases.check(found.manifest, found.project, plan.field_values(found.manifest), made)


def test_lists_that_differ_are_named(tmp_path: Path) -> None:
    nodes = [helper.make_node("Own", ["x"], [name], name, domain="acme", shifts=shifts)
             for name, shifts in (("y", [1, 2]), ("z", [3, 4]))]  # fmt: skip
    found = extracted(tmp_path, model(nodes, None, [value("y", None), value("z", None)]), "acme::Own")
    assert any("field shifts: the nodes have [1,2] and [3,4]." in note for note in found.notes)
    assert [np.load(found.cases[name])["field.shifts"].tolist() for name in "yz"] == [[1, 2], [3, 4]]


def behind_another(middle: Sequence[onnx.NodeProto] = ()) -> onnx.ModelProto:
    """An operator behind another of its author's, with weights and others of ONNX's between them."""
    nodes = [
        helper.make_node("First", ["x"], ["a"], "first", domain="acme"),
        *middle,
        helper.make_node("MatMul", ["a", "w"], ["b"], "mm"),
        helper.make_node("Own", ["b"], ["y"], "own", domain="acme"),
    ]
    weights = onnx.numpy_helper.from_array(np.ones((8, 6), np.float32), "w")
    return model(nodes, [value("x", ["n", 8])], [value("y", None)], initializers=[weights])


@pytest.mark.parametrize("given", ["a:n,8", "a:float32:n,8", "b:n,6"])
def test_a_shape_that_is_given(given: str, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"the type of input 0 of node own is not known.*--shape 'b:TYPE:DIMS'"
    ) as caught:
        extracted(tmp_path, behind_another(), "acme::Own")
    assert "--plugins" in caught.value.message
    assert "--node" not in caught.value.hint, "there is one node"
    found = extracted(tmp_path, behind_another(), "acme::Own", declared=[given])
    assert found.manifest.inputs[0].shape == ("n", "c")
    assert found.manifest.profiles[0].symbols == {"n": (1, 4, 16), "c": (6, 6, 6)}


@pytest.mark.parametrize(
    ("given", "message"),
    [("a", "does not describe a tensor"), ("a:n,-1", "does not describe a tensor"), ("q:n,8", "makes a tensor 'q'")],
)
def test_a_shape_that_is_none(given: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        extracted(tmp_path, behind_another(), "acme::Own", declared=[given])


def between_scales(**attributes: Any) -> onnx.ModelProto:
    """An operator of INT8 between QuantizeLinear and DequantizeLinear, which says its scales as a plugin has them."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "quantize"),
        helper.make_node("Own", ["q"], ["p"], "own", domain="acme", mode=1, **attributes),
        helper.make_node("DequantizeLinear", ["p", "s", "z"], ["y"], "dequantize"),
    ]
    constants = [
        onnx.numpy_helper.from_array(np.float32(0.05), "s"),
        onnx.numpy_helper.from_array(np.int8(0), "z"),
    ]
    return model(nodes, [value("x", ["n", 8])], [value("y", ["n", 8])], initializers=constants)


def test_attributes_that_are_scales(tmp_path: Path) -> None:
    proto = between_scales(x_scale=0.05, y_scale=0.05)
    with pytest.raises(UsageError, match=r"the type of output 0 .*: nothing in the model says it.*'p:TYPE:DIMS'") as no:
        extracted(tmp_path, proto, "acme::Own")
    assert "--plugins" not in no.value.message, "it is the operator's own output"
    found = extracted(tmp_path, proto, "acme::Own", declared=["p:int8:n,8"])
    assert [tensor.scale for tensor in (*found.manifest.inputs, *found.manifest.outputs)] == ["x_scale", "y_scale"]
    assert [one.name for one in found.manifest.plain_fields()] == ["mode"], "what reference() gets"
    assert "def reference(x, *, mode)" in (found.project / "reference.py").read_text()
    assert "the attributes x_scale, y_scale are the tensors' scales" in " ".join(found.notes)
    assert found.cases
    for case in found.cases.values():
        assert [name for name in np.load(case).files if name.startswith("field.")] == ["field.mode"]
    (case,) = saved_cases.read(found.manifest, found.project, {"mode": 1})
    steps = case.point.feeds["x"] / np.float32(0.05)
    np.testing.assert_allclose(steps, steps.round(), atol=1e-4)
    assert 1 < abs(steps).max() < 128, "the numbers that INT8 stands for"


def test_quantized_data_without_a_scale_is_no_case(tmp_path: Path) -> None:
    found = extracted(tmp_path, between_scales(), "acme::Own", declared=["p:int8:n,8"])
    assert not found.cases
    assert any("no attribute <tensor>_scale" in note for note in found.notes)


def test_attributes_that_are_scales_of_no_int8(tmp_path: Path) -> None:
    node = helper.make_node("Own", ["x"], ["y"], "own", domain="acme", x_scale=0.5)
    found = extracted(tmp_path, model([node]), "acme::Own")
    assert [one.name for one in found.manifest.plain_fields()] == ["x_scale"]


def test_attributes_that_are_scales_of_channels(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"x_scale has the name of x's scale.*--input 'x:int8:n,c:scale=x_scale'"):
        extracted(tmp_path, between_scales(x_scale=[0.5] * 8), "acme::Own", declared=["p:int8:n,8"])


def test_a_plugin_before_it_gives_shapes_and_values(tmp_path: Path) -> None:
    """Of its project, built or not: pluginkit.toml says what it gives, reference.py, once written, computes it."""
    first = extracted(tmp_path, behind_another(), "acme::First").project
    found = extracted(tmp_path, behind_another(), "acme::Own", plugins=[first])
    assert found.manifest.profiles[0].symbols == {"n": (1, 4, 16), "c": (6, 6, 6)}
    assert not found.cases
    reference = first / "reference.py"
    text = reference.read_text()
    reference.write_text(text[: text.index("    raise ")] + "    return 2 * x\n")
    x = np.random.default_rng(5).normal(size=(4, 8)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x)
    found = extracted(tmp_path, behind_another(), "acme::Own", plugins=[first], name="Own2", data=tmp_path / "data.npz")
    np.testing.assert_allclose(np.load(found.cases["own"])["input.x"], (2 * x) @ np.ones((8, 6)), rtol=1e-5)
    with pytest.raises(UsageError, match=r"--plugins .*: there is no pluginkit.toml"):
        extracted(tmp_path, behind_another(), "acme::Own", plugins=[tmp_path], name="Own3")


def test_an_operator_whose_values_decide_its_sizes_is_refused(tmp_path: Path) -> None:
    node = helper.make_node("Unique", ["x"], ["y"], "unique", sorted=1)
    with pytest.raises(UsageError, match="is decided by its inputs' values") as caught:
        extracted(tmp_path, model([node], [value("x", ["n"])], [value("y", ["m"])]), "Unique")
    assert "base v3" in caught.value.hint


def test_nodes_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    nodes = [swish("same", "x", "y"), swish("same", "w", "z", beta=2.0)]
    proto = model(nodes, [value("x", ["n", 6])], [value("y", None), value("z", None)], initializers=CONSTANTS[:1])
    found = extracted(tmp_path, proto)
    assert found.nodes == ("same", "same (2)")
    assert [float(np.load(path)["field.beta"]) for path in found.cases.values()] == [1.5, 2.0]
