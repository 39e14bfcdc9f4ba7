"""Both sides of every row: what NVIDIA's builder refuses whatever the operator, and the form that builds.

`half-slice` and `concatenate-axis-1` are said by NVIDIA's API alone: test_leniencies.py has both sides of those.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper, parser
from rich.console import Console

from pluginkit import cli, scaffold
from pluginkit.cli import table
from pluginkit.dtypes import DType
from pluginkit.evaluators.rtx import own_operators
from pluginkit.evaluators.rtx.build import Builder
from pluginkit.importing.building import ModelSession, advice
from pluginkit.importing.implementations import find_implementations
from pluginkit.interpreter import walker
from pluginkit.network.networks import Network, NetworkProfile, Range
from pluginkit.network.plan import Plan
from pluginkit.process.worker_pool import Common
from pluginkit.process.worker_pool import Sessions as PoolSessions
from pluginkit.runtimes.rtx import refusals
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.rtx.session import RtxSession
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
    with ModelSession([], 60) as opened:
        yield opened


def built(session: ModelSession, folder: Path, text: str, *inputs: str, shapes: Range = OPEN) -> BuildVerdict:
    """The builder's answer; `trips` is a shape tensor."""
    file = folder / "model.onnx"
    onnx.save(parser.parse_model(HEAD + text), file)
    profile = NetworkProfile("default", dict.fromkeys(inputs, shapes), {"trips": ((1,), (2,), (3,))})
    verdict = session.build(file, profile)
    assert verdict.status in {"built", "refused"}, verdict.message
    return verdict


def assert_row(verdict: BuildVerdict, name: str, folder: Path) -> None:
    """The row speaks of the model that `built` wrote there, by what it has."""
    row = refusals.recognise(verdict)
    assert row is not None, verdict.message
    assert row.id == name
    served = find_implementations(onnx.load(folder / "model.onnx"), [], onnx.defs.has)
    assert row.instead in advice(verdict, served)
    # Without nodes only a row that needs none of the model speaks.
    assert (row.instead in advice(verdict)) == (not row.has)


def test_every_row_says_what_to_do() -> None:
    assert {row.id for row in refusals.REFUSALS} == {
        "loop-in-if", "if-in-if", "same-constants", "half-slice", "concatenate-axis-1", "workspace-in-flow",
        "aliased-twice", "aliased-format", "aliased-int64", "size-in-flow", "size-in-loop", "shape-input-in-flow",
        "size-of-zero",
        "uint8-tensor", "quantized-by-cast", "int8-and-float8",
    }  # fmt: skip
    for row in refusals.REFUSALS:
        assert row.cause
        assert row.instead
    assert refusals.recognise(BuildVerdict("built", "graphScope.cpp::analyze::417")) is None
    assert refusals.recognise(BuildVerdict("refused", "output shape computation failed")) is None
    # A crash has no message of its own: it is a row's only where a plugin has shape inputs.
    crash = BuildVerdict("crashed", "TensorRT-RTX: SIGSEGV outside of the plugin, after IPluginV3::clone")
    assert refusals.recognise(crash) is None
    row = refusals.recognise(crash, shape_inputs=True)
    assert row is not None
    assert row.id == "shape-input-in-flow"
    assert refusals.recognise(replace(crash, message="SIGSEGV in IPluginV3::clone"), shape_inputs=True) is None


@needs_rtx
@pytest.mark.rtx
def test_a_loop_whose_last_output_is_unused_in_an_if(session: ModelSession, tmp_path: Path) -> None:
    assert_row(built(session, tmp_path, LOOP.replace("OUTPUTS", "last, unused"), "x", "z"), "loop-in-if", tmp_path)
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
    assert_row(built(session, tmp_path, chosen, "x", "z"), "loop-in-if", tmp_path)
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
    assert_row(built(session, tmp_path, inner, "x"), "if-in-if", tmp_path)
    assert built(session, tmp_path, inner, "x", shapes=((2, 8),) * 3).ok
    before = INNER.replace("BEFORE", IF.replace("a =", "done =")).replace("THEN", "a = Identity (done)")
    assert built(session, tmp_path, before, "x").ok
    where = "r = Relu (x)\n m = Neg (x)\n a = Where (c2, r, m)"
    assert built(session, tmp_path, INNER.replace("BEFORE", "").replace("THEN", where), "x").ok


@needs_rtx
@pytest.mark.rtx
@pytest.mark.parametrize("kind", ["int32", "int64", "int32[2]"])
def test_one_constant_twice_in_a_branch(session: ModelSession, tmp_path: Path, kind: str) -> None:
    text = f"""g (bool c, {kind} x, {kind} z) => ({kind} y, {kind} w) {{
      y, w = If (c) <
        then_branch = t () => ({kind} a, {kind} b) {{ a = Neg (x)\n b = Abs (z) }},
        else_branch = e () => ({kind} a2, {kind} b2) <{kind} k = {{FIRST}}, {kind} l = {{SECOND}}> {{
          a2 = Identity (k)
          b2 = Identity (l)
        }}
      >
    }}"""
    dims: tuple[int, ...] = (2,) if "[" in kind else ()
    one, other = ("3, 4", "3, 5") if dims else ("3", "4")
    same = text.replace("FIRST", one).replace("SECOND", one)
    assert_row(built(session, tmp_path, same, "x", "z", shapes=(dims,) * 3), "same-constants", tmp_path)
    verdict = built(session, tmp_path, same.replace(f"l = {{{one}}}", f"l = {{{other}}}"), "x", "z", shapes=(dims,) * 3)
    assert verdict.ok, verdict.message
    if kind == "int32":
        floats = same.replace("int32", "float")
        assert built(session, tmp_path, floats, "x", "z", shapes=(dims,) * 3).ok


@needs_rtx
@pytest.mark.rtx
def test_a_size_that_follows_from_a_loop(session: ModelSession, tmp_path: Path) -> None:
    """tests/importing/test_loop_sizes.py has more of them."""
    text = """g (int64 trips, float[n, 8] x) => (float[n, 8] y) {
      y = Loop (trips, , x) <body = b (int64 i, bool go, float[n, 8] s) => (bool still, float[n, 8] next)
          <bool yes = {1}, int64[1] at = {0}, int64[1] one = {1}> {
        still = Identity (yes)
        first = Unsqueeze (i, at)
        PART
        next = Add (s, part)
      }>
    }"""
    cut = "last = Add (first, one)\n part = Slice (x, first, last, one)"
    assert_row(built(session, tmp_path, text.replace("PART", cut), "x"), "size-in-loop", tmp_path)
    verdict = built(session, tmp_path, text.replace("PART", "part = Gather <axis = 1> (x, first)"), "x")
    assert verdict.ok, verdict.message


@needs_rtx
@pytest.mark.rtx
def test_uint8_within_a_network(session: ModelSession, tmp_path: Path) -> None:
    text = """g (float[n, 8] x) => (float[n, 8] y) {
      u = Cast <to = TYPE> (x)
      y = Cast <to = 1> (u)
    }"""
    assert_row(built(session, tmp_path, text.replace("TYPE", str(TensorProto.UINT8)), "x"), "uint8-tensor", tmp_path)
    assert built(session, tmp_path, text.replace("TYPE", str(TensorProto.INT32)), "x").ok
    outer = "g (uint8[n, 8] x) => (uint8[n, 8] y) {\n f = Cast <to = 1> (x)\n h = Abs (f)\n y = Cast <to = 2> (h)\n}"
    assert built(session, tmp_path, outer, "x").ok


@needs_rtx
@pytest.mark.rtx
@pytest.mark.parametrize("kind", [TensorProto.FLOAT8E4M3FN, TensorProto.INT4])
def test_what_is_quantized_by_a_cast(session: ModelSession, tmp_path: Path, kind: int) -> None:
    """Float8 and int4 come of QuantizeLinear alone."""

    def model(nodes: Sequence[onnx.NodeProto]) -> BuildVerdict:
        zero = helper.make_tensor("zero", kind, [], [0])
        scale = helper.make_tensor("scale", TensorProto.FLOAT, [], [0.5])
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 8]) for name in "xy"]
        graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [scale, zero])
        file = tmp_path / "model.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), file)
        return session.build(file, NetworkProfile("default", {"x": OPEN}))

    cast = [helper.make_node("Cast", ["x"], ["q"], to=kind), helper.make_node("Cast", ["q"], ["y"], to=1)]
    assert_row(model(cast), "quantized-by-cast", tmp_path)
    quantized = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    verdict = model(quantized)
    assert verdict.ok, verdict.message


@needs_rtx
@pytest.mark.rtx
def test_int8_and_float8_in_one_network(session: ModelSession, tmp_path: Path) -> None:
    def built_with(*kinds: int, between: str) -> BuildVerdict:
        nodes, constants, last = [], [helper.make_tensor("scale", TensorProto.FLOAT, [], [0.5])], "x"
        for index, kind in enumerate(kinds):
            constants.append(helper.make_tensor(f"zero{index}", kind, [], [0]))
            nodes.append(helper.make_node("QuantizeLinear", [last, "scale", f"zero{index}"], [f"q{index}"]))
            last = "y" if index == len(kinds) - 1 else f"x{index}"
            nodes.append(helper.make_node("DequantizeLinear", [f"q{index}", "scale", f"zero{index}"], [f"d{index}"]))
            nodes.append(helper.make_node(between, [f"d{index}"], [last]))
        given, left = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 8]) for name in "xy")
        file = tmp_path / "model.onnx"
        graph = helper.make_graph(nodes, "both", [given], [left], constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), file)
        return session.build(file, NetworkProfile("default", {"x": OPEN}))

    assert_row(built_with(TensorProto.INT8, TensorProto.FLOAT8E4M3FN, between="Identity"), "int8-and-float8", tmp_path)
    for kinds in ((TensorProto.FLOAT8E4M3FN,) * 2, (TensorProto.INT8,) * 2):
        verdict = built_with(*kinds, between="Identity")
        assert verdict.ok, verdict.message
    verdict = built_with(TensorProto.INT8, TensorProto.FLOAT8E4M3FN, between="Softmax")
    assert verdict.ok, verdict.message


class Said:
    """Stands for NVIDIA's builder: says one thing to the plugin's networks, another to those without it."""

    def __init__(self, plugin: BuildVerdict, without: BuildVerdict) -> None:
        self._plugin, self._without = plugin, without

    def build(self, network: Network, **_: object) -> BuildVerdict:
        live = any(node.domain for node in walker.nodes(onnx.load_from_string(network.model).graph))
        return self._plugin if live else self._without


def verdict_of(session: Said) -> Verdict:
    """What the evaluator makes of a plain network that a builder says this to."""
    manifest = faulty.manifest()
    network = faulty.networks(manifest)["plain/float32"]
    bench = PoolSessions(Common())
    bench.get = lambda _: session  # type: ignore[assignment, method-assign, return-value]
    verdict, _ = Builder(Path(), manifest, 60, Plan((network,), (), 0)).network(network, tuple, bench)
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


class Fixed(Said):
    """As `Said`, of static networks; of others it says that they are built."""

    def build(self, network: Network, **asked: object) -> BuildVerdict:
        if network.profiles[0].name == "static":
            return super().build(network, **asked)
        return BuildVerdict("built", "")


@pytest.mark.parametrize(
    ("without", "outcome", "text"),
    [
        (BuildVerdict("refused", "inputs[2] to have element type myelinTypeNone"), Outcome.PASSED, ""),
        (BuildVerdict("built", ""), Outcome.FAILED, "in the plugin's place the network builds"),
    ],
)
def test_a_static_network_is_refused_for_the_same_reasons(without: BuildVerdict, outcome: Outcome, text: str) -> None:
    """What is refused whatever the operator, in place of a dynamic network that is built, says nothing about either."""
    example = EXAMPLES["leaky"]
    made = plan(example.manifest, example.reference, families=["cond-then"], precisions=[DType.FLOAT32], random=0)
    session = Fixed(BuildVerdict("refused", "Shape inference exceeded maximum iteration count (5)"), without)
    bench = PoolSessions(Common())
    bench.get = lambda _: session  # type: ignore[assignment, method-assign, return-value]
    # No configurePlugin is called here.
    calls = tuple(replace(call, live=False) for call in made.networks[0].calls)
    network = replace(made.networks[0], calls=calls)
    verdict, points = Builder(Path(), example.manifest, 60, made).network(network, tuple, bench)
    assert verdict.outcome is outcome, verdict.message
    assert text in verdict.message
    assert points == int(outcome.bad), "one that says nothing isn't counted"


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
    session.without = lambda *_: without  # type: ignore[attr-defined]
    verdict = verdict_of(session)
    assert verdict.outcome is outcome
    assert text in verdict.message


def test_what_is_hidden_stays_so_after_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shape input in a loop ends NVIDIA's process: the next one hears no more of the plugin's sizes than that one."""
    calls: list[tuple[str, dict[str, Any]]] = []

    class Process:
        def call(self, method: str, **asked: Any) -> tuple[bool, str, tuple[str, ...]]:
            calls.append((method, asked))
            return True, "", ()

        def close(self) -> None:
            pass

    network = faulty.networks(faulty.manifest())["plain/float32"]
    with RtxSession(tmp_path / "x.so", faulty.manifest(), 60) as session:
        monkeypatch.setattr(session, "_start", lambda _: Process())
        session.without(["sizes", "workspace"], network)
        assert [method for method, _ in calls] == ["load", "hide", "build", "hide"]
        assert [asked["what"] for method, asked in calls if method == "hide"] == ["sizes,workspace", ""]
        session.build(network)
        assert [method for method, _ in calls[4:]] == ["build"]


SIZED = BuildVerdict("refused", "Data-dependent shapes are only allowed in the top-level scope")
OTHER = BuildVerdict("refused", "something else")
NESTED, UNTYPED, FORMATS = (
    BuildVerdict("refused", f"IBuilder::buildSerializedNetwork: Error Code {text})")
    for text in (
        "1: Myelin ([pass.cpp:1687: run_passes] too deeply nested. In compileGraph at /_src/codeGenerator.cpp:2012",
        "1: Myelin ([shape.cpp:175: ~op] is not valid. In compileGraph at /_src/codeGenerator.cpp:2012",
        "9: could not find any supported formats. In pickFormats at /_src/formats.cpp:12",
    )
)


@pytest.mark.parametrize(
    ("without", "own", "outcome", "text"),
    [
        ({"sizes": WKSP, "sizes workspace": OTHER}, OTHER, Outcome.SKIPPED, "the plugin is not tested in this network"),
        ({"sizes": OTHER}, BuildVerdict("built", ""), Outcome.FAILED, "but without the sizes: refused"),
        ({"sizes": WKSP, "sizes workspace": WKSP}, BuildVerdict("built", ""), Outcome.FAILED, "sizes and workspace:"),
        ({"sizes": BuildVerdict("crashed", "")}, OTHER, Outcome.FAILED, "but without the sizes: crashed"),
        ({"sizes": NESTED}, UNTYPED, Outcome.SKIPPED, "the plugin is not tested in this network"),
        ({"sizes": FORMATS}, UNTYPED, Outcome.FAILED, "could not find any supported formats"),
    ],
)
def test_what_is_hidden_of_sizes(
    without: dict[str, BuildVerdict], own: BuildVerdict, outcome: Outcome, text: str
) -> None:
    """A workspace too, where that is refused next; then ONNX's operators are asked, which have neither."""
    session = Said(SIZED, own)
    session.without = lambda hidden, _: without[" ".join(hidden)]  # type: ignore[attr-defined]
    verdict = verdict_of(session)
    assert verdict.outcome is outcome
    assert text in " ".join(verdict.message.split())


@needs_rtx
@pytest.mark.rtx
@pytest.mark.compile
def test_a_workspace_in_loops_and_conditionals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With one NVIDIA's builder refuses, without it builds; the plugin is otherwise the same, and no run is red."""
    project = scaffold.new("Scratch", directory=tmp_path, base="v3", inputs=["x:float32:n,c"])
    source = project / "src" / "scratch.cpp"
    text = source.read_text()
    begin = "Layer<Scratch, Signature>\n{\n"
    assert text.count(begin) == 1
    method = "int64_t workspaceBytes(pluginkit::Shape const*) const override"
    override = f"public:\n    {method}\n    {{\n        return 256;\n    }}\n"
    source.write_text(text.replace(begin, begin + override))
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
    """If in If with dynamic dimensions, as the family doesn't form it."""
    example = EXAMPLES["leaky"]
    made = plan(example.manifest, example.reference, families=["if-in-if"], precisions=[DType.FLOAT32])
    file = tmp_path / "model.onnx"
    file.write_bytes(own_operators.replaced(made.usual[0], example.manifest).model)
    (own,) = plan(example.manifest, example.reference, families=["plain"], precisions=[DType.FLOAT32]).usual
    assert_row(session.build(file, own.profiles[0]), "if-in-if", tmp_path)
