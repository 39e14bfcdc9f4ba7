"""`pluginkit update`: today's template comes in, and nothing of a person's is lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pluginkit import cli, scaffold
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.scaffold import generated, origin, template
from pluginkit.scaffold.generated import FILE_NAME, Generated
from pluginkit.scaffold.project import write

KERNEL = "src/my_plugin_kernel.cu"
LOOP = "templates/kernels/loop.cu"
TOML = "pluginkit.toml"
Old = Callable[[str], Path]


def files(project: Path) -> dict[str, str]:
    return {
        path.relative_to(project).as_posix(): path.read_text() for path in sorted(project.rglob("*")) if path.is_file()
    }


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} in {path}"
    path.write_text(text.replace(old, new))


def changes(done: scaffold.Update) -> dict[str, str]:
    return {change.path.relative_to(done.project).as_posix(): change.what for change in done.changes}


@pytest.fixture
def tomorrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a later template: one line of the kernel is another one, one file is new, one is gone."""
    folder = shutil.copytree(template.PROJECT, tmp_path / "later")
    (files_,) = folder.glob("@*")
    edit(folder / LOOP, "kThreads = 256", "kThreads = 128")
    (files_ / "NEWS.md").write_text("New in @{ cookiecutter.name }@\n")
    (files_ / ".gitignore").unlink()
    monkeypatch.setattr(template, "PROJECT", folder)
    monkeypatch.setattr(template, "_OF_THE_LIBRARY", tuple(n for n in template._OF_THE_LIBRARY if n != ".gitignore"))
    return files_


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Made today, or before `tomorrow` came."""
    return scaffold.new("MyPlugin", directory=tmp_path, kernel="loop")


@pytest.mark.parametrize("base", ["dynamic", "v3", "ioext"])
def test_an_old_project_that_nobody_edited_becomes_one_of_today(old: Old, base: str, tmp_path: Path) -> None:
    project = old(base)
    manifest = files(project)["pluginkit.toml"]
    done = scaffold.update(project)
    assert set(changes(done).values()) == {"updated"}
    assert done.worked_out == (project,)
    # New projects have other sizes since.
    today = files(write(manifest, tmp_path / "today", kernel="loop"))
    del today["pluginkit.toml"]
    now = files(project)
    assert now.pop("pluginkit.toml") == manifest, "it is the person's: left alone"
    assert {**now, FILE_NAME: ""} == {**today, FILE_NAME: ""}
    again = scaffold.update(project)
    assert (again.changes, again.worked_out) == ((), ())


@pytest.mark.parametrize("base", ["dynamic", "v3", "ioext"])
def test_an_old_project_with_edits_is_merged(old: Old, base: str) -> None:
    project = old(base)
    edit(project / "src" / "entry.cpp", "#include <pluginkit", "// Mine.\n#include <pluginkit")
    edit(project / KERNEL, "sum : ", "2.0F * sum : ")
    edit(project / ".github" / "workflows" / "ci.yml", "on:\n  push:\n", "on:\n  push:\n    branches: [main]\n")
    before = files(project)
    done = scaffold.update(project)
    output = changes(done)
    assert output["src/entry.cpp"] == output[".github/workflows/ci.yml"] == "merged"
    assert KERNEL not in output, "the template's kernel is the same: the person's stays as it is"
    now = files(project)
    assert "// Mine.\n#include" in now["src/entry.cpp"]
    ci = now[".github/workflows/ci.yml"]
    assert "branches: [main]" in ci
    assert "pluginkit[pytest,rtx]" in ci
    assert now[KERNEL] == before[KERNEL]
    assert now["src/entry.cpp.orig"] == before["src/entry.cpp"]
    assert scaffold.update(project).changes == ()


def test_an_old_project_with_an_added_plugin(old: Old) -> None:
    """As `add` wrote it then: no file that says what was generated, in either folder."""
    project = old("dynamic")
    scaffold.add("Shift", project=project, kernel="loop")
    (project / "plugins" / "shift" / FILE_NAME).unlink()
    done = scaffold.update(project)
    assert done.worked_out == (project, project / "plugins" / "shift")
    assert "shift_plugin::ShiftCreator" in (project / "src" / "entry.cpp").read_text()
    assert not (project / "plugins" / "shift" / "CMakeLists.txt").exists()
    assert scaffold.update(project).changes == ()


def test_a_later_template_comes_in(project: Path, tomorrow: Path) -> None:
    done = scaffold.update(project)
    assert changes(done) == {KERNEL: "updated", "NEWS.md": "added", ".gitignore": "removed"}
    now = files(project)
    assert "kThreads = 128" in now[KERNEL]
    assert now["NEWS.md"] == "New in MyPlugin\n"
    assert ".gitignore" not in now
    assert not any(".orig" in name for name in now), "nothing of a person's was changed"
    assert changes(scaffold.update(project)) == {}


def test_edits_of_other_lines_are_merged(project: Path, tomorrow: Path) -> None:
    edit(project / KERNEL, "float sum = 0.0F", "float sum = 1.0F")
    (project / KERNEL).chmod(0o755)
    before = (project / KERNEL).read_text()
    assert changes(scaffold.update(project))[KERNEL] == "merged"
    text = (project / KERNEL).read_text()
    assert "float sum = 1.0F" in text
    assert "kThreads = 128" in text
    assert (project / KERNEL).stat().st_mode & 0o777 == 0o755
    assert (project / f"{KERNEL}.orig").read_text() == before


def test_a_conflict_is_shown_and_waits_for_a_person(
    project: Path, tomorrow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(project / KERNEL, "kThreads = 256", "kThreads = 512")
    before = (project / KERNEL).read_text()
    at = before.splitlines().index("constexpr uint32_t kThreads = 512;") + 1
    assert cli.run(["update", str(project)]) == 1
    out = capsys.readouterr().out
    assert f"lines {at}-{at + 4}; yours is kept as my_plugin_kernel.cu.orig" in out
    text = (project / KERNEL).read_text()
    mine, theirs = "constexpr uint32_t kThreads = 512;\n", "constexpr uint32_t kThreads = 128;\n"
    assert f"<<<<<<< yours\n{mine}=======\n{theirs}>>>>>>> pluginkit " in text
    assert (project / f"{KERNEL}.orig").read_text() == before
    marked = files(project)
    assert cli.run(["update", str(project)]) == 1, "nothing to do, but a conflict to resolve"
    assert f"Not resolved yet: {KERNEL}:{at}" in capsys.readouterr().out
    assert files(project) == marked
    (project / KERNEL).write_text(before.replace(mine, theirs))
    assert cli.run(["update", str(project)]) == 0


def test_a_second_update_over_an_open_conflict_writes_nothing(project: Path, tomorrow: Path) -> None:
    edit(project / KERNEL, "kThreads = 256", "kThreads = 512")
    scaffold.update(project)
    edit(tomorrow.parent / LOOP, "kThreads = 128", "kThreads = 64")
    before = files(project)
    with pytest.raises(UsageError, match="not resolved yet"):
        scaffold.update(project)
    assert files(project) == before


def test_files_that_a_person_has_removed_or_made(project: Path, tomorrow: Path) -> None:
    (project / KERNEL).unlink()
    (project / "NEWS.md").write_text("Mine\n")
    edit(project / ".gitignore", "/build/\n", "/build/\n*.onnx\n")
    done = scaffold.update(project)
    assert changes(done) == {KERNEL: "left out", "NEWS.md": "conflict", ".gitignore": "kept"}
    assert not (project / KERNEL).exists()
    assert "*.onnx" in (project / ".gitignore").read_text()
    assert (project / "NEWS.md.orig").read_text() == "Mine\n"
    assert "Mine\n" in (project / "NEWS.md").read_text()


def test_a_file_kept_before_is_never_overwritten(project: Path, tomorrow: Path) -> None:
    edit(project / KERNEL, "float sum = 0.0F", "float sum = 1.0F")
    (project / f"{KERNEL}.orig").write_text("precious")
    scaffold.update(project)
    assert (project / f"{KERNEL}.orig").read_text() == "precious"
    assert "float sum = 1.0F" in (project / f"{KERNEL}.orig2").read_text()


def test_the_manifest_is_the_persons(project: Path, tomorrow: Path) -> None:
    """The signature was changed by hand, in the manifest and in the code: the template's changes alone come in."""
    edit(project / "pluginkit.toml", "default = 0.5", "default = 0.25")
    edit(project / "src" / "my_plugin_kernel.h", "float alpha{0.5F};", "float alpha{0.25F};")
    before = files(project)
    assert changes(scaffold.update(project)) == {KERNEL: "updated", "NEWS.md": "added", ".gitignore": "removed"}
    now = files(project)
    assert all(now[name] == before[name] for name in ("pluginkit.toml", "src/my_plugin_kernel.h"))


@pytest.mark.parametrize(("option", "code"), [("--dry-run", 0), ("--check", 1)])
def test_looking_writes_nothing(
    option: str, code: int, project: Path, tomorrow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(project / KERNEL, "kThreads = 256", "kThreads = 512")
    before = files(project)
    assert cli.run(["update", str(project), option]) == code
    assert files(project) == before
    out = capsys.readouterr().out
    assert "conflict" in out
    assert "NEWS.md" in out
    assert "Nothing was written." in out


def test_up_to_date(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(project / KERNEL, "kThreads = 256", "kThreads = 512")
    assert cli.run(["update", str(project), "--check"]) == 0
    assert "is up to date with pluginkit" in capsys.readouterr().out


def test_an_added_plugin_is_updated_too(project: Path, tomorrow: Path) -> None:
    scaffold.add("Shift", project=project, kernel="loop")
    edit(project / "plugins" / "shift" / "src" / "shift_kernel.cu", "float sum = 0.0F", "float sum = 1.0F")
    edit(tomorrow.parent / LOOP, "kThreads = 128", "kThreads = 64")
    done = changes(scaffold.update(project))
    assert done["plugins/shift/src/shift_kernel.cu"] == "merged"
    assert not [name for name in done if name.startswith("plugins/") and name.endswith((".github", "entry.cpp"))]
    assert "shift_plugin::ShiftCreator" in (project / "src" / "entry.cpp").read_text()


def test_a_converted_project_is_updated_as_one(old: Old, tomorrow: Path) -> None:
    project = old("dynamic")
    scaffold.update(project)
    scaffold.convert(project)
    assert scaffold.update(project).changes == ()
    kept = origin.load(project)
    assert kept.restores_v2 == 1
    assert Manifest.parse(kept.files["pluginkit.toml"], "").plugin.base == "v3"
    edit(tomorrow.parent / LOOP, "kThreads = 128", "kThreads = 64")
    assert changes(scaffold.update(project)) == {KERNEL: "updated"}
    assert "restoreV2" in (project / "src" / "my_plugin.cpp").read_text()


def test_an_old_project_is_converted(old: Old) -> None:
    """Nobody has edited its class, though its lines were broken by another rule than today's."""
    project = old("dynamic")
    assert scaffold.convert(project).edited == ""
    assert scaffold.update(project, dry_run=True).worked_out == (), "it is kept from here on"
    (project / FILE_NAME).unlink()
    again = origin.load(project)
    assert (again.restores_v2, again.restores_static) == (1, False)
    assert {change.what for change in scaffold.update(project).changes} <= {"updated"}


def test_a_failing_write_takes_everything_back(project: Path, tomorrow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, replace, count = files(project), Path.replace, 0

    def fails(path: Path, target: Path) -> Path:
        nonlocal count
        count += 1
        if count == 3:
            raise OSError(28, "No space left on device")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(UsageError, match="No space left on device; nothing was changed"):
        scaffold.update(project)
    assert count == 3
    assert files(project) == before


def packed(found: dict[str, object]) -> list[str]:
    text = generated.dumps(Generated(found))  # type: ignore[arg-type]
    return json.loads(text)["files"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"schema": 2}, "is of schema version 2"),
        ({"schema": "one"}, "is damaged"),
        ({"files": ["AAAA"]}, "is damaged"),
        ({"files": ["no base64!"]}, "is damaged"),
        ({"files": 7}, "is damaged"),
        ({"files": packed({TOML: "", "../evil": "x"})}, "its files are not a project's"),
        ({"files": packed({TOML: "", "/etc/evil": "x"})}, "its files are not a project's"),
        ({"files": packed({"README.md": "no manifest"})}, "its files are not a project's"),
        ({"files": packed({TOML: "", "a": 7})}, "its files are not a project's"),
        ({"files": packed({TOML: "", "huge": "x" * 17 * 2**20})}, "is damaged"),
    ],
)
def test_a_damaged_file_is_said_and_nothing_is_written(project: Path, changed: dict[str, object], message: str) -> None:
    path = project / FILE_NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    before = files(project)
    with pytest.raises(UsageError, match=message):
        scaffold.update(project)
    assert files(project) == before


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\x00"])
def test_text_that_is_no_such_file(project: Path, text: str) -> None:
    (project / FILE_NAME).write_text(text)
    assert cli.run(["update", str(project)]) == 2


def test_a_folder_that_is_no_project_of_pluginkits(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["update", str(tmp_path)]) == 2
    assert cli.run(["update", str(tmp_path / "nowhere")]) == 2
    assert "There is no" in (output := capsys.readouterr().err)
    assert "nowhere" in output
    (project / FILE_NAME).unlink()
    shutil.rmtree(project / "src")
    with pytest.raises(UsageError, match="this is no project as `pluginkit new` lays it out"):
        scaffold.update(project)
    (project / "src").mkdir()
    assert not list((project / "src").iterdir())
