"""The fields that the host gives a plugin of a model: what NVIDIA's parser makes of the node's attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, helper, numpy_helper

from pluginkit.errors import UsageError
from pluginkit.field_types import FieldType
from pluginkit.host.library import field_of
from pluginkit.importing import hosted_worker

KINDS = {"given": "kUNKNOWN", "number": "kINT32"}
"""As a creator has them that says no more than a field's name."""


def fields(**attributes: object) -> dict[str, tuple[FieldType, object]]:
    return hosted_worker._fields(helper.make_node("Scale", ["x"], ["y"], "scale", **attributes), KINDS)


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (np.float32, FieldType.FLOAT32),
        (np.float64, FieldType.FLOAT32),
        (np.float16, FieldType.FLOAT16),
        (np.int32, FieldType.INT32),
        (np.int8, FieldType.INT8),
    ],
)
def test_a_tensor_has_its_own_type_whatever_the_creator_advertises(dtype: type, kind: FieldType) -> None:
    array: np.ndarray[Any, Any] = np.array([[1, 2], [3, 4]]).astype(dtype)
    made = fields(given=numpy_helper.from_array(array, "given"), number=7, other=1.0)
    assert set(made) == {"given", "number"}
    assert made["given"][0] is kind
    np.testing.assert_array_equal(made["given"][1], array)
    assert made["number"] == (FieldType.INT32, 7)


def test_what_the_host_cannot_pass_is_said() -> None:
    with pytest.raises(UsageError, match="scale: its attribute given is a tensor of int64; pluginkit's host passes"):
        fields(given=numpy_helper.from_array(np.array([1]), "given"))
    with pytest.raises(UsageError, match="its attribute given is GraphProto"):
        fields(given=helper.make_graph([], "nothing", [], []))


def test_a_text_comes_with_the_zero_behind_it_and_several_are_joined() -> None:
    assert fields(given="add") == {"given": (FieldType.STRING, "add\0")}
    assert fields(given=["add", "mul"]) == {"given": (FieldType.STRING, "add\0mul\0")}


def test_an_empty_list_has_no_data() -> None:
    node = helper.make_node("Scale", ["x"], ["y"], "scale")
    node.attribute.append(helper.make_attribute("given", [], attr_type=AttributeProto.INTS))
    ((name, (kind, value)),) = hosted_worker._fields(node, KINDS).items()
    assert field_of(name, kind, value) == ("given", FieldType.INT32.code, None, 0)


def test_fields_come_in_the_creators_order() -> None:
    """As NVIDIA's parser passes them: some creators read them by their places."""
    made = fields(number=7, given=1.0)
    assert list(made) == list(KINDS)
    node = helper.make_node("Scale", ["x"], ["y"], "scale", number=7, given=1.0)
    assert list(hosted_worker._fields(node, dict(reversed(KINDS.items())))) == list(reversed(KINDS))
