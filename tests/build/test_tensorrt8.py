"""Where a TensorRT 8 is looked for, and what is said where it can't be used: stand-ins, no library of NVIDIA's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import pluginkit
from pluginkit.build import builder
from pluginkit.installation import tensorrt8
from pluginkit.process.worker import Worker

WHOLE = "tensorrt==8.5.3.1 'nvidia-cudnn-cu11<9' 'numpy>=2'"
"""pyproject.toml's extra tensorrt8."""


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python whose packages are this one's, and a `tensorrt` of 8.5.3.1 where `installed` was called."""
    program = tmp_path / "bin" / "python3.10"
    program.parent.mkdir()
    path = ":".join([str(tmp_path / "packages"), *sys.path[1:]])
    program.write_text(f'#!/bin/sh\nshift\nexec env PYTHONPATH={path} {sys.executable} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv(tensorrt8.PYTHON, str(program))
    return program


def installed(python: Path, name: str, version: str) -> None:
    package = python.parents[1] / "packages" / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    facts = package.with_name(f"{name}-{version}.dist-info")
    facts.mkdir()
    (facts / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")


def test_without_the_variable_and_without_tensorrt_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(tensorrt8.PYTHON, raising=False)
    assert tensorrt8.find() is None


def test_the_other_python_is_asked(python: Path) -> None:
    installed(python, "tensorrt", "8.5.3.1")
    beside = python.parents[1] / "packages/nvidia/cublas/lib"
    beside.mkdir(parents=True)
    found = tensorrt8.find()
    assert found is not None
    assert (found.python, found.version, found.problem) == (str(python), "8.5.3.1", "")
    assert found.foreign
    assert found.libraries[:2] == (str(python.parents[1] / "packages/tensorrt"), str(beside))
    # A library for it is built without being asked for.
    assert 8 in builder._found()


@pytest.mark.parametrize(
    ("packages", "said", "remedy"),
    [
        ({}, "it has no package tensorrt", WHOLE),
        ({"tensorrt": "8.4.1"}, "its tensorrt is 8.4.1; needed is 8.5 or 8.6", WHOLE),
        ({"tensorrt": "10.3"}, "its tensorrt is 10.3; needed is 8.5 or 8.6", WHOLE),
        ({"tensorrt": "8.6.1", "numpy": "1.26.4"}, "its numpy is 1.26.4", "'numpy>=2'"),
    ],
)
def test_what_it_lacks_is_said_with_the_command(packages: dict[str, str], said: str, remedy: str, python: Path) -> None:
    for name, version in packages.items():
        installed(python, name, version)
    found = tensorrt8.find()
    assert found is not None
    assert f"{tensorrt8.PYTHON}={python}: {said}" in found.problem
    assert found.remedy == f"{python} -m pip install {remedy}"
    assert 8 not in builder._found()


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "it is not a program"), ("#!/bin/sh\necho no >&2; exit 3\n", "it ended with 3: no")],
)
def test_a_variable_that_names_no_python(
    content: str | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "python"
    if content:
        program.write_text(content)
        program.chmod(0o755)
    monkeypatch.setenv(tensorrt8.PYTHON, str(program))
    found = tensorrt8.find()
    assert found is not None
    assert said in found.problem
    assert tensorrt8.PYTHON in found.remedy


def test_a_worker_runs_in_it_with_pluginkits_own_source(python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What that Python has is found, and pluginkit; what this process alone can import isn't."""
    child = python.parents[1] / "packages" / "asked.py"
    child.parent.mkdir()
    child.write_text("""
import importlib.util
import pluginkit

def places():
    return pluginkit.__file__, importlib.util.find_spec("only_here")
""")
    here = python.parents[1] / "here"
    here.mkdir()
    (here / "only_here.py").write_text("")
    monkeypatch.syspath_prepend(str(here))
    with Worker("asked", {}, timeout=60, python=str(python)) as worker:
        source, other = worker.call("places")
        assert not worker.forked
    assert Path(source).resolve() == Path(pluginkit.__file__).resolve()
    assert other is None
