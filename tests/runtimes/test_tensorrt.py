"""The runtime `tensorrt` on a machine without it, with another version of it, or without a GPU."""

from __future__ import annotations

import importlib.machinery
from pathlib import Path

import pytest

from pluginkit import info, installation
from pluginkit.build.gpus import DriverInfo, Gpu
from pluginkit.errors import CheckFailed, ToolMissing
from pluginkit.manifest import Manifest
from pluginkit.runtimes.tensorrt import session as tensorrt


def installed(monkeypatch: pytest.MonkeyPatch, version: str, *gpus: Gpu) -> None:
    """Makes it look so."""
    spec = importlib.machinery.ModuleSpec("tensorrt", None, origin="/site/tensorrt/__init__.py")
    monkeypatch.setattr(tensorrt.importlib.util, "find_spec", lambda name: spec)
    monkeypatch.setattr(tensorrt, "_version", lambda: version)
    monkeypatch.setattr(tensorrt, "find_driver", lambda: DriverInfo("13.0", gpus, "" if gpus else "no driver here"))


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, manifest: Manifest, tmp_path: Path) -> None:
    monkeypatch.setattr(tensorrt.importlib.util, "find_spec", lambda name: None)
    found = tensorrt.probe()
    assert not found.found
    assert "not installed" in found.reason
    assert installation.extra("tensorrt") in found.remedy
    assert "GPU" in found.remedy
    with pytest.raises(ToolMissing, match="not installed") as missing:
        tensorrt.open(tmp_path / "lib.so", manifest)
    assert missing.value.hint == found.remedy


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "10.16.1.11")
    found = tensorrt.probe()
    assert not found.found
    assert found.reason == "tensorrt 10.16.1.11 runs on a GPU only: no driver here"


@pytest.mark.parametrize("version", ["7.2.3", "", "12.0"])
def test_another_major(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, version, Gpu("NVIDIA H100", "9.0"))
    assert "needed is 8.5, 8.6, 10.x or 11.x" in tensorrt.probe().reason


def test_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "11.4.0.106", Gpu("NVIDIA H100", "9.0"))
    assert tensorrt.probe() == tensorrt.Availability(True, "11.4.0.106", "/site/tensorrt")


def test_info_has_one_row_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "10.16.1.11")
    (row,) = [item for item in info.survey() if item.group == "runtimes" and item.name == "tensorrt"]
    assert not row.used
    assert "runs on a GPU only" in row.note
    assert installation.extra("tensorrt") in row.remedy


def test_bindings_without_their_libraries(monkeypatch: pytest.MonkeyPatch, manifest: Manifest, tmp_path: Path) -> None:
    (tmp_path / "tensorrt.py").write_text("raise ImportError('libnvinfer.so.11: cannot open shared object file')")
    monkeypatch.syspath_prepend(str(tmp_path))
    installed(monkeypatch, "11.4.0.106", Gpu("NVIDIA H100", "9.0"))
    with pytest.raises(CheckFailed, match="TensorRT: ImportError: libnvinfer"):
        tensorrt.open(tmp_path / "lib.so", manifest)
