"""pluginkit's headers have the binary interface of TensorRT 10.3, 10.16 and 11.1, slot by slot."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "pluginkit" / "include"
RECORDED = HERE / "recorded"

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(not (shutil.which("g++") and shutil.which("readelf")), reason="needs g++ and binutils"),
]

SLOT_18 = (
    "slot 18 nvinfer1::v_1_0::IPluginCreatorInterface* const* getAllCreatorsRecursive(int32*)  pure   [IPluginRegistry]"
)
# What TensorRT 10.16, whose version our layout 10 declares, has beyond 10.3; by the class it is in. Values that later
# versions add to an enumeration and a method at the end of a table that the library implements move nothing that
# 10.3 knows. Only these are allowed, and only as additions: see `additions`.
BEYOND_10_3 = {
    "nvinfer1::DataType": {"kFP4=10", "kE8M0=11"},
    "nvinfer1::PluginFieldType": {"kFP4=13"},
    "nvinfer1::IPluginRegistry": {SLOT_18},
    # The four V2 classes' getTensorRTVersion() and EnumMax<DataType>() are these versions' own numbers.
    "versions": {"100300 -> 101600"},
    "nvinfer1::EnumMax<nvinfer1::DataType>()": {"10 -> 12"},
}


def dump(include: Path, layout: int) -> str:
    """What our headers in `include` lay out, in the words of the recorded files."""
    command = [sys.executable, str(HERE / "abi_diff.py"), str(include), "--dump"]
    command += ["--contract", str(RECORDED / "contract.txt"), "-D", f"PLUGINKIT_TRT_LAYOUT={layout}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def recorded(version: str) -> str:
    return (RECORDED / f"layout-{version}.txt").read_text()


def entries(text: str) -> list[list[str]]:
    """One list of lines for each name of the contract, in its order."""
    return [[line.strip() for line in block.splitlines()] for block in text.strip().split("\n\n")]


def additions(old: str, new: str) -> dict[str, set[str]]:
    """What `new` has beyond `old`, by class. Anything else than an addition at an end fails."""
    found: dict[str, set[str]] = {}

    def add(what: str, item: str) -> None:
        found.setdefault(what, set()).add(item)

    before, after = entries(old), entries(new)
    assert len(before) == len(after)
    for was, now in zip(before, after, strict=True):
        assert len(was) <= len(now), f"{was[0]}: lines are missing"
        for one, other in zip(was, now, strict=False):
            if one == other:
                continue
            version = re.compile(r"(?<=<<24\|)\d+")
            count = re.compile(r"^const (\S+) = (\d+)$")
            if one.startswith("enum ") and other.startswith(one + ", "):
                for value in other[len(one) + 2 :].split(", "):
                    add(one.split()[1], value)
            elif "getTensorRTVersion" in one and version.sub("", one) == version.sub("", other):
                add("versions", f"{version.findall(one)[0]} -> {version.findall(other)[0]}")
            elif (m := count.match(one)) and (n := count.match(other)) and m[1] == n[1]:
                add(m[1], f"{m[2]} -> {n[2]}")
            else:
                pytest.fail(f"{was[0]}\n  {one}\n  {other}")
        for line in now[len(was) :]:
            add(now[0].split()[1].rstrip(":"), line)
    return found


@pytest.mark.parametrize(("layout", "version"), [(10, "10.16"), (11, "11.1")])
def test_no_difference(layout: int, version: str) -> None:
    assert dump(INCLUDE, layout) == recorded(version)


def test_layout_10_is_that_of_10_3() -> None:
    assert additions(recorded("10.3"), dump(INCLUDE, 10)) == BEYOND_10_3


def test_every_name_is_declared() -> None:
    names = (RECORDED / "contract.txt").read_text().split("\n")
    wanted = [line.split("#")[0].strip() for line in names if line.split("#")[0].strip()]
    assert len(wanted) == len(entries(recorded("11.1"))) == len(entries(recorded("10.16")))
    assert "not declared" not in recorded("11.1") + recorded("10.16")


def test_an_unknown_layout_is_refused() -> None:
    command = ["g++", "-fsyntax-only", "-x", "c++", f"-I{INCLUDE}", "-DPLUGINKIT_TRT_LAYOUT=9", "-"]
    done = subprocess.run(command, input="#include <NvInfer.h>\n", capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "PLUGINKIT_TRT_LAYOUT must be 10" in done.stderr


# Each: the file, what is replaced, by what, and the layouts in which the dump must then differ.
MUTATIONS = {
    "a member of another type": ("NvInferPluginBase.h", "    int32_t nbFields{};", "    int64_t nbFields{};", (10, 11)),
    "two methods swapped": (
        "NvInferRuntimePlugin.h",
        "    virtual int32_t initialize() noexcept = 0;\n    virtual void terminate() noexcept = 0;\n",
        "    virtual void terminate() noexcept = 0;\n    virtual int32_t initialize() noexcept = 0;\n",
        (10, 11),
    ),
    "an enumerator's value": ("NvInferRuntimeBase.h", "    kHALF = 1,", "    kHALF = 12,", (10, 11)),
    "an interface's version": (
        "NvInferRuntime.h", '{"PLUGIN_V3ONE_BUILD", 1, 0}', '{"PLUGIN_V3ONE_BUILD", 2, 0}', (10, 11),
    ),
    "the other layout's registry": (
        "NvInferRuntimeCommon.h", "#if PLUGINKIT_TRT_LAYOUT == 10", "#if PLUGINKIT_TRT_LAYOUT == 11", (10, 11),
    ),
    "a method that may throw": (
        "NvInferRuntimeCommon.h",
        "    virtual int32_t releasePluginResource(AsciiChar const* key) noexcept = 0;",
        "    virtual int32_t releasePluginResource(AsciiChar const* key) = 0;",
        (10, 11),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mistake_in_a_header_is_found(name: str, tmp_path: Path) -> None:
    file, old, new, layouts = MUTATIONS[name]
    include = tmp_path / "include"
    include.mkdir()
    for header in INCLUDE.glob("NvInfer*.h"):
        shutil.copy(header, include)
    (include / "pluginkit").symlink_to(INCLUDE / "pluginkit")
    text = (include / file).read_text()
    assert old in text
    (include / file).write_text(text.replace(old, new, 1))
    for layout in layouts:
        version = {10: "10.16", 11: "11.1"}[layout]
        assert dump(include, layout) != recorded(version)
    if 10 in layouts:
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            assert additions(recorded("10.3"), dump(include, 10)) == BEYOND_10_3
