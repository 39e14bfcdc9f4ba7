"""TensorRT-RTX's registry, parser and builder with a V2 plugin behind the V3 adapter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from . import building, hosts

HERE = Path(__file__).parent

pytestmark = [pytest.mark.compile, pytest.mark.rtx]

FLOAT, HALF, INT8 = 0, 1, 2


def model(path: Path, precision: str, namespace: str = "") -> Path:
    """One Echo with what its precision needs around it; the graph's inputs and outputs are float32."""
    nodes, constants = [], []
    before, after = "x", {"y": "y", "twice": "twice"}
    if precision != "float32":
        before, after = "x_inside", {"y": "y_inside", "twice": "twice_inside"}
        constants = [
            numpy_helper.from_array(np.float32(0.5), "scale"),
            numpy_helper.from_array(np.int8(0), "zero"),
        ]
    if precision == "float16":
        nodes.append(helper.make_node("Cast", ["x"], [before], to=TensorProto.FLOAT16))
        constants = []
    elif precision == "int8":
        nodes.append(helper.make_node("QuantizeLinear", ["x", "scale", "zero"], [before]))
    attributes = {"plugin_version": "1", "plugin_namespace": namespace, "alpha": 0.25}
    nodes.append(helper.make_node("Echo", [before], list(after.values()), domain="pluginkit", **attributes))
    for out, inside in after.items():
        if precision == "float16":
            nodes.append(helper.make_node("Cast", [inside], [out], to=TensorProto.FLOAT))
        elif precision == "int8":
            nodes.append(helper.make_node("DequantizeLinear", [inside, "scale", "zero"], [out]))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in after]
    graph = helper.make_graph(nodes, "echo", [x], outputs, constants)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("pluginkit", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return path


def in_rtx(folder: Path, library: Path, *models: Path) -> tuple[Any, list[str]]:
    """What the process saw, and what the plugin was asked."""
    trace = folder / "trace"
    trace.write_text("")
    output = hosts.in_rtx(folder, HERE / "in_rtx.py", library, *models, env={"ECHO_TRACE": str(trace)})
    return json.loads(output), trace.read_text().splitlines()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return building.all_layouts(tmp_path_factory.mktemp("entry"), HERE / "entry.cpp", "Echo")


@pytest.mark.parametrize(("precision", "code"), [("float32", FLOAT), ("float16", HALF), ("int8", INT8)])
def test_build(library: Path, tmp_path: Path, precision: str, code: int) -> None:
    saw, asked = in_rtx(tmp_path, library, model(tmp_path / "model.onnx", precision))
    assert saw["listed"] == [["IPluginCreatorV3One", "Echo", "1", ""]]
    assert saw["made"] == [[True, False]]  # at run time a plugin is made of its state, and there was none
    assert saw["built"] == [{"parsed": True, "engine": True, "messages": []}]
    assert saw["init"] == [True, True]
    # The builder has asked the V2 plugin itself: the bounds of the profile are those of the shape expressions.
    assert f"configure type {code} scale 1 in 1 2 4 twice 2 4 8" in asked
    assert f"format 2 type {code} scale 0" in asked
    assert "serialize 0.25" in asked
    assert asked.count("initialize") == asked.count("terminate")


@pytest.mark.parametrize("source", ["entry", "registered"])
def test_one_layout_serves_rtx_too(tmp_path: Path, source: str) -> None:
    for layout in (10, 11):
        library = building.one_layout(tmp_path, HERE / f"{source}.cpp", layout)
        saw, _ = in_rtx(tmp_path, library, model(tmp_path / "model.onnx", "float32"))
        assert saw["listed"] == [["IPluginCreatorV3One", "Echo", "1", ""]]
        assert saw["built"][0]["engine"]


def test_a_namespace_that_is_not_there(library: Path, tmp_path: Path) -> None:
    saw, asked = in_rtx(tmp_path, library, model(tmp_path / "model.onnx", "float32", namespace="acme"))
    assert not saw["built"][0]["parsed"]
    assert not any(line.startswith("configure") for line in asked)


def test_what_v3_cannot_carry(tmp_path: Path) -> None:
    """An IPluginV2Ext behind the adapter: no plugin, and no crash."""
    old = building.all_layouts(tmp_path, HERE / "old_creator.cpp", "Old")
    saw, _ = in_rtx(tmp_path, old)
    assert saw["listed"] == [["IPluginCreatorV3One", "Old", "1", ""]]
    assert saw["made"] == [[False, False]]
