"""For each check a plugin that breaks just what it asks: this check finds it, and a good plugin breaks nothing."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, save

import pluginkit
from pluginkit.adoption.answers import PluginAnswers
from pluginkit.cli import command
from pluginkit.library import linkage
from pluginkit.validation import CHECKS, CheckReport, CheckResult, Ending, check_library, choose
from pluginkit.validation.checking import CheckLimits
from pluginkit.validation.subject import Known
from pluginkit.validation.validation_worker import Answer, of_guess
from tests.compilers import default_cxx
from tests.host import test_ioext, test_v3
from tests.host.conftest import STRICT, Compile
from tests.library.test_inspect import entry, fat_binary

pytestmark = pytest.mark.compile

LEVEL = 3
"""Up to it the probes break nothing but what they are told to; above are checks of damaged bytes."""
DYNAMIC = {
    "B1": "unresolved",
    "B4": "creators_none",
    "B5": "creators_change",
    "B10": "name_nvidia",
    "B22": "crash_load",
    "I1": "type_other",
    "I12": "type_later",
    "I4": "name_latin",
    "I5": "namespace_lost",
    "I6": "create_namespace",
    "I7": "other_layout",
    "I9": "name_changes",
    "F1": "fields_gone",
    "F2": "field_twice",
    "F3": "create_null",
    "F5": "keeps_field",
    "F14": "fields_grow",
    "T1": "outputs_change",
    "T6": "type_bool",
    "T9": "dims_null",
    "T10": "dims_static",
    "T11": "not_constant",
    "T12": "expr_kept",
    "T18": "type_unstable",
    "C1": "format_later",
    "C2": "format_unstable",
    "C11": "crash_configure",
    "C14": "workspace_shrinks",
    "C19": "type_untaken",
    "L1": "clone_other",
    "L2": "attach_clone",
    "L4": "clone_shares",
    "L6": "init_fails",
    "L11": "attach_null",
    "S1": "serialize_long",
    "S2": "serialize_short",
    "S3": "deserialize_other",
}
IOEXT = {
    "C17": "BROADCAST",
    "T9": "NINE_DIMENSIONS",
    "C14": "WORKSPACE_SHRINKS",
    "L1": "OTHER_CLONE",
    "C1": "LOOKS_AHEAD",
}
V3 = {
    "I1": "name_other",
    "I8": "core_kind",
    "L1": "clone_other",
    "L9": "no_build",
    "L10": "attach_self",
    "C13": "configure_fails",
    "S4": "restored_otherwise",
    "S8": "kept_null",
    "S9": "restore_null",
    "S10": "kept_no_data",
    "S11": "kept_changes",
    "V1": "tactic_zero",
    "V2": "tactic_refused",
    "V3": "metadata_changes",
    "V4": "alias_bad",
    "V5": "limit_zero",
    "V6": "shape_change_fails",
    "V7": "tactic_negative",
    "V8": "shapes_fail",
}
MODES = {"tactic_zero": "tactics", "tactic_refused": "tactics", "tactic_negative": "tactics", "alias_bad": "alias"}
FILES: dict[str, tuple[str, list[str]]] = {
    "B2": ("", ["libnvinfer.so.10"]),
    "B3": ("nothing", []),
    "B11": ("gpu", []),
    "B12": ("", ["libgone.so"]),
    "B19": ("int shown_to_all() { return 1; }", []),
    "B20": ("", ["-Wl,-rpath,/home/builder/lib"]),
    "B21": ("", ["libcudart.so.12"]),
}
CRASHES = {"B22", "C11", "L2", "L11"}
"""Their animals end the process."""
ENDINGS = {"B23"}
"""Of endings.cpp."""
READS = {"Z1": "fields", "Z2": "serialized", "Z3": "formats", "Z4": "shapes"}
"""Of endings.cpp too."""
VALUES = {"F15"}
"""Of `test_a_value_that_is_not_survived_says_nothing_of_none`."""
LATE = {"F7": "createPlugin", "S5": "deserializePlugin"}
"""Of higher levels: the probes themselves break them."""


def found(report: CheckReport) -> dict[str, CheckResult]:
    """The findings and warnings, by id."""
    return {one.check: one for one in report.results if one.ending not in (Ending.PASSED, Ending.SKIPPED)}


def ask(library: Path, level: int = LEVEL, **more: object) -> CheckReport:
    return check_library(library, choose(level), limits=CheckLimits(20.0), **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def ioext(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("zoo") / "libioext.so"
    flags = [*STRICT, "-DPLUGINKIT_TRT_LAYOUT=10", f"-I{pluginkit.include_dir()}"]
    subprocess.run([default_cxx(), *flags, str(test_ioext.SOURCE), "-o", str(library)], check=True)
    return library


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes models with a node of a probe."""
    folder = tmp_path_factory.mktemp("models")

    def model(name: str, domain: str, outputs: int, **attributes: object) -> Path:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 5])
        names = [f"y{index}" for index in range(outputs)]
        y = [helper.make_tensor_value_info(one, TensorProto.FLOAT, None) for one in names]
        node = helper.make_node(name, ["x"], names, domain=domain, **attributes)
        graph = helper.make_graph([node], "g", [x], y)
        path = folder / f"{name}.onnx"
        opsets = [helper.make_opsetid("", 17), *([helper.make_opsetid(domain, 1)] if domain else [])]
        save(helper.make_model(graph, opset_imports=opsets), path)
        return path

    return model


Models = Callable[..., Path]


@pytest.mark.parametrize("check", DYNAMIC)
def test_a_dynamic_plugin(compile_plugin: Compile, models: Models, check: str) -> None:
    fault = DYNAMIC[check]
    named = fault in ("name_nvidia", "name_changes", "name_latin")
    model = None if named else models("Probe", "tests", 2, factor=2.0)
    _expect(check, compile_plugin(fault), model)


@pytest.mark.parametrize("check", IOEXT)
def test_an_ioext_plugin(ioext: Path, models: Models, monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    monkeypatch.setenv("PROBE_FAULT", str(test_ioext.FAULTS.index(IOEXT[check])))
    _expect(check, ioext, models("IOProbe", "probes", 1, fault=0))


@pytest.mark.parametrize("check", V3)
def test_a_v3_plugin(v3_library: Path, models: Models, monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    fault = V3[check]
    monkeypatch.setenv("PROBE_FAULT", str(test_v3.FAULTS.index(fault)))
    monkeypatch.setenv("PROBE_MODE", str(test_v3.MODES[MODES.get(fault, "plain")]))
    _expect(check, v3_library, models("ProbeV3", "tests", 1, mode=0, fault=0, factor=2.0))


def _expect(check: str, library: Path, model: Path | None) -> None:
    report = check_library(library, [CHECKS[check]], model=model, limits=CheckLimits(20.0))
    (one,) = report.results
    assert not (one.method and one.message.startswith(one.method)), "the method is said twice"
    usual = Ending.FAILED if CHECKS[check].kind == "contract" else Ending.WARNING
    assert one.ending is (Ending.CRASHED if check in CRASHES else usual), one
    assert report.exit_code == (6 if check in CRASHES else 1 if usual is Ending.FAILED else 0)


@pytest.mark.parametrize("check", LATE)
def test_a_plugin_that_reads_what_is_not_there(compile_plugin: Compile, check: str) -> None:
    (one,) = check_library(compile_plugin("none"), [CHECKS[check]], limits=CheckLimits(20.0)).results
    assert one.ending is Ending.WARNING
    assert LATE[check] in one.method
    assert check != "F7" or one.message == "the process ended with SIGSEGV, given the field 'factor' without data"


def test_a_clone_that_has_another_name_once_it_was_configured(compile_plugin: Compile, models: Models) -> None:
    """The clone of a fresh plugin is all that L1 itself asks for."""
    model = models("Probe", "tests", 2, factor=2.0)
    chosen = [CHECKS["L1"], CHECKS["I12"]]
    clone, name = check_library(compile_plugin("type_clone"), chosen, model=model, limits=CheckLimits(20.0)).results
    assert (clone.ending, name.ending) == (Ending.FAILED, Ending.SKIPPED)
    assert "the clone's getPluginType answers 'Other', the original's 'Probe'" in clone.message


def test_a_value_that_is_not_survived_says_nothing_of_none(compile_plugin: Compile) -> None:
    report = check_library(compile_plugin("value_crashes"), [CHECKS["F15"], CHECKS["F7"]], limits=CheckLimits(20.0))
    listed, without = report.results
    assert listed.ending is Ending.WARNING
    assert listed.message == "the process ended with SIGABRT, given the field 'factor' with 1 (kFLOAT32)"
    assert without.ending is Ending.SKIPPED
    assert "no value of a field is known that createPlugin survives" in without.message
    assert {one.ending for one in check_library(compile_plugin("none"), [CHECKS["F15"]]).results} == {Ending.PASSED}


@pytest.mark.parametrize("check", ENDINGS)
def test_a_library_that_does_not_come_back_from_its_end(
    endings: Path, monkeypatch: pytest.MonkeyPatch, check: str
) -> None:
    monkeypatch.setenv("ENDING_AT", "static::destructor")
    monkeypatch.setenv("ENDING", "exit")
    results = check_library(endings, [CHECKS[check]], limits=CheckLimits(20.0)).results
    assert {one.ending for one in results} == {Ending.CRASHED}


@pytest.mark.parametrize("check", READS)
def test_a_plugin_that_reads_without_looking(
    endings: Path, model: Path, monkeypatch: pytest.MonkeyPatch, check: str
) -> None:
    monkeypatch.setenv("READS", READS[check])
    chosen = [CHECKS[one] for one in READS]
    report = check_library(endings, chosen, wanted=["Dynamic"], model=model, limits=CheckLimits(20.0))
    assert {one: each.ending for one, each in found(report).items()} == {check: Ending.WARNING}
    assert found(report)[check].frames
    assert report.exit_code == 0
    # What the report names does the same alone.
    (seed,) = re.findall(r"given input (\w+:0:\d+) \(--fuzz-input gives it again\)", found(report)[check].message)
    again = ["check", str(endings), "--creator", "Dynamic", "--model", str(model), "--fuzz-input", seed]
    assert "SIG" in CliRunner().invoke(command, again, standalone_mode=False).output


def test_good_plugins_break_nothing(
    compile_plugin: Compile, ioext: Path, v3_library: Path, batched: Callable[[str, int], Path], models: Models
) -> None:
    # One guess of the fields of ioext.cpp is a fault.
    good = models("IOProbe", "probes", 1, fault=0)
    for library in (compile_plugin("none"), ioext, v3_library, batched("v2", 11), batched("v2ext", 10)):
        report = ask(library, model=good if library == ioext else None)
        assert found(report) == {}
        mine = [one for one in report.results if CHECKS[one.check].need in ("file", "loaded", "plugin")]
        assert report.count(Ending.PASSED) > len(mine) // 2


@pytest.mark.parametrize("fault", ["crash_configure", "dims_negative"])
def test_a_plugin_may_refuse_sizes_that_nobody_gave(compile_plugin: Compile, models: Models, fault: str) -> None:
    library = compile_plugin(fault)
    report = ask(library)
    assert found(report) == {}
    assert any("refuses the sizes that were guessed" in one.message for one in report.results)
    assert found(ask(library, model=models("Probe", "tests", 2, factor=2.0))).keys() & {"C11", "T9"}


def test_what_is_refused_is_shown(compile_plugin: Compile, models: Models) -> None:
    """A node's value may be one that a plugin has to refuse, as NaN for a scale: the message has what was given."""
    path = models("Probe", "tests", 2, factor=float("nan"))
    (one,) = check_library(compile_plugin("create_null"), [CHECKS["F3"]], model=path, limits=CheckLimits(20.0)).results
    assert one.message == "answered null, expected a plugin for the fields (factor=nan)"


def test_types_are_not_judged_where_the_number_of_inputs_is_a_guess(compile_plugin: Compile) -> None:
    """BEVPoolV2TRT of BEVFormer_tensorrt has 7 inputs, and takes INT32 at the place of an output behind fewer."""
    (one,) = check_library(compile_plugin("type_untaken"), [CHECKS["C19"]], limits=CheckLimits(20.0)).results
    assert one.ending is Ending.SKIPPED, one
    assert "answers alike for 1, 2, 3, 4, 5, 6, 7, 8 inputs" in one.message


@pytest.mark.parametrize(("made", "listed"), [("nothing", True), ("nothing", False), ("model", True)])
def test_a_creator_may_assert_fields_that_nobody_gave(made: str, listed: bool) -> None:
    """GridSampler2DTRT of BEVFormer_tensorrt switches on a variable that is set by a field alone. One that lists no
    field has none to assert."""
    ended = Answer("C1", ending="SIGABRT", method="IPluginCreator::createPlugin")
    found = of_guess(ended, Known(PluginAnswers(made=made)), listed=listed)
    assert bool(found.skipped) is (made == "nothing" and listed)
    assert bool(found.ending) is not bool(found.skipped)
    # What gives fields without data on purpose says so itself.
    assert of_guess(replace(ended, check="F7"), Known(PluginAnswers(made=made)), listed=listed).ending


def test_what_the_loader_finds_is_here(compile_plugin: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    """By LD_PRELOAD, or the rpath of conda's python, which a search by files does not see."""
    monkeypatch.setattr(linkage, "find_for", lambda *_: None)
    report = check_library(compile_plugin("none"), [CHECKS["B12"], CHECKS["I1"]])
    assert [one.ending for one in report.results] == [Ending.PASSED, Ending.PASSED]
    report = check_library(compile_plugin("crash_load"), [CHECKS["B12"], CHECKS["I1"]])
    assert report.results[0].ending is Ending.FAILED


@pytest.mark.parametrize("check", FILES)
def test_a_file(tmp_path: Path, check: str) -> None:
    what, flags = FILES[check]
    source = 'extern "C" __attribute__((visibility("default"))) void* getCreators(int&) { return nullptr; }\n'
    source += 'extern "C" __attribute__((visibility("default"))) void setLoggerFinder(void*) {}\n'
    if what == "nothing":
        source = 'extern "C" __attribute__((visibility("default"))) void other() {}\n'
    elif what == "gpu":
        values = ",".join(str(byte) for byte in fat_binary(entry(2, 86)))
        source += f'__attribute__((section(".nv_fatbin"), used)) static const unsigned char d[] = {{{values}}};\n'
    else:
        source += what
    (tmp_path / "a.cpp").write_text(source)
    build = [default_cxx(), "-shared", "-fPIC"]
    if flags and flags[0].startswith("lib"):
        (tmp_path / "empty.cpp").write_text("int empty;\n")
        subprocess.run([*build, "empty.cpp", "-o", flags[0], f"-Wl,-soname,{flags[0]}"], cwd=tmp_path, check=True)
        flags = ["-Wl,--no-as-needed", flags[0], "-Wl,-rpath,$ORIGIN"]
    visibility = [] if check == "B19" else ["-fvisibility=hidden"]
    subprocess.run([*build, *visibility, "a.cpp", "-o", "liba.so", *flags], cwd=tmp_path, check=True)
    if check == "B12":
        (tmp_path / flags[1]).unlink()
    report = check_library(tmp_path / "liba.so", [one for one in choose(10) if one.need == "file"])
    assert set(found(report)) == {check}
    if check == "B3":
        # Loading shows it too, and it is one finding all the same.
        again = check_library(tmp_path / "liba.so", [CHECKS["B3"], CHECKS["L1"]], limits=CheckLimits(20.0)).results
        assert [(one.check, one.ending) for one in again] == [("B3", Ending.FAILED), ("L1", Ending.SKIPPED)]


def test_every_check_has_its_animal() -> None:
    """Those of models, of manifests and of runs are in the modules of that name here."""
    mine = {one.id for one in CHECKS.values() if one.need in ("file", "loaded", "plugin")}
    assert {*DYNAMIC, *IOEXT, *V3, *FILES, *LATE, *VALUES, *ENDINGS, *READS} == mine
