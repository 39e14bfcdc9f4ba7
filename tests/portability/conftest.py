"""tools/ as modules, which import one another as the scripts that they are."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """`tool("wheels")`: the module of tools/wheels.py."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module
