"""A model in an engine of TensorRT 8, by a worker that answers as one does: TensorRT 8 runs on a GPU alone."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from rich.console import Console
from typing_extensions import Self

from pluginkit.build import build
from pluginkit.build.gpus import DriverInfo, Gpu
from pluginkit.cli.inspection import model_report
from pluginkit.importing import Imported, ImportOptions, run
from pluginkit.importing.engines import whole
from pluginkit.installation import tensorrt8
from pluginkit.installation.tensorrt8 import TensorRT8
from pluginkit.process.worker import WorkerCrashed, WorkerTimeout
from pluginkit.runtimes import Availability
from pluginkit.runtimes.rtx import session as tensorrt_rtx

from .models import model, value

EIGHT = TensorRT8("/usr/bin/python3.10", "8.5.3.1", "/opt/tensorrt8")
LAYERS = [("r", 0.25), ("copied", 0.5)]
IN_LOOP = "TensorRT's builder: 4: Error Code 4: Myelin (PLUGIN_V2 operation not supported within this graph.)"


class Answers:
    """In a worker's place."""

    asked: ClassVar[list[tuple[str, Any]]]
    wrong = ""

    def __init__(self, child: str, init: dict[str, Any], **_: Any) -> None:
        assert child == whole.CHILD
        self.libraries = init["libraries"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def call(self, method: str, **given: Any) -> Any:
        self.asked.append((method, given))
        if self.wrong == "hang":
            raise WorkerTimeout(60.0, "", False, "")
        if self.wrong == "crash":
            raise WorkerCrashed("SIGSEGV", "", False, "")
        if method == "build_file":
            return (False, IN_LOOP, ()) if self.wrong == "refuse" else (True, "built", ())
        x = given["feeds"]["x"]
        return {"y": np.maximum(x, 0) + (1 if self.wrong == "values" else 0)}, LAYERS


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> type[Answers]:
    class Fresh(Answers):
        asked: ClassVar[list[tuple[str, Any]]] = []

    missing = Availability(False, reason="not here", remedy="get it")
    monkeypatch.setattr(tensorrt_rtx, "probe", lambda: missing)
    monkeypatch.setattr(whole, "Worker", Fresh)
    monkeypatch.setattr(tensorrt8, "find", lambda: EIGHT)
    monkeypatch.setattr(whole, "find_driver", lambda: DriverInfo("13.0", (Gpu("NVIDIA H100", "9.0"),)))
    return Fresh


def imported(folder: Path, proto: onnx.ModelProto, *plugins: Path, profiles: Sequence[str] = ("x:2x3",)) -> Imported:
    path = folder / "model.onnx"
    onnx.save(proto, path)
    return run(ImportOptions(path, tuple(plugins), tuple(profiles)))


def shown(found: Imported) -> str:
    text = io.StringIO()
    model_report.show(found, Console(file=text, width=200))
    return text.getvalue()


RELU = [helper.make_node("Relu", ["x"], ["y"], "r")]


def test_it_is_built_run_and_timed(answers: type[Answers], tmp_path: Path) -> None:
    found = imported(tmp_path, model(RELU))
    assert found.engine is not None
    assert found.engine.status == "compared"
    assert [method for method, _ in answers.asked] == ["build_file", "timed"]
    built = answers.asked[0][1]
    assert built["profile"].shapes["x"] == ((2, 3),) * 3
    assert built["types"] == ()
    assert found.exit_code == 0
    text = shown(found)
    assert "in an engine of TensorRT 8.5.3.1: compared: 1 output as expected" in text
    assert "2 layers, 0.750 ms (medians, by TensorRT's profiler)" in text
    # The slowest first.
    assert text.index("0.500 ms  copied") < text.index("0.250 ms  r")
    assert "run in TensorRT 8.5.3.1" in found.last_line
    assert found.to_json()["engine"]["layers"][0] == {"name": "r", "milliseconds": 0.25, "plugin": False}


@pytest.mark.parametrize(
    ("wrong", "status", "code"),
    [("values", "failed", 1), ("refuse", "refused", 1), ("hang", "hung", 1), ("crash", "crashed", 1)],
)
def test_what_is_wrong_there_is_wrong(
    answers: type[Answers], tmp_path: Path, wrong: str, status: str, code: int
) -> None:
    answers.wrong = wrong
    found = imported(tmp_path, model(RELU))
    assert found.engine is not None
    assert (found.engine.status, found.exit_code) == (status, 1)
    assert f"in an engine of TensorRT 8.5.3.1: {status}" in shown(found)


def test_a_refusal_of_loops_is_explained_in_models_with_loops_alone(answers: type[Answers], tmp_path: Path) -> None:
    answers.wrong = "refuse"
    found = imported(tmp_path, model(RELU))
    assert found.engine is not None
    assert found.engine.fix == ""
    body = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["on"]), helper.make_node("Relu", ["old"], ["new"])],
        "body",
        [value("i", [], TensorProto.INT64), value("going", [], TensorProto.BOOL), value("old", ["n", "c"])],
        [value("on", [], TensorProto.BOOL), value("new", ["n", "c"])],
    )
    trips = helper.make_tensor("trips", TensorProto.INT64, [], [2])
    loop = helper.make_node("Loop", ["trips", "", "x"], ["y"], "l", body=body)
    found = imported(tmp_path, model([loop], initializers=[trips]))
    assert found.engine is not None
    assert "compute what does not change" in found.engine.fix


def test_types_that_the_builder_may_choose_are_not_compared(answers: type[Answers], tmp_path: Path) -> None:
    half = helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16)
    back = helper.make_node("Cast", ["h"], ["y"], to=TensorProto.FLOAT)
    found = imported(tmp_path, model([half, back]))
    assert found.engine is not None
    assert answers.asked[0][1]["types"] == ("float16",)
    assert found.engine.status == "ran"


def test_a_library_of_target_cpu_is_not_asked(answers: type[Answers], tmp_path: Path, bar: Path) -> None:
    copied = tmp_path / "libbar.so"
    copied.write_bytes(build(bar, "cpu")[0].library.read_bytes())
    found = imported(tmp_path, model(RELU), copied)
    assert found.engine is not None
    assert found.engine.status == "not asked"
    assert "of target cpu, and belongs to no project" in found.engine.message
    assert answers.asked == []


def test_nothing_is_said_where_it_is_not(
    answers: type[Answers], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "find_driver", lambda: DriverInfo(problem="no GPU"))
    assert imported(tmp_path, model(RELU)).engine is None
    monkeypatch.setattr(tensorrt8, "find", lambda: None)
    found = imported(tmp_path, model(RELU))
    assert found.engine is None
    assert "TensorRT 8" not in shown(found)
    assert answers.asked == []
