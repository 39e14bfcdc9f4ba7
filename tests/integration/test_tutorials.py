"""Tutorials, followed word for word. The others: tests/registry/oci, tests/pytorch."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pluginkit.runtimes.rtx import session as tensorrt_rtx
from tests.pages import follow

pytestmark = [
    pytest.mark.compile,
    pytest.mark.rtx,
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here"),
]


@pytest.mark.slow
@pytest.mark.parametrize("page", ["first-plugin.md", "window-operator.md", "existing-plugin.md"])
def test_the_whole_page(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("PLUGINKIT_LEAN10", "PLUGINKIT_LEAN11"):
        monkeypatch.delenv(name, raising=False)  # a user who begins has neither
    monkeypatch.setenv(
        "PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    )  # `[library] command` has pluginkit
    follow(page, capfd)
