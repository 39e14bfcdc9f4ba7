"""Progress where there is no terminal, as in a CI's log: a line on stderr each half minute."""

from __future__ import annotations

import io
import sys
import threading

import pytest
from rich.console import Console

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


def test_a_build_names_what_is_finished_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ninja writes a step's line when the step is done."""
    monkeypatch.setattr(progress, "EVERY", 0.001)
    log = Log("finished [3/9] Compiling a.cu (")
    with build._shown_progress(Console(file=io.StringIO())) as show:
        monkeypatch.setattr(sys, "stderr", log)
        show("[3/9] Compiling a.cu")
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
        (writer,) = [one for one in threading.enumerate() if one.name == "progress"]
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
