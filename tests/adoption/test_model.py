"""`pluginkit adopt --model`: a node's attributes, shapes and constants are the draft's values, profile and data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import cli
from pluginkit.adoption.answers import ListedCreator, ListedField, PluginAnswers
from pluginkit.adoption.expressions import with_names
from pluginkit.adoption.field_tables import FieldTables
from pluginkit.adoption.node import read
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.manifest.mistakes import FILL_IN

from .conftest import Foreign

SIGNATURE = """
[plugin]
name = "P"
[[inputs]]
name = "x"
types = ["float32"]
shape = ["n"]
[[outputs]]
name = "y"
types = ["float32"]
shape = ["n"]
[[profiles]]
symbols = { n = [1, 2, 4] }
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 6, "length"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node(
            "Shift", ["r", "w"], ["y"], by=1.5, mode=3, table=[1.0, 2.0, 3.0, 4.0], grow=[5, 1], unlisted="text"
        ),
    ]
    weights = onnx.numpy_helper.from_array(np.arange(64, dtype=np.float32).reshape(2, 4, 8), "w")
    graph = helper.make_graph(nodes, "g", [x], [y], [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


@pytest.mark.compile
def test_a_models_node_is_drafted(
    foreign: Foreign, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drafts = tmp_path / "drafts"
    assert cli.run(["adopt", str(foreign()), "--model", str(model), "--dir", str(drafts)]) == 0
    assert "to fill in" not in capsys.readouterr().out
    manifest = Manifest.load(drafts)
    # Only the plugin that the model has a node of.
    assert not (drafts / "plugins").exists()
    assert [one.name for one in (*manifest.inputs, *manifest.outputs)] == ["r", "w", "y"]
    fields = [(one.name, one.default) for one in manifest.fields]
    assert fields == [("by", 1.5), ("mode", 3), ("table", (1.0, 2.0, 3.0, 4.0)), ("grow", (5, 1))]
    (profile,) = manifest.profiles
    assert profile.symbols == {
        "n": (1, 4, 16),
        "c": (6, 6, 6),
        "l": (1, 4, 16),
        "n2": (2, 2, 2),
        "c2": (4, 4, 4),
        "l2": (8, 8, 8),
    }
    # What depends on an element of a list stands there by its name.
    assert manifest.outputs[0].shape == ("n", "c + c2", "ceil_div(l, 2) + grow[1]")
    with np.load(drafts / "model_data.npz") as data:
        assert data["r"].shape == (4, 6, 4)
        np.testing.assert_array_equal(data["w"].ravel(), np.arange(64))


@pytest.mark.compile
def test_a_model_whose_values_make_no_plugin(
    foreign: Foreign, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The inputs are the model's all the same."""
    drafts = tmp_path / "drafts"
    assert cli.run(["adopt", str(foreign("crash-in-create")), "--model", str(model), "--dir", str(drafts)]) == 0
    shown = capsys.readouterr().out
    assert "to fill in: no plugin is made of the values in the model's node" in shown
    text = (drafts / "pluginkit.toml").read_text(encoding="utf-8")
    assert "# Ended when it was asked something (no finding): SIGABRT in IPluginCreator::createPlugin" in text
    manifest = Manifest.parse(text.replace(FILL_IN, "#"))
    assert [one.shape for one in manifest.inputs] == [("n", "c", "l"), ("n2", "c2", "l2")]
    assert [one.types[0].value for one in manifest.outputs] == ["float32"]


def test_numbers_of_fields_in_an_expression() -> None:
    values = {"stride": 61, "group": 67}
    assert with_names("n * 3721 + 61 * 610", values) == "n * (stride * stride) + stride * 610"
    assert with_names("c // 4087", values) == "c // (stride * group)"


def test_fields_are_what_the_parser_passes(model: Path) -> None:
    fields = (ListedField("by", 1, 1), ListedField("table", 1, 4), ListedField("absent", 5, 1))
    found = read(model, [ListedCreator(0, "Shift", "1", "", "v2", fields)])[0]
    assert found.given == (
        ("by", 1, np.float32(1.5).tobytes(), 1),
        ("table", 1, np.arange(1, 5, dtype=np.float32).tobytes(), 4),
    )
    assert found.missing == ("absent",)
    # In the creator's order, as NVIDIA's parser passes them: some creators read them by their places.
    turned = read(model, [ListedCreator(0, "Shift", "1", "", "v2", fields[::-1])])[0]
    assert [name for name, *_ in turned.given] == ["table", "by"]
    assert found.ranks == (3, 3)
    assert found.types == (0, 0)


def test_text_has_its_zero_and_an_empty_list_no_data(tmp_path: Path) -> None:
    node = helper.make_node("P", ["x"], ["y"], mode="up", names=["a", "bc"], big=2**33 + 5)
    empty = node.attribute.add()
    empty.name, empty.type = "none", onnx.AttributeProto.INTS
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
    onnx.save(helper.make_model(helper.make_graph([node], "g", [x], [y])), tmp_path / "m.onnx")
    fields = tuple(ListedField(name, 6, 0) for name in ("mode", "names", "big", "none"))
    given = {
        one[0]: one[1:] for one in read(tmp_path / "m.onnx", [ListedCreator(0, "P", "1", "", "v2", fields)])[0].given
    }
    assert given["mode"] == (6, b"up\0", 3)
    assert given["names"] == (6, b"a\0bc\0", 5)
    assert given["big"] == (5, (5).to_bytes(4, "little"), 1)  # cut to 32 bits
    assert given["none"] == (5, None, 0)


def test_lists_and_texts_have_their_length_and_a_default(tmp_path: Path) -> None:
    attributes = {"mode": 'a "b"', "axes": [0, -1], "scale": [0.1], "weights": [0.1, 2.0], "names": ["a", "b"]}
    node = helper.make_node("P", ["x"], ["y"], **attributes)
    empty = node.attribute.add()
    empty.name, empty.type = "none", onnx.AttributeProto.INTS
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
    onnx.save(helper.make_model(helper.make_graph([node], "g", [x], [y])), tmp_path / "m.onnx")
    listed = tuple(ListedField(name, 8, 0) for name in (*attributes, "none"))
    found = read(tmp_path / "m.onnx", [ListedCreator(0, "P", "1", "", "v2", listed)])[0]
    tables = FieldTables(listed, PluginAnswers(), found)
    fields = Manifest.parse(SIGNATURE + tables.text.replace(FILL_IN, "#")).fields
    assert [(one.name, one.type.value, one.length, one.default) for one in fields] == [
        ("mode", "string", None, 'a "b"'),
        ("axes", "int32", 2, (0, -1)),
        ("scale", "float32", None, 0.1),
        ("weights", "float32", 2, (0.1, 2.0)),
        ("none", "int32", (0, 8), ()),
    ]
    assert tables.names == ["mode", "axes", "scale", "weights", "none"]
    assert "the field 'names' (kCHAR × 4) has no form in pluginkit.toml" in tables.text


def test_a_list_without_a_model_is_left_out() -> None:
    answers = PluginAnswers(made="nothing")
    tables = FieldTables([ListedField("table", 1, 4), ListedField("mode", 6, 0)], answers, None)
    assert tables.names == []
    assert tables.text.count("its values don't show without a model (--model MODEL.onnx)") == 2
    needing = FieldTables([ListedField("table", 1, 4)], PluginAnswers(made="nothing", needed=("table",)), None)
    assert needing.text.startswith(FILL_IN)


def test_a_field_that_is_listed_by_name_alone() -> None:
    """Without a model its type is a guess, which is said."""
    given = (("stride", 5, (1).to_bytes(4, "little"), 1),)
    answers = PluginAnswers(made="ones", given=given, needed=("stride",))
    tables = FieldTables([ListedField("stride", 8, 0)], answers, None)
    (field,) = Manifest.parse(SIGNATURE + tables.text).fields
    assert (field.name, field.type.value) == ("stride", "int32")
    assert "the creator lists no type" in tables.text


def test_a_model_without_the_plugin(model: Path) -> None:
    creator = ListedCreator(0, "Shift", "2", "", "v2", ())
    with pytest.raises(UsageError, match=r"no node of Shift 2; its operators are Relu, Shift"):
        read(model, [creator])
