"""`pluginkit build --sources`: sources without a project, for a quick try."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import pluginkit
from pluginkit import cli, elf
from pluginkit.build.sources import SourceSet, build_sources, find, name_of
from pluginkit.errors import BuildFailed, UsageError
from pluginkit.importing.files import libraries
from pluginkit.run.libraries import make
from pluginkit.run.options import Options

SAMPLES = Path(__file__).parents[1] / "adoption" / "samples"


def test_patterns(tmp_path: Path) -> None:
    for name in ("plugin/foo/a.cpp", "plugin/foo/b.cu", "plugin/foo/b.h", "plugin/bar/c.cc", "d.cu"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def found(patterns: str) -> list[str]:
        return [os.path.relpath(one, tmp_path) for one in find(patterns, tmp_path)]

    # A pattern without a folder is in that of the one before it.
    assert found("plugin/foo/*.cpp,*.cu") == ["plugin/foo/a.cpp", "plugin/foo/b.cu"]
    assert found("*.cu, plugin/bar/*") == ["d.cu", "plugin/bar/c.cc"]
    assert found("plugin/**/*,plugin/foo/a.cpp") == ["plugin/bar/c.cc", "plugin/foo/a.cpp", "plugin/foo/b.cu"]
    assert found(f"{tmp_path}/plugin/foo/*") == ["plugin/foo/a.cpp", "plugin/foo/b.cu"]
    assert name_of([tmp_path / "plugin/3 foo-bar/a.cpp"]) == "plugins_3_foo_bar"
    for patterns, problem in (("plugin/foo/*.h", r"fits only b\.h"), ("no/*.cu", "fits nothing"), (",", "no pattern")):
        with pytest.raises(UsageError, match=problem):
            find(patterns, tmp_path)


@pytest.mark.compile
def test_a_quick_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What is built, the headers of an SDK that go first, and what is said of sources that don't compile."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SAMPLES / "group_sum", "group sum")
    sdk = tmp_path / "sdk/include"
    shutil.copytree(pluginkit.include_dir(), sdk, ignore=shutil.ignore_patterns("pluginkit"))
    with (sdk / "NvInfer.h").open("a") as header:
        header.write("#define FROM_THE_SDK 1\n")
    version = "#define NV_TENSORRT_MAJOR 10\n#define NV_TENSORRT_MINOR 9\n#define NV_TENSORRT_PATCH 0\n"
    version += "#define NV_TENSORRT_VERSION 100900\n#define PLUGINKIT_TRT_SINCE_10(minor) (minor <= 9)\n"
    version += "#define PLUGINKIT_TRT_NAMES_10(minor) (minor <= 9)\n"
    (sdk / "NvInferVersion.h").write_text(version)
    source = Path("group sum/groupSum.cu")
    right = source.read_text()
    checks = "#ifndef FROM_THE_SDK\n#error wrong headers\n#endif\nstatic_assert(FROM[1] == ' ', \"\");\n"
    source.write_text(right + checks)
    command = ["build", "--sources", "group sum/*.cu", "--include", str(sdk), "--define", 'FROM="a b"']
    assert cli.run(command) == 0
    shown = capsys.readouterr().out
    assert "Built build/cpu/libgroup_sum.so (target cpu; " in shown
    assert f"TensorRT 10 ({sdk})" in " ".join(shown.split())
    assert "Next: pluginkit adopt build/cpu/libgroup_sum.so" in shown
    assert elf.read(Path("build/cpu/libgroup_sum.so")).soname == "libgroup_sum.so"
    before = Path("build/cpu/libgroup_sum.so").read_bytes()
    assert cli.run([*command, "--json"]) == 0
    (made,) = json.loads(capsys.readouterr().out)
    assert made["fresh"] is False
    assert list(made["layouts"]) == ["10"]
    # With checks, as import --sanitize has it; not of another build's library.
    library = Path("build/cpu/libgroup_sum.so")
    (checked,) = libraries.read([library], ["undefined"], 60, lambda _: None)
    (with_checks,) = checked.checked.values()
    assert with_checks.parent.name == "cpu-undefined"
    assert with_checks.read_bytes() != before
    assert library.read_bytes() == before
    asked = Options(project=tmp_path, library=library, sanitize=("undefined",))
    (tested,) = make(asked, ("cpu",), lambda *_: None)
    assert (tested.path, tested.build.instrumentation.name) == (with_checks, "undefined")
    library.write_bytes(before + b"changed")
    with pytest.raises(UsageError, match="is tested as it is"):
        make(asked, ("cpu",), lambda *_: None)
    with pytest.raises(UsageError, match=r"compiles its checks in, and .*libgroup_sum\.so is run as it is"):
        libraries.read([library], ["undefined"], 60, lambda _: None)
    library.write_bytes(before)
    # And what doesn't compile: the first error, and what pluginkit has not.
    source.write_text(f"{right}nvinfer1::IFooLayer* gFoo;\nint gOther = nowhere;\n")
    assert cli.run(["build", "--sources", "group sum/*.cu"]) == BuildFailed.exit_code
    problem = capsys.readouterr().err
    assert f"groupSum.cu:{right.count(chr(10)) + 1}:11: error: " in problem
    assert "(1 more error)" in problem
    assert "pluginkit's headers of TensorRT 11 lack nvinfer1::IFooLayer." in problem
    assert "--include of pluginkit build --sources" in problem
    assert "Traceback" not in problem
    assert Path("build/cpu/libgroup_sum.so").read_bytes() == before


def test_what_cannot_be_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.cpp").touch()
    for options, problem in (
        (["--define", "A"], "go with --sources"),
        (["--sources", "*.cpp", "--target", "gpu"], "without a project"),
        (["--sources", "*.cpp", "--include", "nowhere"], "there is no folder nowhere"),
        (["--sources", "*.cpp", "--output", "build"], "not a name for a library"),
        (["--sources", "*.cpp", "--define", "A=1;2"], "CMake takes no ';'"),
    ):
        assert cli.run(["build", *options]) == UsageError.exit_code
        assert problem in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["a.cpp"]
    if os.geteuid():
        tmp_path.chmod(0o500)
        with pytest.raises(UsageError, match="cannot be built there"):
            build_sources(SourceSet((tmp_path / "a.cpp",)))
