"""With `--strict-skips`, a test that is skipped for a reason that isn't in skips.toml fails the run.

For machines that have all that tests need: there, a test that is silently skipped proves nothing and looks green.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = Path(__file__).with_name("skips.toml")


@dataclass(frozen=True)
class Allowed:
    """A skip that is right.

    Attributes:
        reason: a regular expression for the whole of the reason that pytest shows.
        tests: a regular expression that the test's id begins with, such as `tests/gpu/`.
        because: why that test can't run, for people.
    """

    reason: str
    tests: str
    because: str

    def fits(self, test: str, reason: str) -> bool:
        """Whether it is this one that a test was skipped for."""
        return bool(re.match(self.tests, test) and re.fullmatch(self.reason, reason, re.DOTALL))


def load(path: Path = FILE) -> list[Allowed]:
    """The skips that are right, of a file of `[[skip]]` tables."""
    with path.open("rb") as file:
        return [Allowed(**table) for table in tomllib.load(file)["skip"]]


def unexpected(skipped: Iterable[tuple[str, str]], allowed: Sequence[Allowed]) -> list[tuple[str, str]]:
    """The skipped tests, each with its reason, that nothing allows."""
    return [(test, reason) for test, reason in skipped if not any(one.fits(test, reason) for one in allowed)]


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "fail if a test is skipped for a reason that tests/skips.toml doesn't have"
    parser.addoption("--strict-skips", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    # The workers of pytest-xdist have no say: their reports reach the one that began the run.
    if config.getoption("--strict-skips") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Strict(load()), "strict-skips")


class _Strict:
    """Collects what was skipped."""

    def __init__(self, allowed: Sequence[Allowed]) -> None:
        self._allowed = allowed
        self._skipped: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._look(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._look(report)

    def _look(self, report: Any) -> None:
        # An expected failure is reported as skipped too.
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self._skipped.append((report.nodeid, reason.removeprefix("Skipped: ")))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == pytest.ExitCode.OK and unexpected(self._skipped, self._allowed):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if found := unexpected(self._skipped, self._allowed):
            terminalreporter.section(f"{len(found)} skips that tests/skips.toml doesn't allow", red=True)
            for test, reason in found:
                terminalreporter.write_line(f"{test}: {reason}")
