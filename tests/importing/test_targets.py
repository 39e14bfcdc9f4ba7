"""What tables say of a model in the TensorRTs that it is for, and --for of the commands."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import onnx
import pytest
from click.testing import CliRunner
from onnx import parser

from pluginkit import cli, scaffold
from pluginkit.cli import targets as for_option
from pluginkit.cli.inspection import check, doctor
from pluginkit.cli.project import new
from pluginkit.errors import UsageError
from pluginkit.importing.engines.targets import of_model
from pluginkit.importing.files import libraries
from pluginkit.importing.implementations import find_implementations
from pluginkit.installation import tensorrt8
from pluginkit.layouts import TARGETS, TargetName
from pluginkit.manifest import Manifest
from pluginkit.parser_operators import OPERATORS
from pluginkit.registry.bundles.systems import described
from pluginkit.runtimes.tensorrt import foreseen

MODEL = """
<ir_version: 8, opset_import: ["" : 18, "own" : 1]>
agraph (int64 trips, float[3] x, bool flag) => (float[3] last, float[3] either)
{
  yes = Constant <value: tensor = bool {1}> ()
  last = Loop <body = body (int64 i, bool going, float[3] state) => (bool still, float[3] next) {
    still = Identity (going)
    other = Add (state, x)
    next = own.Foo (other)
  }> (trips, yes, x)
  h = Mish (x)
  either = If <then_branch = yes_ () => (float[3] a) { a = own.Foo (h) },
               else_branch = no_ () => (float[3] b) { b = Identity (x) }> (flag)
}"""


def refused(model: onnx.ModelProto, name: TargetName) -> tuple[str, ...]:
    implementations = find_implementations(model, (), lambda operator: operator in OPERATORS)
    (found,) = of_model(model, implementations, [name])
    return found.refused


def test_the_help_has_those_that_are_known() -> None:
    assert for_option.NAMES.split(", ") == list(TARGETS)


def test_8_5_refuses_a_plugin_in_a_loop_and_lacks_an_operator() -> None:
    lacking, loop = refused(parser.parse_model(MODEL), "8.5")
    assert lacking == "Mish is in the parsers of TensorRT 10.0 and later (by a document)"
    assert "whatever the plugin (plugin-in-loop, by a run); what to do: compute" in loop


@pytest.mark.parametrize("name", ["10", "11", "rtx"])
def test_of_others_nothing_that_they_refuse_is_known(name: TargetName) -> None:
    assert refused(parser.parse_model(MODEL), name) == ()


@pytest.mark.rtx
def test_doctor_speaks_for_those_that_are_named(tmp_path: Path) -> None:
    text = MODEL.replace("own.Foo", "Relu")
    onnx.save(parser.parse_model(text.replace("Mish", "Relu")), str(tmp_path / "fine.onnx"))
    onnx.save(parser.parse_model(text), str(tmp_path / "mish.onnx"))
    given = (("fine.onnx", "8.5"), ("mish.onnx", "8.5"), ("mish.onnx", "10"))
    done = {
        key: CliRunner().invoke(doctor.command, [str(tmp_path / key[0]), "--for", key[1]], standalone_mode=False)
        for key in given
    }
    assert [done[key].return_value for key in given] == [0, 1, 0]
    assert "for TensorRT 8.5.3, by tables:" in done["fine.onnx", "8.5"].output


def test_new_writes_them_and_says_what_is_known(tmp_path: Path) -> None:
    done = CliRunner().invoke(new.command, ["Foo", "--dir", str(tmp_path), "--for", "8.5,rtx"])
    assert done.exit_code == 0, done.output
    assert Manifest.load(tmp_path / "foo").targets.tensorrt == ("8.5", "rtx")
    assert "plugins in loops: the build fails: PLUGIN_V2 operation not supported" in done.output


@pytest.mark.parametrize(
    ("base", "name", "code"),
    [("IPluginV3", "8.5", 1), ("IPluginV3", "11", 0), ("IPluginV2DynamicExt", "8.5", 0), ("base unknown", "8.5", 0)],
)
def test_check_fails_for_a_tensorrt_without_the_plugins_interface(base: str, name: TargetName, code: int) -> None:
    report = SimpleNamespace(plugins=[SimpleNamespace(name="Foo", base=base)])
    found = check._targets(report, (name,))  # type: ignore[arg-type]
    assert max(one for one, _ in found) == code
    assert found[0][1] == f"Foo for {TARGETS[name].title}, by tables:"


def test_new_takes_8_5_where_it_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tensorrt8.PYTHON, "python3.10")
    for base, targets in (("dynamic", ("8.5", "10", "11", "rtx")), ("v3", ("10", "11", "rtx"))):
        done = CliRunner().invoke(new.command, ["Foo", "--dir", str(tmp_path / base), "--base", base])
        assert done.exit_code == 0, done.output
        assert Manifest.load(tmp_path / base / "foo").targets.tensorrt == targets


@pytest.mark.parametrize(
    ("base", "name", "text", "no"),
    [
        ("v3", "8.5", "interface: has no IPluginV3 (by a document)", True),
        ("v3", "rtx", "interface: has IPluginV3 (by a document)", False),
        ("dynamic", "8.5", "interface: has IPluginV2DynamicExt (by a document)", False),
        ("dynamic", "rtx", "interface: takes no V2 class; what was tried is with the V3 adapter (by a run)", False),
    ],
)
def test_whether_an_interface_is_there(base: str, name: TargetName, text: str, no: bool) -> None:
    first = foreseen.of_plugin([base], name)[0]  # type: ignore[list-item]
    assert (first.line, first.refused) == (text, no)


def test_resolve_takes_the_same_names() -> None:
    assert described("8.5,sm=87").key == described("tensorrt=8.5,sm=87").key
    assert described("rtx").key == described("rtx=1.7.1").key
    with pytest.raises(UsageError):
        described("9")


def test_a_project_names_its_targets_for_a_model(tmp_path: Path) -> None:
    project = scaffold.new("Foo", directory=tmp_path, targets=("8.5", "rtx"))
    assert Manifest.load(project).named_targets == ("8.5", "rtx")
    assert libraries.targets([project, project / "pluginkit.toml"]) == ("8.5", "rtx")
    other = scaffold.new("Bar", directory=tmp_path)
    assert Manifest.load(other).named_targets == ()
    assert libraries.targets([other, Path("lib.so")]) == ()


@pytest.mark.parametrize(("words", "said"), [((), True), (("--namespace", "mine"), False)])
def test_a_name_of_tensorrts_own_library_is_said(
    tmp_path: Path, words: tuple[str, ...], said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["new", "LayerNorm", "--dir", str(tmp_path), *words]) == 0
    assert ("LayerNorm 1 is in TensorRT's own plugin library (TensorRT 8.5)" in capsys.readouterr().err) is said
