"""A native module that was built of older sources ends a command with what to do, and not somewhere in its middle."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pluginkit import _native, installation
from pluginkit.errors import ToolMissing
from pluginkit.host import native_interface

SAMPLE = Path(__file__).parents[2] / "samples" / "leaky_relu"
OLD = "import sys, pluginkit._native as module; {}; from pluginkit.cli import main; main(sys.argv[1:])"


@pytest.mark.parametrize("older", ["module.INTERFACE = 'of an earlier day'", "del module.INTERFACE"])
def test_a_module_of_older_sources(older: str) -> None:
    command = [sys.executable, "-c", OLD.format(older), "test", str(SAMPLE)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 4, ended.stderr
    assert "built of other sources than those there" in ended.stderr
    assert installation.again() in ended.stderr
    assert "Traceback" not in ended.stderr


def test_what_the_module_was_built_for() -> None:
    native_interface.check(_native.INTERFACE)
    with pytest.raises(ToolMissing, match=re.escape(installation.again())):
        native_interface.check("")


def test_a_package_without_the_description(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As PyInstaller and some distributions make it: there are no sources to be newer."""
    monkeypatch.setattr(native_interface, "ROOT", tmp_path)
    native_interface.check(_native.INTERFACE)
