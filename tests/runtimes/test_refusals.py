"""Both sides of every row: what NVIDIA's builder refuses whatever the operator, and the form that builds.

`half-slice` and `concatenate-axis-1` are said by NVIDIA's API alone: test_leniencies.py has both sides of those.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from onnx import parser
from rich.console import Console

from pluginkit import cli, scaffold
from pluginkit.cli import table
from pluginkit.dtypes import DType
from pluginkit.importing.building import ModelSession, advice
from pluginkit.interpreter import walker
from pluginkit.judges.rtx import own_operators
from pluginkit.judges.rtx.build import Builder
from pluginkit.network.model import Network, NetworkProfile, Range
from pluginkit.network.plan import Plan
from pluginkit.process.crew import Common
from pluginkit.process.crew import Sessions as CrewSessions
from pluginkit.runtimes.rtx import refusals
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.verdict import BuildVerdict
from pluginkit.testing.plan import plan
from pluginkit.testing.report import Outcome, Report, Verdict
from tests.testing.conftest import EXAMPLES

from . import faulty

needs_rtx = pytest.mark.skipif(not tensorrt_rtx.probe().found, reason=tensorrt_rtx.probe().reason)
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
OPEN = ((1, 8), (2, 8), (4, 8))

LOOP = """g (bool c, int64 trips, float[n, 8] x, float[n, 8] z) => (float[n, 8] y) {
  y = If (c) <
    then_branch = t () => (float[n, 8] a) {
      OUTPUTS = Loop (trips, , x, z) <body = b (int64 i, bool go, float[n, 8] s, float[n, 8] u)
          => (bool still, float[n, 8] next, float[n, 8] other) <bool yes = {1}, float half = {0.5}> {
        still = Identity (yes)
        next = Add (s, u)
        other = Mul (u, half)
      }>
      a = Abs (last)
    },
    else_branch = e () => (float[n, 8] a2) { a2 = Neg (x) }
  >
}"""
INNER = """g (bool c, bool c2, float[n, 8] x) => (float[n, 8] y) {
  BEFORE
  y = If (c) <
    then_branch = t () => (float[n, 8] a) { THEN },
    else_branch = e () => (float[n, 8] a2) { a2 = Abs (x) }
  >
}"""
IF = """a = If (c2) <
  then_branch = p () => (float[n, 8] r) { r = Relu (x) }, else_branch = q () => (float[n, 8] m) { m = Neg (x) }
>"""


@pytest.fixture(scope="module")
def session() -> Iterator[ModelSession]:
    with ModelSession([], Path(tensorrt_rtx.probe().where), 60) as opened:
        yield opened


def built(session: ModelSession, folder: Path, text: str, *inputs: str, shapes: Range = OPEN) -> BuildVerdict:
    """The builder's answer; `trips` is a shape tensor."""
    file = folder / "model.onnx"
    onnx.save(parser.parse_model(HEAD + text), file)
    profile = NetworkProfile("default", dict.fromkeys(inputs, shapes), {"trips": ((1,), (2,), (3,))})
    verdict = session.build(file, profile)
    assert verdict.status in {"built", "refused"}, verdict.message
    return verdict


def assert_row(verdict: BuildVerdict, name: str) -> None:
    row = refusals.recognise(verdict)
    assert row is not None, verdict.message
    assert row.id == name
    assert row.instead in advice(verdict)


def test_every_row_says_what_to_do() -> None:
    assert {row.id for row in refusals.REFUSALS} == {
        "loop-in-if", "if-in-if", "half-slice", "concatenate-axis-1", "workspace-in-flow",
    }  # fmt: skip
    for row in refusals.REFUSALS:
        assert row.cause
        assert row.instead
    assert refusals.recognise(BuildVerdict("built", "graphScope.cpp::analyze::417")) is None
    assert refusals.recognise(BuildVerdict("refused", "output shape computation failed")) is None


@needs_rtx
@pytest.mark.rtx
def test_a_loop_whose_last_output_is_unused_in_an_if(session: ModelSession, tmp_path: Path) -> None:
    assert_row(built(session, tmp_path, LOOP.replace("OUTPUTS", "last, unused"), "x", "z"), "loop-in-if")
    turned = LOOP.replace("OUTPUTS", "unused, last").replace("(trips, , x, z)", "(trips, , z, x)")
    turned = turned.replace("float[n, 8] s, float[n, 8] u)", "float[n, 8] u, float[n, 8] s)")
    turned = turned.replace("float[n, 8] next, float[n, 8] other)", "float[n, 8] other, float[n, 8] next)")
    verdict = built(session, tmp_path, turned, "x", "z")
    assert verdict.ok, verdict.message


@needs_rtx
@pytest.mark.rtx
def test_what_a_loop_in_an_if_does_not_change(session: ModelSession, tmp_path: Path) -> None:
    """A condition from outside. As a state it is one that changes, for all that the builder knows."""
    text = LOOP.replace("OUTPUTS", "last, l2").replace("Abs (last)", "Add (last, l2)")
    chosen = text.replace("(bool c, int64", "(bool c, bool c2, int64").replace(
        "next = Add (s, u)",
        "next = If (c2) <then_branch = p () => (float[n, 8] r) { r = Add (s, u) }, "
        "else_branch = q () => (float[n, 8] m) { m = Neg (s) }>",
    )
    assert_row(built(session, tmp_path, chosen, "x", "z"), "loop-in-if")
    state = chosen.replace("last, l2 =", "kept, last, l2 =").replace("(trips, , x, z)", "(trips, , c2, x, z)")
    state = state.replace("bool go, float", "bool go, bool j, float").replace("If (c2)", "If (j)")
    state = state.replace("(bool still, float", "(bool still, bool j2, float")
    state = state.replace("still = Identity (yes)", "still = Identity (yes)\n j2 = Identity (j)")
    verdict = built(session, tmp_path, state, "x", "z")
    assert verdict.ok, verdict.message


@needs_rtx
@pytest.mark.rtx
def test_an_if_in_an_if(session: ModelSession, tmp_path: Path) -> None:
    inner = INNER.replace("BEFORE", "").replace("THEN", IF)
    assert_row(built(session, tmp_path, inner, "x"), "if-in-if")
    assert built(session, tmp_path, inner, "x", shapes=((2, 8),) * 3).ok
    before = INNER.replace("BEFORE", IF.replace("a =", "done =")).replace("THEN", "a = Identity (done)")
    assert built(session, tmp_path, before, "x").ok
    where = "r = Relu (x)\n m = Neg (x)\n a = Where (c2, r, m)"
    assert built(session, tmp_path, INNER.replace("BEFORE", "").replace("THEN", where), "x").ok


class Said:
    """Stands for NVIDIA's builder: says one thing to the plugin's networks, another to those without it."""

    def __init__(self, plugin: BuildVerdict, without: BuildVerdict) -> None:
        self._plugin, self._without = plugin, without

    def build(self, network: Network, **_: object) -> BuildVerdict:
        live = any(node.domain for node in walker.nodes(onnx.load_from_string(network.model).graph))
        return self._plugin if live else self._without


def verdict_of(session: Said) -> Verdict:
    """What the judge makes of a plain network that a builder says this to."""
    manifest = faulty.manifest()
    network = faulty.networks(manifest)["plain/float32"]
    bench = CrewSessions(Common())
    bench.get = lambda _: session  # type: ignore[assignment, method-assign, return-value]
    verdict, _ = Builder(Path(), manifest, 60, Plan((network,), (), 0)).network(network, (), bench)
    return verdict


@pytest.mark.parametrize(
    ("without", "outcome", "text"),
    [
        (BuildVerdict("refused", "graphScope.cpp::analyze::463"), Outcome.SKIPPED, "whatever the operator"),
        (BuildVerdict("refused", "utils.cpp:3613"), Outcome.FAILED, "is refused with another message"),
        (BuildVerdict("built", ""), Outcome.FAILED, "in the plugin's place the network builds"),
    ],
)
def test_words_alone_acquit_no_plugin(without: BuildVerdict, outcome: Outcome, text: str) -> None:
    verdict = verdict_of(Said(BuildVerdict("refused", "graphScope.cpp::analyze::417"), without))
    assert (verdict.outcome, verdict.built) == (outcome, False)
    assert text in verdict.message
    assert ("graphScope" in verdict.message) is outcome.bad
    report = Report("Refused", "", "", 0, (), (verdict,), {tensorrt_rtx.NAME: "1.7.1"})
    assert (report.exit_code == 0) is not outcome.bad
    console = Console(width=200, record=True, file=io.StringIO())
    table.show(report, console, command="pluginkit test")
    shown = console.export_text()
    assert "plain/float32 in tensorrt-rtx: refused" in shown
    assert ("(1 refused whatever the operator)" in shown) is not outcome.bad


WKSP = BuildVerdict("refused", "Op n002_plugin has tensor n002_plugin_wksp with TYPE unspecified and not inferred.")


@pytest.mark.parametrize(
    ("without", "outcome", "text"),
    [
        (BuildVerdict("refused", WKSP.message), Outcome.FAILED, "but without the workspace: refused"),
        (BuildVerdict("refused", "something else"), Outcome.FAILED, "something else"),
        (BuildVerdict("built", ""), Outcome.FAILED, "but without the workspace: built, not live"),
    ],
)
def test_a_workspace_is_to_blame_only_if_all_else_is_well(without: BuildVerdict, outcome: Outcome, text: str) -> None:
    session = Said(WKSP, WKSP)
    session.without_workspace = lambda _: without  # type: ignore[attr-defined]
    verdict = verdict_of(session)
    assert verdict.outcome is outcome
    assert text in verdict.message


@needs_rtx
@pytest.mark.rtx
@pytest.mark.compile
def test_a_workspace_in_loops_and_conditionals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With one NVIDIA's builder refuses, without it builds; the plugin is otherwise the same, and no run is red."""
    project = scaffold.new("Scratch", directory=tmp_path, base="v3", inputs=["x:float32:n,c"])
    source = project / "src" / "scratch.cpp"
    text = source.read_text()
    output = "const noexcept\n{\n    return 0;\n}\n\nnvinfer1::PluginFieldCollection"
    assert text.count(output) == 1
    source.write_text(text.replace(output, output.replace("return 0", "return 256")))
    asked = ["--target", "cpu", *(f"--network={one}" for one in ("plain", "loop-count", "cond-then", "api-loop-count"))]
    assert cli.run(["test", str(project), *asked]) == 0
    message = " ".join(capsys.readouterr().out.split())
    assert "(refusal workspace-in-flow)" in message
    assert "The same: cond-then/float32, api-loop-count/float32." in message
    assert "took 1 of 4 networks (3 refused whatever the operator)" in message
    source.write_text(text)
    assert cli.run(["test", str(project), *asked]) == 0
    assert "took 4 of 4 networks" in " ".join(capsys.readouterr().out.split())


@needs_rtx
@pytest.mark.rtx
@pytest.mark.parametrize("name", EXAMPLES)
def test_networks_with_own_operators_build(name: str, session: ModelSession, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    families = ["plain", "chain", "loop-count", "scan-forward", "cond-then", "if-in-loop", "loop-in-if", "if-in-if"]
    made = plan(example.manifest, example.reference, families=families)
    for network in made.usual:
        without = own_operators.replaced(network, example.manifest)
        model = onnx.load_from_string(without.model)
        onnx.checker.check_model(model, full_check=True)
        assert not [node.name for node in walker.nodes(model.graph) if node.domain]
        file = tmp_path / "model.onnx"
        onnx.save(model, file)
        verdict = session.build(file, network.profiles[0])
        assert verdict.ok, (network.id, verdict.message)


@needs_rtx
@pytest.mark.rtx
def test_a_refusal_that_no_plugin_is_to_blame_for(session: ModelSession, tmp_path: Path) -> None:
    """If in If with open dimensions, as the family doesn't form it."""
    example = EXAMPLES["leaky"]
    made = plan(example.manifest, example.reference, families=["if-in-if"], precisions=[DType.FLOAT32])
    file = tmp_path / "model.onnx"
    file.write_bytes(own_operators.replaced(made.usual[0], example.manifest).model)
    (own,) = plan(example.manifest, example.reference, families=["plain"], precisions=[DType.FLOAT32]).usual
    assert_row(session.build(file, own.profiles[0]), "if-in-if")
