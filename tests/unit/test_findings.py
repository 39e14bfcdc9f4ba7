"""Lines that a library appends, as findings with a place in the project's sources."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import pluginkit
from pluginkit.process.defects import KINDS, SHOWN, describe, describe_all
from pluginkit.process.findings import Defect, Findings, Frame, parse_addr2line, unique
from tests.compilers import default_cxx

RACE = {"kind": "race", "text": "two writes.", "kernel": "softmax", "block": [1, 0, 0], "thread": [31, 0, 0]}


def findings(folder: Path, *records: object) -> Findings:
    found = Findings(folder / "findings", folder)
    append(found, *records)
    return found


def append(found: Findings, *records: object) -> None:
    with found.file.open("a", encoding="utf-8") as file:
        file.writelines((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records)


def test_none_are_none(tmp_path: Path) -> None:
    assert Findings(tmp_path / "findings", tmp_path).take() == ()


def test_each_is_taken_once(tmp_path: Path) -> None:
    found = findings(tmp_path, RACE)
    (one,) = found.take()
    assert one == Defect("race", "two writes.", "softmax", (1, 0, 0), (31, 0, 0))
    assert found.take() == ()
    append(found, {**RACE, "kernel": "norm"})
    assert [one.kernel for one in found.take()] == ["norm"]


def test_a_place_is_relative_to_the_project(tmp_path: Path) -> None:
    source = tmp_path / "src" / "x.cu"
    found = findings(
        tmp_path, {**RACE, "file": str(source), "line": 4}, {**RACE, "file": "/usr/include/y.h", "line": 5}
    )
    assert [one.place for one in found.take()] == ["src/x.cu:4", "/usr/include/y.h:5"]


def test_what_is_of_pluginkit_is_no_place(tmp_path: Path) -> None:
    file = pluginkit.include_dir() / "pluginkit" / "cpu" / "kernel.h"
    (one,) = findings(tmp_path, {**RACE, "file": str(file), "line": 4}).take()
    assert one.place == ""


def test_the_same_place_counts(tmp_path: Path) -> None:
    at = {**RACE, "file": "x.cu", "line": 4}
    first, second = findings(tmp_path, at, {**at, "thread": [7, 0, 0], "text": "other"}, {**at, "line": 5}).take()
    assert (first.count, first.thread, second.count) == (2, (31, 0, 0), 1)
    assert unique([first, first])[0].count == 4


def test_a_line_that_is_no_finding_is_shown(tmp_path: Path) -> None:
    found = findings(tmp_path, "what a plugin wrote", '{"kind": "race"', "[1]").take()
    assert [one.kind for one in found] == ["other"] * 3
    assert found[0].text == "what a plugin wrote"


def test_addr2lines_answers() -> None:
    output = (
        "0x0000000000001234\nfloat load<float>(float const*)\n/p/src/x.cu:4 (discriminator 2)\n"
        "kernel\n/p/src/x.cu:20\n0x0000000000000001\n??\n??:0\n0x0000000000000002\nmain\n/p/y.cpp:?\n"
    )
    assert parse_addr2line(output) == [
        [Frame("/p/src/x.cu", 4, "float load<float>(float const*)"), Frame("/p/src/x.cu", 20, "kernel")],
        [],
        [Frame("/p/y.cpp", 0, "main")],
    ]


def test_the_innermost_frame_in_the_project_is_the_place(tmp_path: Path) -> None:
    project, foreign = tmp_path / "project", tmp_path / "foreign"
    for folder in (project, foreign):
        folder.mkdir()
    (foreign / "head.h").write_text(
        '__attribute__((noinline)) inline void ends() { asm volatile(""); }\n'
        '__attribute__((always_inline)) inline void inner() {\n    ends();\n    asm volatile("nop");\n}\n'
    )
    (project / "x.cpp").write_text('#include "head.h"\nextern "C" void outer()\n{\n    inner();\n}\n')
    library = project / "x.so"
    subprocess.run(
        [default_cxx(), "-g", "-O1", "-shared", "-fPIC", f"-I{foreign}", "-o", library, project / "x.cpp"], check=True
    )
    listing = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    (start,) = [int(line.split()[0], 16) for line in listing.splitlines() if line.endswith(" T outer")]
    code = subprocess.run(
        ["objdump", "-d", f"--start-address={start}", library], check=True, capture_output=True, text=True
    ).stdout
    (after,) = [int(line.split(":")[0], 16) for line in code.splitlines() if line.endswith("\tnop")][:1]
    record = {**RACE, "library": str(library), "offset": after, "other_offset": after}
    (one,) = findings(project, record).take()
    assert (one.place, one.other) == ("x.cpp:4", "x.cpp:4")


def test_lines_that_cannot_be_looked_up_are_said_to_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    at, with_file = {**RACE, "library": "lib.so", "offset": 64}, {**RACE, "file": "x.cu", "line": 4}
    lost, found = findings(tmp_path, at, {**with_file, "library": "lib.so", "offset": 64}).take()
    assert lost.text.startswith("two writes. (Without its line: addr2line is missing here")
    assert (found.place, found.text) == ("x.cu:4", "two writes.")


def test_words_for_a_person() -> None:
    one = Defect("race", "two writes.", "softmax", (1, 0, 0), (31, 0, 0), "src/x.cu:4", "store", "src/x.cu:9", 3)
    assert describe(one).splitlines() == [
        "a data race: two writes.",
        "  in kernel softmax, block (1, 0, 0), thread (31, 0, 0)",
        "  at src/x.cu:4, in store",
        "  and at src/x.cu:9",
        "  found 3 times; this is the first",
        f"  fix: {KINDS['race'][1]}",
    ]


def test_a_kind_that_this_pluginkit_does_not_know() -> None:
    assert describe(Defect("new-kind", "something")) == "new kind: something"


@pytest.mark.parametrize("address", ["(nil)", "0x0", "0x40", "0xfffc"])
def test_a_null_pointer_is_one_and_a_workspace_that_nobody_asked_for_is_said(address: str) -> None:
    one = Defect("invalid-address", f"the thread touches {address}, which is not memory of the process.")
    assert describe(one).startswith("a null pointer is used: the thread touches")
    assert "which of the pointers" in describe(one, 128)
    assert "getWorkspaceSize() answered 0" in describe_all([one], 0)
    assert "size" not in describe(one).partition("fix:")[2], "there is no index to compare"


def test_other_addresses_are_beyond_an_array() -> None:
    for text in ("the thread touches 0x10000, which is not memory of the process.", "something has written beside it"):
        assert "Compare the index with the size" in describe(Defect("invalid-address", text), 0)


def test_many_are_not_all_told() -> None:
    text = describe_all([Defect("race", f"number {i}") for i in range(SHOWN + 2)])
    assert text.endswith("... and 2 more findings; --json FILE has them all.")
    assert f"number {SHOWN}" not in text


def test_a_launch_is_at_its_caller_not_in_what_nvcc_makes_of_it(tmp_path: Path) -> None:
    found = Findings(tmp_path / "findings", tmp_path)
    stub, caller = Frame("k.cu", 3, "void ns::k<float>(float*)"), Frame("k.cu", 40, "launch(int)")
    found._frames = {("lib.so", 1): [], ("lib.so", 2): [stub], ("lib.so", 3): [caller]}
    append(
        found, {"kind": "wrong-stream", "text": "t", "kernel": "k<float>", "library": "lib.so", "offsets": [1, 2, 3]}
    )
    append(found, {"kind": "wrong-stream", "text": "u", "kernel": "", "library": "lib.so", "offsets": [1, 2, 3]})
    assert [one.place for one in found.take()] == ["k.cu:40", "k.cu:3"]
