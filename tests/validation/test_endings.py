"""A library whose methods crash, hang, exit or take all memory: each time there is a report that names the method."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pluginkit.run.project_checks import ProjectOptions, check_project
from pluginkit.validation import CheckReport, Ending, check_library, choose
from pluginkit.validation.checking import CheckLimits
from tests.validation.conftest import ENDINGS as SOURCE
from tests.validation.conftest import MANIFESTS

pytestmark = pytest.mark.compile

ENQUEUE = {"Dynamic::enqueue", "IOExt::enqueue", "V3::enqueue", "V3::onShapeChange"}
"""No check up to `LEVEL` calls them: those that run the plugin do."""
LEVEL = 3
HANGING = 8.0
"""Seconds for a check of what hangs, and for loading the library: a busy machine takes some of them."""
HOWS = ("crash", "exit", "hang")
Ask = Callable[..., CheckReport]
INTERFACES = {
    "Dynamic": "IPluginV2DynamicExt::",
    "DynamicCreator": "IPluginCreator::",
    "IOExt": "IPluginV2IOExt::",
    "IOExtCreator": "IPluginCreator::",
    "V3": "IPluginV3",
    "V3Creator": "IPluginCreator",
    "library": "",
    "static": "dl",
}


def _places() -> list[str]:
    """`Scope::method` of each method in the source that may end the process."""
    found, scope = [], ""
    for line in SOURCE.read_text().splitlines():
        if line.startswith("#define SCOPE"):
            scope = line.split('"')[1]
        elif methods := re.findall(r"\b(\w+)\(", line):
            name = methods[-1] if line.startswith("extern") else methods[0]
        if line.strip() == "AT;":
            found.append(f"{scope}::{name}")
    return [*found, "V3::destructor", "static::initializer", "static::destructor"]


PLACES = [place for place in _places() if place not in ENQUEUE]
BASES = ("Dynamic", "IOExt", "V3")


@pytest.fixture
def ask(endings: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., CheckReport]:
    """Checks the library that ends at a place, of one creator."""

    def asked(
        place: str, how: str, seconds: float = 20.0, memory: int = 4 << 30, checks: Sequence[str] = ()
    ) -> CheckReport:
        monkeypatch.setenv("ENDING_AT", place)
        monkeypatch.setenv("ENDING", how)
        wanted = next((one for one in reversed(BASES) if place.startswith(one)), "Dynamic")
        limits = CheckLimits(seconds, memory)
        return check_library(endings, choose(LEVEL, checks), wanted=[wanted], model=model, limits=limits)

    return asked


def _expect(report: CheckReport, place: str, how: str) -> None:
    crashed = [one for one in report.results if one.ending is Ending.CRASHED]
    assert report.exit_code == 6, report.results
    scope, method = place.split("::")
    text = {"crash": "SIGSEGV", "exit": "exit code 3", "hang": "in time"}[how]
    loading = [one for one in crashed if one.check == "B22"]
    if loading:
        text = {"hang": "no answer within"}.get(how, text)
    assert any(text in one.message for one in crashed), crashed
    shown = [f"{one.method}: {one.message}" for one in crashed]
    assert any(INTERFACES[scope] in one and (method in one or method in ("initializer", "destructor")) for one in shown)
    frames = [frame for one in crashed for frame in one.frames]
    expected = {"initializer": "Statics::Statics", "destructor": "::~"}.get(method, method)
    assert any(expected in frame and "endings.cpp:" in frame for frame in frames), frames


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("place", PLACES)
def test_an_ending(ask: Ask, place: str, how: str) -> None:
    _expect(ask(place, how, HANGING if how == "hang" else 20.0), place, how)


@pytest.mark.parametrize(
    ("place", "how", "checks"),
    [
        ("static::initializer", "exit", ["B22"]),
        ("static::destructor", "crash", ["B23"]),
        # Both check what nobody promises, by a call that everybody makes.
        ("DynamicCreator::setPluginNamespace", "exit", ["I6"]),
        ("V3::getFormatCombinationLimit", "crash", ["V5"]),
        ("V3::destructor", "hang", ["F3"]),
    ],
)
def test_some_endings(ask: Ask, place: str, how: str, checks: list[str]) -> None:
    _expect(ask(place, how, HANGING if how == "hang" else 20.0, checks=checks), place, how)


def test_a_plugin_that_takes_all_memory(ask: Ask) -> None:
    report = ask("V3::setTactic", "memory", memory=1 << 29, checks=["V2"])
    (one,) = [one for one in report.results if one.ending is Ending.CRASHED]
    assert "more memory than a check may; `pluginkit check --memory` gives it more" in one.message
    assert any("V3::setTactic" in frame for frame in one.frames)


REFERENCE = "def reference(x, **fields):\n    return x\n"


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("place", sorted(ENQUEUE))
def test_an_ending_in_a_run(
    endings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, how: str
) -> None:
    """Of what only a check that runs the plugin calls."""
    name = place.split("::", maxsplit=1)[0]
    (tmp_path / "pluginkit.toml").write_text(MANIFESTS[name])
    (tmp_path / "reference.py").write_text(REFERENCE)
    monkeypatch.setenv("ENDING_AT", place)
    monkeypatch.setenv("ENDING", how)
    limits = CheckLimits(HANGING if how == "hang" else 20.0)
    asked = ProjectOptions(tmp_path, endings, creators=(name,), limits=limits)
    report = check_project(asked, choose(1, ["K15"]))
    (one,) = [each for each in report.results if each.check == "K15"]
    assert one.ending is Ending.CRASHED, report.results
    assert report.exit_code == 6
    text = {"crash": "SIGSEGV", "exit": "exit code 3", "hang": "no answer within"}[how]
    assert text in one.message
    assert place.split("::")[1] in one.message


def test_an_ending_for_inputs_that_are_guessed(endings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin may assert what its inputs are, so this is not a finding; that it ended is said."""
    monkeypatch.setenv("ENDING_AT", "V3::getOutputShapes")
    monkeypatch.setenv("ENDING", "crash")
    (one,) = check_library(endings, choose(1, ["T9"]), wanted=["V3"]).results
    assert one.ending is Ending.SKIPPED
    assert "SIGSEGV in IPluginV3OneBuild::getOutputShapes" in one.message
    assert one.message.endswith("--model MODEL.onnx gives them")


@pytest.mark.parametrize("creator", BASES)
def test_the_library_without_an_ending(ask: Ask, creator: str) -> None:
    report = ask(f"{creator}::", "")
    assert [one for one in report.results if one.is_finding] == []
