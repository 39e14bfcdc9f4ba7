"""The precompiled prelude: when it is made, used and made again, and that an object by it is as one without."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path

import numpy as np
import pytest

from pluginkit.cuda_cpu import prelude
from pluginkit.errors import UsageError
from pluginkit.registry.storage import stores
from tests import compilers

from .conftest import compile_object, link

pytestmark = pytest.mark.compile
_SOURCE = """
__global__ void doubled(float* x) { x[threadIdx.x] *= FACTOR; }
extern "C" __attribute__((visibility("default"))) int run(float* x)
{
    doubled<<<1, 8>>>(x);
    return cudaDeviceSynchronize();
}
"""


def _dependencies(rules: Path) -> set[str]:
    return set(rules.read_text(encoding="utf-8").partition(":")[2].replace("\\\n", " ").split())


@pytest.mark.skipif("g++" not in Path(compilers.default_cxx()).name, reason="clang++ reads the prelude as text")
def test_it_is_made_when_asked_for_twice_and_anew_when_a_header_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.cu").write_text(_SOURCE, encoding="utf-8")

    def compiled(factor: str) -> set[str]:
        flags = ["-MD", "-MF", str(tmp_path / "a.d"), "-D", f"FACTOR={factor}"]
        done = compile_object(tmp_path / "a.cu", tmp_path / "a.o", flags=flags)
        assert done.ok, done.stderr
        return _dependencies(tmp_path / "a.d")

    def kept(name: str) -> list[Path]:
        return sorted((tmp_path / "cache" / "pluginkit" / "preludes").glob(f"*/{name}"))

    as_text = compiled("1.0F")
    assert kept("*") == []
    assert compiled("1.0F") == as_text
    assert len(kept("prelude.h.gch")) == 1
    (record,) = kept("headers.json")
    os.utime(record, (0, 0))
    assert compiled("2.0F") == as_text  # a macro that the prelude doesn't know needs no other
    assert record.stat().st_mtime > 0
    link(tmp_path / "a.o", tmp_path / "a.so")
    x = np.arange(8, dtype=np.float32)
    assert ctypes.CDLL(str(tmp_path / "a.so")).run(ctypes.c_void_p(x.ctypes.data)) == 0
    np.testing.assert_array_equal(x, 2 * np.arange(8))
    saved = json.loads(record.read_text(encoding="utf-8"))
    saved["state"][next(path for path in saved["state"] if path.endswith("cuda_fp16.h"))] = [0, 0]
    record.write_text(json.dumps(saved), encoding="utf-8")
    assert compiled("1.0F") == as_text
    assert kept("prelude.h.gch") == []


def test_without_a_cache_it_is_read_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    for _ in range(2):
        assert prelude.precompiled("g++", ["-O2"], [], Path("prelude.h")) is None


def test_without_a_home_it_is_read_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a user whom the machine doesn't know, in a container."""

    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", home)
    for _ in range(2):
        assert prelude.precompiled("g++", ["-O2"], [], Path("prelude.h")) is None
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("PLUGINKIT_STORE", raising=False)
    with pytest.raises(UsageError, match="no home folder"):
        stores.folders()


def test_a_damaged_record_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wrong = tmp_path / "g++"
    wrong.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    wrong.chmod(0o755)
    for damaged in ("{", "[]", "{}"):
        for _ in range(2):
            assert prelude.precompiled(str(wrong), [], [], tmp_path / "prelude.h") is None
        (record,) = (tmp_path / "pluginkit" / "preludes").glob("*/headers.json")
        record.write_text(damaged, encoding="utf-8")
        assert prelude.precompiled(str(wrong), [], [], tmp_path / "prelude.h") is None
        assert not record.exists()


@pytest.mark.parametrize(
    ("cxx", "preprocess"),
    [("clang++-99", []), ("g++", [["-include", "mine.h"]]), ("g++", [["-MP"]]), ("no-such-compiler", [])],
)
def test_who_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cxx: str, preprocess: list[list[str]]) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for _ in range(2):
        assert prelude.precompiled(cxx, ["-O2"], preprocess, Path("prelude.h")) is None
    assert list(tmp_path.iterdir()) == []


def test_a_prelude_that_does_not_compile_is_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls = tmp_path / "calls"
    wrong = tmp_path / "g++"
    wrong.write_text(f"#!/bin/sh\necho >> {calls}\nexit 1\n", encoding="utf-8")
    wrong.chmod(0o755)
    for _ in range(4):
        assert prelude.precompiled(str(wrong), [], [], tmp_path / "prelude.h") is None
    assert calls.read_text(encoding="utf-8") == "\n"


def test_other_options_are_another_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "cuda_fp16.h").touch()
    layout = [["-DPLUGINKIT_TRT_LAYOUT=10"], ["-DPLUGINKIT_SECONDARY"]]
    same = [(["-O2", "-Wall"], [["-DMINE"]]), (["-O2"], [["-I", "/nowhere"], ["-D", "ALSO_MINE"], *layout])]
    others = [
        (["-O1"], []),
        (["-O2"], [["-DPLUGINKIT_CPU_CUDA_SOURCE"]]),
        (["-O2"], [["-DNDEBUG"]]),
        (["-O2"], [["-D", "_GLIBCXX_ASSERTIONS"]]),
        (["-O2"], [["-isystem", str(tmp_path)]]),
        (["-O2"], [[f"-I{tmp_path}"]]),
    ]
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    compiler.chmod(0o755)
    for options, preprocess in [*same[:1], *others]:
        prelude.precompiled(str(compiler), options, preprocess, tmp_path / "prelude.h")
    entries = list((tmp_path / "pluginkit" / "preludes").iterdir())
    assert len(entries) == 1 + len(others)
    prelude.precompiled(str(compiler), *same[1], tmp_path / "prelude.h")
    assert len(list((tmp_path / "pluginkit" / "preludes").glob("*/headers.json"))) == 1


def test_the_last_ones_used_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prelude, "IN_USE_SECONDS", 0)
    for number in range(prelude.KEPT + 3):
        (tmp_path / str(number)).mkdir()
        record = tmp_path / str(number) / "headers.json"
        record.touch()
        os.utime(record, (1000 + number, 1000 + number))
    prelude.leave_out_old(tmp_path)
    assert sorted(int(folder.name) for folder in tmp_path.iterdir()) == list(range(3, prelude.KEPT + 3))
