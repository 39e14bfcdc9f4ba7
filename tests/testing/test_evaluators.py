"""One list of evaluators: a made-up one, a module and a line, is in every place where evaluators are."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

import pytest

from pluginkit import cli, evaluators
from pluginkit.evaluators.protocol import ON_CPU, RunWork
from pluginkit.manifest import Manifest
from pluginkit.process.programs import run
from pluginkit.run.items import groups, parts
from pluginkit.run.suite import Suite
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference

HERE = Path(__file__).parent
MODULE = "patience_evaluator"


@pytest.fixture
def one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setattr(evaluators, "EVALUATORS", (*evaluators.EVALUATORS, MODULE))


def test_every_judge_says_whether_it_is_here() -> None:
    for one in evaluators.evaluators():
        found = one.probe()
        assert found.found or found.reason
        assert evaluators.evaluator(one.NAME) is one


def test_work_and_items_can_be_sent_to_another_process(bar: Path) -> None:
    manifest = Manifest.load(bar)
    made = plan(manifest, Reference.load(bar / "reference.py", manifest), families=["plain"])
    work = RunWork(manifest, bar, made, made)
    for part in parts(work):
        there = pickle.loads(pickle.dumps(part.items))
        assert there == part.items
        assert [len(one) for one in groups(there)] == [len(one) for one in groups(part.items)]
    assert pickle.loads(pickle.dumps(work)).builds == (ON_CPU,)


@pytest.mark.compile
@pytest.mark.usefixtures("one_more")
def test_a_made_up_judge_is_everywhere(scale_project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, page = tmp_path / "run.json", tmp_path / "run.html"
    only = ("-v", "--only", "plain/float*", "--json", str(data), "--html", str(page))
    assert cli.run(["test", str(scale_project), *only]) == 1
    shown = capsys.readouterr().out
    assert "patience: asked" in shown
    assert "plain/float32 in patience: failed" in shown
    found = json.loads(data.read_text())
    assert "patience" in found["runtimes"]
    output = {one["network"]: one["outcome"] for one in found["verdicts"] if one["runtime"] == "patience"}
    assert output["plain/float32"] == "failed"
    assert output["plain/float16"] == "passed"
    assert "patience" in page.read_text()
    assert cli.run(["info"]) == 0
    assert "patience" in capsys.readouterr().out


@pytest.mark.compile
@pytest.mark.usefixtures("one_more")
def test_pytests_items_are_executed_alike(scale_project: Path) -> None:
    suite = Suite(scale_project, None)
    try:
        assert "plain/float32/patience" in suite.ids
        assert "it is too loud" in suite.run("plain/float32/patience").failed
        assert suite.run("plain/float16/patience").failed == ""
    finally:
        suite.close()


@pytest.mark.compile
def test_a_made_up_judge_in_pytest(scale_project: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "one_more.py"
    plugin.write_text(
        f"from pluginkit import evaluators\nevaluators.EVALUATORS = (*evaluators.EVALUATORS, {MODULE!r})\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "one_more", "-q", "-k", "patience"]
    path = f"{tmp_path}:{HERE}"
    done = run([*command, str(scale_project)], cwd=scale_project, env={"PYTHONPATH": path}, timeout=300)
    assert "it is too loud" in done.stdout, done.stdout
    assert "plain/float32/patience" in done.stdout
