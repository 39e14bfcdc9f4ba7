"""`pluginkit add`: what it writes, what it refuses, and that it leaves nothing half-written."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit import cli, scaffold
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.manifest.project import members, root
from pluginkit.scaffold import insert

HEADER, CREATOR = "../plugins/shift/src/shift.h", "pluginkit::Creator<shift_plugin::Shift>"
SOURCES = ["plugins/shift/src/shift.cu"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return scaffold.new("Scale", directory=tmp_path, inputs=["x:float32:n,c"])


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
    }


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_it_writes_a_folder_and_changes_two_files(project: Path) -> None:
    before = files(project)
    done = scaffold.add("Shift", project=project, base="v3", inputs=["a:float32:n"], namespace="acme", version="7")
    after = files(project)
    assert {name for name in after if after[name] != before.get(name)} == {
        "CMakeLists.txt", "plugins", "plugins/shift", "plugins/shift/README.md", "plugins/shift/pluginkit.toml",
        "plugins/shift/reference.py", "plugins/shift/src", "plugins/shift/src/shift.cu", "plugins/shift/src/shift.h",
        "plugins/shift/tests", "plugins/shift/tests/test_shift.py", "src/scale.cpp",
    }  # fmt: skip
    assert done.changed == (project / "CMakeLists.txt", project / "src" / "scale.cpp")
    plugin = Manifest.load(project / "plugins" / "shift").plugin
    assert (plugin.name, plugin.base, plugin.namespace, plugin.version) == ("Shift", "v3", "acme", "7")
    assert (
        "PLUGINKIT_PLUGINS(Scale, pluginkit::Creator<scale_plugin::Scale>, pluginkit::Creator<shift_plugin::Shift>)"
        in (project / "src" / "scale.cpp").read_text()
    )
    assert "".join(f"\n        {one}" for one in SOURCES) + ")\n" in (project / "CMakeLists.txt").read_text()
    assert [one.name for one in members(project)] == ["Scale", "Shift"]
    assert [one.name for one in members(project / "plugins" / "shift")] == ["Shift"]
    assert root(project / "plugins" / "shift") == project


def test_a_third_one_and_from_an_added_plugins_folder(project: Path) -> None:
    first = scaffold.add("Shift", project=project)
    done = scaffold.add("ClampToZero", project=first.folder, base="ioext")
    assert done.folder == project / "plugins" / "clamp_to_zero"
    assert [one.name for one in members(project)] == ["Scale", "ClampToZero", "Shift"]
    entry = (project / "src" / "scale.cpp").read_text()
    assert re.findall('#include "(.*)"', entry) == [
        "../plugins/clamp_to_zero/src/clamp_to_zero.h",
        HEADER,
        "scale_signature.h",
    ]
    assert max(map(len, entry.splitlines())) <= 120


def test_a_project_in_the_folder_is_no_added_plugin(project: Path) -> None:
    other = scaffold.new("Other", directory=project / "plugins")
    assert [one.name for one in members(project)] == ["Scale"]
    assert root(other) == other


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Scale"], "the library has a plugin Scale already (version 1)"),
        (["Scale", "--version", "2"], "the library has a plugin Scale already (version 1)"),
        (["scale"], "files of both would be called scale"),
        (["ScalePlugin"], "its C++ namespace, scale_plugin, is that of Scale"),
        (["Shift", "--base", "V3"], "There is no base 'V3'; did you mean 'v3'?"),
        (["Shift", "--base", "dynmic"], "There is no base 'dynmic'; did you mean 'dynamic'?"),
        (["2Shift"], "not a C++ identifier"),
        (["Shift", "--input", "x:float23:n"], "did you mean 'float32'?"),
        (["Shift", "--field", "a:float32", "--no-fields"], "contradict each other"),
        (["Taken"], "exists already"),
    ],
)
def test_what_is_refused_changes_nothing(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (project / "plugins" / "taken").mkdir(parents=True)
    before = files(project)
    assert cli.run(["add", "--project", str(project), *arguments]) == 2
    output = capsys.readouterr().err
    assert message in " ".join(output.split())
    assert "Traceback" not in output
    assert files(project) == before


def test_outside_of_a_project(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no pluginkit\.toml in .*"):
        scaffold.add("Shift", project=tmp_path)
    assert not list(tmp_path.iterdir())


def test_two_that_a_person_has_put_there_alike(project: Path) -> None:
    folder = scaffold.add("Shift", project=project).folder
    shutil.copytree(folder, folder.with_name("again"))
    with pytest.raises(UsageError, match=r"again.*pluginkit\.toml|shift.*pluginkit\.toml"):
        members(project)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("src/scale.cpp", "PLUGINKIT_PLUGINS(", "#if MINE\n#endif\nPLUGINKIT_PLUGINS("),
        ("src/scale.cpp", "PLUGINKIT_PLUGINS(Scale, pluginkit::Creator<scale_plugin::Scale>)", "MY_PLUGINS"),
        ("src/scale.cpp", "pluginkit::Creator<scale_plugin::Scale>)", "ONE(Scale))"),
        ("src/scale.cpp", '#include "scale_signature.h"', "#include <scale_signature.h>"),
        ("CMakeLists.txt", "pluginkit_add_plugin(scale", "pluginkit_add_plugin(${name}"),
        ("CMakeLists.txt", "pluginkit_add_plugin(scale", "if(MINE)\npluginkit_add_plugin(scale"),
        ("CMakeLists.txt", "    NAME Scale\n    SOURCES", "    SOURCES"),
    ],
)
def test_where_a_line_cannot_be_inserted_it_says_what_to_write(project: Path, file: str, old: str, new: str) -> None:
    path = project / file
    edit(path, old, new)
    if "NAME" in old:
        edit(path, "scale.cu)", "scale.cu\n    NAME Scale)")
    before = files(project)
    with pytest.raises(UsageError, match=rf"{file} of .* is not as `pluginkit new` writes them") as caught:
        scaffold.add("Shift", project=project)
    assert files(project) == before
    wanted = [HEADER, CREATOR] if file.endswith(".cpp") else SOURCES
    assert all(word in caught.value.hint for word in wanted)


def test_lines_that_were_written_by_hand_are_left_as_they_are(project: Path) -> None:
    cmake, entry = project / "CMakeLists.txt", project / "src" / "scale.cpp"
    edit(cmake, "SOURCES\n", f"SOURCES {' '.join(SOURCES)} # mine\n")
    edit(entry, "Scale, ", f"Scale, {CREATOR}, ")
    edit(entry, '"scale_signature.h"\n', f'"scale_signature.h"\n#include "{HEADER}"\n')
    before = cmake.read_text(), entry.read_text()
    assert scaffold.add("Shift", project=project).changed == ()
    assert (cmake.read_text(), entry.read_text()) == before


@pytest.mark.parametrize("failing", [1, 2])
def test_a_file_that_cannot_be_written_leaves_all_as_it_was(
    project: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    before, done = files(project), []

    def replace(source: Path, target: Path) -> Path:
        done.append(target)
        if len(done) == failing:
            raise PermissionError(13, "Permission denied")
        return source.rename(target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace)
        with pytest.raises(UsageError, match="cannot be written: Permission denied; nothing was changed"):
            scaffold.add("Shift", project=project)
    assert len(done) == failing
    assert files(project) == before


def test_an_interruption_leaves_all_as_it_was(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(project)

    def replace(source: Path, target: Path) -> Path:
        if target.name == "scale.cpp":
            raise KeyboardInterrupt
        return source.rename(target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            scaffold.add("Shift", project=project)
    assert files(project) == before


def test_comments_and_strings_are_not_code() -> None:
    text = (
        '// PLUGINKIT_PLUGINS(No, no::One)\n#include "a.h"\n/* PLUGINKIT_PLUGINS(No) */\n'
        'char const* kWord = "PLUGINKIT_PLUGINS(x)";\nPLUGINKIT_PLUGINS(A,\n                  a::Creator /* mine */)\n'
    )
    new = insert.creator(text, "b.h", "b::Creator")
    assert new == text.replace('"a.h"\n', '"a.h"\n#include "b.h"\n').replace("a::Creator", "a::Creator, b::Creator")
    cmake = "# pluginkit_add_plugin(no)\npluginkit_add_plugin(a NAME A SOURCES\n  a.cpp # mine :)\n  # the end\n)\n"
    assert insert.sources(cmake, "a", ["b.cpp"]) == cmake.replace(":)\n", ":)\n  b.cpp\n")


@given(
    st.text(alphabet='PLUGINKIT_(),:;"/*\n #ifab.h', max_size=80),
    st.text(alphabet='pluginkit_add(aSOURCES)#\n" ', max_size=80),
)
def test_whatever_stands_there_is_kept(cpp: str, cmake: str) -> None:
    entry = f'#include "a.h"\n{cpp}\nPLUGINKIT_PLUGINS(A, a::Creator)\n'
    new = insert.creator(entry, "b.h", "b::Creator")
    if new is not None:
        assert new.replace('#include "b.h"\n', "", 1).replace(", b::Creator", "", 1) == entry
    lists = f"{cmake}\npluginkit_add_plugin(a NAME A SOURCES a.cpp)\n{cmake}"
    made = insert.sources(lists, "a", ["b.cpp"])
    if made is not None:
        assert made.replace("\n        b.cpp", "", 1) == lists
