"""Progress where there is no terminal, as in a CI's log: a line on stderr each half minute."""

from __future__ import annotations

import io
import sys
import threading

import pytest
from rich.console import Console

from pluginkit.build.output import BuildOutput
from pluginkit.cli import progress
from pluginkit.cli.project import build


class Log(io.StringIO):
    """A log that tells when a line with a text has come."""

    def __init__(self, wanted: str) -> None:
        super().__init__()
        self.wanted, self.come = wanted, threading.Event()

    def flush(self) -> None:
        if self.wanted in self.getvalue():
            self.come.set()


def test_a_build_names_what_runs_with_its_own_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.001)
    clock = [20.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[-1])
    lines: list[str] = []
    output = BuildOutput(lines.append)
    with build._shown_progress(Console(file=io.StringIO())) as show:
        for now, status, line in (
            (50.0, "[0/9/1] Compiling a.cu", "[0/9] Compiling a.cu (0 s so far)"),
            (52.0, "[0/9/2] Compiling b.cu", "[0/9] Compiling a.cu (2 s so far)"),
            (57.0, "[1/9/2] Compiling a.cu", "[1/9] Compiling b.cu (5 s so far)"),
        ):
            clock.append(now)
            log = Log(line)
            monkeypatch.setattr(sys, "stderr", log)
            output.take(status)
            show(lines[-1])
            assert log.come.wait(60), log.getvalue()


def test_a_log_gets_lines_of_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.001)
    output = io.StringIO()
    with progress.bar("planning", Console(file=output)) as step:
        for what, done, total, line in (("", 0, None, "planning ("), ("running", 3, 9, "running: 3 of 9 ("),
                                        ("building", 1, None, "building (")):  # fmt: skip
            log = Log(line)
            monkeypatch.setattr(sys, "stderr", log)
            if what:
                step(what, done, total)
            assert log.come.wait(60), log.getvalue()
            assert " s so far)\n" in log.getvalue()
    assert not [one for one in threading.enumerate() if one.name == "progress"]
    # Of stdout a program may read the result.
    assert not output.getvalue()


def test_without_stderr_stdout_stays_what_a_program_reads(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python has no sys.stderr where a shell has closed it (2>&-), and print takes stdout then."""
    monkeypatch.setattr(progress, "EVERY", 0.001)
    monkeypatch.setattr(sys, "stderr", None)
    with progress.spinner("reading", Console(file=io.StringIO())):
        for writer in [one for one in threading.enumerate() if one.name == "progress"]:
            writer.join(60)
            assert not writer.is_alive()
    assert capsys.readouterr().out == ""


def test_what_is_short_leaves_no_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 3600)
    with progress.spinner("reading", Console(file=io.StringIO())) as show:
        show("writing")
    assert capsys.readouterr().err == ""


def test_a_terminal_has_a_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.001)
    log = Log("reading")
    monkeypatch.setattr(sys, "stderr", log)
    output = io.StringIO()
    with progress.spinner("reading", Console(file=output, force_terminal=True)):
        assert not [one for one in threading.enumerate() if one.name == "progress"]
    assert "reading" in output.getvalue()
    assert not log.getvalue()
