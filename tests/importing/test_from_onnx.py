"""`pluginkit new --from-onnx`: signature, fields, sizes, reference and cases from a model's nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import cli
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.importing.extraction import Extracted, extract
from pluginkit.importing.extraction.selection import select
from pluginkit.manifest import Manifest
from pluginkit.testing import plan, planning_child, saved_cases
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
    return extract(path, operator=operator, directory=folder, **more)


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
    made = planning_child.plan(manifest, found.project, None, ["plain"], 0, None, BY_DEFAULT)
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
    made = planning_child.plan(manifest, found.project, None, ["plain"], 0, None, BY_DEFAULT)
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
         [value("x", ["n"]), value("i", ["n"], TensorProto.INT64)], "input 1 is int64"),
        ([helper.make_node("Own", ["x"], ["y"], "own", domain="acme"),
          helper.make_node("Own", ["x", "x"], ["z"], "two", domain="acme")], [value("x", ["n"])],
         "different numbers of inputs"),
        ([helper.make_node("Own", ["x"], ["y"], "own", domain="acme"),
          helper.make_node("Own", ["i"], ["z"], "two", domain="acme")], [value("x", ["n"]), value("i", ["n", 2])],
         "input 0 has different ranks: 1 and 2"),
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
    manifest = Manifest.load(extracted(tmp_path, proto, "acme::Own").project)
    assert manifest.inputs[0].shape == ("n", "c", "h", "w")
    assert manifest.outputs[0].shape == ("n", "12", "4", "4")


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
