"""`pluginkit convert --to v3`: the same plugin before and after, its old bytes, and nobody's work lost."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from pluginkit import build, cli, scaffold
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.host import Context, Library, TensorSpec
from pluginkit.host import build as build_layer
from pluginkit.host.bases.v3.plugin import KeptField
from pluginkit.manifest import Manifest
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.testing.report import Outcome

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("convert")]

SPECS = {
    DType.FLOAT32: TensorSpec(DType.FLOAT32, (-1, 3), (1, 3), (2, 3), (4, 3)),
    DType.INT8: TensorSpec(DType.INT8, (-1, 3), (1, 3), (2, 3), (4, 3), 0.5),
}
FIELDS = {"alpha": (DType.FLOAT32, 0.25), "x_scale": (DType.FLOAT32, 0.5), "y_scale": (DType.FLOAT32, 0.25)}
STATE = "pluginkit_v2_state"
CHAR = 6


def made(folder: Path, base: str = "dynamic") -> Path:
    return scaffold.new("MyPlugin", directory=folder, inputs=["x:float32,float16,int8:n,c"], base=base)


def files(project: Path) -> dict[str, str]:
    return {
        str(path.relative_to(project)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(project.rglob("*"))
        if path.is_file() and "build" not in path.relative_to(project).parts
    }


def numbers(dtype: DType) -> np.ndarray:
    return (np.arange(6).reshape(2, 3) * 7 - 20).astype(dtype.numpy)


@dataclass(frozen=True)
class Converted:
    """A project before and after: its files, what the old plugin serialized and answered, and the new one's library."""

    project: Path
    before: dict[str, str]
    after: dict[str, str]
    answers: dict[DType, tuple[bytes, list[np.ndarray]]]
    library: Path


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Converted]:
    """`converted(base)`: converted and built once."""

    @functools.cache
    def convert(base: str) -> Converted:
        project = made(tmp_path_factory.mktemp(base), base)
        before = files(project)
        old = build.build(project, "cpu")[0].library
        saved = project.parent / "old.so"
        saved.write_bytes(old.read_bytes())
        output = {}
        for dtype, spec in SPECS.items():
            fixed = replace(spec, dims=(2, 3), min=(2, 3), opt=(2, 3), max=(2, 3)) if base == "ioext" else spec
            with Library(saved) as library:
                built = build_layer(library.creators[0], "layer", FIELDS, [[fixed]], output_scales=[0.25])
                with Context(library.creators[0], built, [fixed]) as context:
                    output[dtype] = (built.serialized.data, context.run([numbers(dtype)]))
        scaffold.convert(project, "v3")
        return Converted(project, before, files(project), output, build.build(project, "cpu")[0].library)

    return convert


@pytest.mark.parametrize(("base", "families"), [
    ("dynamic", ("plain", "loop-count", "scan", "cond-both", "if-in-loop")),
    ("ioext", ("plain", "loop-count")),
])  # fmt: skip
def test_it_is_green_after_it_and_old_bytes_are_read(
    converted: Callable[[str], Converted], base: str, families: tuple[str, ...]
) -> None:
    done = converted(base)
    changed = {name for name in done.after if done.after[name] != done.before.get(name)}
    assert changed == {".pluginkit.json", "README.md", "pluginkit.toml", "src/my_plugin.cpp", "src/my_plugin.h"}
    assert set(done.after) == set(done.before)
    assert Manifest.load(done.project).plugin.base == "v3"

    report = run(Options(project=done.project, families=families))
    assert {case.outcome for case in report.cases} == {Outcome.PASSED}
    assert {verdict.outcome for verdict in (*report.verdicts, *report.registries)} <= {Outcome.PASSED}
    for dtype, spec in SPECS.items():
        bytes_, outputs = done.answers[dtype]
        with Library(done.library) as library:
            creator = library.creators[0]
            fresh = build_layer(creator, "layer", FIELDS, [[spec]], output_scales=[0.25])
            restored = creator.restore_v3("layer", [KeptField(STATE, CHAR, len(bytes_), bytes_)])
            assert fresh.v3 is not None
            kept = restored.fields_to_serialize()
            assert {field.name for field in kept} == {field.name for field in fresh.v3.kept}
            with Context(creator, replace(fresh, v3=replace(fresh.v3, kept=kept)), [spec]) as context:
                for one, other in zip(context.run([numbers(dtype)]), outputs, strict=True):
                    np.testing.assert_array_equal(one, other)
            restored.destroy()


@pytest.mark.parametrize("damage", [b"", b"\0" * 8, b"garbage, longer than any state of this plugin"])
def test_bytes_that_are_not_the_old_plugins_make_none(converted: Callable[[str], Converted], damage: bytes) -> None:
    with Library(converted("dynamic").library) as loaded:
        native = loaded.creators[0]._native
        assert native.create_v3("layer", [(STATE, CHAR, damage, len(damage))], 1) is None


def test_an_edited_class_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    project = made(tmp_path)
    source = project / "src" / "my_plugin.cpp"
    source.write_text(source.read_text().replace("return 0;", "return 64; // mine", 1))
    before = files(project)
    with pytest.raises(UsageError, match="edited by hand: 2 lines") as caught:
        scaffold.convert(project, "v3")
    assert "--dry-run shows them; --force" in caught.value.hint
    assert files(project) == before


def test_force_keeps_the_edited_files_and_never_overwrites_kept_ones(tmp_path: Path) -> None:
    project = made(tmp_path)
    source = project / "src" / "my_plugin.cpp"
    mine = source.read_text() + "// mine\n"
    source.write_text(mine)
    scaffold.convert(project, "v3", force=True)
    assert (project / "src" / "my_plugin.cpp.v2.orig").read_text() == mine
    assert "IPluginV3" in (project / "src" / "my_plugin.h").read_text()

    again = made(tmp_path / "again")
    (again / "src" / "my_plugin.cpp").write_text(mine)
    (again / "src" / "my_plugin.h.v2.orig").write_text("somebody's")
    before = files(again)
    with pytest.raises(UsageError, match=r"my_plugin\.h\.v2\.orig exists already"):
        scaffold.convert(again, "v3", force=True)
    assert files(again) == before


def test_a_dry_run_shows_a_patch_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = made(tmp_path)
    before = files(project)
    assert cli.run(["convert", str(project), "--to", "v3", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert '-base = "dynamic"' in shown
    assert '+base = "v3"' in shown
    assert files(project) == before


def test_comments_and_order_of_the_manifest_stay(tmp_path: Path) -> None:
    project = made(tmp_path)
    toml = project / "pluginkit.toml"
    toml.write_text(toml.read_text().replace('base = "dynamic"', "base = 'dynamic'  # for TensorRT 8 too"))
    scaffold.convert(project, "v3")
    assert 'base = "v3"  # for TensorRT 8 too' in toml.read_text()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--to", "V3"], "There is no base 'V3'; did you mean 'v3'?"),
        (["--to", "dynamic"], "There is no conversion to dynamic."),
    ],
)
def test_other_targets(tmp_path: Path, capsys: pytest.CaptureFixture[str], args: list[str], message: str) -> None:
    assert cli.run(["convert", str(made(tmp_path)), *args]) == 2
    assert message in capsys.readouterr().err


def test_what_is_no_project_of_ours(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no pluginkit\.toml"):
        scaffold.convert(tmp_path, "v3")
    with pytest.raises(UsageError, match="is an IPluginV3 already"):
        scaffold.convert(made(tmp_path, "v3"), "v3")
    bare = made(tmp_path / "bare")
    (bare / "src" / "my_plugin.h").unlink()
    with pytest.raises(UsageError, match=r"my_plugin\.h does not exist: this is no project"):
        scaffold.convert(bare, "v3")


def test_a_file_that_cannot_be_written_leaves_all_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = made(tmp_path)
    before = files(project)
    renamed: list[str] = []

    def failing(source: Path, target: Path) -> Path:
        renamed.append(str(target))
        if len(renamed) == 3:
            raise PermissionError(13, "Permission denied")
        return source.rename(target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(UsageError, match="cannot be written: Permission denied; nothing was changed"):
        scaffold.convert(project, "v3")
    assert files(project) == before
