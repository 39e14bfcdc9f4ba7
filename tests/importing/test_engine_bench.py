"""`pluginkit bench MODEL.onnx --engine`, by a worker that answers as TensorRT 8 does, which runs on a GPU alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from typing_extensions import Self

from pluginkit import cli
from pluginkit.build.gpus import DriverInfo, Gpu
from pluginkit.errors import CheckFailed, ToolMissing, UsageError
from pluginkit.importing.engines import loading, measured, measuring, whole
from pluginkit.importing.engines.measured import EngineBench
from pluginkit.importing.engines.measuring import EngineOptions
from pluginkit.installation import tensorrt8
from pluginkit.installation.tensorrt8 import TensorRT8
from pluginkit.process.worker import WorkerCrashed

from .models import model

EIGHT = TensorRT8("/usr/bin/python3.10", "8.5.3.1", "/opt/tensorrt8")


def _layer(name: str, kind: str, source: str, to: str) -> dict[str, Any]:
    ends = [{"Name": one, "Format/Datatype": "Row major linear FP32"} for one in (source, to)]
    return {"Name": name, "LayerType": kind, "Inputs": ends[:1], "Outputs": ends[1:]}


WITH = [_layer("before", "Reformat", "x", "x'"), _layer("p", "PluginV2", "x'", "h"), _layer("r", "PointWise", "h", "y")]
WITHOUT = [_layer("neg + r", "PointWise", "x", "y")]


class Engines:
    """In a worker's place: the engine with the plugin is the one of `mine`, by the times that `ratio` says."""

    asked: ClassVar[list[tuple[str, dict[str, Any]]]]
    ratio: ClassVar[float]
    wrong: ClassVar[str]

    def __init__(self, child: str, init: dict[str, Any], **_: Any) -> None:
        assert child in (measuring.CHILD, loading.CHILD)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, method: str, **given: Any) -> Any:
        self.asked.append((method, given))
        return getattr(self, method)(**given)

    def lacking(self) -> list[str]:
        return ["CUDNN"]

    def build_file(self, path: str, profile: Any, types: Any, file: str) -> Any:
        if self.wrong == "refuse" and "mine" in path:
            return False, "Error Code 4: Myelin (PLUGIN_V2 operation not supported within this graph.)", ()
        if self.wrong == "crash":
            raise WorkerCrashed("SIGSEGV", "", False, "")
        Path(file).write_text("mine" if "mine" in path else "without")
        return True, "built", ()

    def timed(self, file: str, feeds: dict[str, Any], times: int) -> Any:
        inspected, _ = self.inspected(file)
        layers = [(one["Name"], 0.25) for one in inspected]
        off = 1.0 if self.wrong == "values" and len(layers) > 1 else 0.0
        return {"y": np.maximum(-feeds["x"], 0) + off}, layers

    def inspected(self, file: str) -> Any:
        return (WITH if Path(file).read_text() == "mine" else WITHOUT), 512

    def tensors(self, file: str) -> str:
        if self.wrong == "crash":
            raise WorkerCrashed("SIGSEGV", "", False, "")
        if self.wrong == "refuse":
            raise CheckFailed("TensorRT doesn't deserialize the engine: creator failed")
        return "x [2, 3]"

    def turns(self, files: list[str], feeds: dict[str, Any], rounds: int) -> Any:
        assert len({id(feeds)}) == 1
        slow = {"mine": 1.0, "without": self.ratio}
        return [[slow[Path(file).read_text()] + turn * 1e-4 for turn in range(rounds)] for file in files]


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> type[Engines]:
    class Fresh(Engines):
        asked: ClassVar[list[tuple[str, dict[str, Any]]]] = []
        ratio: ClassVar[float] = 2.0
        wrong: ClassVar[str] = ""

    for module in (measuring, loading):
        monkeypatch.setattr(module, "Worker", Fresh)
        monkeypatch.setattr(module, "find_driver", lambda: DriverInfo("13.0", (Gpu("NVIDIA H100", "9.0"),)))
    monkeypatch.setattr(tensorrt8, "find", lambda: EIGHT)
    return Fresh


def saved(folder: Path, name: str, *nodes: onnx.NodeProto) -> Path:
    path = folder / f"{name}.onnx"
    onnx.save(model(list(nodes)), path)
    return path


def pair(folder: Path) -> tuple[Path, Path]:
    """Two models that compute the same."""
    nodes = [helper.make_node("Neg", ["x"], ["h"], "neg"), helper.make_node("Relu", ["h"], ["y"], "r")]
    return saved(folder, "mine", *nodes), saved(folder, "without", *nodes)


def measured_of(folder: Path, *precisions: str, profiles: tuple[str, ...] = ("x:2x3",)) -> EngineBench:
    mine, without = pair(folder)
    return measuring.run(EngineOptions(mine, (), without, profiles, precisions))


def test_the_plugin_that_pays(engines: type[Engines], tmp_path: Path) -> None:
    found = measured_of(tmp_path)
    (one,) = found.points
    assert one.label == "opt/float32"
    assert one.mine.status == one.mine.status == "compared"
    assert one.ratio is not None
    assert one.ratio.low > 1.9
    assert one.answer == "faster"
    assert [layer.name for layer in one.mine.because] == ["before"]
    assert [layer.name for layer in one.mine.of("plugin")] == ["p"]
    assert one.lost == ["neg + r"]
    assert found.verdict.startswith("The plugin pays: the engine with it is 1.99")
    assert found.exit_code == 0
    assert [method for method, _ in engines.asked].count("build_file") == 2


@pytest.mark.parametrize(("ratio", "answer", "said"), [(0.5, "slower", "does not pay"), (1.0, "equal", "does not pay")])
def test_the_plugin_that_does_not(engines: type[Engines], tmp_path: Path, ratio: float, answer: str, said: str) -> None:
    engines.ratio = ratio
    found = measured_of(tmp_path)
    assert found.points[0].answer == answer
    assert said in found.verdict


def test_each_point_and_precision_once(engines: type[Engines], tmp_path: Path) -> None:
    found = measured_of(tmp_path, "float32", "float16", profiles=("x:min=1x3,opt=2x3,max=8x3",))
    labels = [one.label for one in found.points]
    assert labels == [f"{point}/{kind}" for kind in ("float32", "float16") for point in ("min", "opt", "max")]
    shapes = [given["feeds"]["x"].shape for method, given in engines.asked if method == "turns"]
    assert shapes == [(1, 3), (2, 3), (8, 3)] * 2
    types = [given["types"] for method, given in engines.asked if method == "build_file"]
    assert types == [(), (), ("float16",), ("float16",)]


@pytest.mark.parametrize(("wrong", "status"), [("values", "failed"), ("refuse", "refused"), ("crash", "crashed")])
@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_no_time_without_a_right_output(
    engines: type[Engines], tmp_path: Path, wrong: str, status: str, precision: str
) -> None:
    engines.wrong = wrong
    found = measured_of(tmp_path, precision)
    (one,) = found.points
    assert one.mine.status == status
    assert one.mine.times is None
    assert one.ratio is None
    assert found.exit_code == 1
    if wrong != "crash":
        # The other one is right, and is timed alone.
        assert one.without is not None
        assert one.without.times is not None


def test_the_models_must_have_the_same_inputs(engines: type[Engines], tmp_path: Path) -> None:
    mine, _ = pair(tmp_path)
    other = onnx.load(mine)
    other.graph.input[0].name = "z"
    other.graph.node[0].input[0] = "z"
    onnx.save(other, tmp_path / "without.onnx")
    with pytest.raises(UsageError, match="other inputs"):
        measuring.run(EngineOptions(mine, (), tmp_path / "without.onnx"))
    assert engines.asked == []


def test_int8_needs_scales(engines: type[Engines], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no QuantizeLinear"):
        measured_of(tmp_path, "int8")
    assert engines.asked == []


def test_without_tensorrt_8(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tensorrt8, "find", lambda: None)
    with pytest.raises(ToolMissing, match="none is here"):
        measured_of(tmp_path)


@pytest.mark.usefixtures("engines")
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    mine, without = pair(tmp_path)
    report, page = tmp_path / "report.json", tmp_path / "page.html"
    words = ["bench", str(mine), "--engine", "--without", str(without), "--profile", "x:2x3"]
    assert cli.run([*words, "--json", str(report), "--html", str(page)]) == 0
    said = capsys.readouterr().out
    assert "The plugin pays" in said
    assert "fusions that are gone: 1" in said
    plain = json.loads(report.read_text())
    assert plain["points"][0]["id"] == "opt/float32"
    assert plain["points"][0]["mine"]["layers"][0]["beside"] is True
    assert "width: 100.0%" in page.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "--sweep", "4KiB..1MiB"], "--sweep is for a plugin alone"),
        (["--engine", "--fp8"], "no float8 engines"),
        (["--without", "x.onnx"], "is a model, and not a plugin's project"),
    ],
)
def test_options_that_do_not_go_together(
    tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, _ = pair(tmp_path)
    assert cli.run(["bench", str(mine), *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "ok", "said"), [("", True, "x [2, 3]"), ("refuse", False, "creator failed"), ("crash", False, "SIGSEGV")]
)
def test_an_engine_is_deserialized(engines: type[Engines], tmp_path: Path, wrong: str, ok: bool, said: str) -> None:
    engines.wrong = wrong
    found = loading.deserialize(tmp_path / "model.plan", [])
    assert found is not None
    assert (found.ok, found.version) == (ok, "8.5.3.1")
    assert said in found.message


def test_no_engine_is_deserialized_where_nothing_can(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tensorrt8, "find", lambda: None)
    assert loading.deserialize(tmp_path / "model.plan", []) is None


def test_options_of_engines_are_for_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["bench", str(tmp_path), "--without", "x.onnx"]) == 2
    assert "--without is for engines" in capsys.readouterr().err


def test_a_median_has_bounds() -> None:
    found = measured.interval([float(one) for one in range(100)])
    assert (found.median, found.low, found.high) == (49.5, 40.0, 60.0)
    assert measured.interval([1.0]) == measured.Interval(1.0, 1.0, 1.0, 1)


def test_types_that_a_model_has_are_allowed(engines: type[Engines], tmp_path: Path) -> None:
    half = helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16)
    back = helper.make_node("Cast", ["h"], ["y"], to=TensorProto.FLOAT)
    mine = saved(tmp_path, "mine", half, back)
    assert whole.types_of(onnx.load(mine)) == ("float16",)
    measuring.run(EngineOptions(mine, profiles=("x:2x3",)))
    assert engines.asked[0][1]["types"] == ("float16",)
