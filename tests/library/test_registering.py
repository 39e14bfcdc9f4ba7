"""Libraries that register their plugins themselves are asked without the TensorRT that they are linked against."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from onnx import helper

from pluginkit import cli, elf, layouts
from pluginkit import library as library_
from pluginkit.creators import loading
from pluginkit.host.stand_ins.image import Thunk, image
from pluginkit.library.loadable import loadable
from pluginkit.library.stand_ins import needed

from .conftest import Make
from .registering import compiled

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("registering")]


def shifting_model() -> onnx.ModelProto:
    """One node of it."""
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in "xy"]
    node = helper.make_node("Shifting", ["x"], ["y"], by=2.0, domain="acme")
    graph = helper.make_graph([node], "one", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)])


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """By layout a library with a static object that registers its creator."""
    folder = tmp_path_factory.mktemp("registering")
    return {
        number: compiled(folder / str(number), number, needs=(f"libnvinfer.so.{number}",)) for number in layouts.NUMBERS
    }


@pytest.mark.parametrize("number", layouts.NUMBERS)
def test_a_static_object(linked: dict[int, Path], number: int) -> None:
    (layout,) = loadable(linked[number])
    assert layout.number == number
    answer = loading.in_host(linked[number], layout.host_version)
    assert answer.status == "loaded", answer.message
    (creator,) = answer.creators
    assert (creator.name, creator.version, creator.kind) == ("Shifting", "1", "V2")
    assert creator.base == "IPluginV2DynamicExt", "its plugin was made, with the classes of its own layout"
    assert [(field.name, field.type) for field in creator.fields] == [("by", "kFLOAT32")]


def test_what_inspect_says(linked: dict[int, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["inspect", str(linked[8]), "--load", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert [one["status"] for one in output["loaded"] if one["runtime"] == "host"] == ["loaded"]
    said = {one["rule"]: one for one in output["problems"]}
    assert {one["level"] for one in output["problems"]} == {"warning"}
    assert "a program opens it (dlopen, ctypes.CDLL, LD_PRELOAD) with libnvinfer.so.8 there" in said["B3"]["text"]
    assert "PLUGINKIT_PLUGINS" not in said["B3"]["fix"]
    assert "it was built for TensorRT 8: only a process with that very library" in said["B2"]["text"]
    assert "libnvinfer.so.8 is not on this machine" in said["B2"]["text"]
    assert "Install" not in said["B2"]["fix"]
    assert "B12" not in said


def test_an_init_function_and_a_runtime_that_is_not_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = compiled(tmp_path, 8, "-DINIT", "-DGPU", needs=("libnvinfer.so.8", "libcudart.so.11.0"))
    answer = loading.in_host(library, layouts.layout(8).host_version)
    assert answer.status == "loaded", answer.message
    assert [(one.name, one.version) for one in answer.creators] == [("Shifting", "1"), ("Shifting", "2")], (
        "a registry refuses the second of a name"
    )
    assert cli.run(["inspect", str(library)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "calls initShiftingPlugins of it, which registers its creators" in shown
    assert "It needs libcudart.so.11.0, which is not found here: what calls it runs only where it is" in shown
    assert (
        cli.run(["check", str(library), "--level", "3", "--creator", "Shifting:1", "--json", str(tmp_path / "r")]) == 0
    )
    results = json.loads((tmp_path / "r").read_text())["results"]
    ends = {one["check"]: (one["ending"], one["message"]) for one in results}
    why = "it called cudaMalloc of libcudart.so.11.0, which is not on this machine"
    assert ends["L6"] == ("skipped", f"{why} (IPluginV2DynamicExt::initialize: answered 100, expected 0)")
    assert ends["B3"][0] == "skipped"
    assert not [one for one in results if one["ending"] in ("failed", "crashed")]


def test_one_that_is_linked_against_nothing(tmp_path: Path) -> None:
    library = compiled(tmp_path, 10, "-DDRIVER")
    assert [one.number for one in loadable(library)] == [11, 10], "its names say 10 or later"
    assert loading.in_host(library, layouts.layout(11).host_version).status == "refused"
    answer = loading.in_host(library, layouts.layout(10).host_version)
    assert answer.status == "loaded", answer.message
    found = library_.inspect(library)
    (unresolved,) = [one for one in found.problems if one.rule == "B1"]
    assert unresolved.text == "1 undefined symbols are in no library that it names: cuInit."
    assert "-lcuda" in unresolved.fix
    assert "libnvinfer" not in unresolved.fix


@pytest.mark.parametrize("number", [8, 10])
def test_a_project_of_one(
    linked: dict[int, Path], number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """adopt, test, import and pack take it in the host of its own TensorRT."""
    project, model = tmp_path / "p", tmp_path / "m.onnx"
    onnx.save(shifting_model(), model)
    command = ["adopt", str(linked[number]), "--dir", str(project), "--model", str(model)]
    assert cli.run(command) == 0, capsys.readouterr().err
    assert f"layout = {number}" in (project / "pluginkit.toml").read_text()
    reference = project / "reference.py"
    reference.write_text(re.sub(r"raise .*", "return x + by", reference.read_text()))
    capsys.readouterr()
    assert cli.run(["test", str(project), "--network", "plain"]) == 0, capsys.readouterr().out
    assert re.search(r"\b(\d+) passed of \1 cases", capsys.readouterr().out)
    assert cli.run(["import", str(model), "--plugins", str(linked[number]), "--json"]) == 0
    imported = json.loads(capsys.readouterr().out)
    assert imported["run"]["status"] == "ran"
    assert imported["build"]["status"] == "not asked"
    assert (
        cli.run(
            ["pack", str(project), "--build", str(linked[number]), "--cpu-only", "--json", "--output", str(tmp_path)]
        )
        == 0
    )
    (variant,) = json.loads(capsys.readouterr().out)["manifest"]["variants"]
    assert variant["hosts"] == [f"tensorrt-{number}"]


def test_of_another_tensorrt(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make('extern "C" int theirs() { return 1; }', "-Wl,-soname,libnvinfer.so.7", name="libtheirs.so")
    source = 'extern "C" int theirs(); extern "C" int initNonePlugins() { return theirs(); }'
    library = make(source, f"-L{tmp_path}", "-ltheirs", name="libold.so")
    assert cli.run(["adopt", str(library), "--dir", str(tmp_path / "p")]) == 1
    shown = " ".join(capsys.readouterr().err.split())
    assert "is linked against libnvinfer.so.7: pluginkit knows the classes of TensorRT 8, 10 or 11" in shown


def test_a_static_initializer_that_throws(make: Make, tmp_path: Path) -> None:
    make('extern "C" int cudaGetDeviceCount(int*) { return 0; }', "-Wl,-soname,libcudart.so.99", name="libtheirs.so")
    source = """#include <stdexcept>
extern "C" int cudaGetDeviceCount(int*);
struct Once { Once() { int n; if (cudaGetDeviceCount(&n) != 0) throw std::runtime_error{"no GPU"}; } } once;
extern "C" int initNonePlugins() { return 1; }
"""
    library = make(source, f"-L{tmp_path}", "-ltheirs", name="libthrowing.so")
    answer = loading.in_host(library, layouts.layout(8).host_version)
    assert answer.status == "refused"
    why = "a static initializer throws 'no GPU', after it had called cudaGetDeviceCount of libcudart.so.99"
    assert f"{library} can't be loaded: {why}, which is not on this machine" in answer.message


def test_stand_ins_have_the_versions_that_are_asked_for(make: Make, tmp_path: Path) -> None:
    """ld.so ends the process where a library that is named with a version has none."""
    script = tmp_path / "versions"
    script.write_text("CUDNN_8 { global: cudnnCreate; };\n")
    flags = ("-Wl,-soname,libcudnn.so.8", f"-Wl,--version-script={script}")
    make('extern "C" int cudnnCreate(void**) { return 0; }', *flags, name="libcudnn.so.8")
    source = 'extern "C" int cudnnCreate(void**); extern "C" int initNonePlugins() { return cudnnCreate(nullptr); }'
    library = make(source, str(tmp_path / "libcudnn.so.8"), name="libversioned.so")
    (tmp_path / "libcudnn.so.8").unlink()
    (found, *_) = needed(library, elf.read(library))
    assert [(one.name, one.version) for one in found.functions] == [("cudnnCreate", "CUDNN_8")]
    answer = loading.in_host(library, layouts.layout(8).host_version)
    assert answer.status == "refused"
    assert "answered no creator" in answer.message


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_an_image(tmp_path: Path, machine: str) -> None:
    path = tmp_path / "libthey.so.3"
    path.write_bytes(image(path.name, [Thunk("first", "", 1), Thunk("second", "THEY_2", 2, 3)], machine))
    with path.open("rb") as file:
        read = ELFFile(file)
        (dynamic,) = [one for one in read.iter_segments() if isinstance(one, DynamicSegment)]
        assert [tag.soname for tag in dynamic.iter_tags("DT_SONAME")] == [path.name]
        assert [symbol.name for symbol in dynamic.iter_symbols()] == ["", "first", "second"]
        assert read["e_machine"] == elf.MACHINES[machine]


@pytest.mark.real_tensorrt
def test_nvidias_own_library() -> None:
    """libnvinfer_plugin.so.8 of the wheel, whose libnvinfer isn't loaded."""
    folder = os.environ.get("PLUGINKIT_TENSORRT8")
    if not folder:
        pytest.skip("no TensorRT 8: PLUGINKIT_TENSORRT8 names no folder that has it")
    library = Path(folder) / "libnvinfer_plugin.so.8"
    answer = loading.in_host(library, layouts.layout(8).host_version)
    assert answer.status == "loaded", answer.message
    assert len(answer.creators) == 70
    bases = {one.name: one.base for one in answer.creators}
    assert (bases["LReLU_TRT"], bases["CoordConvAC"]) == ("IPluginV2", "IPluginV2Ext")


IN_A_PROCESS = """
import sys
from pathlib import Path
import tensorrt_rtx as trt
from pluginkit.registry.registration import LoadedPlugins, taken_by
registry = trt.get_plugin_registry()
before = len(registry.all_creators)
handle = taken_by(registry, Path(sys.argv[1]), rtx=True)
new = tuple(one for one in registry.all_creators if one.name == "Shifting")
loaded = LoadedPlugins(Path(sys.argv[1]), ("", ""), registry, new, (), handle)
print(loaded.creator("Shifting").plugin_version, len(registry.all_creators) - before)
del new
loaded.unload()
print(len(registry.all_creators) - before)
"""
"""What `pluginkit.load` does with a library, and `unload`."""


@pytest.mark.rtx
@pytest.mark.parametrize("needs", [("libtensorrt_rtx.so.1",), ()])
def test_tensorrt_rtx_takes_what_registers_itself(tmp_path: Path, needs: tuple[str, ...]) -> None:
    """Linked against it, or against nothing: as `inspect --load` asks, and as `pluginkit.load` does."""
    library = compiled(tmp_path, 11, needs=needs)
    answer = loading.in_rtx(library)
    assert answer.status == "loaded", answer.message
    assert [(one.name, one.version, one.kind) for one in answer.creators] == [("Shifting", "1", "V2")]
    done = subprocess.run([sys.executable, "-c", IN_A_PROCESS, library], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["1", "1", "0"], done.stderr


@pytest.mark.rtx
def test_tensorrt_rtx_does_not_take_what_registers_itself_elsewhere(linked: dict[int, Path]) -> None:
    answer = loading.in_rtx(linked[10])
    assert answer.status == "refused"
    assert "libnvinfer.so.10" in answer.message
