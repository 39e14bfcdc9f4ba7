"""`pluginkit adopt` on libraries of other builds: what it finds out, and those that do not survive a question."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping
from itertools import product
from pathlib import Path

import pytest

from pluginkit import cli, layouts
from pluginkit.errors import CheckFailed, PluginCrashed, UsageError
from pluginkit.manifest import Manifest
from pluginkit.process.worker import Worker

from .conftest import Foreign

pytestmark = pytest.mark.compile

REFERENCE = """
def reference(x, *, group):
    n, c, length = x.shape
    return x.reshape(n, c // group, group, length).max(axis=2)
"""


@pytest.mark.parametrize("layout", [10, pytest.param(11, marks=pytest.mark.slow)])
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
    # pytest has the same cases.
    (tmp_path / "test_layer.py").write_text(
        "def test_in_networks(pluginkit_case):\n    pluginkit_case.check()\n", encoding="utf-8"
    )
    item = f"{tmp_path / 'test_layer.py'}::test_in_networks[plain/float32/opt]"
    command_line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), item]
    done = subprocess.run(command_line, capture_output=True, text=True, check=False)
    assert re.search(r"^[1-9]\d* passed", done.stdout.splitlines()[-1]), done.stdout + done.stderr
    # And nothing that is there is written again.
    assert cli.run(command) == UsageError.exit_code
    assert "already exists; nothing was written" in capsys.readouterr().err
    assert (tmp_path / "reference.py").read_text(encoding="utf-8") == REFERENCE


@pytest.mark.parametrize("layout", [8, 10, pytest.param(11, marks=pytest.mark.slow)])
def test_an_ioext_plugin_is_drafted_and_tested(
    foreign: Foreign, tmp_path: Path, layout: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["adopt", str(foreign("ioext", layout)), "--dir", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "PairSum 1: IPluginV2IOExt, inputs: 1, outputs: 1" in shown
    assert "to fill in" not in shown
    manifest = Manifest.load(tmp_path)
    assert manifest.plugin.base == "ioext"
    assert [(one.name, one.default) for one in manifest.fields] == [("factor", 2.0)]
    # Of three answers for static shapes: the last dimension is halved.
    shape = manifest.inputs[0].shape
    assert manifest.outputs[0].shape == (*shape[:-1], f"{shape[-1]} // 2")
    (tmp_path / "reference.py").write_text(
        "def reference(x, *, factor):\n    return factor * (x[..., 0::2] + x[..., 1::2])\n", encoding="utf-8"
    )
    assert cli.run(["test", str(tmp_path), "--network", "plain"]) == 0, capsys.readouterr()
    assert "broken networks" in capsys.readouterr().out


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


PROBES = {
    "create": "createPlugin",
    "outputs": "getNbOutputs",
    "types": "getOutputDataType",
    "shapes": "getOutputDimensions",
    "formats": "supportsFormatCombination",
    "serialize": "serialize",
}
"""Where a question may end its process, and the method's name."""
LISTING = {
    "start": "dlopen",
    "list": "getCreators",
    "name": "getPluginName",
    "version": "getPluginVersion",
    "namespace": "getPluginNamespace",
    "fields": "getFieldNames",
}
ENDINGS = {"crash": "SIGABRT", "exit": "exit code 3", "hang": "no answer within 2 s"}


def each(places: Mapping[str, str], often: Collection[tuple[str, str]]) -> list[object]:
    """Every ending at every place; a few are in every run."""
    every = product(ENDINGS, places)
    return [pytest.param(*one, marks=() if one in often else pytest.mark.slow) for one in every]


def test_a_list_that_the_creator_reads_beyond_is_drawn_longer(foreign: Foreign) -> None:
    library = foreign("two-of-a-listed-one")
    asked = {"library": library, "version": layouts.LAYOUTS[0].host_version}
    with Worker("pluginkit.adoption.adoption_worker", asked, timeout=60) as worker:
        (shift,) = [one for one in worker.call("creators") if one.name == "Shift"]
        answers = worker.call("answers", index=shift.index, given=None, ranks=None)
    assert answers.made == "draws"
    (by,) = [one for one in answers.given if one[0] == "by"]
    assert by[3] > 1


@pytest.mark.parametrize(
    ("kind", "place"), each(PROBES, [("crash", "create"), ("exit", "outputs"), ("crash", "formats")])
)
def test_a_question_that_ends_the_process_is_no_finding(
    foreign: Foreign, tmp_path: Path, kind: str, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["adopt", str(foreign(f"{kind}-in-{place}")), "--dir", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    # The library's other plugin is drafted all the same.
    assert Manifest.load(tmp_path / "plugins" / "group_max").outputs[0].shape == ("n", "c // group", "l")
    draft = (tmp_path / "pluginkit.toml").read_text(encoding="utf-8")
    if kind == "hang" or place in ("create", "outputs"):
        assert re.search(rf"# Ended when it was asked something \(no finding\): .*{PROBES[place]}", draft), draft
    if place == "serialize" or (place, kind) in (("types", "crash"), ("types", "exit")):
        assert Manifest.load(tmp_path).inputs[0].types[0].value == "float32"
        return
    assert "to fill in" in shown
    assert cli.run(["test", str(tmp_path)]) == UsageError.exit_code
    output = capsys.readouterr().err
    assert "to fill in" in output
    if place != "types":
        assert "the plugin answers no question about its inputs" in output


@pytest.mark.parametrize(("kind", "place"), each(LISTING, [("exit", "start"), ("crash", "name"), ("hang", "fields")]))
def test_a_library_that_cannot_be_listed(
    foreign: Foreign, tmp_path: Path, kind: str, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["adopt", str(foreign(f"{kind}-in-{place}")), "--dir", str(tmp_path), "--timeout", "2"]
    assert cli.run(command) == PluginCrashed.exit_code
    shown = capsys.readouterr().err
    assert "can't be adopted" in shown
    assert re.search(rf"{ENDINGS[kind]} in (\w+::)?{LISTING[place]}", shown), shown
    assert list(tmp_path.iterdir()) == []


def test_a_library_without_creators(foreign: Foreign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["adopt", str(foreign("no-creators")), "--dir", str(tmp_path)]) == CheckFailed.exit_code
    assert "no creator" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_plugin_library(foreign: Foreign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "notes.so"
    text.write_text("no library", encoding="utf-8")
    other = tmp_path / "arm.so"
    raw = bytearray(foreign().read_bytes())
    raw[18:20] = (183).to_bytes(2, "little")  # e_machine: EM_AARCH64
    other.write_bytes(raw)
    for library, output in (
        (text, "ELF"),
        (other, f"is for AArch64; this machine is {platform.machine()}"),
        (tmp_path / "none.so", "no file"),
    ):
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
