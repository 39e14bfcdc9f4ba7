"""Everything that a signature can have is in each place that knows signatures, as the table of docs/project.md says.

What is written of it is looked at, the arrays of `pluginkit bench`, and what the Python module computes; `test_sweep`
and `test_drawn` run the whole matrix of such plugins, which `pluginkit new` and `pluginkit add` write.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pluginkit import scaffold
from pluginkit.bench import runner, values
from pluginkit.bench.cases import cases
from pluginkit.bench.runner import BenchOptions
from pluginkit.build import build
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.testing.reference import Reference
from tests.scaffolds import sweep
from tests.scaffolds.building import in_two_sources

DOCS = Path(__file__).resolve().parents[2] / "docs" / "project.md"
X = "x:float32,float16:n,c"


@dataclass(frozen=True)
class Feature:
    """Something that a signature can have.

    Attributes:
        options: of `pluginkit new`.
        readme: what a project's page says of it.
        rows: which values of the sweep's factors are it.
        apart: or rows of the sweep that have it, apart from its covering array.
        v3: whether only an IPluginV3 has it, so that no project with it can be converted.
        eager: whether the Python module calls it.
        bench: what `pluginkit bench` says of it where it doesn't measure it.
        drawn: whether the generator of docs/fidelity.md draws it (tests/fidelity holds that).
    """

    options: Mapping[str, Any]
    readme: tuple[str, ...]
    rows: tuple[tuple[str, str], ...] = ()
    v3: bool = False
    eager: bool = True
    bench: str = ""
    apart: Sequence[Any] = ()
    drawn: bool = True


FEATURES = {
    "lists, strings and every width of fields": Feature(
        {
            "inputs": [X],
            "fields": ["axes:int64[0..4]:-4..3=0,1", "mode:string:near,far=far", "w:float32[c]", "h:float16=0.5",
                       "d:float64", "i:int8=-3", "s:int16=300", "b:bfloat16[2]"],
        },
        (
            "| `axes` | int64[0..4], at least -4, at most 3 | `[0, 1]` |", '| `mode` | string: `"near"`, `"far"` |',
            "| `w` | float32[c] | must be given |", "| `b` | bfloat16[2] |",
        ),
        (("fields", "lists"), ("fields", "widths"), ("fields", "wanted")),
    ),
    "INT32 and INT64 tensors": Feature(
        {"inputs": [X, "index:int64:n"], "outputs": ["y:float32,float16:n,c", "k:int32:n", "l:int64:"]},
        ("| input `index` | int64 | `[n]` |", "| output `l` | int64 | `[]` |"),
        (("inputs", "index"), ("outputs", "int32"), ("outputs", "three")),
    ),
    "FP8": Feature(
        {"inputs": ["x:float32,float8:n,c"]}, ("FP8 is E4M3", "float32, float8"), apart=sweep.FLOAT8
    ),
    "any rank": Feature(
        {"inputs": ["x:float32,int8:n,..."]}, ("| input `x` | float32, int8 | `[n, ...]` |",), (("dims", "any rank"),)
    ),
    "0-D": Feature(
        {"inputs": ["x:float32:"]}, ("| input `x` | float32 | `[]` |",), (("rank", "0"), ("outputs", "scalar"))
    ),
    "shapes from fields": Feature(
        {
            "inputs": [X],
            "outputs": ["y:float32:min(c, k), broadcast(n, 1), len(axes), 1 if keep"],
            "fields": ["k:int32=2", "axes:int64[1..3]=0,1", "keep:int32:0,1=1"],
        },
        ("`[min(c, k), broadcast(n, 1), len(axes), 1 if keep]`",),
        (("outputs", "by fields"),),
    ),
    "a workspace": Feature(
        {"inputs": [X], "workspace": "4 * n * c"}, ("Workspace: `4 * n * c` bytes.",),
        apart=sweep.WORKSPACE,
    ),
    "a scale for each channel": Feature(
        {"inputs": ["x:float32,int8:n,c:scale=each"], "fields": ["each:float32[c]"]},
        ("A list has the scale of each channel", "| `each` | float32[c] | must be given |"),
        apart=sweep.CHANNELED, drawn=False,
    ),
    "an output valid up to a count": Feature(
        {"inputs": [X], "outputs": ["y:float32:n,c:valid=many", "many:int32:"]},
        ("| output `y`, of which `many` rows mean something |",), apart=sweep.COUNTED, drawn=False,
    ),
    "a shape input": Feature(
        {"base": "v3", "inputs": [X, "size:int64:2:values=oh,ow"], "outputs": ["y:float32:n,oh,ow"]},
        ("| input `size`, a shape input: `oh, ow` | int64 | `[2]` |",),
        apart=sweep.SHAPED, v3=True, eager=False, bench="'size' is a shape input",
    ),
    "a size tensor": Feature(
        {"base": "v3", "inputs": [X], "outputs": ["y:float32:found,c", "found:int32::upper=n * c"]},
        ("| output `found`, a size tensor of at most `n * c` |",),
        apart=sweep.SIZED, v3=True, eager=False, bench="'found' is a size that only enqueue knows",
    ),
    "an output in an input's memory": Feature(
        {"base": "v3", "inputs": [X], "outputs": ["y:float32,float16:n,c:alias=x"]},
        ("| output `y`, in the memory of `x` |",),
        (("outputs", "aliased"),),
        v3=True,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FEATURES)
def test_what_is_written_of_it(name: str, tmp_path: Path) -> None:
    one = FEATURES[name]
    project = scaffold.new("Place", directory=tmp_path, **one.options)
    page = (project / "README.md").read_text()
    for text in one.readme:
        assert text in page
    assert ("## In Python" in page) is one.eager
    manifest = Manifest.load(project)
    if one.bench:
        with pytest.raises(UsageError, match=f"pluginkit bench doesn't measure Place: {one.bench}"):
            runner.run(BenchOptions(project))
    else:
        given = arrays(project)[0]
        assert [value.ndim for value in given.inputs] == [len(tensor.shape) for tensor in manifest.inputs]
        assert len(given.outputs) == len(manifest.outputs)
    if one.v3:
        with pytest.raises(UsageError, match="is an IPluginV3 already"):
            scaffold.convert(project)
        return
    scaffold.convert(project)
    assert Manifest.load(project).model_dump() == {
        **manifest.model_dump(), "plugin": {**manifest.plugin.model_dump(), "base": "v3"}
    }  # fmt: skip


def arrays(project: Path) -> tuple[values.Values, dict[str, Any]]:
    """What `pluginkit bench` would call a plugin with, and the fields."""
    manifest = Manifest.load(project)
    case = cases(manifest)[-1]
    made = values.make(manifest, Reference.load(project / "reference.py", manifest), case, seed=0)
    scales = {
        tensor.scale: np.asarray(made.scales[tensor.name]).ravel().tolist() if tensor.scale_axis is not None
        else made.scales[tensor.name]
        for tensor in (*manifest.inputs, *manifest.outputs) if tensor.scale and tensor.name in made.scales
    }  # fmt: skip
    return made, {**values.fields_of(manifest, case), **scales}


@pytest.mark.slow
@pytest.mark.compile
def test_the_python_module_computes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All in one library, as IPluginV2DynamicExt and as IPluginV3."""
    eager = [one for one in FEATURES.values() if one.eager]
    project = scaffold.new("PlacesOfAll", directory=tmp_path, inputs=["x:float32:n"])
    for number, one in enumerate(eager):
        scaffold.add(f"Place{number}", project=project, **one.options)
        if not one.v3:
            # The class that `convert` writes is this one.
            scaffold.add(f"Converted{number}", project=project, **{**one.options, "base": "v3"})
    in_two_sources(project)
    monkeypatch.setenv("CXXFLAGS", "-O0 -g0")
    made = build(project, "cpu", python=True)[0]
    assert made.module
    monkeypatch.syspath_prepend(made.module.parent)
    module = importlib.import_module("places_of_all")
    called = 0
    for folder in sorted((project / "plugins").iterdir()):
        manifest = Manifest.load(folder)
        given, fields = arrays(folder)
        answer = getattr(module, manifest.plugin.name)(**fields)(*given.inputs)
        found = answer if isinstance(answer, tuple) else (answer,)
        limits = values.limits(manifest, cases(manifest)[-1])
        for tensor, got, want in zip(manifest.outputs, found, given.outputs, strict=True):
            assert got.shape == want.shape, manifest.plugin.name
            values.check(tensor.name, np.asarray(got), want, limits, manifest.plugin.name)
        called += 1
    assert called == len(eager) + sum(not one.v3 for one in eager)


@pytest.mark.parametrize("name", FEATURES)
def test_the_sweep_has_it(name: str) -> None:
    one = FEATURES[name]
    assert one.apart or one.rows
    for factor, value in one.rows:
        assert value in map(str, sweep.FACTORS[factor])


def test_the_table_says_so() -> None:
    section = DOCS.read_text(encoding="utf-8").partition("## Where a signature can stand")[2]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*\|$", section, re.MULTILINE)
    ]
    assert rows[0] == ["", "`new`, `add`, README.md", "`convert`", "Python module", "`bench`", "fidelity"]
    table = {name: [cell.startswith("yes") for cell in cells] for name, *cells in rows[2:]}
    assert table == {
        name: [True, not one.v3, one.eager, not one.bench, one.drawn] for name, one in FEATURES.items()
    }  # fmt: skip
    # Where it isn't there, the reason is.
    notes = set(re.findall(r"^([a-d])\. ", section, re.MULTILINE))
    cited = {cell.removeprefix("no: ") for _, *cells in rows[2:] for cell in cells if not cell.startswith("yes")}
    assert cited == notes
