"""Native frames of a process that has ended: which are shown, and how."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.process import backtrace
from pluginkit.process.backtrace import NativeFrame

HOST = "/x/_native.cpython-311-x86_64-linux-gnu.so"


def _read(folder: Path, *lines: str) -> list[str]:
    file = folder / "backtrace"
    file.write_text("\n".join(lines) + "\n")
    return [one.symbol for one in backtrace.read(file)]


def test_what_lies_behind_the_host_is_not_shown(tmp_path: Path) -> None:
    plugin = [f"/x/libp.so\t{at:x}\tf{at}" for at in range(3)]
    assert _read(tmp_path, *plugin, f"{HOST}\t10\tcall", "/usr/bin/python\t5\tmain") == ["f0", "f1", "f2"]
    # A method of the host, which the plugin has called, may be where it ended.
    assert _read(tmp_path, f"{HOST}\t8\toperation", *plugin, f"{HOST}\t10\tcall") == ["operation", "f0", "f1", "f2"]
    assert _read(tmp_path, *plugin, "/lib64/ld-linux-x86-64.so.2\t1\tcall_init") == ["f0", "f1", "f2"]


def test_no_file_and_half_a_line(tmp_path: Path) -> None:
    assert backtrace.read(tmp_path / "none") == ()
    assert _read(tmp_path, "/x/libp.so\t1\tf", "/x/libp.so\t") == ["f"]


def test_names_without_addr2line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    shown = backtrace.describe(
        [NativeFrame("/x/libp.so", 16, "f"), NativeFrame("/x/libp.so", 32, ""), NativeFrame("", 0, "")]
    )
    assert shown == ("f in libp.so", "0x20 in libp.so", "0x0 in no library")


def test_an_endless_recursion_is_cut() -> None:
    shown = backtrace.describe([NativeFrame("", at, "f") for at in range(64)])
    assert len(shown) == backtrace.MOST + 1
    assert shown[-1] == "... and 44 more"


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("void my::kernel<float>(Arguments)", "kernel<float>"),
        ("void my::kernel<my::T, (my::E)2>(float*, int)", "kernel<my::T, (my::E)2>"),
        ("my::(anonymous namespace)::right(float*)", "right"),
        ("cudaError my::(anonymous namespace)::launch<float>(my::Arguments const&, CUstream_st*)", "launch<float>"),
        ("cudaError launch(int)", "launch"),
        ("kernel", "kernel"),
        ("int acme::Scale::enqueue(void const*)", "Scale::enqueue"),
        ("acme::(anonymous namespace)::Scale<float>::~Scale()", "Scale<float>::~Scale"),
        ("void k<void (*)(int)>(int)", "k<void (*)(int)>"),
    ],
)
def test_a_functions_name(signature: str, name: str) -> None:
    assert backtrace.bare(signature) == name


@given(st.text(max_size=40))
def test_any_name_is_taken(signature: str) -> None:
    assert len(backtrace.bare(signature)) <= len(signature)
