"""The door to other programs."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from pluginkit.errors import ToolMissing
from pluginkit.process.programs import ProcessTimeout, Program, run


def test_output_status_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLUGINKIT_TEST_GONE", "1")
    done = run(
        ["sh", "-c", 'pwd; echo "$NEW ${PLUGINKIT_TEST_GONE-gone}" >&2; exit 3'],
        cwd=tmp_path,
        env={"NEW": "value", "PLUGINKIT_TEST_GONE": None},
    )
    assert (done.stdout, done.stderr, done.returncode) == (f"{tmp_path}\n", "value gone\n", 3)
    assert not done.ok
    assert done.status == "exit status 3"


def test_a_signal_is_named() -> None:
    assert run(["sh", "-c", "kill -SEGV $$"]).status == "signal SIGSEGV"


def test_lines_come_while_the_program_runs() -> None:
    lines: list[tuple[str, float]] = []
    start = time.monotonic()
    run(["sh", "-c", "echo a; echo b >&2; sleep 0.6; printf c"], on_line=lambda x: lines.append((x, time.monotonic())))
    assert [line for line, _ in lines] == ["a", "b", "c"]
    assert lines[0][1] - start < 0.5


def test_long_output_on_both_pipes_does_not_block() -> None:
    done = run(["sh", "-c", "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero"], timeout=20)
    assert (len(done.stdout), len(done.stderr)) == (300000, 300000)


def test_a_timeout_kills_descendants_too(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with pytest.raises(ProcessTimeout, match=r"stopped after 0\.3 s"):
        run(["sh", "-c", f"sleep 60 & echo $! > {pid}; wait"], timeout=0.3)
    child = Path("/proc") / pid.read_text().strip() / "stat"
    deadline = time.monotonic() + 5
    while child.exists() and " Z " not in child.read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not child.exists() or " Z " in child.read_text()


def test_a_grandchild_that_keeps_the_pipe_does_not_keep_us() -> None:
    start = time.monotonic()
    done = run(["sh", "-c", "sleep 30 & echo done"])
    assert done.stdout == "done\n"
    assert time.monotonic() - start < 5


def test_what_can_not_be_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="/no/such does not exist"):
        run(["/no/such"])
    with pytest.raises(ToolMissing, match=r"the folder .*gone does not exist"):
        run(["true"], cwd=tmp_path / "gone")
    (tmp_path / "file").write_text("")
    with pytest.raises(ToolMissing, match="Permission denied"):
        run([tmp_path / "file"])


def test_ctrl_c_lets_a_program_end_what_it_has_started_in_a_group_of_its_own() -> None:
    """As Ninja does: a compiler that outlived it would write the object while the next build makes it."""
    started: list[int] = []

    def interrupted(line: str) -> None:
        started.append(int(line))
        raise KeyboardInterrupt

    script = "setsid sleep 60 & one=$!; trap 'kill $one; wait; exit 1' TERM; echo $one; wait"
    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", script], on_line=interrupted)
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)


def test_what_has_more_to_print_than_a_pipe_holds_is_asked_to_end(tmp_path: Path) -> None:
    """Nobody reads its output meanwhile; it takes the signal only when somebody does."""
    ended, begun = tmp_path / "ended", tmp_path / "begun"
    code = (
        "import pathlib, signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})\n"
        f"pathlib.Path({str(begun)!r}).touch()\n"
        "sys.stdout.write('x' * 300_000)\n"
        "sys.stdout.flush()\n"
        "signal.sigwait({signal.SIGTERM})\n"
        f"pathlib.Path({str(ended)!r}).touch()\n"
    )
    program = Program([sys.executable, "-c", code])
    until = time.monotonic() + 60
    while not begun.exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    program.stop()
    assert ended.exists()
