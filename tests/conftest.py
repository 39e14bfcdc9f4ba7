"""What all tests share: where `make setup` puts NVIDIA's libraries, and two built projects."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

NVIDIA = Path(__file__).resolve().parent.parent / ".venv-nvidia"

# tensorrt-lean 10 and 11 have one module name, so each lies in a folder of its own.
os.environ.setdefault("PLUGINKIT_LEAN10", str(NVIDIA / "lean10"))
os.environ.setdefault("PLUGINKIT_LEAN11", str(NVIDIA / "lean11"))
SAMPLE = Path(__file__).resolve().parent.parent / "samples" / "bar_plugin"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on a GPU need one, and nvcc; those that name clang++ as their compiler need it."""
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if on_gpu and (why := _without_gpu()):
        for item in on_gpu:
            item.add_marker(pytest.mark.skip(reason=f"target gpu: {why}"))
    if shutil.which("clang++"):
        return
    skip = pytest.mark.skip(reason="clang++ is not installed")
    for item in items:
        if (
            isinstance(item, pytest.Function)
            and hasattr(item, "callspec")
            and "clang++" in item.callspec.params.values()
        ):
            item.add_marker(skip)


def _without_gpu() -> str:
    """Why nothing can be run on a GPU here; empty if it can."""
    from pluginkit.testing import on_gpu

    return on_gpu.obstacle()


@pytest.fixture(scope="session")
def bar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """samples/bar_plugin, copied and built for target cpu."""
    from pluginkit.build import build

    project = tmp_path_factory.mktemp("bar") / "bar_plugin"
    shutil.copytree(SAMPLE, project, ignore=shutil.ignore_patterns("build"))
    build(project, "cpu")
    return project


@pytest.fixture(scope="session")
def scale_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin Scale of the namespace acme, with the fields factor and mode."""
    from pluginkit import scaffold
    from pluginkit.build import build

    project = scaffold.new(
        "Scale",
        directory=tmp_path_factory.mktemp("scale"),
        inputs=["x:float32,float16,int8:n,c"],
        fields=["factor:float32=2.0", "mode:int32=1"],
        namespace="acme",
    )
    build(project, "cpu")
    return project
