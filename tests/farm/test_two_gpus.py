"""A host with several GPUs, one worker a GPU: a plugin's whole matrix runs on each of them."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pluginkit import cli, scaffold
from pluginkit.build.gpus import find_driver
from tests.farm.cluster import Cluster, cluster

GPUS = find_driver().gpus
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.slow,
    pytest.mark.compile,
    pytest.mark.xdist_group("gpu"),
    pytest.mark.skipif(len(GPUS) < 2, reason=f"two GPUs: {len(GPUS)} here"),
]
THREADS = 8
"""Cases that run on a GPU at once, as `pluginkit test` has them without a farm."""


def outcomes(path: Path) -> dict[str, dict[str, str]]:
    """Of each GPU, what came of each case; one that ran twice is an error."""
    found: dict[str, dict[str, str]] = {}
    for case in json.loads(path.read_text())["cases"]:
        mine = found.setdefault(case["gpu"], {})
        assert case["id"] not in mine, case
        mine[case["id"]] = case["outcome"]
    return found


def sees_each(made: Cluster) -> None:
    there = sorted(facts.gpu.uuid for facts in made.ready(len(GPUS)) if facts.gpu)
    assert there == sorted(one.uuid for one in GPUS), "each worker sees a GPU of its own"


def test_on_each_gpu(tmp_path: Path, record_property: Any) -> None:
    project = scaffold.new("Small", directory=tmp_path, inputs=["x:float32,float16:n,c"])
    common = ["test", str(project), "--target", "gpu"]
    began = time.monotonic()
    assert cli.run([*common, "--json", str(tmp_path / "local.json")]) == 0
    print(f"on one GPU, without a farm: {time.monotonic() - began:.1f} s, the build with it")
    (local,) = outcomes(tmp_path / "local.json").values()
    with cluster(tmp_path / "farm") as made:
        for place in range(len(GPUS)):
            made.add("--nthreads", str(THREADS), name=f"gpu{place}", CUDA_VISIBLE_DEVICES=str(place))
        sees_each(made)
        began = time.monotonic()
        report = tmp_path / "farm.json"
        assert cli.run([*common, "--farm", made.address, "--on", "each-gpu", "--json", str(report)]) == 0
        took = time.monotonic() - began
    found = outcomes(report)
    cases = json.loads(report.read_text())["cases"]
    places = Counter((one["gpu"], one["place"].partition("/")[2]) for one in cases)
    print(f"on {len(GPUS)} GPUs, by a farm: {len(cases)} cases in {took:.1f} s; {dict(places)}")
    record_property("places", {f"{gpu} by {worker}": count for (gpu, worker), count in places.items()})
    assert len(found) == len(GPUS)
    assert all(mine == local for mine in found.values()), "each GPU has the whole matrix, with the local outcomes"
    assert len(places) == len(GPUS), "a GPU's cases ran on its own worker"
