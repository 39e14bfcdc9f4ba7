"""`pluginkit convert`: the same layer before and after, and its old bytes."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from pluginkit import build, cli, layouts, scaffold
from pluginkit.dtypes import DType
from pluginkit.host import Context, Finding, Library, TensorSpec
from pluginkit.host import build as build_layer
from pluginkit.host.bases.v3.plugin import KeptField
from pluginkit.manifest import Manifest
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.testing.report import Outcome
from tests import classes

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
    """`converted(base)`: converted to v3 and built once."""

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
        assert scaffold.convert(project, "v3") == project / "pluginkit.toml"
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
    assert {name for name in done.after if done.after[name] != done.before.get(name)} == {"pluginkit.toml"}
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
        state = converted("dynamic").answers[DType.FLOAT32][0]
        for bytes_ in (damage, state[:-1], state + b"\0", b"\1" + state[1:]):
            with pytest.raises(Finding, match="answered null"):
                loaded.creators[0].restore_v3("layer", [KeptField(STATE, CHAR, len(bytes_), bytes_)])


def test_what_cannot_be_converted_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ins, outs = ["x:float32:n,c"], ["y:float32:n,c:alias=x"]
    project = scaffold.new("MyPlugin", directory=tmp_path, base="v3", inputs=ins, outputs=outs)
    before = files(project)
    for to, message in (
        ("dinamic", "There is no base 'dinamic'; did you mean 'dynamic'?"),
        ("v3", "MyPlugin is an IPluginV3 already."),
        ("dynamic", "only base v3 has aliases"),
        (
            "dynamic,v3",
            "only base v3 has aliases (NvInferRuntime.h, IPluginV3OneBuildV2::getAliasedInput); this plugin is",
        ),
        ("dynamic,ioext", "A layer can't be dynamic and ioext together."),
    ):
        assert cli.run(["convert", str(project), "--to", to]) == 2
        assert message in " ".join(capsys.readouterr().err.split())
    assert files(project) == before
    old = classes.project(tmp_path / "old")
    before = files(old)
    assert cli.run(["convert", str(old), "--to", "v3"]) == 2
    assert "derives from no pluginkit::Layer" in capsys.readouterr().err
    assert files(old) == before


def test_a_manifest_without_a_base_gets_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = made(tmp_path)
    file = project / "pluginkit.toml"
    file.write_text(file.read_text().replace('base = "dynamic"\n', ""))
    assert cli.run(["convert", str(project), "--to", "ioext"]) == 2, "its profiles are of open shapes"
    assert cli.run(["convert", str(project), "--to", "v3"]) == 0
    assert "now: MyPlugin is an IPluginV3." in capsys.readouterr().out
    assert Manifest.load(project).plugin.base == "v3"


def test_to_both_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = made(tmp_path)
    before = files(project)
    assert cli.run(["convert", str(project), "--to", "v3,dynamic"]) == 0
    said = capsys.readouterr().out
    assert (
        'has base = ["dynamic", "v3"] now: MyPlugin is an IPluginV3, and with TensorRT 8 an IPluginV2DynamicExt' in said
    )
    plugin = Manifest.load(project).plugin
    assert (plugin.interfaces, plugin.base) == (("dynamic", "v3"), "v3")
    assert [plugin.base_in(one) for one in layouts.LAYOUTS] == ["v3", "v3", "dynamic"]
    assert cli.run(["convert", str(project), "--to", "dynamic,v3"]) == 2
    assert cli.run(["convert", str(project), "--to", "dynamic"]) == 0
    assert files(project) == before
