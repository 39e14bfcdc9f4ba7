"""tools/mutants.py: what comes of a mutant; and that a sample of all mutants is found."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
KNOWN = {
    # What stands in the kernel after a change: what comes of it, and the case that finds it.
    "float const result = sum < 0.0F ? sum : args.parameters.alpha * sum;": ("found", "plain/float32/min"),
    "if (i <= output.count)": ("survived", ""),
    "return static_cast<float>(element) + scale;": ("survived", ""),
    "toElement(static_cast<T*>(output.scale)[i], number, output.scale);": ("not compiled", "pluginkit build"),
    "for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i >= args.count; i += step)": (
        "found",
        "plain/float32/min",
    ),
}


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("mutation.trial")


@pytest.mark.compile
def test_what_comes_of_mutants(trial: ModuleType, tmp_path: Path) -> None:
    mutants = importlib.import_module("mutation.mutants")
    plugin = trial.planned(trial.generated(tmp_path, "dynamic"), only=("plain/float32/m*",))
    kernel = plugin.project / "src" / "my_plugin_kernel.cu"
    right = kernel.read_text()
    found = {}
    for one in mutants.mutants(plugin.project, "dynamic"):
        if one.after in KNOWN:
            outcome = plugin.trial(one, seconds=600)
            found[one.after] = (outcome.result, outcome.by)
            assert kernel.read_text() == right
    # The second is in no output's way: the loop before it ends there. The third is of INT8, which isn't run here.
    assert found == KNOWN


def test_a_run_goes_on_where_it_was_ended(trial: ModuleType, tmp_path: Path) -> None:
    tool = importlib.import_module("mutants")
    (one, *_), _ = tool.chosen(tool._options(["--base", "v3", "--only", "kernel.cu"]))
    outcome = trial.Outcome(trial.FOUND, "plain/float32/min", "wrong", 1.5)
    tool.Results(tmp_path).add(one, outcome)
    assert tool.Results(tmp_path).known == {one.id: outcome}


def test_the_confidence_of_a_sample(trial: ModuleType) -> None:
    """Of none and of all, Wilson's interval has a closed form; it gets narrower with the sample."""
    interval = importlib.import_module("mutants").interval
    z = 1.959964
    assert interval(0.0, 10) == pytest.approx((0, z * z / (10 + z * z)), abs=1e-6)
    assert interval(1.0, 100) == pytest.approx((100 / (100 + z * z), 1), abs=1e-6)
    few, many = interval(0.96, 100), interval(0.96, 400)
    assert few[0] < many[0] < 0.96 < many[1] < few[1]


@pytest.mark.slow
@pytest.mark.compile
def test_a_sample_of_all_mutants_is_found(tmp_path: Path) -> None:
    """The command that docs/testing.md has the figure of, on a sample: all of them take more than an hour here."""
    command = [sys.executable, ROOT / "tools" / "mutants.py", "--results", tmp_path, "--sample", "100", "-n", "2"]
    result = subprocess.run([*command, "--least", "0.9"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr
