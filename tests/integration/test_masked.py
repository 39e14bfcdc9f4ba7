"""Elements that reference.py masks mean nothing: they need not be written, and are compared with nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import pluginkit
from pluginkit.dtypes import DType
from pluginkit.host import Context, Finding, Library
from pluginkit.manifest import Manifest
from pluginkit.run import runner
from pluginkit.run.options import Options
from pluginkit.runtimes.lean import session as lean
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.verdict import Availability
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference
from tests.compilers import default_cxx
from tests.host.drive import SPECS, build_layer

pytestmark = pytest.mark.compile

SOURCE = Path(__file__).parents[1] / "host" / "plugin.cpp"
MANIFEST = """
plugin = { name = "Probe", namespace = "tests" }
inputs = [{ name = "x", types = ["float32"], shape = ["n", "c"] }]
outputs = [
    { name = "total", types = ["float32"], shape = ["2 * n + 1", "ceil_div(c, 2)"] },
    { name = "same", types = ["float32"], shape = ["n", "c"] },
]
fields = [{ name = "factor", type = "float32", default = 0.1 }]
profiles = [{ symbols = { n = [1, 2, 4], c = [3, 5, 8] } }]
tolerances = { float32 = { rtol = 1e-4, atol = 1e-3 } }
"""
REFERENCE = """
import numpy as np

def reference(x, *, factor):
    n, c = x.shape
    same = np.ma.array(x)
    MASK
    return np.full((2 * n + 1, -(-c // 2)), x.sum() * factor), same
"""
FAMILIES = ("plain", "chain", "loop-count", "cond-both")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin that leaves element (0, 2) of its second output unwritten."""
    # Its name says what it does wrong (tests/host/plugin.cpp).
    path = tmp_path_factory.mktemp("library") / "unwritten-probe.so"
    flags = ("-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-DPLUGINKIT_TRT_LAYOUT=11", "-DWITH_ENTRY")
    where = (f"-I{pluginkit.include_dir()}", str(SOURCE), "-o", str(path), "-ldl")
    subprocess.run([default_cxx(), *flags, *where], check=True)
    return path


def project(folder: Path, mask: str) -> Path:
    (folder / "pluginkit.toml").write_text(MANIFEST)
    (folder / "reference.py").write_text(REFERENCE.replace("MASK", mask))
    return folder


def run(folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is wrong with each case in pluginkit's host."""
    monkeypatch.setattr(tensorrt_rtx, "probe", lambda: Availability(False))
    monkeypatch.setattr(lean, "installed", list)
    report = runner.run(Options(project=folder, library=library, families=FAMILIES))
    assert {case.family for case in report.cases} == set(FAMILIES)
    return [case.message for case in report.cases]


def test_masked_elements_need_not_be_written(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(run(project(tmp_path, "same[0, 2] = np.ma.masked"), library, monkeypatch)) == {""}


def test_others_must_be(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = run(project(tmp_path, "same[0, 1] = np.ma.masked"), library, monkeypatch)
    assert all("left unwritten: 1 of" in message for message in messages), messages


def test_what_follows_from_masked_elements_means_nothing_either(tmp_path: Path) -> None:
    manifest = Manifest.load(project(tmp_path, "same[0, 2] = np.ma.masked"))
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
