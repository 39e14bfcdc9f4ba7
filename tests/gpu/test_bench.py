"""`pluginkit bench` on a GPU: that it measures at all, and refuses what is wrong. Speeds are for benchmarks/gpu.py."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pluginkit import cli

pytestmark = [pytest.mark.gpu, pytest.mark.compile, pytest.mark.xdist_group("gpu")]

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "bar_plugin"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(
        shutil.copytree(SAMPLE, tmp_path_factory.mktemp("bench") / "bar_plugin", ignore=shutil.ignore_patterns("build"))
    )


def bench(project: Path, *args: str) -> tuple[int, dict[str, Any]]:
    code = cli.run(["bench", str(project), *args, "--json", str(project / "bench.json")])
    return code, json.loads((project / "bench.json").read_text())


def test_small_ones_in_graphs_and_large_ones_one_by_one(project: Path) -> None:
    code, output = bench(project, "--only", "tiny/*", "--only", "large/float16")
    assert code == 0
    tiny, large = output["results"][0], output["results"][-1]
    assert tiny["times"]["enqueues"] >= 32
    assert tiny["note"] == ""
    assert 0 < tiny["empty"]["median"] < 1e-4
    assert large["times"]["enqueues"] == 1
    assert large["turn_bytes"] > 4 * output["l2_bytes"]
    assert 0.1 < large["share_of_copy"] < 1.3, "a ceiling that is one"
    if importlib.util.find_spec("torch"):
        for one in (tiny, large):
            # Four times faster than the plugin would be no torch, but a graph that was not replayed.
            assert one["baselines"][0]["problem"] == ""
            assert one["baselines"][0]["times"]["median"] > one["times"]["median"] / 4


def test_a_wrong_output_has_no_time(project: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(project, tmp_path / "bar_plugin"))
    text = (copy / "reference.py").read_text()
    (copy / "reference.py").write_text(text.replace("return b,", "return b + 1,"))
    code, output = bench(copy, "--only", "tiny/float32", "--only", "tiny/float16")
    assert code == 1
    assert all(one["times"] is None and "expected" in one["problem"] for one in output["results"])


def test_torchs_compiler_and_another_library(project: Path) -> None:
    """The compiled expression is checked like the plain one, and the library itself is as fast as itself."""
    pytest.importorskip("torch")
    bench(project, "--only", "tiny/float32")
    library = project / "build" / "gpu" / "libbar_plugin.so"
    code, output = bench(project, "--only", "large/float*", "--compare", "torch.compile", "--compare", str(library))
    assert code == 0
    for one in output["results"]:
        names = [beside["name"] for beside in one["baselines"]]
        assert names == ["torch", "torch.compile", library.name]
        assert [beside["problem"] for beside in one["baselines"]] == ["", "", ""]
        assert 0.5 < one["baselines"][2]["times"]["median"] / one["times"]["median"] < 2


def test_a_sweep_over_sizes(project: Path) -> None:
    """Each beside a copy of as many bytes, which is captured into graphs as launches are."""
    code, output = bench(project, "--fp32", "--sweep", "4KiB..64MiB")
    assert code == 0
    assert len(output["results"]) >= 6
    assert all(one["copy"]["enqueues"] >= 1 and 0.05 < one["share_of_copy"] < 5 for one in output["results"])
