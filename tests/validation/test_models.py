"""For each check of a model a model that breaks it, and one that breaks none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from onnx import ModelProto, TensorProto, helper, save

from pluginkit.adoption.answers import ListedCreator, ListedField
from pluginkit.field_types import FieldType
from pluginkit.manifest import Manifest
from pluginkit.manifest.project import Member
from pluginkit.validation import CHECKS, Ending, check_library
from pluginkit.validation.judging import result_of
from pluginkit.validation.results import CheckResult
from pluginkit.validation.subjects.asking import NO_MODEL
from pluginkit.validation.subjects.model_reading import read
from tests.host.conftest import Compile
from tests.validation.test_project import MANIFEST

CHOSEN = [one for one in CHECKS.values() if one.need == "model"]


def model(
    *,
    kind: int = TensorProto.FLOAT,
    shape: tuple[int | str, ...] = ("n", 4),
    inputs: tuple[str, ...] = ("x",),
    outputs: tuple[str, ...] = ("y", "copy"),
    name: str = "Probe",
    domain: str = "pluginkit",
    imported: bool = True,
    drop: str = "",
    **attributes: Any,
) -> ModelProto:
    given = {"factor": 2.0, "plugin_version": "1", "plugin_namespace": "tests", **attributes}
    given.pop(drop, None)
    node = helper.make_node(name, list(inputs), list(outputs), name="probe", domain=domain, **given)
    ends = [helper.make_tensor_value_info(one, kind, shape) for one in dict.fromkeys(inputs) if one not in outputs]
    made = [helper.make_tensor_value_info(outputs[0], kind, None)]
    opsets = [helper.make_opsetid("", 17), *([helper.make_opsetid(domain, 1)] if imported else [])]
    return helper.make_model(helper.make_graph([node], "g", ends, made), opset_imports=opsets)


BROKEN: dict[str, dict[str, Any]] = {
    "M1": {"plugin_version": 1},
    "M3": {"gain": 1.0},
    "M4": {"factor": 2**40},
    "M5": {"tensorrt_plugin_shape_input_indices": [7]},
    "M6": {"kind": TensorProto.INT32},
    "M11": {"plugin_version": "7"},
    "M12": {"factor": 2},
    "M14": {"imported": False},
    "M15": {"drop": "factor"},
    "M16": {"kind": TensorProto.INT8, "shape": (2, "m")},
    "M17": {"kind": TensorProto.FLOAT16},
    "M18": {"shape": (2, 3, 4)},
    "M19": {"inputs": ("y",)},
}
PROBE = ListedCreator(0, "Probe", "1", "tests", "v2", (ListedField("factor", FieldType.FLOAT32.code, 1),))
OWN = ListedCreator(0, "Own", "1", "tests", "v2", ())
SWISH = ListedCreator(0, "Swish", "1", "", "v2", ())


def ask(path: Path, proto: ModelProto, creator: ListedCreator = PROBE) -> dict[str, CheckResult]:
    save(proto, path)
    there = [Member(path.parent, Manifest.parse(MANIFEST))]
    subject = read(path, path.with_name("lib.so"), [creator], there)[0]
    return {one.id: result_of(one, creator.name, subject) for one in CHOSEN}


@pytest.mark.parametrize("check", BROKEN)
def test_a_model_that_breaks_it(tmp_path: Path, check: str) -> None:
    found = ask(tmp_path / "model.onnx", model(**BROKEN[check]))
    usual = Ending.WARNING if CHECKS[check].kind == "robustness" else Ending.FAILED
    assert found[check].ending is usual, found
    assert "probe" in found[check].message


@pytest.mark.parametrize("check", ["M2"])
def test_an_operator_of_nvidias_goes_before_it(tmp_path: Path, check: str) -> None:
    """A plugin is called as an operator of the parser's, and the node says nothing about a namespace."""
    proto = model(name="Swish", domain="", imported=False, drop="plugin_namespace", outputs=("y",))
    assert ask(tmp_path / "model.onnx", proto, SWISH)[check].ending is Ending.FAILED


def test_a_good_model_breaks_none(tmp_path: Path) -> None:
    """What it has nothing of is skipped, not passed."""
    found = ask(tmp_path / "model.onnx", model())
    assert {name for name, one in found.items() if one.ending is not Ending.PASSED} == {"M5"}
    assert found["M5"].message == "no node of it has tensorrt_plugin_shape_input_indices"
    bare = ask(tmp_path / "model.onnx", model(name="Own", domain="own", imported=True, drop="factor"), OWN)
    why = {name: one.message for name, one in bare.items() if one.ending is Ending.SKIPPED}
    assert why["M15"] == why["M18"] == "there is no pluginkit.toml of the plugin"
    assert why["M3"] == why["M12"] == "no node of it has attributes for fields"


@pytest.mark.compile
def test_with_a_library(compile_plugin: Compile, tmp_path: Path) -> None:
    """A node of another version doesn't reach the plugin; that is told, and the rest asked with guessed values."""
    library, path = compile_plugin("none"), tmp_path / "model.onnx"
    save(model(plugin_version="7"), path)
    found = {one.check: one for one in check_library(library, [*CHOSEN, CHECKS["L1"]], model=path).results}
    assert found["M11"].ending is Ending.FAILED
    assert found["L1"].ending is Ending.PASSED
    without = check_library(library, CHOSEN).results
    assert {(one.ending, one.message) for one in without} == {(Ending.SKIPPED, NO_MODEL)}


def test_every_check_of_models_has_its_animal() -> None:
    assert {*BROKEN, "M2"} == {one.id for one in CHOSEN}
