"""`pluginkit import --data --expected`: a run on the user's own inputs, held against their own outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from pluginkit import cli
from pluginkit.errors import UsageError
from pluginkit.importing import ImportOptions, run
from pluginkit.importing.files import recorded
from pluginkit.network.networks import Array

from .models import model, scale, value

pytestmark = pytest.mark.usefixtures("one_process")
X = np.arange(-6, 6, dtype=np.float32).reshape(4, 3)
SHAPES = [value("x", ["n", 3])], [value("y", ["n", 3])]


def saved(tmp_path: Path, proto: onnx.ModelProto, **files: dict[str, Array]) -> tuple[Path, dict[str, Path]]:
    onnx.save(proto, tmp_path / "m.onnx")
    paths = {name: tmp_path / f"{name}.npz" for name in files}
    for name, arrays in files.items():
        np.savez(paths[name], **arrays)
    return tmp_path / "m.onnx", paths


def doubled() -> onnx.ModelProto:
    return model([helper.make_node("Add", ["x", "x"], ["y"])], *SHAPES)


@pytest.mark.parametrize(("off", "status", "exit_code"), [(0.0, "compared", 0), (0.5, "failed", 1)])
def test_a_model_without_plugins_is_held_against_what_is_expected(
    tmp_path: Path, off: float, status: str, exit_code: int
) -> None:
    path, files = saved(tmp_path, doubled(), data={"x": X}, expected={"y": 2 * X + off})
    found = run(ImportOptions(path, **files))
    assert (found.ran.status, found.exit_code) == (status, exit_code)
    assert found.ran.drawn == (f"x: of {files['data']}",)
    assert found.to_json()["run"]["against"] == str(files["expected"])


def test_integers_scalars_and_some_of_the_outputs_are_compared(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["all"], keepdims=0),
        helper.make_node("ArgMax", ["x"], ["where"], axis=1, keepdims=0),
        helper.make_node("Neg", ["x"], ["y"]),
    ]
    outputs = [value("all", []), value("where", ["n"], onnx.TensorProto.INT64), value("y", ["n", 3])]
    right = {"all": np.float32(-6), "where": np.full(4, 2)}
    for expected, status in ((right, "compared"), ({**right, "where": np.array([2, 2, 1, 2])}, "failed")):
        path, files = saved(tmp_path, model(nodes, SHAPES[0], outputs), data={"x": X}, expected=expected)
        found = run(ImportOptions(path, **files))
        assert (found.ran.status, [one.name for one in found.ran.outputs]) == (status, ["all", "where"])


@pytest.mark.compile
def test_a_plugin_is_held_against_what_is_expected_not_the_reference(
    scale_project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proto = model([scale(factor=3.0, mode=0)], *SHAPES)
    path, files = saved(tmp_path, proto, data={"x": X}, right={"y": np.where(X < 0, 3 * X, X)}, wrong={"y": 2 * X})
    call = ["import", str(path), "--plugins", str(scale_project), "--data", str(files["data"]), "--expected"]
    assert cli.run([*call, str(files["right"])]) == 0
    assert f"run on the CPU, against {files['right']}: compared" in " ".join(capsys.readouterr().out.split())
    assert cli.run([*call, str(files["wrong"])]) == 1
    assert "output 'y' is -18" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "expected", "message"),
    [
        (None, {"y": X}, "its input x is not given"),
        ({"q": X}, None, "the model has no input 'q'"),
        ({"x": X}, {"z": X}, "the model has no output 'z'"),
        ({"x": X}, {}, "has no arrays, so nothing would be compared"),
        ({"x": X}, {"y": np.array(["one"])}, "y is of type <U3, not of numbers"),
        ({"x": X.astype(complex)}, None, "x is of type complex128, not of numbers"),
    ],
)
def test_files_that_do_not_fit_the_model(
    tmp_path: Path, data: dict[str, Array] | None, expected: dict[str, Array] | None, message: str
) -> None:
    arrays = {name: one for name, one in (("data", data), ("expected", expected)) if one is not None}
    _, files = saved(tmp_path, doubled(), **arrays)
    with pytest.raises(UsageError, match=message):
        recorded.read(doubled(), files.get("data"), files.get("expected"))


@pytest.mark.parametrize(
    ("array", "hint"), [(X[:2], "--profile x:2x3"), (X.astype(np.float64), "types are those of the model")]
)
def test_a_recorded_input_of_another_shape_or_type(array: Array, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        recorded.fed(Path("in.npz"), {"x": array}, {"x": X})
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut"])
def test_no_archive(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "in.npz").write_bytes(content)
    with pytest.raises(UsageError, match="it is not an archive of named arrays"):
        recorded.arrays(tmp_path / "in.npz", ["x"], "input")
    with pytest.raises(UsageError, match="there is no such file"):
        recorded.arrays(tmp_path / "gone.npz", ["x"], "input")
