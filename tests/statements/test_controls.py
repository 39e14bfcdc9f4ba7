"""NVIDIA's code on the models that show what is said of it."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import onnx
import pytest
from onnx import helper

from pluginkit.importing import ImportOptions, importer, profiles, run
from pluginkit.importing.building import ModelSession
from pluginkit.importing.running import RunOutcome
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from tests.importing.models import function, model, value
from tests.importing.own_corpus import made, n, w

from . import statements
from .controls import CONTROLS

pytestmark = [
    pytest.mark.rtx,
    pytest.mark.usefixtures("one_process"),
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here"),
]
SHOWN = {name: [one for one in statements() if name in one.backing.get("model", ())] for name in CONTROLS}


@pytest.mark.parametrize("name", CONTROLS)
def test_nvidia_does_what_is_said(name: str, tmp_path: Path) -> None:
    verdict, build = CONTROLS[name]
    path = tmp_path / "model.onnx"
    onnx.save(build(), path)
    unasked = RunOutcome("not run", "not asked")
    with mock.patch.multiple(importer, _run=lambda *_: unasked, _missing=lambda *_: (), _engine=lambda *_: None):
        found = run(ImportOptions(path, timeout=300))
    assert found.verdict is not None
    assert found.verdict.status == verdict, found.verdict.message
    # What is said of a refusal foresees it; what is built isn't called refused.
    assert (found.foreseen == "refused") <= (verdict == "refused")
    errors = [one for one in found.problems if one.level == "error"]
    assert bool(errors) == (verdict == "refused"), errors


def test_layout_1_is_read_as_layout_0(session: ModelSession, tmp_path: Path) -> None:
    """Of two sequences of six steps ONNX gives [2, 6, 1, 8]."""
    weights = [w("w", 1, 32, 4), w("r", 1, 32, 8)]
    proto = made(
        [n("LSTM", "x w r", "y", hidden_size=8, layout=1)], [value("x", [2, 6, 4])], [value("y", [None] * 4)], weights
    )
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    inputs, refused = session.inputs(path, (), ["x"])
    assert refused is None
    assert session.build(path, profiles.profile(inputs, [])).ok
    assert session._worker is not None
    assert session._worker.call("shapes") == {"y": (2, 1, 6, 8)}


def test_a_function_of_an_operators_name_is_not_called(session: ModelSession, tmp_path: Path) -> None:
    """The function gives another shape than the operator."""
    flat = function("acme", "Relu", [helper.make_node("Flatten", ["x"], ["y"], "flat", axis=0)])
    call = helper.make_node("Relu", ["x"], ["y"], "call", domain="acme")
    path = tmp_path / "model.onnx"
    onnx.save(model([call], [value("x", [2, 3])], [value("y", None)], functions=[flat]), path)
    inputs, refused = session.inputs(path, (), ["x"])
    assert refused is None
    assert session.build(path, profiles.profile(inputs, [])).ok
    assert session._worker is not None
    assert session._worker.call("shapes") == {"y": (2, 3)}
