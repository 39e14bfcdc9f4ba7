"""`pluginkit adopt` on libraries of other builds: what it finds out, and those that do not survive a question."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pluginkit import cli
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest

from .conftest import Foreign

pytestmark = pytest.mark.compile

REFERENCE = """
def reference(x, *, group):
    n, c, length = x.shape
    return x.reshape(n, c // group, group, length).max(axis=2)
"""


@pytest.mark.parametrize("layout", [10, 11])
def test_what_a_library_says_and_answers(
    foreign: Foreign, tmp_path: Path, layout: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["adopt", str(foreign(layout=layout)), "--dir", str(tmp_path / "drafts")]) == 0
    shown = capsys.readouterr().out
    assert "Shift 1: IPluginV2DynamicExt, inputs: 2, outputs: 1" in shown
    shift = Manifest.load(tmp_path / "drafts")
    assert (shift.plugin.name, shift.plugin.version, shift.plugin.base) == ("Shift", "1", "dynamic")
    assert [one.shape for one in shift.inputs] == [("n", "c", "l"), ("n", "c2", "l")]
    assert shift.outputs[0].shape == ("n", "c + c2", "ceil_div(l, 2)")
    assert {tuple(kind.value for kind in one.types) for one in (*shift.inputs, *shift.outputs)} == {
        ("float32", "float16")
    }
    # The plugin's own defaults, which only its serialized form tells; four values have no form.
    fields = [(one.name, one.type, one.default) for one in shift.fields]
    assert fields == [("by", "float32", 0.25), ("mode", "int32", 7)]
    assert shift.library is not None
    # Both hosts list the IPluginV2 of one layout; only that one can drive it.
    assert shift.library.layout == layout
    groups = Manifest.load(tmp_path / "drafts" / "plugins" / "group_max")
    assert (groups.plugin.version, groups.plugin.base) == ("2", "v3")
    assert groups.library is not None
    assert groups.library.layout is None
    # A number in the tree that is a field's value stands there by the field's name.
    assert [one.shape for one in (*groups.inputs, *groups.outputs)] == [("n", "c", "l"), ("n", "c // group", "l")]
    assert [(one.name, one.default) for one in groups.fields] == [("group", None)]
    text = (tmp_path / "drafts/plugins/group_max/pluginkit.toml").read_text(encoding="utf-8")
    assert "no plugin is made without it" in text


def test_a_draft_is_tested(foreign: Foreign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["adopt", str(foreign()), "--creator", "GroupMax:2", "--dir", str(tmp_path)]
    assert cli.run(command) == 0
    assert cli.run(["test", str(tmp_path), "--network", "plain"]) == 1
    assert "say what the layer means" in capsys.readouterr().err
    (tmp_path / "reference.py").write_text(REFERENCE, encoding="utf-8")
    assert cli.run(["test", str(tmp_path), "--network", "plain"]) == 0
    assert "cases; NVIDIA's builder took 1 of 1" in " ".join(capsys.readouterr().out.split())
    # And nothing that is there is written again.
    assert cli.run(command) == UsageError.exit_code
    assert "is there already; nothing was written" in capsys.readouterr().err
    assert (tmp_path / "reference.py").read_text(encoding="utf-8") == REFERENCE


def test_a_library_with_its_manifest_next_to_it(
    foreign: Foreign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    library = Path(shutil.copy(foreign(), tmp_path / "libown.so"))
    assert cli.run(["adopt", str(library), "--creator", "GroupMax", "--dir", str(tmp_path)]) == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert cli.run(["test", "--library", str(library), "--only", "plain/float32/opt"]) == 1
    assert "say what the layer means" in capsys.readouterr().err
    assert cli.run(["test", "--only", "plain/float32/opt"]) == UsageError.exit_code
    assert "There is no pluginkit.toml" in capsys.readouterr().err


def test_a_library_of_layout_10_runs_in_a_host_of_that_layout(foreign: Foreign, tmp_path: Path) -> None:
    """Its enqueue answers 1, which the host reports: so it got that far."""
    assert cli.run(["adopt", str(foreign(layout=10)), "--creator", "Shift", "--dir", str(tmp_path)]) == 0
    (tmp_path / "reference.py").write_text(
        "import numpy as np\ndef reference(x1, x2, *, by, mode):\n"
        "    return np.concatenate([x1, x2], axis=1)[:, :, ::2]\n",
        encoding="utf-8",
    )
    report = tmp_path / "report.json"
    assert cli.run(["test", str(tmp_path), "--only", "plain/float32/opt", "--json", str(report)]) == 1
    assert "IPluginV2DynamicExt::enqueue: answered 1" in report.read_text(encoding="utf-8")


@pytest.mark.parametrize("fault", ["exit-in-outputs", "crash-in-types", "exit-in-shapes", "crash-in-create"])
def test_a_question_that_ends_the_process_is_no_finding(
    foreign: Foreign, tmp_path: Path, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["adopt", str(foreign(fault)), "--dir", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    # The library's other plugin is drafted all the same.
    assert Manifest.load(tmp_path / "plugins" / "group_max").outputs[0].shape == ("n", "c // group", "l")
    if fault == "crash-in-types":
        assert Manifest.load(tmp_path).inputs[0].types[0].value == "float32"
        return
    assert "to fill in" in shown
    assert cli.run(["test", str(tmp_path)]) == UsageError.exit_code
    output = capsys.readouterr().err
    assert "to fill in" in output
    assert "the plugin answers no question about its inputs" in output


@pytest.mark.parametrize(
    ("fault", "code", "output"),
    [
        ("crash-in-start", 6, "SIGABRT in dlopen"),
        ("exit-in-start", 6, "exit code 3 in dlopen"),
        ("hang-in-start", 6, "no answer within 2 s in dlopen"),
        ("crash-in-list", 6, "SIGABRT in getCreators"),
        ("exit-in-name", 6, "exit code 3 in IPluginCreator::getPluginName"),
        ("hang-in-fields", 6, "no answer within 2 s in IPluginCreator::getFieldNames"),
        ("no-creators", 1, "no creator"),
    ],
)
def test_a_library_that_cannot_be_listed(
    foreign: Foreign, tmp_path: Path, fault: str, code: int, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["adopt", str(foreign(fault)), "--dir", str(tmp_path), "--timeout", "2"]) == code
    shown = capsys.readouterr().err
    assert "can't be adopted" in shown
    assert output in shown
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_plugin_library(foreign: Foreign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "notes.so"
    text.write_text("no library", encoding="utf-8")
    other = tmp_path / "arm.so"
    raw = bytearray(foreign().read_bytes())
    raw[18:20] = (183).to_bytes(2, "little")  # e_machine: EM_AARCH64
    other.write_bytes(raw)
    for library, output in ((text, "ELF"), (other, "this machine is"), (tmp_path / "none.so", "no file")):
        assert cli.run(["adopt", str(library), "--dir", str(tmp_path)]) == UsageError.exit_code
        assert output in capsys.readouterr().err
    assert cli.run(["adopt", str(foreign()), "--creator", "Shoft", "--dir", str(tmp_path)]) == UsageError.exit_code
    assert "It has Shift:1, GroupMax:2." in capsys.readouterr().err


def test_a_manifest_that_contradicts_the_library(
    foreign: Foreign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["adopt", str(foreign()), "--creator", "GroupMax", "--dir", str(tmp_path)]) == 0
    (tmp_path / "reference.py").write_text(REFERENCE, encoding="utf-8")
    file = tmp_path / "pluginkit.toml"
    right = file.read_text(encoding="utf-8")
    for old, new, code, output in (
        ('name = "GroupMax"', 'name = "GroupMin"', 2, "has no creator ::GroupMin version 2"),
        ('path = "', 'path = "/nowhere/', 2, "there is no file"),
        ('# command = "cmake --build build"', 'command = "echo no compiler here; exit 7"', 5, "no compiler here"),
        ('types = ["float32"]', 'types = ["float16"]', 1, "supportsFormatCombination"),
    ):
        file.write_text(right.replace(old, new), encoding="utf-8")
        assert cli.run(["test", str(tmp_path), "--network", "plain"]) == code, new
        captured = capsys.readouterr()
        assert output in captured.err + captured.out
        assert "Traceback" not in captured.err
