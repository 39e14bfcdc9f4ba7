"""What `new` writes, and the samples, in engines of TensorRT 8.5: their whole plans, by the runtime `tensorrt`.

PLUGINKIT_TENSORRT8_PYTHON names the Python that has it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pluginkit import scaffold
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.runtimes.tensorrt import session as tensorrt
from pluginkit.testing.report import NVIDIAS, Outcome

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.real_tensorrt,
    pytest.mark.compile,
    pytest.mark.slow,
    pytest.mark.xdist_group("gpu"),
]

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
SEEDS = {"dynamic": (0, 1)}
LEAST = {"dynamic": 400}
"""Cases that must run in engines, of all seeds together."""
CALIBRATED = {"plain/int8-ranges", "plain/int8-minmax", "plain/int8-entropy"}


@pytest.mark.parametrize("name", ["dynamic", "ioext", "bar_plugin", "pool_int8", "leaky_relu"])
def test_every_network_is_right_or_refused_whatever_the_plugin(name: str, tmp_path: Path) -> None:
    found = tensorrt.probe()
    if not found.version.startswith("8."):
        pytest.skip(f"no TensorRT 8: {found.reason or found.version}")
    if name in ("dynamic", "ioext"):
        project = scaffold.new("MyPlugin", directory=tmp_path, base=name)
    else:
        project = Path(shutil.copytree(SAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("build")))
    counts = [_cases(name, project, seed) for seed in SEEDS.get(name, (0,))]
    assert sum(counts) >= LEAST.get(name, 1)


def _cases(name: str, project: Path, seed: int) -> int:
    """Runs everything with a seed; how many cases ran in engines."""
    report = run(Options(project=project, target="gpu", jobs=min(8, os.cpu_count() or 1), timeout=300, seed=seed))
    verdicts = {one.network: one for one in report.verdicts if one.runtime == tensorrt.NAME}
    bad = {name: one.message for name, one in verdicts.items() if one.outcome.bad}
    assert bad == {}
    skipped = {name: one.message for name, one in verdicts.items() if one.outcome is Outcome.SKIPPED}
    assert {verdicts[name].how for name in skipped} <= {*NVIDIAS}
    ran = [case for case in report.cases if case.network in verdicts and case.network not in skipped]
    print(f"{name}: {len(ran)} cases in {len(verdicts) - len(skipped)} networks, {len(skipped)} refused")
    if name in ("dynamic", "bar_plugin"):
        assert {*verdicts} - {*skipped} >= CALIBRATED
    return len(ran)
