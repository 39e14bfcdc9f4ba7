"""pluginkit's headers have the binary interface of TensorRT 8.5, 8.6, 10.3, 10.16 and 11.1, slot by slot."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pluginkit import layouts

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "pluginkit" / "include"
RECORDED = HERE / "recorded"

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(not (shutil.which("g++") and shutil.which("readelf")), reason="needs g++ and binutils"),
]

VERSIONS = {
    "8.5": ("PLUGINKIT_TRT_LAYOUT=8",),
    "8.6": ("PLUGINKIT_TRT_LAYOUT=8", "PLUGINKIT_TRT_MINOR=6"),
    "10.3": ("PLUGINKIT_TRT_LAYOUT=10", "PLUGINKIT_TRT_MINOR=3"),
    "10.16": ("PLUGINKIT_TRT_LAYOUT=10",),
    "11.1": ("PLUGINKIT_TRT_LAYOUT=11",),
}


def dump(include: Path, *defines: str) -> str:
    """What our headers in `include` lay out, in the words of the recorded files."""
    command = [sys.executable, str(HERE / "abi_diff.py"), str(include), "--dump"]
    command += ["--contract", str(RECORDED / "contract.txt"), *(word for one in defines for word in ("-D", one))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def recorded(version: str) -> str:
    return (RECORDED / f"layout-{version}.txt").read_text()


def entries(text: str) -> list[list[str]]:
    """One list of lines for each name of the contract, in its order."""
    return [[line.strip() for line in block.splitlines()] for block in text.strip().split("\n\n")]


def same(version: str, ours: str) -> bool:
    """Whether a dump is as recorded. Of TensorRT 8 only the names that it has are: its enumerations may go on with what
    came later, so that one source compiles for all layouts, and ILoggerFinder, of 8.6, is declared for 8.5 too."""
    if not version.startswith("8."):
        return ours == recorded(version)

    def name_of(lines: list[str]) -> str:
        found = re.match(r"(?:(?:class|enum|function|const) )?((?:\w|::)+)", lines[0])
        assert found is not None
        return found[1]

    here = {name_of(lines): lines for lines in entries(ours)}
    for lines in entries(recorded(version)):
        if lines == ["nvinfer1::ILoggerFinder: not declared"]:
            continue
        own = here.get(name_of(lines), [""])
        later = lines[0].startswith("enum ") and own[0].startswith(f"{lines[0]}, ") and own[1:] == lines[1:]
        if own != lines and not later:
            return False
    return True


def test_every_recorded_version_is_compared() -> None:
    assert set(VERSIONS) == {version for layout in layouts.LAYOUTS for version in layout.recorded}
    assert {f"layout-{version}.txt" for version in VERSIONS} == {path.name for path in RECORDED.glob("layout-*.txt")}


@pytest.mark.parametrize("version", VERSIONS)
def test_no_difference(version: str) -> None:
    assert same(version, dump(INCLUDE, *VERSIONS[version]))


@pytest.mark.parametrize(
    ("minor", "last_type", "count", "recursive"),
    [(7, "kINT4", 10, False), (8, "kFP4", 11, False), (10, "kFP4", 11, True), (12, "kE8M0", 12, True)],
)
def test_what_came_between(minor: int, last_type: str, count: int, recursive: bool) -> None:
    """Of the minors without a record, what is known is when each addition came."""
    text = dump(INCLUDE, "PLUGINKIT_TRT_LAYOUT=10", f"PLUGINKIT_TRT_MINOR={minor}")
    (types,) = (line for line in text.splitlines() if line.startswith("enum nvinfer1::DataType "))
    assert re.findall(r"(\w+)=\d+", types)[-1] == last_type
    assert f"const nvinfer1::EnumMax<nvinfer1::DataType>() = {count}\n" in text
    assert ("kFP4=13" in text) == (minor >= 8)
    assert ("getAllCreatorsRecursive" in text) == recursive
    assert f"3<<24|{100000 + 100 * minor}" in text


def test_every_name_is_declared() -> None:
    names = (RECORDED / "contract.txt").read_text().split("\n")
    wanted = [line.split("#")[0].strip() for line in names if line.split("#")[0].strip()]
    assert len(wanted) == len(entries(recorded("11.1"))) == len(entries(recorded("10.16")))
    assert "not declared" not in recorded("11.1") + recorded("10.16")


@pytest.mark.parametrize(
    ("defines", "output"),
    [
        (["PLUGINKIT_TRT_LAYOUT=9"], "PLUGINKIT_TRT_LAYOUT must be 8"),
        (["PLUGINKIT_TRT_LAYOUT=8", "PLUGINKIT_TRT_MINOR=7"], "PLUGINKIT_TRT_MINOR must be 5 or 6 in layout 8"),
        (["PLUGINKIT_TRT_LAYOUT=10", "PLUGINKIT_TRT_MINOR=2"], "PLUGINKIT_TRT_MINOR must be from 3 to 16"),
        (["PLUGINKIT_TRT_LAYOUT=10", "PLUGINKIT_TRT_MINOR=17"], "PLUGINKIT_TRT_MINOR must be from 3 to 16"),
        (["PLUGINKIT_TRT_MINOR=3"], "PLUGINKIT_TRT_MINOR chooses a minor of TensorRT 8 or 10 only"),
    ],
)
def test_an_unknown_version_is_refused(defines: list[str], output: str) -> None:
    command = ["g++", "-fsyntax-only", "-x", "c++", f"-I{INCLUDE}", *(f"-D{one}" for one in defines), "-"]
    done = subprocess.run(command, input="#include <NvInfer.h>\n", capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert output in done.stderr


# Each: the file, what is replaced and by what. The dump must then differ in every version.
MUTATIONS = {
    "a member of another type": ("NvInferPluginBase.h", "    int32_t nbFields{};", "    int64_t nbFields{};"),
    "two methods swapped": (
        "NvInferRuntimePlugin.h",
        "    virtual int32_t initialize() noexcept = 0;\n    virtual void terminate() noexcept = 0;\n",
        "    virtual void terminate() noexcept = 0;\n    virtual int32_t initialize() noexcept = 0;\n",
    ),
    "an enumerator's value": ("NvInferRuntimeBase.h", "    kHALF = 1,", "    kHALF = 12,"),
    "an interface's version": (
        "NvInferRuntime.h", '{"PLUGIN_V3ONE_BUILD", 1, 0}', '{"PLUGIN_V3ONE_BUILD", 2, 0}',
    ),
    "the other layout's registry": (
        "NvInferRuntimeCommon.h",
        "#if PLUGINKIT_TRT_LAYOUT <= 10\n    virtual bool registerCreator(",
        "#if PLUGINKIT_TRT_LAYOUT == 11\n    virtual bool registerCreator(",
    ),
    "a method that may throw": (
        "NvInferRuntimeCommon.h",
        "    virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;",
        "    virtual void setErrorRecorder(IErrorRecorder* recorder) = 0;",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mistake_in_a_header_is_found(name: str, tmp_path: Path) -> None:
    file, old, new = MUTATIONS[name]
    unseen = {"8.5", "8.6"} if "V3ONE" in old else set()  # what they have not
    include = tmp_path / "include"
    include.mkdir()
    for header in INCLUDE.glob("NvInfer*.h"):
        shutil.copy(header, include)
    (include / "pluginkit").symlink_to(INCLUDE / "pluginkit")
    text = (include / file).read_text()
    assert old in text
    (include / file).write_text(text.replace(old, new))
    for version, defines in VERSIONS.items():
        if version not in unseen:
            assert not same(version, dump(include, *defines)), version
