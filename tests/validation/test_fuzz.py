"""`pluginkit check --fuzz`: what is drawn, what is found, how it is repeated, how it ends."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.cli import command
from pluginkit.errors import UsageError
from pluginkit.field_types import NAMES
from pluginkit.process import backtrace
from pluginkit.validation.checking import CheckLimits
from pluginkit.validation.fuzzing import inputs
from pluginkit.validation.fuzzing.calls import without_values
from pluginkit.validation.fuzzing.fuzzing import FINDINGS, FuzzOptions, FuzzReport, fuzz_library
from pluginkit.validation.fuzzing.inputs import FuzzInput, KeptInput, Target
from pluginkit.validation.fuzzing.mutation import TAG, Draw, mutated, systematic
from tests.validation.conftest import MANIFESTS

FIELDS = (("factor", 1, b"\0\0\0@", 1), ("mode", 6, b"linear\0", 7))
ELEMENTS = {
    "kINT8": 1,
    "kCHAR": 1,
    "kFP8": 1,
    "kINT4": 1,
    "kFP4": 1,
    "kFLOAT16": 2,
    "kBF16": 2,
    "kINT16": 2,
    "kFLOAT32": 4,
    "kINT32": 4,
    "kFLOAT64": 8,
    "kINT64": 8,
}
"""Bytes of an element of each type; of kDIMS, and of what is not a type, more."""
GOOD = {
    Target.FIELDS: FuzzInput(Target.FIELDS, fields=FIELDS),
    Target.SERIALIZED: FuzzInput(Target.SERIALIZED, data=bytes(range(24))),
    Target.FORMATS: FuzzInput(Target.FORMATS, tensors=((0, 0, (4, 5)), (0, 0, (4, 5)))),
    Target.SHAPES: FuzzInput(Target.SHAPES, tensors=((0, 0, (4, 5)),)),
}


@pytest.mark.parametrize("value", ["", "tanH", 'a"b', r"\xcb\x07", "9 lives"])
def test_what_is_said_of_each_value_is_one_behaviour(value: str) -> None:
    """Else each damaged text would be kept in the corpus."""
    said = f'P: k is -0.5, kind is "{value}", must be tanh or sigmoid, from 0 to 9'
    assert without_values(said) == "P: k is #, kind is #, must be tanh or sigmoid, from # to #"


@given(st.sampled_from(list(Target)), st.integers(0, 1000), st.lists(st.integers(0, 10**6), min_size=1, max_size=4))
def test_an_input_is_a_function_of_its_seed(target: Target, seed: int, steps: list[int]) -> None:
    first, again = (Draw(seed, GOOD[target]).input_of(steps) for _ in range(2))
    assert first == again
    assert first.target is target


@given(st.integers(0, 1000), st.lists(st.integers(0, 10**6), min_size=1, max_size=6))
def test_a_field_has_the_bytes_that_its_type_and_length_say(seed: int, steps: list[int]) -> None:
    """Less would be the caller's fault, and no plugin could see it."""
    for _, kind, data, length in Draw(seed, GOOD[Target.FIELDS]).input_of(steps).fields:
        size = ELEMENTS.get(NAMES[kind], 72) if 0 <= kind < len(NAMES) else 72
        assert data is None or len(data) >= length * size


@given(st.integers(0, 2**32))
def test_a_child_is_repeated_by_its_steps(seed: int) -> None:
    draw = Draw(seed, GOOD[Target.SERIALIZED])
    parents = [((step,), draw.input_of((step,))) for step in (300, 301)]
    for step in range(302, 312):
        steps, made = draw.child(step, parents)
        assert draw.input_of(steps) == made
        assert steps[-1] == step


def test_every_truncation_and_every_bit_is_tried() -> None:
    data = GOOD[Target.SERIALIZED].data
    drawn = {Draw(5, GOOD[Target.SERIALIZED]).input_of((step,)).data for step in range(len(data) * 9)}
    assert {data[:size] for size in range(len(data))} <= drawn
    assert sum(len(one) == len(data) and one != data for one in drawn) == 8 * len(data)


def test_half_of_the_bytes_lie_behind_the_right_tag_and_length() -> None:
    good = GOOD[Target.SERIALIZED]
    drawn = [mutated(good, random.Random(seed)).data for seed in range(1000)]
    alike = sum(one[:TAG] == good.data[:TAG] and len(one) == len(good.data) for one in drawn)
    assert 450 < alike < 700


def test_fields_are_missing_null_and_of_other_types() -> None:
    made = [one.fields for one in systematic(Target.FIELDS, GOOD[Target.FIELDS])]
    assert () in made
    assert FIELDS[1:] in made
    assert (("factor", 1, None, 1), FIELDS[1]) in made
    assert {one[0][1] for one in made if one} > {0, 1, 2, 8, 13}


@given(st.sampled_from(list(Target)), st.integers(0, 10**6))
def test_an_input_in_a_file_is_the_same(tmp_path_factory: pytest.TempPathFactory, target: Target, step: int) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    kept = KeptInput("Some::Plugin:1", Draw(0, GOOD[target]).input_of((step,)), "fields:0:7")
    assert inputs.read(kept.write(folder)) == kept
    assert list(inputs.read_folder(folder)) == [kept]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, ["check", *map(str, arguments)], standalone_mode=False)


@pytest.mark.parametrize("time", ["10", "m", "0s", "-5m", "10d"])
def test_what_is_no_time(time: str) -> None:
    assert "is no time, such as 90s, 10m or 2h" in str(run("a.so", "--fuzz", time).exception)


TENSORS = '{"plugin": "P:1", "seed": "", "target": "shapes", "data": "", "fields": [], "position": 0, "tensors": %s}'


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        "nonsense",
        '{"target": "x"}',
        # Numbers that no plugin can be given: they are not the plugin's fault.
        TENSORS % "[[0, 0, [1e400]]]",
        TENSORS % "[[0, 0, [9223372036854775808]]]",
        TENSORS % "[[2147483648, 0, [1]]]",
    ],
)
def test_what_is_no_input(tmp_path: Path, text: str) -> None:
    file = tmp_path / "input.json"
    file.write_text(text)
    for arguments in (("--fuzz-input", file), ("--fuzz", "1s", "--corpus", tmp_path)):
        error = run("a.so", *arguments).exception
        assert isinstance(error, UsageError)
        assert "is not an input of pluginkit check --fuzz" in error.message
    assert "There is no input" in str(run("a.so", "--fuzz-input", tmp_path / "none.json").exception)


Fuzz = Callable[..., FuzzReport]


@pytest.fixture
def fuzz(endings: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fuzz:
    """Fuzzes the plugin that reads something without looking."""

    def fuzzed(reads: str, most: int = 400, seconds: float = 20.0) -> FuzzReport:
        monkeypatch.setenv("READS", reads)
        limits = CheckLimits(seconds, jobs=1)
        return fuzz_library(FuzzOptions(endings, ["Dynamic"], model, None, most, tmp_path / "corpus", 3, limits))

    return fuzzed


@pytest.mark.compile
def test_a_byte_behind_the_end(fuzz: Fuzz, endings: Path, model: Path) -> None:
    report = fuzz("serialized")
    (one,) = report.found
    assert one.finding.method == "IPluginCreator::deserializePlugin"
    assert "reads beyond what it is given" in one.finding.message
    assert len(one.finding.input.data) == 2
    assert any("endings.cpp:" in frame for frame in backtrace.describe(one.finding.frames))
    assert one.file.parent.name == FINDINGS
    assert all(each.done == 400 for each in report.fuzzed)
    assert len(list(report.corpus.glob("*.json"))) == sum(each.behaviours for each in report.fuzzed)
    # Alone, by its file and by its seed; and by nothing else.
    again = ([one.file, "--model", model], 0), ([one.seed, "--creator", "Dynamic", "--model", model, "--strict"], 1)
    for arguments, code in again:
        found = run(endings, "--fuzz-input", *arguments)
        assert found.return_value == code, found.output
        assert "reads beyond what it is given" in found.output
    good = next(report.corpus.glob("*.json"))
    assert "nothing is wrong" in run(endings, "--fuzz-input", good, "--model", model).output


@pytest.mark.compile
@pytest.mark.parametrize(("more", "code", "shown"), [("", 0, "warning"), ("\n[test]\nstrict = true\n", 1, "failed")])
def test_a_project_has_its_own_strictness(
    endings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, code: int, shown: str
) -> None:
    """Those that `new` writes are strict: what nobody promises is a failure there, also of --fuzz."""
    (tmp_path / "pluginkit.toml").write_text(MANIFESTS["Dynamic"] + more)
    monkeypatch.setenv("READS", "serialized")
    kept = KeptInput("Dynamic:1", FuzzInput(Target.SERIALIZED, data=b"ab")).write(tmp_path)
    found = run(tmp_path, "--library", endings, "--fuzz-input", kept)
    assert found.return_value == code, found.output
    assert f"{shown} Z2" in found.output


@pytest.mark.compile
@pytest.mark.slow
def test_a_hang_and_a_tensor_behind(fuzz: Fuzz) -> None:
    (one,) = fuzz("slow", 100, 1.0).found
    assert one.finding.message == "it did not come back in time"
    assert len(one.finding.input.data) == 3
    assert any("DynamicCreator::deserializePlugin" in frame for frame in backtrace.describe(one.finding.frames))
    (later,) = fuzz("later", 200).found
    assert (later.finding.rule, later.finding.method) == ("C1", "IPluginV2DynamicExt::supportsFormatCombination")


@pytest.mark.compile
@pytest.mark.slow
@pytest.mark.parametrize(
    ("reads", "target", "method", "ending"),
    [
        ("formats", Target.FORMATS, "IPluginV2DynamicExt::supportsFormatCombination", "SIGABRT"),
        ("shapes", Target.SHAPES, "IPluginV2DynamicExt::getOutputDimensions", "SIGFPE"),
        ("fields", Target.FIELDS, "IPluginCreator::createPlugin", "SIGSEGV"),
    ],
)
def test_each_target_and_its_seed(
    fuzz: Fuzz, endings: Path, model: Path, reads: str, target: Target, method: str, ending: str
) -> None:
    """A type that is not an index, a dimension of 0, a value that isn't there; each again by its seed alone."""
    (one,) = fuzz(reads, 400).found
    assert (one.finding.input.target, one.finding.method, one.finding.ending) == (target, method, ending)
    assert one.seed.startswith(f"{target.name.lower()}:3:")
    again = run(endings, "--fuzz-input", one.seed, "--creator", "Dynamic", "--model", model, "--strict")
    assert again.return_value == 1, again.output
    assert f"failed {target.value}" in again.output
    assert ending in again.output or "reads beyond" in again.output


@pytest.mark.compile
@pytest.mark.slow
def test_ctrl_c_ends_with_what_was_found(endings: Path, model: Path, tmp_path: Path) -> None:
    # A background job ignores SIGINT, and its children inherit that.
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "from pluginkit.cli import main; sys.exit(main())"
    asked = ["check", endings, "--model", model, "--creator", "Dynamic", "--fuzz", "2h", "--corpus", tmp_path / "c"]
    with subprocess.Popen(
        [sys.executable, "-c", code, *map(str, asked)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={"READS": "fields", "PATH": "/usr/bin:/bin"},
    ) as process:
        while not list((tmp_path / "c" / FINDINGS).glob("*.json")):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert "ended by Ctrl-C" in output
    assert "warning Z1" in output
    assert re.search(r"again: pluginkit check \S*libendings.so", output)
    assert "Traceback" not in output
