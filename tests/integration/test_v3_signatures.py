"""What only an IPluginV3 has, as `pluginkit new` writes it: whole matrices, and what NVIDIA's builder refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from pluginkit import scaffold
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.testing.report import Outcome

pytestmark = [pytest.mark.compile, pytest.mark.rtx, pytest.mark.slow]


def test_an_output_in_an_inputs_memory(tmp_path: Path) -> None:
    """Every network; where two layers write into a tensor, it is refused for that, and builds without aliases."""
    project = scaffold.new(
        "InPlace",
        directory=tmp_path,
        base="v3",
        inputs=["x:float32,float16:n,c", "b:float32:c"],
        outputs=["y:float32,float16:n,c:alias=x", "z:float32:n + 1,c"],
    )
    report = run(Options(project=project, target="cpu"))
    assert [f"{item}" for item in report.bad] == []
    if not tensorrt_rtx.probe().found:
        return
    (refused,) = [one for one in report.verdicts if one.outcome is not Outcome.PASSED]
    assert refused.network.startswith("api-cond-empty/")
    assert "(refusal aliased-twice). Told that the plugin has no aliases, it builds the network" in refused.message
