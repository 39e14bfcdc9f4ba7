"""Finding tools, with fake ones: too old, crashing, hanging, silent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from pluginkit.build import toolchain
from pluginkit.build.gpus import DriverInfo, Gpu
from pluginkit.errors import ToolMissing, UsageError

Fake = Callable[..., Path]


def gcc(major: int) -> str:
    return f"printf '#define __GNUC__ {major}\\n#define __GNUC_MINOR__ 3\\n#define __GNUC_PATCHLEVEL__ 1\\n'"


def clang(major: int) -> str:
    # clang claims to be GCC 4.2 as well.
    macros = f"#define __clang_major__ {major}\\n#define __clang_minor__ 0\\n#define __clang_patchlevel__ 6\\n"
    return f"printf '#define __GNUC__ 4\\n#define __GNUC_MINOR__ 2\\n{macros}'"


@pytest.fixture(autouse=True)
def only_fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CXX", "CUDA_HOME", "CUDA_PATH", "TENSORRT_ROOT", "TENSORRT_DIR", "TRT_ROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")
    monkeypatch.setattr(toolchain, "_script", lambda name: tmp_path / "scripts" / name)


def test_gcc_comes_before_clang(fake: Fake) -> None:
    fake("clang++", clang(14))
    path = fake("g++", gcc(12))
    best = toolchain.cxx_compiler().best()
    assert (best.path, best.version, best.note) == (path, Version("12.3.1"), "g++")


def test_clang_is_no_old_gcc(fake: Fake) -> None:
    fake("g++", clang(10))
    best = toolchain.cxx_compiler().best()
    assert (best.note, best.version) == ("clang++", Version("10.0.6"))


@pytest.mark.parametrize(("name", "script", "output"), [
    ("g++", gcc(8), r"g\+\+ 8\.3\.1 is too old, needed is g\+\+ 9"),
    ("clang++", clang(9), r"clang\+\+ 9\.0\.6 is too old, needed is clang\+\+ 10"),
    ("g++", "echo broken >&2; exit 2", "ended with exit status 2: broken"),
    ("g++", "kill -SEGV $$", "ended with signal SIGSEGV"),
    ("g++", "echo hello", r"neither g\+\+ nor clang\+\+"),
])  # fmt: skip
def test_an_unusable_compiler_is_named(fake: Fake, name: str, script: str, output: str) -> None:
    path = fake(name, script)
    with pytest.raises(ToolMissing, match=output) as error:
        toolchain.cxx_compiler().best()
    assert str(path) in error.value.message
    assert "apt-get install g++" in error.value.hint
    assert "g++ 9 or clang++ 10" in error.value.hint


def test_a_hanging_compiler_is_given_up(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "ASK_SECONDS", 0.3)
    fake("g++", "while :; do :; done")
    good = fake("clang++", clang(14))
    found = toolchain.cxx_compiler().found()
    assert "stopped after 0.3 s" in found[0].why_not
    assert toolchain.cxx_compiler().best().path == good


def test_no_compiler_at_all_says_where_it_looked() -> None:
    with pytest.raises(ToolMissing, match=r"No C\+\+ compiler in PATH \(g\+\+, clang\+\+, g\+\+-N, clang\+\+-N\)"):
        toolchain.cxx_compiler().best()


def test_a_numbered_compiler_serves_where_the_plain_one_is_too_old(fake: Fake) -> None:
    fake("g++", gcc(8))
    fake("g++-9", gcc(9))
    newest = fake("g++-13", gcc(13))
    assert toolchain.cxx_compiler().best().path == newest


def test_cxx_wins_and_nothing_replaces_it(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake("g++", gcc(12))
    named = fake("mycxx", clang(15), folder="elsewhere")
    monkeypatch.setenv("CXX", str(named))
    assert toolchain.cxx_compiler().best().path == named
    fake("mycxx", gcc(7), folder="elsewhere")
    with pytest.raises(ToolMissing, match=r"7\.3\.1 is too old"):
        toolchain.cxx_compiler().best()
    monkeypatch.setenv("CXX", "g++ -m32")
    with pytest.raises(ToolMissing, match="no such program; options belong in CXXFLAGS"):
        toolchain.cxx_compiler()


def test_the_wheels_cmake_comes_first_unless_too_old(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    machines = fake("cmake", "echo cmake version 3.25.1")
    wheels = fake("cmake", "echo cmake version 4.0.2", folder="scripts")
    assert [one.path for one in toolchain.cmake().found()][-2:] == [wheels, machines]
    fake("cmake", "echo cmake version 3.16.3", folder="scripts")
    monkeypatch.setattr(toolchain, "find_spec", lambda _: None)
    assert toolchain.cmake().best().path == machines


def test_the_wheels_cmake_is_started_without_its_script() -> None:
    """Which is a Python program that takes twenty times as long to start."""
    pytest.importorskip("cmake")
    assert toolchain.cmake().best().path.read_bytes()[:4] == b"\x7fELF"


def test_one_file_by_two_names_is_one(fake: Fake, tmp_path: Path) -> None:
    fake("ninja", "echo 1.11.1")
    (tmp_path / "bin/ninja-build").symlink_to("ninja")
    assert len(toolchain.ninja().found()) == 1


def test_nvcc_of_cuda_home_comes_first(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake("nvcc", "echo 'Cuda compilation tools, release 12.4, V12.4.131'")
    home = fake("nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.48'", folder="cuda/bin")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    best = toolchain.nvcc().best()
    assert (best.path, best.version) == (home, Version("13.0"))


def test_headers_beside_an_nvcc_that_is_a_script(fake: Fake, tmp_path: Path) -> None:
    include = tmp_path / "toolkit/include"
    (include / "cccl").mkdir(parents=True)
    (include / "cuda_runtime.h").write_text("")
    script = fake("nvcc", f"echo '#$ TOP={tmp_path}/toolkit' >&2")
    assert toolchain.headers_of(script) == [include, include / "cccl"]


def test_an_nvcc_from_wheels_is_told_where_its_libraries_are(fake: Fake, tmp_path: Path) -> None:
    script = fake("nvcc", f"echo '#$ TOP={tmp_path}/cu13' >&2")
    (tmp_path / "cu13/lib").mkdir(parents=True)
    (tmp_path / "cu13/lib/libcudart_static.a").write_text("")
    assert toolchain.library_flags(script) == f"-L{tmp_path}/cu13/lib"
    (tmp_path / "cu13/lib64").symlink_to("lib")
    assert toolchain.library_flags(script) == ""


def test_architectures(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    nvcc = fake("nvcc", "printf 'sm_75\\nsm_80\\nsm_90\\n'")
    assert toolchain.architectures(nvcc, ["sm_90", "8.0"]) == ["80-real", "90-real", "90-virtual"]
    with pytest.raises(UsageError, match=r"no code for GPU architecture 7\.0, sm_1") as error:
        toolchain.architectures(nvcc, ["7.0", "80", "sm_1"])
    assert error.value.hint.startswith("It knows 75, 80, 90;")
    monkeypatch.setattr(toolchain, "find_driver", lambda: DriverInfo("13.0", (Gpu("A", "8.0"), Gpu("B", "8.0"))))
    assert toolchain.architectures(nvcc) == ["80-real", "80-virtual"]
    monkeypatch.setattr(toolchain, "find_driver", lambda: DriverInfo(problem="none"))
    assert toolchain.architectures(nvcc) == ["75-real", "80-real", "90-real", "90-virtual"]


def test_architectures_by_name(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    nvcc = fake("nvcc", "printf 'sm_75\\nsm_80\\nsm_86\\nsm_90\\nsm_120\\nsm_121\\n'")
    assert toolchain.architectures(nvcc, ["80;90"]) == ["80-real", "90-real", "90-virtual"]
    assert toolchain.architectures(nvcc, ["90, 80", "86"]) == ["80-real", "86-real", "90-real", "90-virtual"]
    assert toolchain.architectures(nvcc, ["90a"]) == ["90a-real", "90a-virtual"]
    every = ["75-real", "80-real", "90-real", "120-real", "120-virtual"]
    assert toolchain.architectures(nvcc, ["all-major"]) == every
    monkeypatch.setattr(toolchain, "find_driver", lambda: DriverInfo("13.0", (Gpu("A", "9.0"), Gpu("B", "8.6"))))
    assert toolchain.architectures(nvcc, ["native"]) == ["86-real", "90-real", "90-virtual"]
    assert toolchain.architectures(nvcc, ["native", "80"]) == ["80-real", "86-real", "90-real", "90-virtual"]
    monkeypatch.setattr(toolchain, "find_driver", lambda: DriverInfo(problem="no NVIDIA device here"))
    with pytest.raises(UsageError, match=r"there is none: no NVIDIA device here\.") as error:
        toolchain.architectures(nvcc, ["native"])
    assert "--arch 90" in error.value.hint


def test_where_nvcc_is_looked_for(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = "echo 'Cuda compilation tools, release 13.0, V13.0.88'"
    on_path = fake("nvcc", output)
    wheel, home = tmp_path / "site/nvidia/cu13/bin/nvcc", tmp_path / "toolkit/bin/nvcc"
    for place in (wheel, home):
        place.parent.mkdir(parents=True)
        place.write_bytes(on_path.read_bytes())
        place.chmod(0o755)
    monkeypatch.setattr(toolchain, "_wheel_roots", lambda: [tmp_path / "site/nvidia/cu13"])
    order = [path for path in toolchain.nvcc().candidates if path != Path("/usr/local/cuda/bin/nvcc")]
    assert order == [on_path, wheel]
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    assert toolchain.nvcc().best().path == home
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "nowhere"))
    assert toolchain.nvcc().best().path == on_path


def sdk(folder: Path, version: str, *, alias: bool = False) -> Path:
    folder.mkdir(parents=True)
    (folder / "NvInfer.h").write_text("")
    lines = []
    for part, number in zip(("MAJOR", "MINOR", "PATCH"), version.split("."), strict=True):
        value = f"TRT_{part}_ENTERPRISE" if alias else number
        lines += [f"#define TRT_{part}_ENTERPRISE {number}"] * alias + [f"#define NV_TENSORRT_{part} {value} //!< x"]
    (folder / "NvInferVersion.h").write_text("\n".join(lines))
    return folder


def test_an_sdk_serves_the_layout_of_its_major(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ten = sdk(tmp_path / "a/include", "10.3.0")
    eleven = sdk(tmp_path / "b", "11.1.0", alias=True)
    monkeypatch.setenv("TENSORRT_ROOT", str(tmp_path / "a"))
    monkeypatch.setenv("TENSORRT_DIR", str(tmp_path / "b"))
    assert toolchain.sdk_headers() == {10: ten, 11: eleven}


def test_sdks_that_do_not_serve_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sdk(tmp_path / "old/include", "8.4.3")
    monkeypatch.setenv("TENSORRT_ROOT", str(tmp_path / "old"))
    monkeypatch.setenv("TENSORRT_DIR", str(tmp_path / "nothing"))
    assert toolchain.sdk_headers() == {}
    reasons = {str(one.path): one.why_not for one in toolchain.tensorrt_sdks()}
    assert "not those of TensorRT 8, 10 or 11" in reasons[str(tmp_path / "old/include")]
    assert "has no NvInfer.h" in reasons[str(tmp_path / "nothing")]


@given(st.text())
def test_no_header_text_makes_the_version_reader_fall_over(text: str) -> None:
    number = toolchain._macro(text, "NV_TENSORRT_MAJOR")
    assert number is None or number >= 0


def test_cuda_headers_of_the_wheels_hold_cub() -> None:
    folders = toolchain.cuda_include_dirs()
    assert any((folder / "cuda_runtime.h").exists() for folder in folders)
    assert any((folder / "cub/cub.cuh").exists() for folder in folders)


def test_missing_cuda_headers_name_every_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "_wheel_roots", lambda: [tmp_path / "wheel"])
    monkeypatch.setattr(toolchain, "_cuda_homes", lambda: [tmp_path / "toolkit"])
    with pytest.raises(ToolMissing, match=r"wheel/include.*toolkit/include") as error:
        toolchain.cuda_include_dirs()
    assert "nvidia-cuda-crt" in error.value.hint
