"""NVIDIA's registries of TensorRT 10 and 11 with a V2 plugin that behaves, and one that doesn't."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pluginkit.errors import CheckFailed, ToolMissing
from pluginkit.manifest import Manifest
from pluginkit.runtimes import lean
from pluginkit.testing.model import Network

CREATE_NULL, DESERIALIZE_NULL, SERIALIZE_OTHER = 9, 10, 11


def params() -> list[object]:
    found = lean.installed()
    if not found:
        return [pytest.param(None, marks=pytest.mark.skip(reason=lean.probe().reason))]
    return [pytest.param(one, id=one.version) for one in found]


each_lean = pytest.mark.parametrize("which", params())
pytestmark = pytest.mark.lean


@pytest.fixture
def library(which: lean.Lean, compile_library: Callable[..., Path], tmp_path: Path) -> Path:
    layout = which.version.split(".")[0]
    source = Path(__file__).parent / "behaving.cpp"
    return compile_library(source, tmp_path / "libbehaving.so", f"-DPLUGINKIT_TRT_LAYOUT={layout}")


@pytest.mark.compile
@each_lean
def test_registry(which: lean.Lean, library: Path, manifest: Manifest, networks: Callable[..., Network]) -> None:
    with lean.open(library, manifest, lean=which) as session:
        verdict = session.build(networks("loop/float32"))
        assert verdict.ok, verdict.message
        assert which.version in verdict.message
        for fault, word in (
            (CREATE_NULL, "createPlugin gave nothing"),
            (DESERIALIZE_NULL, "deserializePlugin gave nothing"),
            (SERIALIZE_OTHER, "serializes to"),
        ):
            verdict = session.build(networks(fault=fault))
            assert verdict.status == "refused"
            assert word in verdict.message
        assert session.build(networks()).ok


@each_lean
def test_a_missing_library(which: lean.Lean, manifest: Manifest, tmp_path: Path) -> None:
    with pytest.raises(CheckFailed, match="cannot open shared object file"):
        lean.open(tmp_path / "missing.so", manifest, lean=which)


def test_missing_wheels(manifest: Manifest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lean, "installed", list)
    found = lean.probe()
    assert (found.found, found.remedy) == (False, "pip install 'pluginkit[lean]'")
    with pytest.raises(ToolMissing, match="PLUGINKIT_LEAN10"):
        lean.open(tmp_path / "x.so", manifest)
