"""`pluginkit inspect` without loading: what it shows, and each thing that it finds wrong."""

from __future__ import annotations

import contextlib
import json
import struct
import subprocess
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pluginkit import cli
from pluginkit import library as library_
from pluginkit.build import toolchain
from pluginkit.errors import UsageError
from pluginkit.library import gpu_code
from pluginkit.process.programs import run
from tests.compilers import default_cxx

from .conftest import ENTRIES, Make

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("projects")]


def texts(path: Path, level: str = "") -> str:
    return "\n".join(f"{p.text} {p.fix}" for p in library_.inspect(path).problems if level in p.level)


def test_a_good_library_has_no_problems(make: Make) -> None:
    found = library_.inspect(make(ENTRIES, "-fvisibility=hidden", "-fno-gnu-unique"))
    assert set(found.exports) == {"getCreators", "setLoggerFinder"}
    assert not found.problems, found.problems
    assert not found.broken
    assert (found.target, found.gpu, found.record) == ("unknown", None, None)


def test_the_sample(bar: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = bar / "build" / "cpu" / "libbar_plugin.so"
    found = library_.inspect(library)
    assert (found.target, found.layouts, found.broken) == ("cpu", ("10", "11"), False)
    assert "initBarPluginPlugins" in found.exports
    assert found.record is not None
    assert found.record.same
    assert not found.problems
    assert cli.run(["inspect", str(library)]) == 0
    out = capsys.readouterr().out
    assert found.sha256 in out
    assert "TensorRT 10, TensorRT 11" in out
    assert cli.run(["inspect", str(library), "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["sha256"] == output["manifest"]["content"]["sha256"]
    assert {"name": "libc.so.6", "path": str(_path(output, "libc.so.6"))} in output["needed"]
    assert Path(_path(output, "libc.so.6")).is_file()


def _path(output: dict[str, list[dict[str, str]]], name: str) -> str:
    (one,) = (needed["path"] for needed in output["needed"] if needed["name"] == name)
    return one


def test_no_entries(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    library = make('extern "C" int nothing() { return 1; }')
    assert "getCreators and setLoggerFinder" in texts(library, "error")
    assert cli.run(["inspect", str(library)]) == 1
    assert "PLUGINKIT_PLUGINS" in capsys.readouterr().out
    old = make('extern "C" int getPluginCreators() { return 1; }', name="old.so")
    assert "It does not export setLoggerFinder" in texts(old, "error"), "TensorRT 8.6 finds the creators"


def test_exported_cxx_symbols(make: Make) -> None:
    library = make(ENTRIES + "namespace plugin { int shared() { return 1; } }")
    assert "_ZN6plugin6sharedEv" in texts(library, "warning")
    assert "visibility=hidden" in texts(library, "warning")
    assert "_ZN6plugin6sharedEv" in library_.inspect(library).to_json()["exported_cxx"]


STRINGS = (
    "#include <string>\n#include <vector>\n"
    + ENTRIES
    + "static std::vector<std::string> all; SHOWN void add(char const* s) { all.emplace_back(s); }"
)


def test_symbols_of_the_standard_library_are_no_clash(make: Make) -> None:
    # What is instantiated in the library itself; a compiler that links libstdc++ statically would export that one too.
    library = make(STRINGS, "-fvisibility=hidden", "-fno-gnu-unique", "-Wl,--exclude-libs,ALL")
    assert library_.inspect(library).to_json()["exported_cxx"]
    assert not texts(library)


def test_a_standard_library_inside_that_is_exported(make: Make) -> None:
    archive = run([default_cxx(), "-print-file-name=libstdc++.a"]).stdout.strip()
    if not Path(archive).is_file():
        pytest.skip("the compiler has no libstdc++.a")
    library = make(STRINGS, "-fvisibility=hidden", "-fno-gnu-unique", "-static-libstdc++")
    assert texts(library, "warning").count("-Wl,--exclude-libs,ALL") == 2


def test_unique_symbols(make: Make) -> None:
    source = ENTRIES + "template <class T> int& one() { static int v; return v; } int use() { return one<int>(); }"
    assert "never unloaded" in texts(make(source)).replace("\n", " ")
    assert "never unloaded" not in texts(make(source, "-fno-gnu-unique", name="liby.so"))


def test_undefined_symbols(make: Make) -> None:
    source = ENTRIES + 'extern "C" void* getPluginRegistry(); void* use() { return getPluginRegistry(); }'
    assert "getPluginRegistry" in texts(make(source), "error")
    assert "REGISTER_TENSORRT_PLUGIN" in texts(make(source), "error")
    cuda = ENTRIES + 'extern "C" int cudaMalloc(void**, long); int use() { return cudaMalloc(0, 0); }'
    assert "CUDA's" in texts(make(cuda, name="libc2.so"), "error")
    weak = ENTRIES + 'extern "C" __attribute__((weak)) int maybe(); int use() { return maybe ? maybe() : 0; }'
    assert not texts(make(weak, name="libw.so"), "error")


def test_a_symbol_of_a_needed_library_is_not_undefined(make: Make, tmp_path: Path) -> None:
    make('extern "C" int other() { return 1; }', name="libother.so")
    source = ENTRIES + 'extern "C" int other(); int use() { return other(); }'
    flags = (f"-L{tmp_path}", "-lother", "-Wl,-rpath,$ORIGIN")
    library = make(source, *flags)
    assert not texts(library, "error")
    found = {one.name: one.path for one in library_.inspect(library).linkage.needed}
    assert found["libother.so"] == tmp_path / "libother.so"
    (tmp_path / "libother.so").unlink()
    assert "It needs libother.so, which is not found here" in texts(library, "error")


def test_rpath_into_the_building_machine(make: Make) -> None:
    assert "/somewhere/lib" in texts(make(ENTRIES, "-Wl,-rpath,/somewhere/lib"), "warning")


@pytest.mark.parametrize(
    ("soname", "expected"),
    [
        ("libcudart.so.99", "dynamically"),
        ("libcudart.so.99", "not found here: what calls it runs only"),
        ("libnvinfer.so.99", "it was built for TensorRT 99"),
        ("libnvinfer.so.99", "has a stand-in for it"),
    ],
)
def test_linked_against_what_hosts_bring(make: Make, tmp_path: Path, soname: str, expected: str) -> None:
    make('extern "C" int theirs() { return 1; }', f"-Wl,-soname,{soname}", name="libtheirs.so")
    source = ENTRIES + 'extern "C" int theirs(); int use() { return theirs(); }'
    library = make(source, f"-L{tmp_path}", "-ltheirs")
    assert expected in texts(library, "warning")
    assert not texts(library, "error")


def test_a_version_that_is_newer_than_here(make: Make, tmp_path: Path) -> None:
    script = tmp_path / "v.map"
    script.write_text("NEW_2 { global: versioned; };")
    make('extern "C" int versioned() { return 1; }', f"-Wl,--version-script={script}", name="libv.so")
    source = ENTRIES + 'extern "C" int versioned(); int use() { return versioned(); }'
    library = make(source, f"-L{tmp_path}", "-lv", "-Wl,-rpath,$ORIGIN")
    assert "NEW_2" not in texts(library)
    script.write_text("OLD_1 { global: versioned; };")
    make('extern "C" int versioned() { return 1; }', f"-Wl,--version-script={script}", name="libv.so")
    assert "NEW_2 of libv.so" in texts(library, "error")


def test_another_soname(make: Make) -> None:
    assert "SONAME is liba.so" in texts(make(ENTRIES, "-Wl,-soname,liba.so"), "warning")


def test_a_manifest_of_another_file(make: Make) -> None:
    library = make(ENTRIES)
    record = library.with_suffix(".json")
    record.write_text(json.dumps({"sha256": "0" * 64, "target": "cpu"}))
    assert "about another file" in texts(library, "error")
    record.write_text("{")
    assert "cannot be read as JSON" in texts(library, "warning")
    found = library_.inspect(library)
    record.write_text(json.dumps({"sha256": found.sha256, "target": "gpu"}))
    assert "about another file" not in texts(library)


# ---- GPU code


def entry(kind: int, arch: int, flags: int = 0x11, payload: bytes = b"x" * 16) -> bytes:
    return struct.pack("<HHIQ8xHHI8xQ16x", kind, 0x101, 64, len(payload), 1, 8, arch, flags) + payload


def fat_binary(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def with_gpu_code(make: Make, data: bytes, name: str = "libg.so") -> Path:
    values = ",".join(str(byte) for byte in data)
    return make(
        ENTRIES + f'__attribute__((section(".nv_fatbin"), used)) static const unsigned char d[] = {{{values}}};',
        name=name,
    )


def test_gpu_code(make: Make) -> None:
    library = with_gpu_code(make, fat_binary(entry(2, 80), entry(2, 90), entry(1, 90)) + fat_binary(entry(2, 80)))
    found = library_.inspect(library)
    assert found.target == "gpu"
    assert found.gpu is not None
    assert [str(code) for code in found.gpu.codes] == ["sm_80 SASS", "compute_90 PTX", "sm_90 SASS"]
    assert "PTX" not in texts(library)


@pytest.mark.slow
def test_gpu_code_of_nvcc(tmp_path: Path) -> None:
    found = next((one for one in toolchain.nvcc().found() if one.usable), None)
    if found is None:
        pytest.skip("no nvcc")
    source, library = tmp_path / "k.cu", tmp_path / "libk.so"
    source.write_text(
        ENTRIES + "__global__ void kernel(int* p) { *p = 1; }\nvoid use() { kernel<<<1, 1>>>(nullptr); }\n"
    )
    archs = [("80", "sm_80"), ("90a", "sm_90a"), ("90", "compute_90")]
    flags = [flag for arch, code in archs for flag in ("-gencode", f"arch=compute_{arch},code={code}")]
    command = [found.path, "-shared", "-Xcompiler", "-fPIC", *flags, "-o", library, source]
    subprocess.run(command, check=True, capture_output=True)
    output = library_.inspect(library)
    assert output.gpu is not None
    assert output.gpu.known
    assert {str(code) for code in output.gpu.codes} >= {"sm_80 SASS", "compute_90 PTX", "sm_90a SASS"}


def test_gpu_code_of_one_architecture_alone(make: Make) -> None:
    library = with_gpu_code(make, fat_binary(entry(2, 90, 0x100011), entry(2, 120, 0x1200011), entry(2, 90)))
    found = gpu_code.read(library)
    assert found is not None
    assert [str(code) for code in found.codes] == ["sm_90 SASS", "sm_90a SASS", "sm_120f SASS"]


def test_gpu_code_without_ptx(make: Make) -> None:
    assert "up to sm_86, and no PTX" in texts(with_gpu_code(make, fat_binary(entry(2, 86))), "warning")


@pytest.mark.parametrize(
    "data",
    [
        b"\1" * 64,
        fat_binary(entry(2, 80))[:-1],
        fat_binary(entry(2, 80_000)),
        struct.pack("<IHHQ", 0xBA55ED50, 2, 16, 0),
    ],
)
def test_gpu_code_of_unknown_form_is_said_to_be_unknown(make: Make, data: bytes) -> None:
    found = library_.inspect(with_gpu_code(make, data))
    assert found.gpu is not None
    assert not found.gpu.known
    assert any("does not know" in problem.text for problem in found.problems)


def test_a_manifest_that_promises_gpu_code(make: Make) -> None:
    library = with_gpu_code(make, fat_binary(entry(2, 80), entry(1, 80)))
    digest = library_.inspect(library).sha256
    content = {"sha256": digest, "target": "gpu", "architectures": ["80-real", "90-real"]}
    library.with_suffix(".json").write_text(json.dumps(content))
    assert "promises code for sm_90" in texts(library, "error")
    library.with_suffix(".json").write_text(json.dumps({**content, "target": "cpu"}))
    assert "says target cpu" in texts(library, "error")


# ---- files that are not libraries


def test_files_that_are_no_libraries(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = make(ENTRIES).read_bytes()
    cases = {
        "text.so": (b"hello", "not an ELF file"),
        "empty.so": (b"", "not an ELF file"),
        "short.so": (good[:10], "ends after 10 bytes"),
        "cut.so": (good[:3000], "damaged"),
        "bits.so": (good[:4] + b"\1" + good[5:], "32-bit"),
        "machine.so": (good[:18] + struct.pack("<H", 243) + good[20:], "is for RISC-V"),
    }
    for name, (data, expected) in cases.items():
        (tmp_path / name).write_bytes(data)
        assert cli.run(["inspect", str(tmp_path / name)]) == 2
        output = capsys.readouterr().err
        assert expected in output
        assert "Traceback" not in output
    for path, expected in (
        (tmp_path / "nope.so", "There is no file"),
        (tmp_path, "cannot be read"),
        (make(ENTRIES, "-c", name="x.o"), "an object file"),
        (make("int main() {}", "-pie", name="program"), "a program"),
    ):
        with pytest.raises(UsageError, match=expected):
            library_.inspect(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_never_give_a_traceback(make: Make, tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "liborig.so"
    if not path.exists():
        make(ENTRIES, name="liborig.so")
    good = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    damaged = tmp_path / "libdamaged.so"
    damaged.write_bytes(good)
    with contextlib.suppress(UsageError):
        library_.inspect(damaged)


def test_fat_binaries_of_random_bytes_never_raise() -> None:
    @settings(max_examples=200, deadline=None)
    @given(st.lists(st.one_of(st.binary(max_size=80), st.just(fat_binary(entry(2, 80))))))
    def check(parts: list[bytes]) -> None:
        with warnings.catch_warnings():
            list(gpu_code._fat_binaries(b"".join(parts)))

    check()
