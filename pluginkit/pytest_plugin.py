"""pytest's side of pluginkit: a test with the argument `pluginkit_case` runs once for each case of `pluginkit test`.

pytest loads this wherever pluginkit is installed, so it imports nothing heavy and does nothing for other tests.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pluginkit.run.suite import Suite

FIXTURE = "pluginkit_case"
SHARED = "pluginkit_shared"
"""In pytest-xdist's workerinput: a folder that all workers of a run have."""

_SUITES = pytest.StashKey[dict[tuple[Path, str], "Suite"]]()
_FOLDER = pytest.StashKey[Path]()


class PluginkitWarning(UserWarning):
    """A plugin lacks what TensorRT doesn't require, and a good one has. `-W
    error::pluginkit.pytest_plugin.PluginkitWarning` makes it a failure, as `pluginkit test --strict` does."""


@dataclass(frozen=True)
class PluginkitCase:
    """One item: a case in the host, or the verdict of one of NVIDIA's runtimes on one network.

    Attributes:
        id: as `pluginkit test` has it; a verdict's ends with the runtime's name.
    """

    id: str
    _suite: Suite

    def check(self) -> None:
        """Run it. It fails with the message of `pluginkit test`, and is skipped where the runtime is missing."""
        __tracebackhide__ = True
        result = self._suite.run(self.id)
        if result.skipped:
            pytest.skip(result.skipped)
        if result.failed:
            pytest.fail(result.failed, pytrace=False)
        for text in result.warnings:
            warnings.warn(PluginkitWarning(text), stacklevel=2)


@pytest.fixture
def pluginkit_case(request: pytest.FixtureRequest) -> PluginkitCase:
    """A case of a plugin of the project that the test lies in; a test that takes it runs for each."""
    suite, name = request.param
    return PluginkitCase(name, request.config.stash[_SUITES][suite])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Ask the project for its cases."""
    if FIXTURE not in metafunc.fixturenames:
        return
    from pluginkit.errors import PluginkitError
    from pluginkit.manifest import FILE_NAME
    from pluginkit.manifest.project import members
    from pluginkit.run.suite import Suite

    test = metafunc.definition.path
    project = next((folder for folder in test.parents if (folder / FILE_NAME).is_file()), None)
    if project is None:
        raise pytest.Collector.CollectError(f"{FIXTURE}: no folder above {test} has a {FILE_NAME}.")
    suites = metafunc.config.stash.setdefault(_SUITES, {})
    found: list[tuple[tuple[Path, str], str]] = []
    try:
        there = members(project)
        shared = getattr(metafunc.config, "workerinput", {}).get(SHARED)
        for one in there:
            # Of an added plugin's own folder the ids have no name before them.
            key = (one.folder, one.name if len(there) > 1 else "")
            if key not in suites:
                suites[key] = Suite(one.folder, Path(shared) if shared else None, key[1])
            found += [(key, name) for name in suites[key].ids]
    except PluginkitError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    metafunc.parametrize(FIXTURE, found, indirect=True, ids=[name for _, name in found])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """pytest-xdist starts a worker: all of them share one plan and one build."""
    stash = node.config.stash
    if _FOLDER not in stash:
        stash[_FOLDER] = Path(tempfile.mkdtemp(prefix=f"pluginkit-pytest-{os.getpid()}-"))
    node.workerinput[SHARED] = str(stash[_FOLDER])


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the worker processes."""
    for suite in config.stash.get(_SUITES, {}).values():
        suite.close()
    if _FOLDER in config.stash:
        shutil.rmtree(config.stash[_FOLDER], ignore_errors=True)
