"""A plugin of pytest: the tests of a check run while that check has no body, and each must fail then.

`tools/emptied_checks.py` calls it. The tests of a check are those with a parameter `check` that is its id; all others
are left out. Here a test passes if its assertions fail.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

from pluginkit.validation import CHECKS, library_hosts
from tests.validation import emptied_child

AT_LOADING = {
    "B1": "the host looks at symbols before any check is asked",
    "B4": "the library isn't taken where getCreators gives none",
    "B5": "the host asks getCreators again where it loads the library",
    "B22": "a library that doesn't come back from loading is asked nothing",
}
"""Checks without a body: what they find, loading the library shows."""


RED = "red without"
"""The property of a test's report that names the check."""
SEEN = pytest.StashKey[set[str]]()


def check_of(item: pytest.Item) -> str:
    """The id of the check that a test is about; empty where it is about none."""
    callspec = getattr(item, "callspec", None)
    name = callspec.params.get("check", "") if callspec else ""
    return name if name in CHECKS else ""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--empty ID` may be repeated; none: all checks."""
    parser.addoption("--empty", action="append", default=[], choices=sorted(CHECKS.keys() - AT_LOADING.keys()))


def _chosen(config: pytest.Config) -> list[str]:
    return list(config.getoption("--empty")) or [name for name in CHECKS if name not in AT_LOADING]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out tests of other checks, and of none."""
    chosen = set(_chosen(config))
    kept = [item for item in items if check_of(item) in chosen]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def pytest_configure(config: pytest.Config) -> None:
    """Begins to count."""
    config.stash[SEEN] = set()
    config.pluginmanager.register(_Counter(config.stash[SEEN]))


class _Counter:
    """Counts the checks of which a test has failed, in the process that gathers the reports."""

    def __init__(self, seen: set[str]) -> None:
        self._seen = seen

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Enters what a test has shown."""
        self._seen.update(str(value) for name, value in report.user_properties if name == RED)


def _unmissed(config: pytest.Config) -> list[str]:
    """The checks without which no test has failed; none in a worker of pytest-xdist, which sees a part alone."""
    if hasattr(config, "workerinput"):
        return []
    return [name for name in _chosen(config) if name not in config.stash[SEEN]]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A check that no test misses is a failure, whatever became of the tests."""
    if _unmissed(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Says of how many checks the body is missed."""
    left, all_ = _unmissed(config), len(_chosen(config))
    terminalreporter.write_line(f"{all_ - len(left)} of {all_} checks were missed when they were empty.")
    if left:
        terminalreporter.write_line(f"No test has failed without {', '.join(left)}.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Runs a test with its check emptied, here and in the workers."""
    name = check_of(item)
    body, worker = CHECKS[name].ask, library_hosts.CHILD
    os.environ[emptied_child.CHECK] = name
    library_hosts.CHILD = emptied_child.__name__
    emptied_child.empty(name)
    try:
        yield
    except (AssertionError, pytest.fail.Exception):
        item.user_properties.append((RED, name))
        return
    finally:
        object.__setattr__(CHECKS[name], "ask", body)
        library_hosts.CHILD = worker
        del os.environ[emptied_child.CHECK]
    pytest.fail(f"{name} has no body, and this test is green: nothing is planted that it alone finds", pytrace=False)
