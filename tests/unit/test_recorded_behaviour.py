"""`pluginkit test --record-behaviour`: what the full TensorRT did, as rows of the table of behaviours."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from onnx import parser

from pluginkit import cli
from pluginkit.dtypes import DType
from pluginkit.network.networks import Network, NetworkProfile, PluginCall
from pluginkit.reporting import behaviours
from pluginkit.runtimes.tensorrt import session
from pluginkit.runtimes.tensorrt.behaviours import BEHAVIOURS
from pluginkit.runtimes.verdict import Availability
from pluginkit.testing.report import REFUSED_ALIKE, Outcome, Report, Verdict

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
BODIES = {
    "plain": "agraph (float[3] x) => (float[3] y) { [a] y = Plugin (x) }",
    "loop-count": """agraph (int64 n, float[3] x) => (float[3] y) {
        yes = Constant <value: tensor = bool {1}> ()
        y = Loop <body = body (int64 i, bool c, float[3] s) => (bool d, float[3] t) {
            d = Identity (c)
            [a] t = Plugin (s)
        }> (n, yes, x) }""",
    "cond-then": """agraph (float[3] x, bool f) => (float[3] y) {
        y = If <then_branch = one () => (float[3] a) { [a] a = Plugin (x) },
                else_branch = two () => (float[3] b) { b = Identity (x) }> (f) }""",
}


def network(family: str) -> Network:
    model = parser.parse_model(HEAD + BODIES[family])
    call = PluginCall("a", {}, (DType.FLOAT32,), (DType.FLOAT32,), ((((3,), (3,), (3,)),),), (0.0,), (0.0,))
    profile = NetworkProfile("p", {"x": ((3,), (3,), (3,))})
    return Network(f"{family}/float32", family, DType.FLOAT32, model.SerializeToString(), (call,), (profile,), ("y",))


def report(*verdicts: Verdict) -> Report:
    return Report("MyPlugin", "lib.so", "", 0, (), verdicts, networks=tuple(map(network, BODIES)))


def test_rows_are_those_of_the_networks() -> None:
    refusal = "TensorRT's builder: no\nand more"
    text = behaviours.rows(
        [
            report(
                Verdict("plain/float32", "tensorrt", Outcome.PASSED),
                Verdict("loop-count/float32", "tensorrt", Outcome.FAILED, refusal),
                Verdict("cond-then/float32", "tensorrt", Outcome.PASSED),
                Verdict("cond-then/float32", "rtx", Outcome.FAILED, refusal),
            )
        ],
        "10.16.1",
    )
    found = tomllib.loads(text)
    assert found["plugin-in-loop"] == {
        "tensorrt": "10.16.1",
        "seen": "refused (1 of 1 networks)",
        "networks": ["loop-count/float32"],
        "said": ["TensorRT's builder: no"],
    }
    assert found["plugin-in-branch"]["seen"] == "builds, and computes the right values (1 of 1 networks)"
    assert "said" not in found["plugin-in-branch"]
    assert {*found} == {"plugin-in-loop", "plugin-in-branch"} <= {*BEHAVIOURS}


@pytest.mark.parametrize(
    ("verdict", "seen"),
    [
        (
            Verdict("loop-count/float32", "tensorrt", Outcome.SKIPPED, "no", how=REFUSED_ALIKE),
            "refused whatever the plugin",
        ),
        (Verdict("loop-count/float32", "tensorrt", Outcome.FAILED, "y: 1.0 instead of 2.0"), "computes wrong values"),
        (Verdict("loop-count/float32", "tensorrt", Outcome.CRASHED, "SIGSEGV"), "falls over"),
    ],
)
def test_what_it_did_is_told_apart(verdict: Verdict, seen: str) -> None:
    found = tomllib.loads(behaviours.rows([report(verdict)], "10.16.1"))
    assert found["plugin-in-loop"]["seen"] == f"{seen} (1 of 1 networks)"


def test_it_is_asked_on_a_gpu_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["test", str(tmp_path), "--record-behaviour", str(tmp_path / "rows.toml")]
    assert cli.run([*asked, "--target", "cpu"]) == 2
    assert "Leave out --target cpu." in capsys.readouterr().err


def test_without_a_tensorrt_it_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "probe", lambda: Availability(False, reason="no tensorrt", remedy="get one here"))
    assert cli.run(["test", str(tmp_path), "--record-behaviour", str(tmp_path / "rows.toml")]) == 4
    said = capsys.readouterr().err
    assert "no tensorrt" in said
    assert "get one here" in said
