"""Advice works: a control that is mended as its fix says is built by NVIDIA, and nothing is wrong with it."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import onnx
import pytest

from pluginkit.importing import Imported, ImportOptions, importer, run
from pluginkit.importing.running import RunOutcome
from pluginkit.runtimes.rtx import session as tensorrt_rtx

from .controls import CONTROLS
from .mended import MENDED

pytestmark = [
    pytest.mark.rtx,
    pytest.mark.usefixtures("one_process"),
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here"),
]
NO_FIX = {
    "pool-dilated", "pool-indices", "pool-4d", "top-k-large", "scatter-sum", "nms", "nonzero", "roi-align", "four-bit",
    "deform-conv", "det", "sequence", "custom", "onnx-domain", "attention-head-8", "attention-head-257",
    "old-broadcast",
}  # fmt: skip
"""Of these the fix is a plugin, another TensorRT or a program; of Attention's heads it is that of attention-float."""


def found(proto: onnx.ModelProto, folder: Path) -> Imported:
    path = folder / "model.onnx"
    onnx.save(proto, path)
    unasked = RunOutcome("not run", "not asked")
    with mock.patch.multiple(importer, _run=lambda *_: unasked, _missing=lambda *_: (), _engine=lambda *_: None):
        return run(ImportOptions(path, timeout=300))


@pytest.mark.parametrize("name", MENDED)
def test_what_is_mended_as_it_says_is_built(name: str, tmp_path: Path) -> None:
    fix, mended = MENDED[name]
    before = found(CONTROLS[name][1](), tmp_path)
    assert any(fix in one.fix for one in before.problems), [one.fix for one in before.problems]
    after = found(mended(), tmp_path)
    assert after.verdict is not None
    assert after.verdict.ok, after.verdict.message
    assert not [one for one in after.problems if one.level == "error"]


def test_every_refused_control_is_mended_or_cannot_be() -> None:
    refused = {name for name, (verdict, _) in CONTROLS.items() if verdict == "refused"}
    assert refused == set(MENDED) | NO_FIX
