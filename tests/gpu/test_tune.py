"""`pluginkit tune` on a GPU: that it measures, writes what it must, and that the library then answers rightly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pluginkit import cli
from pluginkit.manifest import Manifest

pytestmark = [pytest.mark.gpu, pytest.mark.compile, pytest.mark.xdist_group("gpu")]

SHAPES = """
[[bench.shapes]]
name = "large"
symbols = { n = 4096, c = 4096 }
"""


def test_measured_written_and_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["new", "Leaky", "--base", "v3", "--input", "x:float32,int8:n,c", "--dir", str(tmp_path)]) == 0
    project = tmp_path / "leaky"
    toml = project / "pluginkit.toml"
    toml.write_text(toml.read_text() + SHAPES)
    before = toml.read_text()
    assert cli.run(["tune", str(project), "--json", str(tmp_path / "tune.json")]) == 0
    (found,) = json.loads((tmp_path / "tune.json").read_text())["found"]
    assert len(found["candidates"]) == 12
    assert found["wrong"] == {}
    assert set(found["cases"]) == {"large/float32", "large/int8"}
    assert all(1e-6 < time < 1e-2 for times in found["cases"].values() for time in times.values())
    assert (toml.read_text() == before) == (found["kept"] is None)
    # Whatever was found: other values, of which each is a tactic, are right too.
    capability = found["arch"]
    values = "values = { threads = 1024, packs = 4 }\nalso = [{ threads = 128, packs = 2 }]\n"
    toml.write_text(before + f"\n[tuning.{capability}]\n{values}")
    assert Manifest.load(project).tuning.sets() == [
        {},
        {"packs": 4, "threads": 1024},
        {"packs": 2, "threads": 128},
    ]
    assert cli.run(["bench", str(project)]) == 0
    assert cli.run(["test", str(project), "--target", "gpu", "--int8", "--only", "plain*"]) == 0
    assert "failed" not in capsys.readouterr().out
