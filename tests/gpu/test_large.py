"""Tensors of more than 2^31 elements on a GPU (`--large`): the whole launch runs, and the ends are compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pluginkit import scaffold
from pluginkit.run import runner
from pluginkit.run.options import Options
from pluginkit.testing.report import CaseResult, Outcome
from tests.gpu import planted

pytestmark = [pytest.mark.gpu, pytest.mark.compile, pytest.mark.xdist_group("gpu")]

KERNEL = "src/my_plugin.cu"
PLANTED = {
    "i < count; i += step": "i < (fields.fault == 1 ? static_cast<int>(count) : count); i += step",
    "        store<T>(out.y, i, result);": (
        "        store<T>(out.y, fields.fault == 2 ? static_cast<int>(i) : i, result);"
    ),
}
SIGNATURES = {
    "float32": {},
    "int8": {"inputs": ["x:int8:n,c"]},
    "static shapes": {"base": "ioext"},
    "an aliased output": {"outputs": ["y:float32:n,c:alias=x"], "base": "v3"},
}
WRONG = "slices, which begin at element|CUDA_ERROR_ILLEGAL_ADDRESS"
FAULTS = {
    0: "^$",
    1: "was left unwritten",
    # What lies 8 GiB in front of the output may be mapped, or not.
    2: f"was left unwritten|{WRONG}",
}
"""By the field `fault`: none, a count of 32 bits, an index of 32 bits."""


@pytest.fixture(scope="module", params=SIGNATURES)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    signature = {"inputs": ["x:float32:n,c"], **SIGNATURES[request.param]}
    fields = ["alpha:float32=0.5", "fault:int32=0"]
    folder = tmp_path_factory.mktemp("large")
    written = scaffold.new("MyPlugin", directory=folder, fields=fields, kernel="loop", **signature)
    file = written / KERNEL
    text = file.read_text()
    for right, wrong in PLANTED.items():
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    file.write_text(text)
    return written


def run(project: Path, fault: int) -> CaseResult:
    planted.choose(project, fault)
    report = runner.run(Options(project=project, only=("plain/*/large",), target="gpu", large=True))
    (case, *_) = report.cases  # where scales are also in descriptors there is a case for each calibration
    return case


@pytest.mark.parametrize("fault", FAULTS)
def test_indices_and_counts_of_32_bits_are_found(project: Path, fault: int) -> None:
    case = run(project, fault)
    assert case.outcome is (Outcome.FAILED if fault else Outcome.PASSED), case.message
    aliased = "alias" in (project / "pluginkit.toml").read_text()
    # What an aliased output keeps is the input's value, which is written, and wrong.
    assert re.search(WRONG if aliased and fault else FAULTS[fault], case.message), case.message
