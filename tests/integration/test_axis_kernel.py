"""A layer along an axis: the kernel gets its tensors' dimensions, so that only it and the reference are edited."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pluginkit import scaffold
from pluginkit.run import runner
from pluginkit.run.options import Options
from pluginkit.testing.report import Outcome

pytestmark = [pytest.mark.compile, pytest.mark.rtx]

KERNEL = """        auto const& shape = in.x.shape;
        int64_t inner = 1;
        for (int32_t axis = fields.axis + 1; axis < shape.rank; ++axis)
        {
            inner *= shape.dims[axis];
        }
        int64_t const size = shape.dims[fields.axis];
        int64_t const index = i / inner % size;
        store<T>(out.y, i, load<T>(in.x, i + (size - 1 - 2 * index) * inner));
    }
}

} // namespace
"""
REFERENCE = """import numpy as np


def reference(x, *, axis):
    return np.flip(x, axis)
"""


@pytest.mark.parametrize("base", ["dynamic", pytest.param("v3", marks=pytest.mark.slow)])
def test_a_kernel_along_an_axis_is_the_only_source_that_is_edited(base: str, tmp_path: Path) -> None:
    project = scaffold.new(
        "Mirror",
        directory=tmp_path,
        base=base,
        inputs=["x:float32,float16:n,c,h"],
        fields=["axis:int32=1"],
        kernel="loop",
    )
    kernel = project / "src" / "mirror.cu"
    text = kernel.read_text()
    edited = re.sub(r"        float sum = 0\.0F;.*?\} // namespace\n", lambda _: KERNEL, text, count=1, flags=re.DOTALL)
    assert edited != text
    kernel.write_text(edited)
    (project / "reference.py").write_text(REFERENCE)
    toml = project / "pluginkit.toml"
    toml.write_text(toml.read_text().replace("default = 1", "default = 1\nchoices = [0, 1, 2]"))
    report = runner.run(Options(project=project, target="cpu", families=("plain", "loop-count"), only=("*/*/*",)))
    assert [f"{item}" for item in report.bad] == []
    assert {case.network for case in report.cases if "field-axis" in case.network}
    assert {verdict.outcome for verdict in report.verdicts} == {Outcome.PASSED}
