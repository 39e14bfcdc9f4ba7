"""What `pluginkit new` writes, of each base, and all samples pass all checks on target cpu, without a warning.

One takes 40 to 65 s of CPU, of which the sanitizers' builds are most.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pluginkit import scaffold
from pluginkit.bases import BASES
from pluginkit.run.project_checks import ProjectOptions, check_project
from pluginkit.validation import CHECKS, Ending, choose

pytestmark = [pytest.mark.slow, pytest.mark.compile, pytest.mark.rtx]

SAMPLES = Path(__file__).parents[2] / "samples"
FIELDS = {"F2", "F5", "F6", "F7", "F8", "F9", "F15", "Z1"}
"""Of a plugin without fields there is nothing to ask."""
KEPT = {"S4", "S5", "S10", "S11", "Z2"}
"""Nor of an IPluginV3 that keeps none in an engine."""
SIZES, LANES, SPECIAL, INT8 = {"T8", "T14"}, {"E16"}, {"E14"}, {"E13"}
NOTHING = {
    "bar_plugin": {*FIELDS, *SIZES},
    "char_lstm": {*SIZES, *LANES, *INT8, *SPECIAL},
    "leaky_relu": {*SIZES, *LANES, *INT8},
    "nonzero": {*FIELDS, *KEPT, *LANES, *INT8, *SPECIAL},
    "pad": {*SIZES, *LANES},
    "pool_int8": {*SIZES, *LANES},
    "sum_even": {*SIZES, *LANES, *INT8, *SPECIAL},
}
"""What a sample has nothing of."""
ALWAYS = {"B11", "T20"}
"""It has no GPU code on target cpu, and declares no workspace."""
NO_V3 = {"L12", "V4", "V7"}
"""An IPluginV3 has no initialize; these have no aliases and no tactics."""
ELSEWHERE = ("gpu", "gpu-sanitizers", "engines", "model")
"""The needs of checks that take a GPU, or a model."""


def _asks_all(project: Path, nothing: set[str]) -> None:
    results = check_project(ProjectOptions(project), choose(10)).results
    assert [(one.check, one.text) for one in results if one.is_finding] == []
    skipped = {
        one.check: one.message
        for one in results
        if one.ending is Ending.SKIPPED
        and not one.message.startswith("only for ")
        and CHECKS[one.check].need not in ELSEWHERE
    }
    assert skipped.keys() == nothing, skipped
    assert not any("not reached" in why for why in skipped.values())
    assert {one.check for one in results} == CHECKS.keys()


@pytest.mark.parametrize("base", [name for name, one in BASES.items() if one.for_new])
def test_what_new_writes(tmp_path: Path, base: str) -> None:
    project = scaffold.new("MyPlugin", directory=tmp_path, base=base)
    _asks_all(project, {*SIZES, *LANES, *ALWAYS, *(NO_V3 if base == "v3" else ())})


@pytest.mark.parametrize(
    "sample", sorted(path.name for path in SAMPLES.iterdir() if (path / "pluginkit.toml").exists())
)
def test_a_sample(tmp_path: Path, sample: str) -> None:
    project = shutil.copytree(SAMPLES / sample, tmp_path / sample, ignore=shutil.ignore_patterns("build"))
    of_v3 = 'base = "v3"' in (project / "pluginkit.toml").read_text()
    _asks_all(project, {*NOTHING[sample], *ALWAYS, *(NO_V3 if of_v3 else ())})
