"""samples/bar_plugin in a folder that tests may change, and its whole matrix, run once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.testing.report import Report

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "bar_plugin"


@pytest.fixture(scope="session")
def own_bar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For the tests of the group `bar`, which run in one worker; who changes something there puts it back."""
    copy = tmp_path_factory.mktemp("own") / "bar_plugin"
    return Path(shutil.copytree(SAMPLE, copy, ignore=shutil.ignore_patterns("build")))


@pytest.fixture(scope="session")
def bar_report(own_bar: Path) -> Report:
    """All its networks in all precisions, and NVIDIA's build of each."""
    return run(Options(project=own_bar))
