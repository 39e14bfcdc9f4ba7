"""Projects that pluginkit made at commit 5be73d0 (2026-11-21), untouched: copied before anything is done to them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

PROJECTS = Path(__file__).parent / "projects"
collect_ignore = ["projects"]


@pytest.fixture
def old(tmp_path: Path) -> Callable[[str], Path]:
    """Makes a copy of the project of a base."""
    return lambda base: shutil.copytree(PROJECTS / base, tmp_path / "my_plugin")
