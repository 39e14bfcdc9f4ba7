"""One library for TensorRT 8, 10, 11 and RTX: what [build] asks for, what is refused, each layout's creators."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from pluginkit import layouts, scaffold
from pluginkit.adoption.adopting import adopt
from pluginkit.build import build, builder
from pluginkit.build.exports import exported
from pluginkit.creators import loading
from pluginkit.errors import UsageError
from pluginkit.installation import tensorrt8
from pluginkit.installation.tensorrt8 import TensorRT8
from pluginkit.library import inspect
from pluginkit.manifest.project import members
from pluginkit.validation import library_hosts
from pluginkit.validation.catalog import choose
from pluginkit.validation.checking import check_library
from pluginkit.validation.results import Ending

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("layout8")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = scaffold.new("Eight", directory=tmp_path_factory.mktemp("layout8"))
    manifest = folder / "pluginkit.toml"
    manifest.write_text(f"{manifest.read_text(encoding='utf-8')}\n[build]\nlayouts = [8]\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def library(project: Path) -> Path:
    (made,) = build(project, "cpu", werror=True)
    assert [*made.info["layouts"]] == ["10", "11", "8"]
    return made.library


@pytest.mark.parametrize(("targets", "held"), [('["8.5", "10"]', (11, 10, 8)), ('["10"]', (11, 10))])
def test_a_target_asks_for_its_layout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, targets: str, held: tuple[int, ...]
) -> None:
    monkeypatch.setattr(builder, "_found", set)
    folder = scaffold.new("Eight", directory=tmp_path)
    manifest = folder / "pluginkit.toml"
    manifest.write_text(f"{manifest.read_text(encoding='utf-8')}\n[targets]\ntensorrt = {targets}\n", encoding="utf-8")
    assert builder._layouts(folder, (), print) == held


def test_a_target_that_lacks_a_type_is_refused(tmp_path: Path) -> None:
    folder = scaffold.new("Eight", directory=tmp_path, inputs=["x:bfloat16:n,c"])
    manifest = folder / "pluginkit.toml"
    manifest.write_text(f"{manifest.read_text(encoding='utf-8')}\n[targets]\ntensorrt = ['8.5']\n", encoding="utf-8")
    with pytest.raises(UsageError, match="TensorRT 8 has no BF16") as raised:
        build(folder, "cpu")
    assert "[targets] tensorrt" in str(raised.value) + raised.value.hint


def test_one_library_gives_each_layout_its_creator(library: Path) -> None:
    assert {"getCreators", "getPluginCreators"} <= {*exported(library)}
    loaded = loading.load(library)
    assert [one.version for one in loaded if one.runtime == "host"] == [
        f"as TensorRT {number}" for number in (11, 10, 8)
    ]
    assert {one.status for one in loaded} <= {"loaded", "missing"}
    assert {creator.name for one in loaded for creator in one.creators} == {"Eight"}


def test_it_is_called_in_each_layout(library: Path, tmp_path: Path) -> None:
    """No layout is drafted as the only one, since the plugin can be made in all."""
    adopted = adopt(library, tmp_path)
    assert adopted.layouts == (8, 10, 11)


def test_check_passes_in_layout_8(project: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` asks a plugin in the newest layout that its library has: here in that of TensorRT 8 alone."""
    monkeypatch.setattr(library_hosts, "loadable", lambda _: (layouts.layout(8),))
    report = check_library(library, choose(5), members=members(project))
    assert [(one.base, one.layout) for one in report.plugins] == [("IPluginV2DynamicExt", 8)]
    assert not report.bad, [one for one in report.results if one.is_finding]
    assert sum(one.ending is Ending.PASSED for one in report.results) > 40


@pytest.mark.parametrize(
    ("options", "lacks"),
    [
        ({"base": "v3"}, 'no IPluginV3 (base = "v3")'),
        ({"base": "dynamic,v3", "inputs": ["x:bfloat16:n,c"]}, "no BF16 (x in the row bfloat16)"),
        ({"inputs": ["x:float32:n,c", "i:int64:n,c"], "outputs": ["y:float32:n,c"]}, "no INT64 (i in the row float32)"),
        ({"inputs": ["x:bfloat16:n,c"], "outputs": ["y:bfloat16:n,c"]}, "no BF16 (x in the row bfloat16)"),
    ],
)
def test_what_tensorrt_8_lacks_is_refused(options: dict[str, object], lacks: str, tmp_path: Path) -> None:
    folder = scaffold.new("Later", directory=tmp_path, **options)  # type: ignore[arg-type]
    # Two interfaces are for TensorRT 8 without another word.
    chosen: tuple[Literal[8], ...] = () if options.get("base") == "dynamic,v3" else (8,)
    with pytest.raises(UsageError) as refused:
        build(folder, "cpu", chosen=chosen)
    assert f"Later: TensorRT 8 has {lacks}" in refused.value.message
    assert not (folder / "build" / "cpu").exists()


REAL = """
import ctypes, json, sys
nvidia = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
plugin = ctypes.CDLL(sys.argv[2])
nvidia.getPluginRegistry.restype = ctypes.c_void_p
registry = nvidia.getPluginRegistry()

def slot(thing, index, result, *arguments):
    table = ctypes.cast(thing, ctypes.POINTER(ctypes.c_void_p))[0]
    return ctypes.CFUNCTYPE(result, ctypes.c_void_p, *arguments)(
        ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[index]
    )

init = plugin.initEightPlugins
init.restype, init.argtypes = ctypes.c_bool, [ctypes.c_void_p, ctypes.c_char_p]
said = [init(None, name) for name in (b"acme", b"acme", b"", b"other")]
text = ctypes.c_char_p
get = slot(registry, 2, ctypes.c_void_p, text, text, text)
found = [bool(get(registry, b"Eight", b"1", name)) for name in (b"acme", b"", b"other", b"nowhere")]
creator = get(registry, b"Eight", b"1", b"acme")
fields = (ctypes.c_int64 * 2)(0, 0)
made = slot(creator, 4, ctypes.c_void_p, text, ctypes.c_void_p)(creator, b"layer", ctypes.addressof(fields))
print(json.dumps([nvidia.getInferLibVersion(), said, found, slot(made, 0, ctypes.c_int32)(made)]))
"""


OPENED = REAL[: REAL.index("init =")] + REAL[REAL.index("text =") :].replace("acme", "").replace(
    "[nvidia.getInferLibVersion(), said, found, ", "[found, "
)
"""Without the init function."""


@pytest.mark.real_tensorrt
def test_the_registry_of_8_5_has_what_registers_itself(tmp_path: Path) -> None:
    folder = os.environ.get("PLUGINKIT_TENSORRT8")
    if not folder or not (Path(folder) / "libnvinfer.so.8").is_file():
        pytest.skip("no TensorRT 8: PLUGINKIT_TENSORRT8 names no folder with libnvinfer.so.8")
    project = scaffold.new("Eight", directory=tmp_path)
    source = project / "src" / "eight.cpp"
    source.write_text(f"{source.read_text()}PLUGINKIT_REGISTER_ON_LOAD\n")
    library = build(project, "cpu", chosen=(8,))[0].library
    command = [sys.executable, "-c", OPENED, str(Path(folder) / "libnvinfer.so.8"), str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found, plugin = json.loads(done.stdout.splitlines()[-1])
    assert found == [True, True, False, False]
    assert plugin == (3 << 24) | 8503


@pytest.mark.real_tensorrt
def test_the_registry_of_8_5_takes_it(library: Path) -> None:
    """NVIDIA's own, which needs no GPU for that: again, and under other namespaces."""
    folder = os.environ.get("PLUGINKIT_TENSORRT8")
    if not folder or not (Path(folder) / "libnvinfer.so.8").is_file():
        pytest.skip("no TensorRT 8: PLUGINKIT_TENSORRT8 names no folder with libnvinfer.so.8")
    nvidia = Path(folder) / "libnvinfer.so.8"
    command = [sys.executable, "-c", REAL, str(nvidia), str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    version, said, found, plugin = json.loads(done.stdout.splitlines()[-1])
    assert version // 100 == 85
    assert said == [True] * 4
    assert found == [True, True, True, False]
    assert plugin == (3 << 24) | 8503


@pytest.mark.real_tensorrt
def test_the_registry_of_8_5_lists_it_with_its_fields(library: Path) -> None:
    """By another Python than this, in which pluginkit isn't installed."""
    if tensorrt8.find() is None:
        pytest.skip("no TensorRT 8: PLUGINKIT_TENSORRT8_PYTHON names no Python that has it")
    (found,) = [one for one in loading.load(library) if one.runtime == "tensorrt"]
    assert (found.status, found.message) == ("loaded", "")
    (creator,) = found.creators
    assert (creator.name, creator.version, creator.namespace) == ("Eight", "1", "")
    assert creator.fields[0].name == "alpha"


@pytest.mark.real_tensorrt
def test_nvidias_own_plugins_are_listed() -> None:
    """A library that nobody here made: 8.5.3's registers some creators statically, the others by its init function."""
    eight = tensorrt8.find()
    if eight is None:
        pytest.skip("no TensorRT 8: PLUGINKIT_TENSORRT8_PYTHON names no Python that has it")
    library = Path(eight.where) / "libnvinfer_plugin.so.8"
    (found,) = [one for one in loading.load(library) if one.runtime == "tensorrt"]
    assert found.status == "loaded", found.message
    names = {creator.name: creator for creator in found.creators}
    assert len(found.creators) == 70
    assert [field.name for field in names["LReLU_TRT"].fields] == ["negSlope"]
    problems = [one.text for one in inspect(library).problems if one.rule == "B3"]
    assert len(problems) == 1
    assert "A program can call initLibNvInferPlugins" in problems[0]


def test_a_library_for_later_layouts_alone_is_not_asked_in_8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: Path
) -> None:
    asked = []
    eight = TensorRT8("/usr/bin/python3.10", "8.5.3.1", str(tmp_path))
    monkeypatch.setattr(loading.tensorrt8, "find", lambda: eight)
    monkeypatch.setattr(loading, "_loaded", lambda *given: asked.append(given[0]))
    loading.load(library)
    assert "tensorrt" in asked
    asked.clear()
    monkeypatch.setattr(loading, "EIGHT", "anotherFunction")
    loading.load(library)
    assert "tensorrt" not in asked


def test_the_old_function_gives_later_hosts_nothing(library: Path) -> None:
    """Called by a process without TensorRT, as by a later registry."""
    count = ctypes.c_int32(-1)
    gives = ctypes.CDLL(str(library)).getPluginCreators
    gives.restype = ctypes.c_void_p
    assert gives(ctypes.byref(count)) is None
    assert count.value == 0
