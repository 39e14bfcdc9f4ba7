"""CPU seconds of each test file and of the dearest tests, with all that they start.

`.venv/bin/python tools/test_times.py -n 2 --dist loadgroup -m "not slow" [FILE ...]`: pytest's own arguments. What a
fixture of a module or a session costs is counted for the test that came to it first.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

TICK = os.sysconf("SC_CLK_TCK")


SHOWN = 60
"""Tests, at most."""


def descendants(pid: int) -> Iterator[int]:
    """The processes that a process has started, and theirs, as far as they are alive."""
    children: list[str] = []
    # Any of them may end while it is looked at, its folder with it.
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                children += (task / "children").read_text().split()
    for child in children:
        yield int(child)
        yield from descendants(int(child))


def spent() -> float:
    """CPU seconds of this process and of all that it started, those that still run too."""
    total = sum(os.times()[:4])
    for pid in descendants(os.getpid()):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(int(field) for field in fields[11:15]) / TICK
    return total


class Times:
    """A pytest plugin; in a worker of pytest-xdist it hands its sums to the controller."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.tests: Counter[str] = Counter()
        self.single: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, Any, Any]:
        """Each worker collects."""
        before = spent()
        result = yield
        self.seconds["(collection)"] += spent() - before
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """A test with its fixtures."""
        before = spent()
        result = yield
        cost = spent() - before
        file = item.nodeid.partition("::")[0]
        self.seconds[file] += cost
        self.tests[file] += 1
        self.single[item.nodeid] += cost
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """In a worker."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["test_times"] = [dict(self.seconds), dict(self.tests), dict(self.single)]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """In the controller."""
        parts = getattr(node, "workeroutput", {}).get("test_times", [{}, {}, {}])
        for mine, theirs in zip((self.seconds, self.tests, self.single), parts, strict=True):
            mine.update(theirs)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The tables."""
        write = terminalreporter.write_line
        write(f"CPU seconds, {sum(self.seconds.values()):.0f} in all")
        for file, seconds in self.seconds.most_common():
            if seconds >= 0.5:
                write(f"{seconds:8.1f} {self.tests[file]:5} {file}")
        write("the dearest tests")
        for name, seconds in self.single.most_common(SHOWN):
            if seconds >= 0.7:
                write(f"{seconds:8.1f} {name[:150]}")


def pytest_configure(config: pytest.Config) -> None:
    """pytest loads this module as a plugin, its workers too."""
    config.pluginmanager.register(Times(), "times")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(pytest.main(["-p", "test_times", *sys.argv[1:]]))
