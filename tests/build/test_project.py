"""Real builds of a tiny project: what is compiled when, what comes out, what is said when it fails."""

from __future__ import annotations

import ctypes
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import pluginkit
from pluginkit import elf
from pluginkit.build import build, builder, cache, find_artifact, gpus, toolchain
from pluginkit.build.gpus import DriverInfo, Gpu
from pluginkit.build.output import Step
from pluginkit.cli.project.build import command
from pluginkit.errors import BuildFailed, ToolMissing, UsageError
from pluginkit.library import gpu_code
from pluginkit.process import early_build
from pluginkit.process.programs import Completed

from .conftest import CMAKE, ENTRY, OTHER, answers, write_project

pytestmark = pytest.mark.compile
HAS_NVCC = any(one.usable for one in toolchain.nvcc().found())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_project(tmp_path_factory.mktemp("a folder") / "tiny")  # with a space, as people have them
    build(folder, "cpu")
    return folder


@pytest.fixture
def project(built: Path) -> Iterator[Path]:
    """The built project to change things in: the next test finds its sources as they were."""
    yield built
    write_project(built)


def steps(project: Path, target: str = "cpu", **options: object) -> list[str]:
    """Build, and return the sources that were compiled."""
    build(project, target, **options)  # type: ignore[arg-type]
    log = (project / "build" / target / "cmake/pluginkit.log").read_text()
    return [name.split()[0] for name in dict.fromkeys(re.findall(r"^\[.*\] Compiling (.*)", log, re.MULTILINE))]


def exported(library: Path) -> set[str]:
    output = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in output.splitlines()}


def test_one_library_with_both_layouts_that_exports_its_entries(built: Path) -> None:
    library = built / "build/cpu/libtiny.so"
    assert exported(library) == {"getCreators", "setLoggerFinder", "initTinyPlugins", "pluginkit_cpu_control"}
    assert answers(library) == (11010, 42, True)
    dynamic = subprocess.run(["readelf", "-dW", library], capture_output=True, text=True, check=True).stdout
    assert "nvinfer" not in dynamic
    assert "cudart" not in dynamic
    assert "BIND_NOW" in dynamic or "NOW" in dynamic.split("FLAGS_1", 1)[-1]


def test_the_json_beside_it_says_what_it_is(built: Path) -> None:
    artifact = find_artifact(built)
    assert artifact.library == built / "build/cpu/libtiny.so"
    assert artifact.info["sha256"] == hashlib.sha256(artifact.library.read_bytes()).hexdigest()
    assert artifact.info["size"] == artifact.library.stat().st_size
    assert artifact.info["layouts"] == {"10": {"headers": "pluginkit"}, "11": {"headers": "pluginkit"}}
    assert artifact.info["exports"] == ["getCreators", "initTinyPlugins", "pluginkit_cpu_control", "setLoggerFinder"]
    assert artifact.info["pluginkit"] == pluginkit.__version__
    assert artifact.info["target"] == "cpu"
    assert artifact.info["compiler"]["version"]


def test_a_second_build_compiles_nothing_and_takes_no_time(project: Path) -> None:
    build(project, "cpu")
    before = (project / "build/cpu/libtiny.so").stat()
    start = time.monotonic()
    assert steps(project) == []
    assert time.monotonic() - start < 2  # 0.3 s on an idle machine
    after = (project / "build/cpu/libtiny.so").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_header_recompiles_what_includes_it(project: Path) -> None:
    build(project, "cpu")
    header = project / "src/other.h"  # only other.cpp includes it
    header.write_text(header.read_text().replace("kFACTOR = 2", "kFACTOR = 3"))
    assert steps(project) == ["src/other.cpp"] * 2
    assert answers(project / "build/cpu/libtiny.so")[1] == 63
    header.write_text(header.read_text().replace("tiny.h", "new.h"))
    (project / "src/new.h").write_text('#include "tiny.h"\n')
    steps(project)
    (project / "src/new.h").write_text('#include "tiny.h"\n// changed\n')
    assert steps(project) == ["src/other.cpp"] * 2


def test_the_new_library_is_a_new_file(project: Path) -> None:
    """A process that has the old one open keeps it."""
    build(project, "cpu")
    library = project / "build/cpu/libtiny.so"
    with library.open("rb") as old:
        content = old.read()
        (project / "src/other.cpp").write_text(OTHER.replace("value;", "value + 1;"))
        build(project, "cpu")
        old.seek(0)
        assert old.read() == content
    assert library.read_bytes() != content
    assert sorted(path.name for path in library.parent.iterdir()) == [".lock", "cmake", "libtiny.json", "libtiny.so"]


@pytest.mark.parametrize("ahead", [False, True])
def test_an_error_is_shown_as_the_compiler_said_it_and_the_old_library_stays(
    project: Path, ahead: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = project / "build/cpu/libtiny.so"
    before = library.read_bytes(), library.with_suffix(".json").read_bytes()
    (project / "src/other.cpp").write_text(OTHER.replace("value;", "value + nowhere;"))
    if ahead:
        early_build.begin(project)
        monkeypatch.setattr("pluginkit.build.cmake.Program", None)  # what has begun is all that runs
    with pytest.raises(BuildFailed) as error:
        build(project, "cpu")
    message = error.value.message
    assert f"{project}/src/other.cpp:4:" in message
    assert "nowhere" in message
    assert "    4 |     return kFACTOR * value + nowhere;" in message  # the compiler's picture of the line
    assert "FAILED" not in message
    assert "pluginkit.cuda_cpu.compile" not in message
    assert f"{library} is still that of the last good build" in error.value.hint
    assert (project / "build/cpu/cmake/pluginkit.log").exists()
    assert before == (library.read_bytes(), library.with_suffix(".json").read_bytes())


def test_what_began_with_other_settings_is_ended(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the library is that of the new ones."""
    build(project, "cpu")
    (project / "src/other.cpp").write_text(OTHER.replace("value;", "value + MORE;"))
    early_build.begin(project)
    monkeypatch.setenv("CXXFLAGS", "-DMORE=7")
    assert steps(project) != []
    assert answers(project / "build/cpu/libtiny.so")[1] == 49


def test_a_line_of_a_cu_source_is_named_too(project: Path) -> None:
    kernel = project / "src/kernel.cu"
    kernel.write_text(kernel.read_text().replace("1.F;", "oops;"))
    with pytest.raises(BuildFailed, match=r"kernel\.cu:4:.*oops"):
        build(project, "cpu")


def test_warnings_are_shown_and_are_errors_only_when_asked(project: Path) -> None:
    (project / "src/other.cpp").write_text(OTHER.replace("int value)\n{", "int value)\n{\n    char c = value;\n"))
    lines: list[str] = []
    build(project, "cpu", progress=lines.append)
    assert any("-Wconversion" in line for line in lines)
    assert any("-Wunused-variable" in line for line in lines)
    lines.clear()
    with pytest.raises(BuildFailed, match="-Werror=conversion"):
        build(project, "cpu", werror=True, progress=lines.append)
    assert lines[0] == "Everything is compiled again: PLUGINKIT_WERROR was OFF and is ON."


def test_flags_in_the_environment_are_settings_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """CMake would take them the first time and never again."""
    monkeypatch.setenv("CXXFLAGS", "-O1")
    assert cache.settings("cpu")["CMAKE_CXX_FLAGS"] == "-O1"


@pytest.mark.parametrize(("source", "change", "message", "hint"), [
    ("src/entry.cpp", ("twice(kTINY)", "getPluginRegistry()"), "getPluginRegistry", "REGISTER_TENSORRT_PLUGIN"),
    ("src/entry.cpp", ("int getCreators", "int getMakers"), "does not export getCreators", "PLUGINKIT_PLUGINS(Tiny"),
    ("src/entry.cpp", ("initTinyPlugins", "initTeenyPlugins"), "not export initTinyPlugins", "first argument"),
    ("src/other.h", ("tiny.h", "nowhere.h"), "nowhere.h", "target_include_directories"),
])  # fmt: skip
def test_likely_causes_are_named(project: Path, source: str, change: tuple[str, str], message: str, hint: str) -> None:
    path = project / source
    text = path.read_text()
    assert change[0] in text
    path.write_text("int getPluginRegistry();\n" * ("Registry" in hint or "REGISTER" in hint) + text.replace(*change))
    with pytest.raises(BuildFailed, match=message) as error:
        build(project, "cpu")
    assert hint in error.value.hint


def test_what_is_set_on_the_target_reaches_every_source(project: Path) -> None:
    (project / "CMakeLists.txt").write_text(
        CMAKE + "target_compile_definitions(tiny PRIVATE ADDED=5)\ntarget_include_directories(tiny PRIVATE extra)\n"
    )
    (project / "extra").mkdir(exist_ok=True)
    (project / "extra/extra.h").write_text("constexpr int kEXTRA = 100;\n")
    body = OTHER.replace("value;", "value + ADDED + kEXTRA;")
    (project / "src/other.cpp").write_text("#include <extra.h>\n" + body)
    build(project, "cpu")
    assert answers(project / "build/cpu/libtiny.so")[1] == 147


def test_editors_get_every_source(built: Path) -> None:
    commands = json.loads((built / "build/compile_commands.json").read_text())
    assert {Path(one["file"]).name for one in commands} >= {"entry.cpp", "other.cpp", "kernel.cu"}


def test_clang_builds_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which("clang++"):
        pytest.skip("clang++ is not on this machine")
    monkeypatch.setenv("CXX", "clang++")
    artifact = build(write_project(tmp_path / "tiny"), "cpu", werror=True)[0]
    assert artifact.info["compiler"]["id"] == "Clang"
    assert answers(artifact.library) == (11010, 42, True)


@pytest.mark.skipif(not HAS_NVCC, reason="nvcc is not on this machine")
def test_target_gpu(tmp_path: Path) -> None:
    folder = write_project(tmp_path / "tiny")
    artifact = build(folder, "gpu", archs=["sm_90"], werror=True)[0]
    assert artifact.library == folder / "build/gpu/libtiny.so"
    assert exported(artifact.library) == {"getCreators", "setLoggerFinder", "initTinyPlugins"}
    assert artifact.info["architectures"] == ["90-real", "90-virtual"]
    assert artifact.info["cuda_compiler"]["id"] == "NVIDIA"
    needed = subprocess.run(["readelf", "-dW", artifact.library], capture_output=True, text=True, check=True).stdout
    assert "cudart" not in needed
    creators, finder, init = answers(artifact.library)
    assert (creators, finder) == (11010, 42)
    assert init is False or ctypes.CDLL("libcuda.so.1")  # the kernel needs a GPU to run
    lines: list[str] = []
    build(folder, "gpu", archs=["90"], werror=True, progress=lines.append)
    assert not [line for line in lines if isinstance(line, Step)]


@pytest.mark.skipif(not HAS_NVCC, reason="nvcc is not on this machine")
def test_a_fat_binary(tmp_path: Path) -> None:
    """Code of each architecture, PTX of the highest; and the CUDA runtime inside is nobody else's."""
    artifact = build(write_project(tmp_path / "tiny"), "gpu", archs=["80;90"])[0]
    found = gpu_code.read(artifact.library)
    assert found is not None
    assert [str(code) for code in found.codes] == ["sm_80 SASS", "compute_90 PTX", "sm_90 SASS"]
    message = elf.read(artifact.library)
    names = {symbol.name for symbol in (*message.exports, *message.undefined)}
    assert not {name for name in names if name.startswith(("cuda", "__cuda", "cu"))}
    assert not [name for name in message.needed if "cuda" in name]


@pytest.mark.slow
@pytest.mark.compile
def test_nvcc_of_the_extra_cuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The versions that the extra names make a compiler that works, whatever is newest on PyPI."""
    tomllib = pytest.importorskip("tomllib")
    with (Path(__file__).parents[2] / "pyproject.toml").open("rb") as file:
        wheels = tomllib.load(file)["project"]["optional-dependencies"]["cuda"]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--target", str(tmp_path / "site")]
    done = subprocess.run([*command, *wheels], capture_output=True, text=True, check=False)
    if done.returncode and "No matching distribution" in done.stderr + done.stdout:
        pytest.skip("PyPI can't be reached")
    assert done.returncode == 0, done.stderr
    root = tmp_path / "site" / "nvidia" / "cu13"
    monkeypatch.setenv("CUDA_HOME", str(root))
    artifact = build(write_project(tmp_path / "tiny"), "gpu", archs=["80;90"], werror=True)[0]
    assert exported(artifact.library) == {"getCreators", "setLoggerFinder", "initTinyPlugins"}
    init = (artifact.library.parent / "cmake" / "pluginkit-init.cmake").read_text()
    assert f'CMAKE_CUDA_COMPILER "{root / "bin" / "nvcc"}"' in init
    found = gpu_code.read(artifact.library)
    assert found is not None
    assert {code.arch for code in found.codes} == {80, 90}


@pytest.mark.skipif(not HAS_NVCC, reason="nvcc is not on this machine")
def test_an_architecture_that_nvcc_does_not_know(built: Path) -> None:
    with pytest.raises(UsageError, match="no code for GPU architecture 10"):
        build(built, "gpu", archs=["10"])
    with pytest.raises(UsageError, match="target gpu is not built"):
        build(built, "cpu", archs=["90"])


GPU = DriverInfo("13.0", (Gpu("a GPU", "9.0", 1, ""),))


@pytest.mark.parametrize(("target", "section", "has_nvcc", "driver", "archs", "targets", "said"), [
    ("", "", True, GPU, (), ("cpu", "gpu"), False),
    ("auto", "", True, GPU, (), ("cpu", "gpu"), False),
    ("", "", False, GPU, (), ("cpu",), False),
    ("", "", True, DriverInfo(), (), ("cpu",), True),
    ("", "", True, DriverInfo(), ("90",), ("cpu", "gpu"), False),
    ("", 'target = "all"', True, DriverInfo(), (), ("cpu", "gpu"), False),
    ("", 'target = "gpu"', True, DriverInfo(), (), ("gpu",), False),
    ("cpu", 'target = "all"', True, GPU, (), ("cpu",), False),
    ("all", "", True, DriverInfo(), (), ("cpu", "gpu"), False),
])  # fmt: skip
def test_which_targets_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, section: str, has_nvcc: bool, driver: DriverInfo,
    archs: tuple[str, ...], targets: tuple[str, ...], said: bool,
) -> None:  # fmt: skip
    """Without a GPU code for one is for nothing, unless it is asked for; what is left out is said in one line."""
    folder = write_project(tmp_path / "tiny")
    manifest = folder / "pluginkit.toml"
    manifest.write_text(f"{manifest.read_text()}\n[build]\n{section}\n")
    asked: list[str] = []
    monkeypatch.setattr(builder, "_has_nvcc", lambda: has_nvcc)
    monkeypatch.setattr(gpus, "find_driver", lambda: driver)
    monkeypatch.setattr(builder, "_build_one", lambda library, manifest, name, *_: asked.append(name))
    monkeypatch.setattr(cache, "settings", lambda *_, **__: {})
    lines: list[str] = []
    build(folder, target, archs=archs, progress=lines.append)
    assert asked == list(targets)
    assert bool(lines) == said
    if said:
        (line,) = lines
        assert re.search(r"pluginkit build --target all .* \[build\]", line)


@pytest.mark.parametrize(("says", "free", "text"), [
    ("as: a.o: No space left on device", 1 << 40, "No space left on device"),
    ("cp: a.o: Disk quota exceeded", 1 << 40, "Disk quota exceeded"),
    ("ninja: error: unknown target 'cmTC_7a3c4'", 4096, "No space left on device"),
])  # fmt: skip
def test_a_full_disk_is_one_sentence_with_the_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch, says: str, free: int, text: str
) -> None:
    """Whatever tool found it full, and whether it says so: not the assembler's own words."""
    build(project, "cpu")
    before = (project / "build/cpu/libtiny.so").read_bytes()
    place = project / "build/cpu/cmake"
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free if path == place else 1 << 50))
    monkeypatch.setattr(
        "pluginkit.build.cmake.Program",
        lambda *_, **__: SimpleNamespace(finish=lambda on_line: Completed((), 1, f"FAILED: a.o\ng++ a\n{says}\n", "")),
    )
    with pytest.raises(UsageError) as error:
        build(project, "cpu")
    assert error.value.message == f"{project} cannot be built there: {place}: {text}."
    assert error.value.hint == "Make room there."
    assert (project / "build/cpu/libtiny.so").read_bytes() == before


def test_a_project_that_was_moved_is_built_where_it_is(tmp_path: Path) -> None:
    """CMake's files have the absolute paths of the first place."""
    first, second = write_project(tmp_path / "first"), tmp_path / "a second ü"
    build(first, "cpu")
    first.rename(second)
    lines: list[str] = []
    early_build.begin(second)
    build(second, "cpu", progress=lines.append)
    assert lines[0] == f"Everything is compiled again: PLUGINKIT_PROJECT was {first} and is {second}."
    assert answers(second / "build/cpu/libtiny.so") == (11010, 42, True)
    assert not first.exists()


def test_a_missing_compiler_is_said_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_project(tmp_path / "tiny")
    monkeypatch.setattr(toolchain, "_on_path", lambda *_: [])
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(ToolMissing, match=r"No C\+\+ compiler in PATH") as error:
        build(folder, "cpu")
    assert "apt-get install g++" in error.value.hint
    assert not (folder / "build").exists()


@pytest.mark.parametrize(("call", "output"), [
    ("pluginkit_add_plugin(tiny NAME Tiny SOURCES src/entry.cpp TARGET gpu)", "TARGET is neither C++"),
    ("pluginkit_add_plugin(tiny gpu NAME Tiny SOURCES src/entry.cpp)", "'gpu' is not one of NAME and SOURCES"),
    ("pluginkit_add_plugin(tiny NAME Tiny SOURCES src/entry.cpp src/tiny.h)", "Headers need no mention"),
    ("pluginkit_add_plugin(tiny NAME Tiny SOURCES src/gone.cpp)", "src/gone.cpp does not"),
    ("pluginkit_add_plugin(tiny NAME Tiny SOURCES src/kernel.cu)", "SOURCES has no .cpp file"),
    ("pluginkit_add_plugin(tiny SOURCES src/entry.cpp)", "NAME is ''"),
    ("pluginkit_add_plugin(ti-ny NAME Tiny SOURCES src/entry.cpp)", "'ti-ny' is not a name"),
    ("set(CMAKE_CXX_FLAGS -flto)\npluginkit_add_plugin(tiny NAME Tiny SOURCES src/entry.cpp)", "-flto"),
    ("set(CMAKE_CXX_FLAGS -DPLUGINKIT_TRT_LAYOUT=10)\npluginkit_add_plugin(tiny NAME Tiny SOURCES src/entry.cpp)",
     "sets them itself"),
    ("set(CMAKE_CXX_FLAGS -fvisibility=default)\npluginkit_add_plugin(tiny NAME Tiny SOURCES src/entry.cpp)",
     "only with -fvisibility=hidden"),
    ("", "makes no plugin; pluginkit.toml is about tiny"),
    ("pluginkit_add_plugin(tiny NAME Tidy SOURCES src/entry.cpp)", "says NAME Tidy, and pluginkit.toml says Tiny"),
])  # fmt: skip
def test_contradictions_in_cmake_are_said_in_a_sentence(tmp_path: Path, call: str, output: str) -> None:
    folder = write_project(tmp_path / "tiny")
    (folder / "src/entry.cpp").write_text(ENTRY.replace("twice(kTINY)", "1").replace("launch()", "0"))
    (folder / "CMakeLists.txt").write_text(CMAKE[: CMAKE.index("pluginkit_add_plugin")] + call)
    with pytest.raises(BuildFailed) as error:
        build(folder, "cpu")
    assert output in " ".join(str(error.value).split())
    assert not list(folder.glob("build/cpu/*.so"))


def test_folders_that_are_no_project(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"pluginkit\.toml"):
        build(tmp_path)
    write_project(tmp_path / "tiny")
    (tmp_path / "tiny/CMakeLists.txt").unlink()
    with pytest.raises(UsageError, match=r"no CMakeLists\.txt"):
        build(tmp_path / "tiny")
    with pytest.raises(UsageError, match="no target 'tpu'"):
        build(write_project(tmp_path / "other"), "tpu")


def test_an_sdks_headers_are_used_for_its_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside other folders that are searched before, and with the version that the library's JSON names."""
    include = tmp_path / "sdk/include"
    shutil.copytree(pluginkit.include_dir(), include, ignore=shutil.ignore_patterns("pluginkit"))
    with (include / "NvInfer.h").open("a") as header:
        header.write("#define FROM_THE_SDK 1\n")
    (include / "NvInferVersion.h").write_text(
        "#define NV_TENSORRT_MAJOR 10\n#define NV_TENSORRT_MINOR 9\n#define NV_TENSORRT_PATCH 0\n"
        "#define NV_TENSORRT_VERSION 100900\n#define PLUGINKIT_TRT_SINCE_10(minor) (minor <= 9)\n"
        "#define PLUGINKIT_TRT_NAMES_10(minor) (minor <= 9)\n"
    )
    monkeypatch.setenv("TENSORRT_ROOT", str(tmp_path / "sdk"))
    folder = write_project(tmp_path / "tiny")
    text = "#include <NvInfer.h>\n#if defined(FROM_THE_SDK) != (PLUGINKIT_TRT_LAYOUT == 10)\n#error wrong\n#endif\n"
    (folder / "src/entry.cpp").write_text(text + ENTRY)
    info = build(folder, "cpu")[0].info
    assert info["layouts"] == {"10": {"headers": str(include)}, "11": {"headers": "pluginkit"}}


def test_the_command(project: Path) -> None:
    build(project, "cpu")
    result = CliRunner().invoke(command, [str(project), "--target", "cpu"])
    assert result.exit_code == 0
    assert f"Up to date: {project}/build/cpu/libtiny.so" in result.output
    assert find_artifact(project).info["sha256"][:12] in result.output
    assert "KiB" in result.output
    assert "Next: pluginkit test" in result.output
    result = CliRunner().invoke(command, [str(project), "--target", "cpu", "--json"])
    text = json.loads(result.stdout)
    assert text[0]["library"] == f"{project}/build/cpu/libtiny.so"
    assert text[0]["fresh"] is False
