"""`pluginkit new --from-torch`: signature, sizes, fields, reference and case of modules and operators; refusals."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pluginkit import cli
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.process.worker import Worker
from pluginkit.torch import project
from pluginkit.torch.facts import TorchFound
from pluginkit.torch.target import parse

pytestmark = pytest.mark.slow
pytest.importorskip("torch")

LAYERS = Path(__file__).resolve().parent / "layers.py"


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(project.CHILD, {}, timeout=300.0) as started:
        yield started


def find(worker: Worker, target: str, example: str) -> TorchFound:
    found = worker.call("find", target=parse(target), example=example, folder=str(LAYERS.parent))
    assert isinstance(found, TorchFound)
    return found


def tensors(found: TorchFound) -> dict[str, tuple[str | None, ...]]:
    return {one.name: one.dims for one in (*found.inputs, *found.outputs)}


def test_arguments_are_fields_where_they_can_be_told(worker: Worker) -> None:
    found = find(worker, "layers:Swish2", "torch.randn(2, 8, 16)")
    assert tensors(found) == {"x": ("n", "l", "d"), "y": ("n", "l", "d")}
    assert [(one.name, one.value, one.boolean) for one in found.fields] == [
        ("beta", 1.5, False), ("gate", 1, True), ("power", 2, False), ("mode", "mul", False),
    ]  # fmt: skip
    assert found.ranges == {"n": (1, 2, 4), "l": (1, 8, 16), "d": (1, 16, 32)}
    assert found.wide
    assert not found.fixed


def test_a_whole_number_for_a_float(worker: Worker) -> None:
    found = find(worker, "layers:Swish2(beta=2)", "torch.randn(2, 8, 16)")
    assert [repr(one.value) for one in found.fields] == ["2.0", "1", "2", "'mul'"]
    found = find(worker, "layers:my_scale(factor=2, sizes=[3, 4])", "torch.randn(2, 8), torch.randn(8)")
    assert [repr(one.value) for one in found.fields] == ["2.0", "(3, 4)", "2", "1"]
    found = find(worker, "layers:Lists(a=[1, 2], d=[2, 3])", "torch.randn(2, 8)")
    assert [repr(one.value) for one in found.fields] == ["(1.0, 2.0)", "(1.0, 2.0)", "2.0", "(2.0, 3.0)", "(3,)"]


@pytest.mark.parametrize("inplace", [False, True])
def test_a_module_that_writes_into_its_input(worker: Worker, inplace: bool) -> None:
    """Where it is tried so, and where it is asked for."""
    found = find(worker, f"layers:InPlace(slope=0.5, inplace={inplace})", "torch.tensor([[-2.0, 4.0], [6.0, -8.0]])")
    assert found.inputs[0].array.tolist() == [[-2.0, 4.0], [6.0, -8.0]]
    assert found.outputs[0].array.tolist() == [[-1.0, 4.0], [6.0, -4.0]]
    assert [one.name for one in found.fields] == ["slope"]


def test_names_of_inputs_that_a_project_cannot_have(worker: Worker) -> None:
    example = "torch.randn(2, 4), torch.randn(2, 4), torch.randn(2, 4)"
    assert list(tensors(find(worker, "layers:Words", example))) == ["weights_", "module_", "double_", "bias", "y"]
    found = find(worker, "layers:SEQUENCE", "torch.randn(2, 4)")
    assert {one.name: one.parameter for one in found.inputs} == {
        "input_": "", "w0_weight": "0.weight", "w0_bias": "0.bias",
    }  # fmt: skip


def test_a_module_that_ends_python(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "leaving.py").write_text("raise SystemExit(3)")
    with pytest.raises(UsageError, match="Importing leaving fails: SystemExit: 3"):
        worker.call("find", target=parse("leaving:A"), example="torch.ones(2)", folder=str(tmp_path))


def test_weights_are_inputs(worker: Worker) -> None:
    found = find(worker, "layers:Norm(2, channels=8)", "torch.randn(2, 8, 4, 6)")
    assert tensors(found) == {
        "x": ("n", "c", "h", "w"), "affine_weight": ("c",), "bias": ("c",), "y": ("n", "c", "h", "w"),
    }  # fmt: skip
    assert [one.parameter for one in found.inputs] == ["", "affine.weight", "bias"]
    assert [one.name for one in found.fields] == ["groups", "eps"]
    assert found.fixed == ("channels=8",)
    assert found.ranges == {"n": (1, 2, 4), "c": (8, 8, 8), "h": (1, 4, 8), "w": (1, 6, 12)}  # channels: a multiple


def test_sizes_that_are_computed(worker: Worker) -> None:
    found = find(worker, "layers:Several", "torch.randn(2, 8), torch.randn(3, 8)")
    assert tensors(found) == {
        "left": ("n", "c"), "right": ("n2", "c"), "y0": ("n + n2", "c"), "y1": ("n", "c + 4"),
        "y2": ("n", "((c - 1) // 2) + 1"),
    }  # fmt: skip
    assert any("extra=2 is not a field: the outputs' sizes follow from it" in note for note in found.notes)


def test_a_module_that_is_made_already(worker: Worker) -> None:
    found = find(worker, "layers:MADE", "(torch.randn(2, 8), torch.randn(3, 8))")
    assert tensors(found)["y1"] == ("n", "c + 2")
    assert not found.is_class
    with pytest.raises(UsageError, match="takes no arguments"):
        find(worker, "layers:MADE(1)", "torch.randn(2, 8)")


def test_indices_and_a_dimension_of_one(worker: Worker) -> None:
    found = find(worker, "layers:Embedded", "torch.randint(0, 10, (1, 5))")
    assert tensors(found) == {"index": ("1", "c"), "table_weight": ("n", "c2"), "y": ("1", "c", "c2")}
    assert found.inputs[0].kind == "int64"
    assert any("is 1 in the example is fixed" in note for note in found.notes)


@pytest.mark.parametrize("name", ["my_scale", "acme::my_scale"])
def test_an_operator(worker: Worker, name: str) -> None:
    found = find(worker, f"layers:{name}(factor=0.5, sizes=[3, 4])", "torch.randn(2, 8), torch.randn(8)")
    assert (found.name, found.namespace) == ("MyScale", "acme")
    assert tensors(found) == {"x": ("n", "c"), "w": ("c",), "y0": ("n", "c"), "y1": ("n", "c * 2")}
    assert {one.name: one.value for one in found.fields} == {"factor": 0.5, "sizes": (3, 4), "mode": 2, "on": 1}


def test_what_export_cannot_follow_has_fixed_sizes(worker: Worker) -> None:
    found = find(worker, "layers:Branching", "torch.ones(2, 8)")
    assert tensors(found) == {"x": ("2", "8"), "y": ("2", "8")}
    assert any("torch.export can't follow the module" in note for note in found.notes)


def test_a_size_that_must_be_a_multiple(worker: Worker) -> None:
    found = find(worker, "layers:Folded", "torch.ones(16, 6)")
    assert tensors(found) == {"x": ("n", "c"), "y": ("n // (n // 8)", "c")}
    assert found.ranges == {"n": (16, 16, 16), "c": (1, 6, 12)}
    assert found.notes == (
        "n can be 16 and 32, and not 17: its profile is 16 alone. Add profiles with other sizes that fit.",
    )


@pytest.mark.parametrize(
    ("target", "example", "message"),
    [
        ("no_such_layers:A", "torch.ones(2)", "no Python module no_such_layers: neither in .*Go to the folder"),
        ("layers.inner:A", "torch.ones(2)", "There is no Python module layers.inner|Importing layers.inner fails"),
        ("layers:Swish3", "torch.ones(2)", "layers has no Swish3.*Is Swish2 meant"),
        ("layers:plain", "torch.ones(2)", "is a function, and neither a torch.nn.Module nor an operator"),
        ("layers:acme::nothing", "torch.ones(2)", "PyTorch has no operator acme::nothing"),
        ("layers:Norm", "torch.ones(2)", r"missing a required argument: 'groups'.*\(groups=..., channels=...\)"),
        ("layers:Norm(2, 8, epsilon=1.0)", "torch.ones(2)", "unexpected keyword argument 'epsilon'"),
        ("layers:Broken", "torch.ones(2)", r"can't be made: OSError: no weights here \(.*layers.py:\d+\)"),
        ("layers:Leaves", "torch.ones(2)", r"can't be made: SystemExit: 3"),
        ("layers:Fails", "torch.ones(2, 4)", r"fails on the example: RuntimeError: .*layers.py:\d+\).*with x \(2, 4\)"),
        ("layers:Several", "torch.ones(2, 4)", "fails on the example: TypeError"),
        ("layers:Dictionary", "torch.ones(2, 4)", "returns a dict"),
        ("layers:Swish2", "torch.ones(", "--example 'torch.ones\\(' fails: SyntaxError"),
        ("layers:Swish2", "1.5", "gives a float, no tensor"),
        ("layers:my_scale", "torch.ones(2, 4)", "needs factor, sizes.*layers:my_scale\\(factor=..., sizes=...\\)"),
        ("layers:my_scale(size=1)", "torch.ones(2, 4)", "fields are factor, sizes, mode, on"),
        ("layers:add_one", "torch.ones(2, 4)", "writes into its inputs"),
    ],
)  # fmt: skip
def test_what_is_said_of_mistakes(worker: Worker, target: str, example: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(worker, target, example)
    assert re.search(f"(?s){message}", str(caught.value)), caught.value


@pytest.mark.parametrize(
    ("target", "example", "message"),
    [
        ("layers:Positive", "torch.ones(2, 4)", "the output y is bool"),
        ("layers:Where", "torch.ones(2, 4)", "the output y's dimension 0 follows from no sum"),
        ("layers:Named", "torch.ones(2, 4)", "'double'"),
        ("layers:Fails", "torch.ones(2, 4)", "fails on the example"),
    ],
)
def test_nothing_is_written_of_what_cannot_be_described(
    target: str, example: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    shutil.copy(LAYERS, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert cli.run(["new", "--from-torch", target, "--example", example]) == 2
    assert message in capfd.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} <= {"layers.py", "__pycache__"}


@pytest.mark.parametrize(
    ("target", "example", "slug"),
    [
        ("layers:Swish2(gate=False)", "torch.randn(2, 8, 16)", "swish2"),
        ("layers:Norm(2, 8)", "torch.randn(2, 8, 4, 6)", "norm"),
        ("layers:MADE", "torch.randn(2, 8), torch.randn(3, 8)", "made"),
        ("layers:Words", "torch.randn(2, 4), torch.randn(2, 4), torch.randn(2, 4)", "words"),
        ("layers:SEQUENCE", "torch.randn(2, 4)", "sequence"),
        ("layers:InPlace(slope=2)", "torch.randn(2, 4)", "in_place"),
        ("torch.nn:GELU", "torch.randn(2, 4)", "gelu"),
        ("layers:acme::my_scale(factor=0.5, sizes=[3, 4])", "torch.randn(2, 8), torch.randn(8)", "my_scale"),
    ],
)
def test_the_projects_reference_gives_what_the_module_gave(
    target: str, example: str, slug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the project's own test of it, from another folder, too."""
    shutil.copy(LAYERS, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert cli.run(["new", "--from-torch", target, "--example", example, "--dir", "made"]) == 0
    folder = tmp_path / "made" / slug
    manifest = Manifest.load(folder)
    case = np.load(folder / "tests" / "cases" / "example.npz")
    assert {f"input.{one.name}" for one in manifest.inputs} < set(case.files)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "own_data", str(folder / "tests")]
    done = subprocess.run(
        command,
        cwd="/",
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
