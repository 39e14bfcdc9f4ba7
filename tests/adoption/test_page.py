"""docs/adopting.md, followed word for word on two small libraries written as NVIDIA's samples are."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pluginkit.build import toolchain
from pluginkit.manifest import Manifest

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("page")]

PAGE = Path(__file__).parents[2] / "docs" / "adopting.md"
SAMPLES = Path(__file__).with_name("samples")
REFERENCES = {
    "clip_shift": "import numpy as np\n\n\ndef reference(x, *, low, shift):\n    return np.maximum(x + shift, low)\n",
    "group_sum": "def reference(x, *, group):\n    n, c, length = x.shape\n"
    "    return x[:, : c // group * group].reshape(n, c // group, group, length).sum(axis=2)\n",
}
"""What the page leaves to the reader."""


def blocks(language: str) -> list[str]:
    """The page's code blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def shell(commands: str, folder: Path) -> subprocess.CompletedProcess[str]:
    tools = [Path(sys.executable).parent, toolchain.cmake().best().path.parent, toolchain.ninja().best().path.parent]
    path = os.pathsep.join([*map(str, tools), os.environ.get("PATH", "")])
    # nvcc would compile the sample's own target too, which the page doesn't ask for.
    env = {**os.environ, "PATH": path, "CMAKE_GENERATOR": "Ninja", "CUDACXX": "/nonexistent"}
    return subprocess.run(
        ["/bin/sh", "-ec", commands], cwd=folder, env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", ["clip_shift", pytest.param("group_sum", marks=pytest.mark.slow)])
def test_the_page_is_followed(name: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(SAMPLES / name, tmp_path / name))
    (lines,) = blocks("cmake")
    cmake = (folder / "CMakeLists.txt").read_text(encoding="utf-8")
    assert "find_package(pluginkit REQUIRED)\npluginkit_test_plugin(" in lines.replace("clip_shift", name)
    assert lines.splitlines()[0] in cmake
    configure, quick, adopt, test, *_ = blocks("sh")
    if name == "group_sum":
        done = shell(quick, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Next: pluginkit adopt build/cpu/libgroup_sum.so" in done.stdout
        adopt = adopt.replace("build/libclip_shift_pluginkit.so", "../build/cpu/libgroup_sum.so")
    else:
        configure = configure.replace("-B build", f"-B build -DPLUGINKIT_PYTHON={sys.executable}")
        for _ in range(2):
            done = shell(configure, folder)
            assert done.returncode == 0, done.stdout + done.stderr
    done = shell(adopt, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "to fill in" not in done.stdout
    (folder / "reference.py").write_text(REFERENCES[name], encoding="utf-8")
    done = shell(test, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "broken networks" in done.stdout
    manifest = Manifest.load(folder)
    if name == "clip_shift":
        assert manifest.plugin.name == "ClipShift_TRT"
        assert [(one.name, one.default) for one in manifest.fields] == [("low", 0.0), ("shift", 0.5)]
        # It takes every rank, and its output is like its input in each.
        assert (folder / "pluginkit.toml").read_text(encoding="utf-8").count('shape = ["..."]') == 2
    else:
        assert manifest.outputs[0].shape == ("n", "c // group", "l")
        assert manifest.profiles[0].symbols["c"] == (2, 6, 16)


@pytest.mark.slow
def test_the_layouts_of_a_library_of_sources(tmp_path: Path) -> None:
    """A getCreators of the sources' own is asked in every host, of both layouts; no other name gets out."""
    folder = Path(shutil.copytree(SAMPLES / "group_sum", tmp_path / "both"))
    source = (folder / "groupSum.cu").read_text(encoding="utf-8")
    # The sources' own exports, and NVIDIA's names that nothing else here uses.
    source = '#include <NvInferPlugin.h>\nclass TRT_DEPRECATED_BECAUSE("it is old") Old {};\n' + source
    source += '\nstatic_assert(sizeof(nvinfer1::plugin::RPROIParams) == 40, "");\n'
    source = source.replace(
        'bool const gRegistered = getPluginRegistry()->registerCreator(gCreator, "");',
        "IPluginCreatorInterface* const gAll[] = {&gCreator};",
    )
    source += (
        'extern "C" TENSORRTAPI IPluginCreatorInterface* const* getCreators(int32_t& count)\n'
        "{\n    count = 1;\n    return gAll;\n}\n"
        'extern "C" TENSORRTAPI void setLoggerFinder(ILoggerFinder*) {}\n'
    )
    (folder / "groupSum.cu").write_text(source, encoding="utf-8")
    (configure, *_) = [block.replace("clip_shift", "group_sum") for block in blocks("sh")]
    done = shell(configure.replace("-B build", f"-B build -DPLUGINKIT_PYTHON={sys.executable}"), folder)
    assert done.returncode == 0, done.stdout + done.stderr
    done = shell("pluginkit inspect --load --json build/libgroup_sum_pluginkit.so", folder)
    assert done.returncode == 0, done.stdout
    found = json.loads(done.stdout)
    assert {one["status"] for one in found["loaded"]} <= {"loaded", "missing"}
    for one in found["loaded"]:
        assert [creator["name"] for creator in one["creators"]] == ["GroupSum"] * (one["status"] == "loaded")
    assert set(found["exports"]) == {"getCreators", "setLoggerFinder", "initgroup_sumPlugins", "pluginkit_cpu_control"}
