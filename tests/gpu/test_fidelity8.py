"""Newly drawn networks in TensorRT 8.5 and in the host: tests/fidelity/tensorrt8, without a recording."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path

import pytest

from tests import tensorrt8
from tests.fidelity.tensorrt8.answers import gathered
from tests.fidelity.tensorrt8.drawing.networks import case
from tests.fidelity.tensorrt8.replaying import replay
from tests.fidelity.tensorrt8.report import describe, left, summary, table

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.real_tensorrt,
    pytest.mark.compile,
    pytest.mark.slow,
    pytest.mark.xdist_group("gpu"),
]

FOLDER = tensorrt8.ROOT / "tests" / "fidelity" / "tensorrt8"
SEED, CASES = 4601, 60


def test_new_cases_are_alike(tmp_path: Path) -> None:
    python = tensorrt8.python()
    library, drawn, answers = (tmp_path / name for name in ("libchameleons.so", "cases.pickle", "answers.jsonl"))
    subprocess.run([FOLDER / "plugin" / "build_gpu.sh", library], check=True)
    cases = [case(SEED, number) for number in range(CASES)]
    drawn.write_bytes(pickle.dumps([(one.digest, one) for one in cases], protocol=4))
    command = [python, "-m", "tests.fidelity.tensorrt8.recording.recorder", drawn, "--library", library]
    subprocess.run([*command, "--out", answers], cwd=tensorrt8.ROOT, check=True, timeout=1800)
    recording = gathered([answers], "8.5", "this GPU", SEED)
    assert len(recording.answers) > CASES // 2, "most were answered in time"
    found = replay(recording, sorted(recording.answers))
    print(table(found), summary(found), sep="\n\n")
    assert [describe(one) for one in left(found)] == []
