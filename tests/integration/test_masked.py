"""Elements that reference.py masks mean nothing: they need not be written, and are compared with nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from pluginkit.dtypes import DType
from pluginkit.host import Context, Finding, Library
from pluginkit.importing import Imported
from pluginkit.importing import run as import_
from pluginkit.importing.importer import ImportOptions as Asked
from pluginkit.manifest import Manifest
from pluginkit.run import runner
from pluginkit.run.options import Options
from pluginkit.runtimes.lean import session as lean
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.verdict import Availability
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference
from tests.host.drive import SPECS, build_layer
from tests.importing.models import model, value
from tests.integration import probe

pytestmark = pytest.mark.compile

FAMILIES = ("plain", "chain", "loop-count", "cond-both")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin that leaves element (0, 2) of its second output unwritten."""
    return probe.library(tmp_path_factory.mktemp("library"), "unwritten")


def run(folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is wrong with each case in pluginkit's host."""
    monkeypatch.setattr(tensorrt_rtx, "probe", lambda: Availability(False))
    monkeypatch.setattr(lean, "installed", list)
    report = runner.run(Options(project=folder, library=library, families=FAMILIES))
    assert {case.family for case in report.cases} == set(FAMILIES)
    # With field values that nobody declared, what is wrong is a warning (docs/demands.md, F6).
    return [case.message for case in report.cases if "field" not in case.network]


def test_masked_elements_need_not_be_written(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(run(probe.project(tmp_path, "same[0, 2] = np.ma.masked"), library, monkeypatch)) == {""}


def test_others_must_be(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = run(probe.project(tmp_path, "same[0, 1] = np.ma.masked"), library, monkeypatch)
    assert [message for message in messages if "left unwritten: 1 of" not in message] == []


def test_what_follows_from_masked_elements_means_nothing_either(tmp_path: Path) -> None:
    manifest = Manifest.load(probe.project(tmp_path, "same[0, 2] = np.ma.masked"))
    made = plan(manifest, Reference.load(tmp_path, manifest), families=FAMILIES)
    cases = {case.id: case for case in made.cases}
    plain, chain = cases["plain/float32/opt"], cases["chain/float32/opt"]
    assert [int(mask.sum()) for mask in plain.arbitrary.values()] == [1]
    (masks,) = plain.free
    assert [int(mask.sum()) for mask in masks] == [0, 1]
    # The sum over a tensor with such an element is one itself.
    assert chain.arbitrary["total"].all()
    assert len(chain.free) == 2
    outputs = {name: value.astype(np.float32) for name, value in plain.expected.items()}
    outputs["same"][0, 2] = np.nan
    outputs["same"][0, 1] += 1
    defined = plain.defined(outputs)
    assert defined["same"][0, 2] == np.float32(plain.expected["same"][0, 2])
    assert defined["same"][0, 1] == outputs["same"][0, 1]


def test_the_host_takes_a_mask_of_the_outputs_shape_alone(library: Path) -> None:
    spec = SPECS[DType.FLOAT32]
    x = np.ones((2, 5), np.float32)
    wrong = np.zeros((2, 5), bool)
    right = wrong.copy()
    right[0, 2] = True
    none = np.zeros((5, 3), bool)
    with Library(library) as loaded:
        creator = loaded.creator("Probe", "1", "tests")
        built = build_layer(loaded)
        for masks in ((), (none, wrong), (none, right.T), (none, right)):
            context = Context(creator, built, [spec])
            if masks and masks[1] is right:
                context.run([x], masks)
                context.close()
            else:
                with pytest.raises(Finding, match=r"left unwritten: 1 of 10 elements of output 1") as caught:
                    context.run([x], masks)
                assert caught.value.rule == "E6"


def imported(folder: Path, library: Path, mask: str, monkeypatch: pytest.MonkeyPatch) -> Imported:
    """A model of two such plugins, with a sum of what the second gives, beside their manifest."""
    monkeypatch.setattr(tensorrt_rtx, "probe", lambda: Availability(False))
    output = {"domain": "tests", "plugin_version": "1", "plugin_namespace": "tests", "factor": 0.1}
    nodes = [
        helper.make_node("Probe", ["x"], ["total", "middle"], "first", **output),
        helper.make_node("Probe", ["middle"], ["t", "same"], "second", **output),
        helper.make_node("ReduceSum", ["same"], ["sum"], "sum"),
    ]
    outputs = [value("same", ["n", 5]), value("total", None), value("sum", None)]
    onnx.save(model(nodes, [value("x", ["n", 5])], outputs, domains=("tests",)), folder / "model.onnx")
    probe.project(folder, mask)
    copied = folder / library.name
    copied.write_bytes(library.read_bytes())
    return import_(Asked(folder / "model.onnx", (copied,)))


def test_import_takes_masks_as_test_does(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = imported(tmp_path, library, "same[0, 2] = np.ma.masked", monkeypatch)
    assert (found.ran.status, found.ran.message) == ("compared", "3 outputs as expected"), found.ran
    found = imported(tmp_path, library, "same[0, 1] = np.ma.masked", monkeypatch)
    assert (found.ran.status, found.exit_code) == ("failed", 1)
    assert found.ran.message.startswith("node first: IPluginV2DynamicExt::enqueue: left unwritten: 1 of 20 elements")
    # What does not follow from them is compared as always.
    found = imported(tmp_path, library, "same[0, 2] = np.ma.masked; x = x + 9", monkeypatch)
    assert (found.ran.status, "output 'total'" in found.ran.message) == ("failed", True)
