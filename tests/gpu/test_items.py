"""pytest's items on a GPU: one a case, beside those of target cpu."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pluginkit import scaffold
from pluginkit.process.programs import run

pytestmark = [pytest.mark.gpu, pytest.mark.compile, pytest.mark.xdist_group("gpu")]


def test_each_case_is_an_item_of_both_targets(tmp_path: Path) -> None:
    project = scaffold.new("MyPlugin", directory=tmp_path, kernel="loop")
    command = [sys.executable, "-P", "-m", "pytest", "-v", "-p", "no:cacheprovider", "-k", "plain/float32/opt"]
    done = run(command, cwd=project)
    assert done.ok, done.stdout
    assert "[plain/float32/opt] PASSED" in done.stdout
    assert "[plain/float32/opt/gpu] PASSED" in done.stdout
    kernel = project / "src" / "my_plugin.cu"
    kernel.write_text(kernel.read_text().replace("fields.alpha * sum", "-fields.alpha * sum"))
    done = run([*command[:-1], "plain/float32/opt/gpu"], cwd=project)
    assert done.returncode == 1
    assert "again: pluginkit test --only plain/float32/opt --seed 0 --target gpu" in done.stdout
