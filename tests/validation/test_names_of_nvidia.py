"""Plugins that are called like one of NVIDIA's own: by release, and by the layouts that a library is for."""

from __future__ import annotations

import json
import os
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from pluginkit import layouts, nvidia_plugins
from pluginkit.host import Finding
from pluginkit.validation.checks import creators

ASK = """
import json, tensorrt
tensorrt.init_libnvinfer_plugins(tensorrt.Logger(tensorrt.Logger.ERROR), "")
found = tensorrt.get_plugin_registry().plugin_creator_list
print(json.dumps([[one.name, one.plugin_version] for one in found if not one.plugin_namespace]))
"""


def _clash(monkeypatch: pytest.MonkeyPatch, name: str, numbers: tuple[int, ...], namespace: str = "") -> None:
    monkeypatch.setattr(creators, "loadable", lambda _: tuple(layouts.layout(one) for one in numbers))
    monkeypatch.setattr("pluginkit.elf.read", lambda _: SimpleNamespace(soname="libmine.so"))
    subject: Any = SimpleNamespace(
        library=SimpleNamespace(path="libmine.so"),
        creator=SimpleNamespace(name=name, version="1", namespace=namespace),
    )
    creators._clash(subject)


def test_a_name_of_8_5_is_taken_where_the_library_is_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Finding, match=r"LayerNorm version 1 .* one of NVIDIA's own in TensorRT 8\.5"):
        _clash(monkeypatch, "LayerNorm", (8, 10, 11))
    _clash(monkeypatch, "LayerNorm", (10, 11))
    _clash(monkeypatch, "LayerNorm", (8, 10, 11), "mine")


def test_a_name_of_10_is_taken_in_any_library(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Finding, match=r"one of NVIDIA's own in TensorRT 10\.0 to 10\.16"):
        _clash(monkeypatch, "Clip_TRT", (10, 11))
    _clash(monkeypatch, "Mine", (8, 10, 11))


def test_releases_list_their_own() -> None:
    assert [one.version for one in nvidia_plugins.plugins("LayerNorm", tensorrt="8.5.3")] == ["1"]
    assert nvidia_plugins.plugins("LayerNorm", tensorrt="10.0") == []
    assert [one.when for one in nvidia_plugins.plugins("LayerNorm")] == ["TensorRT 8.5"]


@pytest.mark.real_tensorrt
def test_the_list_is_that_of_the_registry() -> None:
    python = os.environ.get("PLUGINKIT_TENSORRT8_PYTHON", "")
    if not python:
        pytest.skip("no TensorRT 8: PLUGINKIT_TENSORRT8_PYTHON names no Python that has it")
    asked = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=True).stdout
    recorded = nvidia_plugins._data()["plugins_8_5"]
    assert sorted(json.loads(asked)) == sorted([name, one] for name, versions in recorded.items() for one in versions)
