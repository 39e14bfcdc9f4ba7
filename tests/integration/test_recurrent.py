"""Real recurrent models: an LSTM whose activation is the plugin, and a model that PyTorch exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from pluginkit import scaffold
from pluginkit.build import build
from pluginkit.dtypes import DType
from pluginkit.importing import ImportOptions, run
from pluginkit.interpreter import walker
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Case, Network, NetworkProfile, PluginCall, Tolerance
from pluginkit.runtimes.host import session as host
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.testing.families.base import Setting
from pluginkit.testing.plan import field_values

pytestmark = [pytest.mark.compile, pytest.mark.rtx, pytest.mark.xdist_group("recurrent")]

STEPS, BATCH, INPUTS, HIDDEN = 5, 2, 4, 3
SUM_EVEN = Path(__file__).resolve().parents[2] / "samples" / "sum_even" / "sum_even.onnx"
GATES = ("i", "o", "f", "g")
"""ONNX's order of an LSTM's gates; g is the cell's."""
PLUGIN_DOMAIN = "pluginkit"
OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid(PLUGIN_DOMAIN, 1)]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new elementwise plugin, made an activation: tanh."""
    made = scaffold.new("BentTanh", directory=tmp_path_factory.mktemp("lstm"), inputs=["x:float32:b,h"], kernel="loop")
    for file, right, wrong in (
        ("src/bent_tanh.cu", "sum >= 0.0F ? sum : fields.alpha * sum", "std::tanh(sum)"),
        ("reference.py", "total = np.where(total >= 0, total, alpha * total)", "total = np.tanh(total)"),
    ):
        text = (made / file).read_text()
        assert right in text
        (made / file).write_text(text.replace(right, wrong))
    build(made, "cpu")
    return made


@pytest.fixture(scope="module")
def weights() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    shapes = {
        "X": (STEPS, BATCH, INPUTS),
        "W": (1, 4 * HIDDEN, INPUTS),
        "R": (1, 4 * HIDDEN, HIDDEN),
        "B": (1, 8 * HIDDEN),
        "initial_h": (1, BATCH, HIDDEN),
        "initial_c": (1, BATCH, HIDDEN),
    }
    return {name: rng.normal(0, 0.7, shape).astype(np.float32) for name, shape in shapes.items()}


def lstm(weights: dict[str, Any]) -> dict[str, Any]:
    """onnxruntime's LSTM."""
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in weights.items()]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("Y", "Y_h", "Y_c")]
    inputs = ["X", "W", "R", "B", "", "initial_h", "initial_c"]
    node = helper.make_node("LSTM", inputs, ["Y", "Y_h", "Y_c"], hidden_size=HIDDEN)
    model = helper.make_model(helper.make_graph([node], "lstm", infos, outputs), opset_imports=OPSETS[:1], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    every, h, c = session.run(None, weights)
    return {"h_all": every[:, 0], "h_last": h[0], "c_last": c[0]}


class Cell:
    """The body of a Loop: an LSTM's cell; sigmoid(z) is 0.5 * tanh(z / 2) + 0.5."""

    def __init__(self, fields: dict[str, tuple[DType, float | int]]) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.calls: list[PluginCall] = []
        self._fields = fields

    def op(self, kind: str, inputs: list[str], out: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [out], f"n{len(self.nodes):03d}_{out}", **attributes))
        return out

    def tanh(self, x: str, out: str) -> str:
        values = {name: value for name, (_, value) in self._fields.items()}
        self.op("BentTanh", [x], out, domain=PLUGIN_DOMAIN, plugin_version="1", plugin_namespace="", **values)
        dims = (BATCH, HIDDEN)
        self.calls.append(
            PluginCall(
                node=self.nodes[-1].name,
                fields=self._fields,
                types=(DType.FLOAT32,),
                output_types=(DType.FLOAT32,),
                inputs=(((dims, dims, dims),),),
                scales=(0.0,),
                output_scales=(0.0,),
            )
        )
        return out

    def sigmoid(self, x: str, out: str) -> str:
        bent = self.tanh(self.op("Mul", [x, "half"], f"{out}_in"), f"{out}_bent")
        return self.op("Add", [self.op("Mul", [bent, "half"], f"{out}_scaled"), "half"], out)

    def graph(self) -> onnx.GraphProto:
        self.op("Identity", ["going"], "still")
        self.op("Gather", ["X", "step"], "x", axis=0)
        self.op("MatMul", ["x", "W_t"], "from_x")
        self.op("MatMul", ["h", "R_t"], "from_h")
        self.op("Add", [self.op("Add", ["from_x", "from_h"], "both"), "bias"], "gates")
        pieces = [f"{gate}_in_gate" for gate in GATES]
        self.nodes.append(helper.make_node("Split", ["gates"], pieces, "n900_split", axis=1))
        i, o, f = (self.sigmoid(f"{gate}_in_gate", gate) for gate in GATES[:3])
        g = self.tanh("g_in_gate", "g")
        kept, added = self.op("Mul", [f, "c"], "kept"), self.op("Mul", [i, g], "added")
        self.op("Mul", [o, self.tanh(self.op("Add", [kept, added], "c_next"), "c_bent")], "h_next")
        self.op("Identity", ["h_next"], "h_scan")
        dims = [BATCH, HIDDEN]
        inputs = [
            helper.make_tensor_value_info("step", TensorProto.INT64, []),
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
            *[helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name in ("h", "c")],
        ]
        outputs = [
            helper.make_tensor_value_info("still", TensorProto.BOOL, []),
            *[helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name in ("h_next", "c_next", "h_scan")],
        ]
        return helper.make_graph(self.nodes, "cell", inputs, outputs)


def network(weights: dict[str, Any], fields: dict[str, tuple[DType, float | int]]) -> Network:
    """The LSTM as a Loop; its trip count is X's first dimension."""
    cell = Cell(fields)
    wb, rb = np.split(weights["B"][0], 2)
    constants = {
        "W_t": weights["W"][0].T,
        "R_t": weights["R"][0].T,
        "bias": wb + rb,
        "half": np.array(0.5, np.float32),
        "steps": np.array(STEPS),
        "true": np.array(True),
    }
    dims = {"X": (STEPS, BATCH, INPUTS), "h0": (BATCH, HIDDEN), "c0": (BATCH, HIDDEN)}
    outputs = ("h_last", "c_last", "h_all")
    loop = helper.make_node("Loop", ["steps", "true", "h0", "c0"], list(outputs), "n999_loop", body=cell.graph())
    graph = helper.make_graph(
        [loop],
        "lstm",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in dims.items()],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [*lead, BATCH, HIDDEN])
            for name, lead in zip(outputs, ([], [], [STEPS]), strict=True)
        ],
        [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=OPSETS, ir_version=8)
    onnx.checker.check_model(model)
    profile = NetworkProfile("default", {name: (shape, shape, shape) for name, shape in dims.items()})
    return Network(
        "lstm/float32", "lstm", DType.FLOAT32, model.SerializeToString(), tuple(cell.calls), (profile,), outputs
    )


def test_an_lstm_with_the_plugin_as_its_activation(project: Path, weights: dict[str, Any], tmp_path: Path) -> None:
    manifest = Manifest.load(project)
    made = network(weights, Setting(manifest, DType.FLOAT32, field_values(manifest)).attributes())
    expected = lstm(weights)
    feeds = {"X": weights["X"], "h0": weights["initial_h"][0], "c0": weights["initial_c"][0]}
    case = Case("lstm", made.id, "default", "opt", 0, feeds, expected, Tolerance("close"))
    library = next((project / "build" / "cpu").glob("*.so"))
    with host.open(library, manifest) as session:
        verdict = session.build(made)
        assert verdict.ok, verdict.message
        ran = session.run(case)
    assert ran.enqueues == STEPS * 5, "i, o, f, the cell's gate and the cell itself"
    assert set(ran.outputs) == set(expected)
    for name, want in expected.items():
        np.testing.assert_allclose(ran.outputs[name], want, rtol=1e-5, atol=1e-6, err_msg=name)
    if not tensorrt_rtx.probe().found:
        pytest.skip(tensorrt_rtx.probe().reason)
    path = tmp_path / "lstm.onnx"
    path.write_bytes(made.model)
    imported = run(ImportOptions(path, (project,)))
    assert imported.verdict is not None
    assert imported.verdict.ok, imported.verdict.message
    assert (imported.ran.status, imported.exit_code) == ("compared", 0), imported.ran
    assert {record.node for record in imported.verdict.configured} == {call.node for call in made.calls}


def test_a_gate_in_the_wrong_place_is_seen(project: Path, weights: dict[str, Any]) -> None:
    manifest = Manifest.load(project)
    made = network(weights, Setting(manifest, DType.FLOAT32, field_values(manifest)).attributes())
    expected = lstm({**weights, "W": np.roll(weights["W"], HIDDEN, axis=1)})
    feeds = {"X": weights["X"], "h0": weights["initial_h"][0], "c0": weights["initial_c"][0]}
    case = Case("lstm", made.id, "default", "opt", 0, feeds, expected, Tolerance("close"))
    with host.open(next((project / "build" / "cpu").glob("*.so")), manifest) as session:
        assert session.build(made).ok
        ran = session.run(case)
    assert not np.allclose(ran.outputs["h_last"], expected["h_last"], rtol=1e-3)


def no_plugin(*_: Any) -> Any:
    raise AssertionError("there is no plugin in it")


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_sum_even_as_pytorch_exports_it(rows: int) -> None:
    model = onnx.load(SUM_EVEN)
    assert model.producer_name == "pytorch"
    assert {node.op_type for node in walker.nodes(model.graph)} >= {"Loop", "If"}
    items = np.random.default_rng(rows).integers(-5, 6, (rows, 2)).astype(np.float32)
    found = walker.run(model, "NoPlugin", no_plugin, {"items": items})
    np.testing.assert_array_equal(found["total"], items[items.sum(axis=1) % 2 == 0].sum(axis=0))


@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason=tensorrt_rtx.probe().reason)
def test_nvidias_builder_takes_sum_even() -> None:
    imported = run(ImportOptions(SUM_EVEN, (), ("items:min=1x2,opt=3x2,max=7x2",)))
    assert imported.verdict is not None
    assert imported.verdict.ok, imported.verdict.message
    assert imported.exit_code == 0
