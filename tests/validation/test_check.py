"""`pluginkit check` as a command: which checks, what it prints and writes, exit codes, bad input."""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import pluginkit
from pluginkit.build import toolchain
from pluginkit.cli import command
from pluginkit.errors import NothingSelected, UsageError
from pluginkit.validation import CHECKS, choose
from pluginkit.validation.page import page
from tests.build.test_plain_cmake import cmake, configure
from tests.host.conftest import SOURCE, Compile

ROOT = Path(__file__).parents[2]
SOURCES = ("NvInfer", "NVIDIA", "dlopen", "CUDA", "TensorRT-RTX")
"""Whom a check of the contract may cite."""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, ["check", *map(str, arguments)], standalone_mode=False)


def test_levels_and_patterns() -> None:
    assert {one.level for one in choose(2)} == {1, 2}
    assert [one.id for one in choose(1, include=["S5", "F7"])] == ["F7", "S5"]
    assert {one.group for one in choose(10, exclude=["shapes"])} == {one.group for one in CHECKS.values()} - {"shapes"}
    with pytest.raises(UsageError, match="fits 'X9'"):
        choose(5, include=["X9"])
    with pytest.raises(NothingSelected):
        choose(5, include=["S5"], exclude=["S*"])


def test_the_page_is_that_of_the_catalogue() -> None:
    assert (ROOT / "docs" / "checks.md").read_text() == page(), "python -m pluginkit.validation.page docs/checks.md"


def test_every_contract_check_cites_somebody() -> None:
    for one in CHECKS.values():
        assert one.title.endswith(".")
        assert one.fix.endswith(".")
        if one.kind == "contract":
            assert any(name in one.source for name in SOURCES), one.id


def test_the_list() -> None:
    found = run("--list", "--include", "serialization")
    assert found.return_value == 0
    assert "S3" in found.output
    assert "T9" not in found.output


@pytest.mark.parametrize("arguments", [(), ("nowhere.so",), (__file__,)])
def test_what_is_no_library(arguments: tuple[str, ...]) -> None:
    found = run(*arguments)
    assert isinstance(found.exception, UsageError)


@pytest.mark.parametrize("option", ["--json", "--junit", "--sarif", "--write-baseline"])
def test_a_report_that_can_not_be_written(tmp_path: Path, option: str) -> None:
    """It is said before the library is looked at."""
    for file in (tmp_path / "none" / "file", tmp_path):
        error = run("nowhere.so", option, file).exception
        assert isinstance(error, UsageError)
        assert "cannot be written" in error.message


@pytest.mark.compile
def test_in_this_process(compile_plugin: Compile) -> None:
    """As for a debugger: the plugin's methods are called here, and what it finds is the same."""
    found = run(compile_plugin("clone_other"), "--include", "L1", "--in-process")
    assert found.return_value == 1
    assert "IPluginV2DynamicExt::clone: the clone serializes to other bytes" in found.output
    assert found.output.endswith("1 check: 1 failed\nTensorRT's contract is not kept.\n")
    # What is refused of guessed sizes is none here either.
    assert run(compile_plugin("init_fails"), "--include", "L6", "--in-process").return_value == 0
    # B23 unloads the library, here too, and the others are asked all the same.
    chosen = [part for name in ("B5", "B23", "B1", "I1") for part in ("--include", name)]
    whole = run(compile_plugin("none"), *chosen, "--in-process")
    assert whole.return_value == 0, whole.output
    assert "4 checks: 4 passed" in whole.output


@pytest.mark.compile
def test_reports(compile_plugin: Compile, tmp_path: Path) -> None:
    library = compile_plugin("abort_clone")
    names = {kind: tmp_path / f"out.{kind}" for kind in ("json", "junit", "sarif")}
    asked = ("--include", "L1", "--include", "S1", "--include", "F7", "--timeout", "20")
    found = run(library, *asked, *(part for kind, path in names.items() for part in (f"--{kind}", path)))
    assert found.return_value == 6
    assert "crashed L1" in found.output
    assert "IPluginV2DynamicExt::clone: the process ended with SIGABRT" in found.output
    assert "3 checks: 1 passed, 1 warning, 1 crashed\n" in found.output
    assert found.output.endswith("TensorRT's contract is not kept: the plugin crashed or hung.\n")

    plain = json.loads(names["json"].read_text())
    assert {one["check"]: one["ending"] for one in plain["results"]} == {
        "L1": "crashed",
        "S1": "passed",
        "F7": "warning",
    }
    cases = ET.parse(names["junit"]).getroot().iter("testcase")
    assert {str(case.get("name")).split()[0]: [part.tag for part in case] for case in cases} == {
        "L1": ["error"],
        "S1": [],
        "F7": ["system-out"],
    }
    (run_,) = json.loads(names["sarif"].read_text())["runs"]
    assert [(one["ruleId"], one["level"]) for one in run_["results"]] == [("F7", "warning"), ("L1", "error")]
    for one in run_["results"]:
        assert run_["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == one["ruleId"]
        assert one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith(library.name)


@pytest.mark.compile
def test_strict_and_wanted_creators(compile_plugin: Compile) -> None:
    library = compile_plugin("none")
    mild = run(library, "--include", "F7", "--timeout", "20")
    assert (mild.return_value, "\nwarning F7 " in mild.output) == (0, True)
    assert mild.output.endswith("1 check: 1 warning\nTensorRT's contract is kept, as far as was asked.\n")
    strict = run(library, "--include", "F7", "--timeout", "20", "--strict")
    assert (strict.return_value, "\nfailed F7 " in strict.output, "warning F7" in strict.output) == (1, True, False)
    assert "\n1 check: 1 failed\nTensorRT's contract is kept, as far as was asked; what no" in strict.output
    # What is for other classes is counted as skipped, so it is named.
    skipped = run(library, "--include", "V1", "--include", "M1")
    assert "skipped V1: only for v3\n" in skipped.output
    assert skipped.output.endswith(
        "2 checks: 2 skipped\nNothing was asked: whether TensorRT's contract is kept isn't known.\n"
    )
    other = run(library, "--include", "F7", "--creator", "Other")
    assert isinstance(other.exception, UsageError)
    assert "It has Probe:1" in other.exception.hint


@pytest.mark.compile
def test_a_baseline(compile_plugin: Compile, tmp_path: Path) -> None:
    library, known = compile_plugin("clone_other"), tmp_path / "our known ones.json"
    asked = ("--include", "L1", "--include", "F7", "--timeout", "20")
    first = run(library, *asked, "--write-baseline", known)
    assert first.return_value == 0
    assert f"2 known from now on, with --baseline '{known}'\n" in first.output
    again = run(library, *asked, "--baseline", known, "--strict")
    assert again.return_value == 0
    assert "2 checks: 2 known\nTensorRT's contract is kept but for what the baseline knows" in again.output
    other = run(
        compile_plugin("create_namespace"), "--include", "I6", "--baseline", known, "--strict", "--timeout", "20"
    )
    assert other.return_value == 1
    assert "no baseline" in str(run(library, "--baseline", tmp_path / "none.json").exception)
    known.write_text("[]")
    assert "is not a baseline" in str(run(library, "--baseline", known).exception)


@pytest.mark.compile
def test_a_test_of_ctest(tmp_path: Path) -> None:
    """pluginkit_add_validation, of a good library and of one that doesn't clone."""
    lines = """cmake_minimum_required(VERSION 3.24)
project(own LANGUAGES CXX)
enable_testing()
find_package(pluginkit REQUIRED)
foreach(fault none clone_other)
    add_library(${{fault}} SHARED {source})
    set_target_properties(${{fault}} PROPERTIES PREFIX "" OUTPUT_NAME ${{fault}}-own CXX_STANDARD 17)
    target_compile_definitions(${{fault}} PRIVATE PLUGINKIT_TRT_LAYOUT=11)
    target_include_directories(${{fault}} PRIVATE {include})
    target_link_libraries(${{fault}} PRIVATE dl)
    pluginkit_add_validation(${{fault}} LEVEL 1)
endforeach()
"""
    project, out = tmp_path / "own", tmp_path / "out"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(lines.format(source=SOURCE, include=pluginkit.include_dir()))
    done = configure(project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert cmake("--build", out).returncode == 0
    tested = subprocess.run(
        [toolchain.cmake().best().path.with_name("ctest"), "--test-dir", out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search(r"none_validation \.+ +Passed", tested.stdout), tested.stdout
    assert re.search(r"clone_other_validation \.+\*+Failed", tested.stdout), tested.stdout


@pytest.mark.compile
def test_a_library_that_hangs_on_loading(compile_plugin: Compile) -> None:
    found = run(compile_plugin("hang_load"), "--include", "B22", "--include", "S1", "--timeout", "8")
    assert found.return_value == 6
    assert "crashed B22" in found.output
    assert "no answer within 8 s in setLoggerFinder" in found.output
    assert "skipped S1: the library can't be loaded (B22)" in found.output
