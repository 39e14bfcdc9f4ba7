"""The samples whose README.md is followed word for word, as pad and nonzero. Each passes its whole matrix."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest

from pluginkit.build import build
from pluginkit.dtypes import DType
from pluginkit.field_types import FieldType
from pluginkit.interpreter import api_structure, api_walker, walker
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import ApiNetwork
from pluginkit.network.networks import Case, NetworkProfile, PluginCall, Tolerance
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.runtimes.host import session as host
from pluginkit.testing.report import Outcome
from tests.integration import api_recorder
from tests.judged_networks import judged_networks

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
FOLLOWED = ("pad", "sum_even", "char_lstm", "nonzero")
SECONDS = 1200

pytestmark = pytest.mark.xdist_group("samples")


@pytest.fixture(scope="module", params=FOLLOWED)
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample, built for target cpu."""
    copy = tmp_path_factory.mktemp("sample") / str(request.param)
    shutil.copytree(SAMPLES / request.param, copy, ignore=shutil.ignore_patterns("build", "__pycache__"))
    build(copy, "cpu")
    return copy


def shell(command: str, folder: Path) -> str:
    """What a command prints in the sample's folder, with the commands of this environment before others."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["/bin/sh", "-ec", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def blocks(project: Path, language: str) -> list[str]:
    """The code blocks of a sample's page in a language; "" for what is printed."""
    text = (project / "README.md").read_text(encoding="utf-8")
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [content for kind, content in fenced if kind == language]


def script(sample: str, name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A sample's script as a module; it may import its neighbours."""
    monkeypatch.syspath_prepend(SAMPLES / sample)
    spec = importlib.util.spec_from_file_location(name, SAMPLES / sample / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def interpreted(sample: str, monkeypatch: pytest.MonkeyPatch, operator: str) -> Any:
    """Runs a model whose nodes of the plugin are its reference, in float32: the plugin itself takes a build."""
    reference = script(sample, "reference", monkeypatch).reference

    def call(node: onnx.NodeProto, inputs: Any) -> Any:
        fields = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        del fields["plugin_version"], fields["plugin_namespace"]
        values = {name: value.decode() if isinstance(value, bytes) else value for name, value in fields.items()}
        return [np.asarray(reference(*inputs, **values), np.float32)]

    return lambda model, feeds: walker.run_nodes(model, [("acme", operator)], call, feeds)


@pytest.mark.parametrize("rows", [1, 2, 7, 30])
def test_sum_even_sums_what_numpy_does(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = script("sum_even", "with_plugin", monkeypatch)
    model = onnx.load(SAMPLES / "sum_even" / "sum_even.onnx")
    sample.put_plugin(model, 0.5)
    onnx.checker.check_model(model)
    assert sum(node.op_type == "Accumulate" for node in walker.nodes(model.graph)) == 1
    items = np.random.default_rng(rows).integers(-5, 6, (rows, 2)).astype(np.float32)
    found = interpreted("sum_even", monkeypatch, "Accumulate")(model, {"items": items})
    np.testing.assert_array_equal(found["total"], sample.sum_even(items, 0.5))


@pytest.mark.parametrize("steps", [1, 2, 17])
def test_an_lstm_scores_as_numpys(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lstm, by_onnx = (script("char_lstm", name, monkeypatch) for name in ("lstm", "by_onnx"))
    w = lstm.load()
    ids = np.random.default_rng(steps).integers(0, len(lstm.LETTERS), (steps, 2)).astype(np.int32)
    found = interpreted("char_lstm", monkeypatch, "GateActivation")(by_onnx.reading(w), {"ids": ids})
    for name, expected in zip(("scores", "h_last", "c_last"), lstm.scores(w, ids), strict=True):
        np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=1e-4, err_msg=name)


def test_an_lstm_recites(monkeypatch: pytest.MonkeyPatch) -> None:
    lstm, by_onnx = (script("char_lstm", name, monkeypatch) for name in ("lstm", "by_onnx"))
    first = lstm.numbers(lstm.TEXT[0])
    run_model = interpreted("char_lstm", monkeypatch, "GateActivation")
    found = run_model(by_onnx.reciting(lstm.load(), 60), {"first": first})
    assert lstm.TEXT[0] + lstm.letters(found["text"][:, 0]) == lstm.TEXT[:61]
    assert lstm.TEXT[0] + lstm.letters(lstm.recite(lstm.load(), int(first[0]), len(lstm.TEXT) - 1)) == lstm.TEXT


def lstm_by_api(monkeypatch: pytest.MonkeyPatch) -> tuple[ApiNetwork, dict[str, str]]:
    """The network of by_network_api.py, and the field `kind` of each of its plugin nodes."""
    lstm, by_api = (script("char_lstm", name, monkeypatch) for name in ("lstm", "by_network_api"))
    recorder = api_recorder.Recorder()
    w = lstm.load()
    by_api.add_lstm(api_recorder.bindings, recorder, w, recorder.activation)
    assert tuple(recorder.kinds.values()) == by_api.ACTIVATIONS
    hidden = w["R"].shape[1]
    dims = (by_api.BATCH, hidden)
    calls = tuple(
        PluginCall(
            node, {"kind": (FieldType.STRING, kind)}, (DType.FLOAT32,), (DType.FLOAT32,),
            (((dims, dims, dims),),), (0.0,), (0.0,),
        )
        for node, kind in recorder.kinds.items()
    )  # fmt: skip
    profile = NetworkProfile("default", {"ids": ((1, 2), (40, 2), (146, 2))})
    steps = tuple(recorder.steps)
    return ApiNetwork("char_lstm/float32", "char_lstm", DType.FLOAT32, b"", steps, calls, (profile,)), recorder.kinds


@pytest.mark.parametrize("steps", [1, 2, 40])
def test_an_lstm_by_nvidias_api_scores_as_numpys(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network, kinds = lstm_by_api(monkeypatch)
    api_structure.check(network)
    lstm = script("char_lstm", "lstm", monkeypatch)
    reference = script("char_lstm", "reference", monkeypatch).reference
    ids = np.random.default_rng(steps).integers(0, len(lstm.LETTERS), (steps, 2)).astype(np.int32)
    found = api_walker.run(
        network, lambda node, inputs: [reference(*inputs, kind=kinds[node]).astype(np.float32)], {"ids": ids}
    )
    for name, expected in zip(("scores", "h_last", "c_last"), lstm.scores(lstm.load(), ids), strict=True):
        np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=1e-4, err_msg=name)


@pytest.mark.slow
@pytest.mark.compile
def test_an_lstm_by_nvidias_api_with_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pluginkit's host, the plugin built for target cpu: five enqueues a trip."""
    network, _ = lstm_by_api(monkeypatch)
    lstm = script("char_lstm", "lstm", monkeypatch)
    copy = shutil.copytree(SAMPLES / "char_lstm", tmp_path / "sample", ignore=shutil.ignore_patterns("build"))
    library = build(Path(copy), "cpu")[0].library
    with host.open(library, Manifest.load(Path(copy))) as session:
        verdict = session.build(network)
        assert verdict.ok, verdict.message
        for steps in (1, 40, 146):
            ids = np.random.default_rng(steps).integers(0, len(lstm.LETTERS), (steps, 2)).astype(np.int32)
            expected = dict(zip(("scores", "h_last", "c_last"), lstm.scores(lstm.load(), ids), strict=True))
            point = f"steps-{steps}"
            ran = session.run(Case(point, network.id, "default", point, 0, {"ids": ids}, expected, Tolerance("close")))
            assert ran.enqueues == 5 * steps
            for name, want in expected.items():
                np.testing.assert_allclose(ran.outputs[name], want, rtol=1e-4, atol=1e-4, err_msg=name)


@pytest.mark.compile
def test_nonzero_finds_what_numpy_does(tmp_path: Path) -> None:
    """Its own cases: few elements that are not zero, half of them, none; and an empty matrix."""
    project = shutil.copytree(SAMPLES / "nonzero", tmp_path / "nonzero", ignore=shutil.ignore_patterns("build"))
    report = run(
        Options(project=Path(project), target="cpu", precisions=(DType.FLOAT32,), families=("plain",), only=("*/*/*",))
    )
    assert [f"{item}" for item in report.bad] == []
    points = {f"{case.network}/{case.point}" for case in report.cases}
    assert points >= {f"plain/float32-case-{name}/opt" for name in ("few", "half", "none")}
    assert "plain/float32/min" in points


@pytest.mark.slow
@pytest.mark.compile
def test_a_short_pass(project: Path) -> None:
    """The plugin alone and in a loop."""
    report = run(Options(project=project, only=("plain/float32*/opt", "loop-count/float32*/opt")))
    assert report.bad == []
    assert {case.family for case in report.cases} == {"plain", "loop-count"}


@pytest.mark.slow
@pytest.mark.compile
@pytest.mark.rtx
def test_the_whole_matrix(project: Path) -> None:
    report = run(Options(project=project))
    assert report.bad == []
    judged = [one for one in (*report.verdicts, *report.controls) if "(refusal size-in-flow)" not in one.message]
    assert {verdict.outcome for verdict in judged} == {Outcome.PASSED}
    if project.name == "nonzero":
        built = {one.network.partition("/")[0] for one in report.verdicts if one.outcome is Outcome.PASSED}
        assert built == {"plain", "shape-out", "shape-in", "multi-profile", "loop-invariant"}
    declared = [field.name for field in Manifest.load(project).fields if field.declares_values]
    assert {verdict.network for verdict in report.verdicts} == judged_networks(report, declared)
    assert {verdict.outcome for verdict in report.registries} <= {Outcome.PASSED}


@pytest.mark.slow
@pytest.mark.compile
@pytest.mark.rtx
def test_the_page_is_followed(project: Path) -> None:
    """Each line of each block, from top to bottom; `pluginkit test` is its whole matrix once more."""
    printed = ""
    for block in blocks(project, "sh"):
        for command in re.split(r"(?<!\\)\n", block.strip()):
            printed += shell(command, project)
    for program in blocks(project, "python"):
        (project / "page.py").write_text(program, encoding="utf-8")
        printed += shell("python page.py", project)
    for block in blocks(project, "text"):
        assert all(line in printed.splitlines() for line in block.splitlines()), printed
