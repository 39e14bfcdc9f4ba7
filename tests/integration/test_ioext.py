"""What `pluginkit new --base ioext` writes: networks in both conventions, and what is wrong is found in each."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import cli, scaffold
from pluginkit.build import build
from pluginkit.dtypes import DType
from pluginkit.host import Finding, Library, TensorSpec
from pluginkit.host import build as build_layer
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.testing.report import Outcome
from tests.judged_networks import ONE_OF_EACH_KIND

pytestmark = [pytest.mark.compile, pytest.mark.rtx, pytest.mark.xdist_group("ioext")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scaffold.new(
        "Static",
        directory=tmp_path_factory.mktemp("ioext"),
        base="ioext",
        inputs=["x:float32,float16,int8:n,c", "w:float32,float16,int8:n,2"],
        outputs=["y:float32,float16,int8:n,c", "z:float32,float16,int8:n,c + 1"],
    )


@pytest.mark.parametrize(
    "families",
    [ONE_OF_EACH_KIND, pytest.param(None, marks=pytest.mark.slow)],
    ids=["one of each kind", "every network"],
)
def test_the_written_project_passes_everything(project: Path, families: tuple[str, ...] | None) -> None:
    report = run(Options(project=project, families=families))
    assert report.bad == []
    assert {case.runs for case in report.cases} == {2}
    assert {case.network.split("/")[2] for case in report.cases} == {"default", "odd"}
    assert {case.precision.short for case in report.cases} == {"FP32", "FP16", "INT8"}
    assert {verdict.outcome for verdict in (*report.verdicts, *report.controls)} == {Outcome.PASSED}
    assert len(report.registries) == 2, "tensorrt-lean 10 and 11 take it as the V2 class that it is"
    assert {verdict.outcome for verdict in report.registries} == {Outcome.PASSED}


ONE_OF_THE_BATCH = """public:
    int32_t enqueue(int32_t batchSize, void const* const* inputs, void* const* outputs, void* workspace,
                    cudaStream_t stream) noexcept override
    {
        return IOExtLayer::enqueue(batchSize > 1 ? 1 : batchSize, inputs, outputs, workspace, stream);
    }
"""


def test_a_wrong_second_batch_is_found_beside_the_shapes_only(project: Path) -> None:
    source = project / "src" / "static.cpp"
    right = source.read_text()
    wrong = right.replace("Layer<Static, Signature>\n{\n", "Layer<Static, Signature>\n{\n" + ONE_OF_THE_BATCH)
    assert wrong != right
    source.write_text(wrong)
    try:
        report = run(Options(project=project, only=("plain/float32/*",)))
    finally:
        source.write_text(right)
    assert {"plain/float32/default/opt", "plain/float32/odd/opt"} <= {case.id for case in report.bad}
    for case in report.bad:
        first, *rest = case.message.splitlines()
        assert first == "with an implicit batch dimension (docs/bases.md):"
        assert "IPluginV2IOExt::enqueue: left unwritten" in "\n".join(rest)


SEEN = struct.calcsize("=i8qii")
"""Bytes of a tensor in an engine: its rank, dimensions, type and format; before the four of them stands their row."""


@pytest.mark.parametrize(("place", "value", "taken"), [(0, 2, True), (0, 3, False), (0, -2, False), (4, 9, False)])
def test_damaged_bytes_make_no_plugin(project: Path, place: int, value: int, taken: bool) -> None:
    specs = [TensorSpec(DType.FLOAT32, dims, dims, dims, dims) for dims in ((2, 8), (2, 2))]
    with Library(build(project, "cpu")[0].library) as library:
        (creator,) = library.creators
        data = bytearray(build_layer(creator, "layer", {}, [specs]).serialized.data)
        struct.pack_into("=i", data, len(data) - 4 * SEEN - 4 + place, value)
        if taken:
            creator.deserialize("layer", bytes(data))
            return
        with pytest.raises(Finding, match="answered null"):
            creator.deserialize("layer", bytes(data))


def test_open_dimensions_are_refused_by_the_host_and_by_the_adapter(project: Path, tmp_path: Path) -> None:
    """A manifest that says dynamic of a library that is not."""
    library, text = build(project, "cpu")[0].library, (project / "pluginkit.toml").read_text()
    open_ = tmp_path / "open"
    open_.mkdir()
    for name in ("reference.py", "CMakeLists.txt"):
        (open_ / name).write_text((project / name).read_text())
    changed = text.replace('"ioext"', '"dynamic"').replace("[2, 2, 2]", "[1, 2, 4]")
    (open_ / "pluginkit.toml").write_text(changed)
    report = run(Options(project=open_, library=library, only=("plain/float32/*",)))
    assert report.exit_code == 1
    (host, *_) = [case.message for case in report.bad if hasattr(case, "family")]
    assert "has the dimensions [-1, -1], and an IPluginV2IOExt takes no open ones" in host
    (rtx,) = [verdict for verdict in report.verdicts if verdict.network == "plain/float32"]
    assert rtx.outcome is Outcome.FAILED
    assert any("Static: input 0 has a dynamic dimension, and an IPluginV2IOExt" in line for line in rtx.log), rtx.log


def test_a_model_with_it_is_imported_and_run(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = build(project, "cpu")[0].library
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, size]) for name, size in (("x", 8), ("w", 2))]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, size]) for name, size in (("y", 8), ("z", 9))]
    node = helper.make_node(
        "Static", ["x", "w"], ["y", "z"], "n", domain="acme", plugin_version="1", alpha=np.float32(0.5)
    )
    graph = helper.make_graph([node], "g", inputs, outputs)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    model = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), model)
    assert cli.run(["import", str(model), "--plugins", str(library), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"]["status"] == "compared"
