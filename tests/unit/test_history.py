"""Runs that are kept, damaged files, and what is told of them: what began to fail where, what became slower."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit import cli
from pluginkit.build.gpus import Gpu
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.history import History, began_to_fail, slower, store
from pluginkit.history.store import FILE, PastResult
from pluginkit.run import project_checks, several_plugins
from pluginkit.run.on_gpu import OnGpu
from pluginkit.run.several_plugins import Runs
from pluginkit.testing.report import CaseResult, Outcome, Report, Verdict


def case(outcome: Outcome = Outcome.PASSED, seconds: float = 0.01, **other: str) -> CaseResult:
    made = CaseResult("plain/float32/opt", "plain/float32", "plain", DType.FLOAT32, "opt", "n=2", outcome)
    return replace(made, seconds=seconds, **other)  # type: ignore[arg-type]


def report(*cases: CaseResult, sha256: str = "a") -> Report:
    verdict = Verdict("plain/float32", "tensorrt-rtx", Outcome.PASSED)
    return Report("Scale", "lib.so", sha256, 7, cases, (verdict,))


def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    history = History(tmp_path / "new" / "kept")
    gpu = "NVIDIA H200, sm_90, driver for CUDA 13.0"
    history.add([report(case(place="node/w0"), case(gpu=gpu, target="gpu", sanitizers="memcheck", place="node/w1"))])
    history.add([report(case(Outcome.FAILED, 0.5)), replace(report(case()), plugin="Pool")])
    found = history.entries()
    assert [(one.run, one.plugin, one.id, one.place, one.outcome) for one in found] == [
        (1, "Scale", "plain/float32/opt", "cpu", "passed"),
        (1, "Scale", "plain/float32/opt", f"{gpu} memcheck", "passed"),
        (1, "Scale", "plain/float32", "tensorrt-rtx", "passed"),
        (2, "Scale", "plain/float32/opt", "cpu", "failed"),
        (2, "Scale", "plain/float32", "tensorrt-rtx", "passed"),
        (3, "Pool", "plain/float32/opt", "cpu", "passed"),
        (3, "Pool", "plain/float32", "tensorrt-rtx", "passed"),
    ]
    assert [one.machine for one in found[:2]] == ["node/w0", "node/w1"]
    assert found[3].machine == found[4].machine == os.uname().nodename
    assert found[3].seconds == 0.5
    assert found[0].time.endswith("+00:00")


def test_runs_that_end_at_once_are_all_there(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: History(tmp_path).add([report(case(), sha256=str(number))]), range(16)))
    assert sorted(int(one.sha256) for one in History(tmp_path).entries()) == sorted([*range(16)] * 2)


def test_a_file_that_another_run_begins_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any of this one's statements that has no lock yet."""
    opened = sqlite3.connect
    for place in range(3):
        folder = tmp_path / str(place)
        statements = iter(range(100))

        class Overtaken(sqlite3.Connection):
            def execute(self, *given: object, place: int = place, folder: Path = folder) -> sqlite3.Cursor:
                if next(statements) == place:  # noqa: B023 - it is called in this turn of the loop
                    with monkeypatch.context() as patched:
                        patched.setattr(sqlite3, "connect", opened)
                        History(folder).check()
                return super().execute(*given)  # type: ignore[arg-type]

        with monkeypatch.context() as patched:
            patched.setattr(sqlite3, "connect", partial(opened, factory=Overtaken))
            History(folder).check()
        assert History(folder).entries() == []


KILLED = """
import os, signal, sys
from pathlib import Path
from unittest import mock
from pluginkit.history import History, store
from tests.unit.test_history import case, report
rows = iter(range(1000))
original = store._row
def row(*given):
    if next(rows) == 300:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*given)
store._row = row
History(Path(sys.argv[1])).add([report(*[case()] * 500)])
"""


def test_a_run_that_is_killed_while_it_writes_leaves_nothing(tmp_path: Path) -> None:
    History(tmp_path).add([report(case())])
    before = History(tmp_path).entries()
    root = Path(__file__).parents[2]
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=root, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert History(tmp_path).entries() == before
    History(tmp_path).add([report(case())])
    assert len(History(tmp_path).entries()) == 2 * len(before)


def torn(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2 // 4096 * 4096])


def garbage(file: Path) -> None:
    file.write_bytes(b"no database" * 1000)


def overwritten(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[:8192] + b"\xff" * (len(data) - 8192))


def another(file: Path) -> None:
    file.unlink()
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE x (y)")
    database.close()


@pytest.mark.parametrize("damage", [torn, garbage, overwritten, another])
def test_a_damaged_history_is_said_before_anything_runs(
    damage: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    History(tmp_path).add([report(*[case()] * 500)])
    damage(tmp_path / FILE)  # type: ignore[operator]
    monkeypatch.setattr(several_plugins, "run", lambda *_: pytest.fail("it ran"))
    for command in (["history", str(tmp_path)], ["test", str(tmp_path), "--history", str(tmp_path)]):
        assert cli.run(command) == 2
        shown = capsys.readouterr().err
        assert f"{tmp_path / FILE} can't be" in shown
        assert ".recover" in shown


def test_a_file_that_can_only_be_read_is_said_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    History(tmp_path).add([report(case())])
    before = History(tmp_path).entries()
    History(tmp_path).check()
    opened = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda file, timeout: opened(f"file:{file}?mode=ro", uri=True))
    with pytest.raises(UsageError, match="can't be written: attempt to write a readonly database"):
        History(tmp_path).check()
    assert History(tmp_path).entries() == before


def test_a_file_that_another_process_keeps_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    History(tmp_path).add([report(case())])
    monkeypatch.setattr(store, "_BUSY", 0.0)
    with closing(sqlite3.connect(tmp_path / FILE)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UsageError, match="can't be written: database is locked"):
            History(tmp_path).check()
        assert len(History(tmp_path).entries()) == 2, "it can be read"
    History(tmp_path).check()


def test_a_file_of_a_newer_pluginkit(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute(f"PRAGMA user_version = {store.FORMAT + 1}")
    with pytest.raises(UsageError, match="of another program or pluginkit"):
        History(tmp_path).check()
    with pytest.raises(UsageError, match="of another program or pluginkit"):
        History(tmp_path).entries()


def test_no_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["history", str(tmp_path)]) == 2
    assert f"pluginkit test --history {tmp_path}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="can't be written"):
        History(tmp_path / "file").check()


def entries(outcomes: str, machines: Sequence[str] = (), seconds: Sequence[float] = ()) -> list[PastResult]:
    """A case's runs: p(assed), f(ailed), s(kipped), c(rashed)."""
    names = {"p": "passed", "f": "failed", "s": "skipped", "c": "crashed"}
    return [
        PastResult(
            place,
            f"2026-01-{place:02}",
            "Scale",
            "a",
            "plain/float32/opt",
            "cpu",
            machines[place - 1] if machines else "node",
            names[one],
            seconds[place - 1] if seconds else 0.01,
        )
        for place, one in enumerate(outcomes, 1)
    ]


@pytest.mark.parametrize(
    ("outcomes", "first", "passed", "runs"),
    [("pf", 2, 1, 1), ("fppcff", 4, 3, 3), ("pfpf", 4, 3, 1), ("psf", 3, 1, 1), ("pfs", 2, 1, 1)],
)
def test_what_began_to_fail(outcomes: str, first: int, passed: int, runs: int) -> None:
    (found,) = began_to_fail(entries(outcomes))
    assert (found.first.run, found.passed.run, found.runs, found.only) == (first, passed, runs, "")


@pytest.mark.parametrize("outcomes", ["p", "f", "ff", "fp", "pfp", "ss", "sf"])
def test_what_did_not(outcomes: str) -> None:
    assert began_to_fail(entries(outcomes)) == []


@pytest.mark.parametrize(
    ("outcomes", "machines", "only", "first"),
    [
        ("pfpf", "abab", "b", 2),
        ("pfp", "aba", "b", 2),
        ("pff", "aba", "", 2),
        ("ppfp", "abba", "b", 3),
    ],
)
def test_what_fails_on_one_machine_names_it(outcomes: str, machines: str, only: str, first: int) -> None:
    # Two workers of a machine are one.
    (found,) = began_to_fail(entries(outcomes, [f"{one}/w{place}" for place, one in enumerate(machines)]))
    assert (found.only, found.first.run) == (only, first)


def test_a_new_driver_is_no_new_place() -> None:
    """What it breaks, or makes slower, was good before it."""
    gpu = Gpu("NVIDIA H200", "9.0")
    drivers = [OnGpu(gpu, cuda).description for cuda in ("12.9", "13.0")]
    history = [replace(one, place=drivers[one.run > 1]) for one in entries("pf")]
    (found,) = began_to_fail(history)
    assert (found.passed.place, found.first.place) == tuple(drivers)
    history = entries("p" * 8, seconds=[*STEADY, 0.020, 0.021, 0.019])
    assert len(slower([replace(one, place=drivers[one.run > 5]) for one in history])) == 1
    others = [replace(one, place=OnGpu(gpu, "13.0", f"here GPU-{one.run}").description) for one in entries("pf")]
    assert began_to_fail(others) == [], "another GPU is another place"


STEADY = [0.010, 0.011, 0.0105, 0.0095, 0.010]


@pytest.mark.parametrize(
    ("seconds", "found"),
    [
        ([*STEADY, 0.020, 0.021, 0.019], True),
        ([*STEADY, 0.020, 0.021, 0.0105], False),  # one of them is as before
        ([*STEADY, 0.0115, 0.0116, 0.0117], False),  # it varies as much by itself
        ([0.01] * 5 + [0.0105] * 3, False),  # five per cent
        ([0.01] * 5 + [0.0112] * 3, True),
        ([0.01, 0.05, 0.02, 0.04, 0.03, 0.06, 0.06, 0.06], False),
        ([0.01] * 4 + [0.02] * 3, False),  # too few to know
    ],
)
def test_what_became_slower(seconds: list[float], found: bool) -> None:
    history = entries("p" * len(seconds), seconds=seconds)
    assert bool(slower(history)) is found
    assert slower([*history, *entries("f")]) == []


def test_times_of_two_machines_are_not_compared() -> None:
    machines = ["fast"] * 5 + ["slow"] * 3
    assert slower(entries("p" * 8, machines, [0.01] * 5 + [0.05] * 3)) == []


@given(st.lists(st.floats(0.5, 1.5), min_size=1, max_size=30), st.floats(1e-4, 10))
def test_what_is_slower_does_not_depend_on_the_unit(noise: list[float], unit: float) -> None:
    one = bool(slower(entries("p" * len(noise), seconds=noise)))
    scaled = [value * 2.0 ** round(unit) for value in noise]
    assert bool(slower(entries("p" * len(noise), seconds=scaled))) is one


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept"
    monkeypatch.setattr(project_checks, "with_checks", lambda options, reports, *_: reports)
    for number, outcome in enumerate([Outcome.PASSED] * 5 + [Outcome.FAILED] * 2):
        made = report(case(outcome), sha256=str(number // 5))
        monkeypatch.setattr(several_plugins, "run", lambda *_, made=made: Runs((made,)))
        assert cli.run(["test", str(tmp_path), "--history", str(kept)]) == made.exit_code
    capsys.readouterr()
    assert cli.run(["history", str(kept)]) == 0
    shown = capsys.readouterr().out
    assert "Began to fail" in shown
    assert "failed, 2 runs" in shown
    assert "another" in shown, "the library"
    assert "7 runs of 1 plugin" in shown
    assert "1 began to fail, 0 became slower" in shown
    assert "Times are compared from 8 runs on." in shown
    assert cli.run(["history", str(kept), "--json", "-"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert (plain["runs"], len(plain["began_to_fail"]), plain["slower"]) == (7, 1, [])
    assert plain["began_to_fail"][0]["first"]["run"] == 6
