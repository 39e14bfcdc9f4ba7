"""Wheels of plugins: what is in them, and that who installs one has the plugin."""

from __future__ import annotations

import configparser
import json
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from pluginkit import cli
from pluginkit.build import gpus
from pluginkit.build.artifact import library_path
from pluginkit.build.gpus import DriverInfo
from pluginkit.paths import built_dir
from pluginkit.registry import wheels
from pluginkit.registry.bundles import archive, digests
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.storage import stores
from pluginkit.runtimes.rtx import session as tensorrt_rtx

pytestmark = pytest.mark.compile
ROOT = Path(__file__).parents[2]
LOAD = """
import json, sys
import tensorrt_rtx
import pluginkit
with pluginkit.load("acme::Scale", target="cpu") as found:
    print(json.dumps([found.bundle[0], found.creator().name, str(found.library)]))
"""


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is packed here is for machines without a GPU."""
    monkeypatch.setattr(gpus, "find_driver", DriverInfo)


@pytest.fixture(scope="module")
def wheel(scale_project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a project with a file in the place of its Python module, which is not compiled here."""
    project = tmp_path_factory.mktemp("wheel") / "scale"
    shutil.copytree(scale_project, project, symlinks=True)
    library = library_path(project, "scale", "cpu")
    for one in library.parent.glob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"):
        one.unlink()
    shutil.copy(built_dir() / "_probe.so", library.parent / f"scale{sysconfig.get_config_var('EXT_SUFFIX')}")
    made = project / "made"
    assert run("wheel", project, "--cpu-only", "--release", "1.0.0", "--license", "Apache-2.0", "-o", made) == 0
    (found,) = made.iterdir()
    return found


def run(*args: str | Path) -> int:
    return cli.run([str(one) for one in args])


def test_what_is_in_it(wheel: Path, scale_project: Path) -> None:
    python = f"cp3{sys.version_info.minor}"
    name, release, interpreter, abi, platform = wheel.stem.split("-")
    assert (name, release, interpreter, abi) == ("acme_scale", "1.0.0", python, python)
    asked = [sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)]
    audited = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)
    assert platform == audited["overall_tag"]
    with zipfile.ZipFile(wheel) as content:
        info = "acme_scale-1.0.0.dist-info"
        metadata = Parser().parsestr(content.read(f"{info}/METADATA").decode())
        assert (metadata["Name"], metadata["Version"]) == ("acme-scale", "1.0.0")
        assert metadata["License-Expression"] == "Apache-2.0"
        text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
        own = text.split('name = "')[1].partition('"')[0]  # [project] is the first table that has one
        assert metadata.get_all("Requires-Dist") == [f'{own}; extra == "pluginkit"']
        assert 'pluginkit.load("acme::Scale", version="1")' in metadata.get_payload()
        points = configparser.ConfigParser()
        points.read_string(content.read(f"{info}/entry_points.txt").decode())
        assert dict(points[stores.GROUP]) == {"acme_scale": "acme_scale:STORE"}
        library = library_path(scale_project, "scale", "cpu").read_bytes()
        blob = digests.of_bytes(library).partition(":")[2]
        assert content.read(f"acme_scale/store/blobs/{blob[:2]}/{blob}") == library
        assert content.read("acme_scale/cpu/libscale.so") == library
        assert f"acme_scale/cpu/scale{sysconfig.get_config_var('EXT_SUFFIX')}" in content.namelist()


@pytest.fixture(scope="module")
def bundle(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / f"scale-1.0.0{archive.SUFFIX}"
    assert run("pack", wheel.parents[1], "--cpu-only", "--release", "1.0.0", "--license", "Apache-2.0", "-o", path) == 0
    return path


def test_a_bundle_gives_a_wheel_for_any_python_and_equal_bytes(
    wheel: Path, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    files = []
    for folder in ("one", "two"):
        assert run("wheel", bundle, "--cpu-only", "--json", "-o", tmp_path / folder) == 0
        (made,) = json.loads(capsys.readouterr().out)
        files.append(Path(made["file"]))
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].name == wheel.name.replace(f"-cp3{sys.version_info.minor}" * 2, "-py3-none")
    assert made["modules"] == []
    with zipfile.ZipFile(files[0]) as content:
        assert not [one for one in content.namelist() if one.endswith((".so", "cpu/__init__.py"))]


@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="no TensorRT-RTX")
def test_who_installs_it_has_the_plugin(wheel: Path, tmp_path: Path) -> None:
    """Without a compiler: PATH is empty."""
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", site, wheel]
    subprocess.run(pip, check=True)
    env = {"PATH": "", "PYTHONPATH": str(site), "HOME": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", LOAD], check=True, capture_output=True, text=True, env=env)
    release, name, library = json.loads(ran.stdout.splitlines()[-1])
    assert (release, name) == ("scale 1.0.0", "Scale")
    assert Path(library).is_relative_to(site / "acme_scale" / "store")


def test_libraries_for_two_kinds_of_machines(bundle: Path, tmp_path: Path) -> None:
    with archive.opened(bundle) as one:
        (here,) = one.bundle.variants
        there = here.model_copy(update={"machine": "aarch64", "digest": digests.of_bytes(b"there")})
        both = one.bundle.model_copy(update={"variants": (here, there)})
        content = Content(both, both.to_bytes(), {**one.files, there.digest: tmp_path / "there"})
        part = wheels._of_machine(content, here.machine)
        assert part.digest == one.digest
        assert part.files == one.files
        assert wheels._of_machine(content, "aarch64").files == {there.digest: tmp_path / "there"}


def test_wrong_options(wheel: Path, bundle: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run("wheel", bundle, "--cpu-only", "--name", "-acme", "-o", tmp_path / "made") == 2
    assert run("wheel", wheel.parents[1], "--cpu-only", "--release", "one", "-o", tmp_path / "made") == 2
    assert run("wheel", bundle, "--cpu-only", "-o", "/proc/nothing") == 2
    said = capsys.readouterr().err
    assert "'-acme' is not a name of a distribution" in said
    assert "'one' is not a release" in said
    assert "/proc/nothing cannot be written" in said
    assert not (tmp_path / "made").exists()


def test_what_is_no_project_and_no_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = tmp_path / f"cut{archive.SUFFIX}"
    bundle.write_bytes(b"\x1f\x8b\x08")
    assert run("wheel", bundle, "--cpu-only") == 1
    assert run("wheel", bundle, "--cpu-only", "--release", "2.0") == 2
    assert run("wheel", tmp_path, "--cpu-only") == 2
    said = capsys.readouterr().err
    assert "damaged archive" in said
    assert "A bundle has its release" in said


def test_tools_that_are_missing(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wheels, "TOOLS", ("wheel", "nowhere_to_be_found"))
    assert run("wheel", bundle, "--cpu-only") == 4
    assert "-m pip install 'auditwheel>=" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="no TensorRT-RTX")
def test_a_fresh_environment(scale_project: Path, tmp_path: Path) -> None:
    """pluginkit's own wheel, RTX and the plugin's; the module is the project's own, if there is Python.h."""
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", ROOT, "-w", tmp_path], check=True)
    project = tmp_path / "scale"
    shutil.copytree(scale_project, project)
    assert run("build", project, "--target", "cpu") == 0
    assert run("wheel", project, "--cpu-only", "--release", "1.0.0", "-o", tmp_path) == 0
    place = tmp_path / "venv"
    venv.create(place, with_pip=True)
    own, plugin = next(tmp_path.glob("*pluginkit-*.whl")), next(tmp_path.glob("acme_scale-*.whl"))
    subprocess.run([place / "bin/pip", "install", "--quiet", f"{own}[rtx]", plugin], check=True)
    env = {"PATH": str(place / "bin"), "HOME": str(tmp_path)}
    python = place / "bin" / "python"
    ran = subprocess.run([python, "-c", LOAD], check=True, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert json.loads(ran.stdout.splitlines()[-1])[:2] == ["scale 1.0.0", "Scale"]
    if plugin.name.split("-")[2] != "py3":
        use = "import numpy as np; from acme_scale.cpu import scale; print(scale.Scale()(np.ones((2, 3), np.float32)))"
        ran = subprocess.run([python, "-c", use], check=True, capture_output=True, text=True, env=env, cwd=tmp_path)
        assert "2." in ran.stdout
