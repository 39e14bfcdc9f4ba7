"""docs/layers.md: its overrides are built and run, and `build --emit` makes all that a compiler needs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pluginkit import cli, scaffold
from pluginkit.build import build, toolchain
from pluginkit.build.exports import exported
from pluginkit.dtypes import DType
from pluginkit.host import Context, Finding, Library, TensorSpec, take_log
from pluginkit.host import build as build_layer
from pluginkit.paths import include_dir
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.testing.report import Outcome
from tests.compilers import nvcc

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("layers_page")]

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "layers.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project whose class is the page's, with a workspace that no expression of pluginkit.toml says."""
    made = scaffold.new("MyPlugin", directory=tmp_path_factory.mktemp("layers"), inputs=["x:float32,int8:n,c"])
    overrides, _ = re.findall(r"^```cpp\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    source = made / "src" / "my_plugin.cpp"
    text, count = re.subn(
        r"//! An IPluginV2DynamicExt.*?\n};\n", lambda _: overrides, source.read_text(), flags=re.DOTALL
    )
    assert count == 1
    source.write_text(text)
    return made


@pytest.fixture(scope="module")
def library(project: Path) -> Library:
    return Library(build(project, "cpu", werror=True)[0].library)


def spec(rows: int, columns: int = 3) -> TensorSpec:
    return TensorSpec(DType.FLOAT32, (-1, columns), (1, columns), (2, columns), (rows, columns))


def test_the_plugin_with_overrides_passes(project: Path, library: Library) -> None:
    """Clones, serialized bytes and what is made of them have the state, which the host compares."""
    assert library.creators
    report = run(Options(project=project, families=("plain", "loop-count"), only=("*/*/*",)))
    assert {case.outcome for case in report.cases} == {Outcome.PASSED}


def test_a_field_that_makes_no_layer_is_refused_in_words(library: Library) -> None:
    take_log()
    with pytest.raises(Finding, match="createPlugin: answered null"):
        build_layer(library.creators[0], "layer", {"alpha": (DType.FLOAT32, 1.0)}, [[spec(4)]])
    assert [text for _, text in take_log()] == ["MyPlugin: alpha is 1: the layer would do nothing"]


def test_shapes_that_the_kernel_does_not_take_are_refused(library: Library) -> None:
    creator = library.creators[0]
    for columns, message in ((1024, ""), (1025, "enqueue: answered 1")):
        built = build_layer(creator, "layer", {}, [[spec(4, columns)]])
        with Context(creator, built, [spec(4, columns)]) as context:
            if not message:
                context.run([np.ones((2, columns), np.float32)])
                continue
            with pytest.raises(Finding, match=message):
                context.run([np.ones((2, columns), np.float32)])


@pytest.mark.parametrize(("rows", "workspace"), [(2, 256), (4, 512)])
def test_the_workspace_and_the_state_are_the_class_s(library: Library, rows: int, workspace: int) -> None:
    built = build_layer(library.creators[0], "layer", {}, [[spec(rows)]])
    assert built.workspace == workspace
    assert np.frombuffer(built.serialized.data[-8:], np.int64).tolist() == [3 * rows]


def test_a_build_without_pluginkit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By nvcc alone, with the headers that --emit has written; pluginkit's TensorRT headers stand in for an SDK's."""
    project = scaffold.new("Alone", directory=tmp_path, base="v3", inputs=["x:float32:n,c"])
    headers, sdk = tmp_path / "headers", tmp_path / "sdk"
    assert cli.run(["build", str(project), "--emit", str(headers)]) == 0
    assert f"{headers}/alone_signature.h" in capsys.readouterr().out.replace("\n", "")
    assert not (project / "build").exists()
    assert not (headers / "pluginkit" / "cpu").exists()
    sdk.mkdir()
    for file in include_dir().glob("NvInfer*.h"):
        (sdk / file.name).write_bytes(file.read_bytes())
    made = tmp_path / "libalone.so"
    command = [
        nvcc(), "-std=c++17", "-shared", "-Xcompiler", "-fPIC,-fvisibility=hidden", f"-I{headers}", f"-I{sdk}",
        *(f"-I{folder}" for folder in toolchain.cuda_include_dirs()),
        project / "src" / "alone.cpp", project / "src" / "alone.cu", "-o", made,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {"getCreators", "setLoggerFinder", "initAlonePlugins"} <= {*exported(made)}
