"""What only an IPluginV3 has, in pluginkit.toml and in the options of `pluginkit new`: aliases and size tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pluginkit import scaffold
from pluginkit.bench.runner import BenchOptions
from pluginkit.bench.runner import run as bench
from pluginkit.build.signature import header
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.manifest import Manifest
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference

ALIASED = """
plugin = { name = "InPlace", base = "v3" }
inputs = [
  { name = "x", types = ["float32", "float16"], shape = ["n", "c"] },
  { name = "b", types = ["float32"], shape = ["c"] },
]
outputs = [
  { name = "y", types = ["float32", "float16"], shape = ["n", "c"], alias = "x" },
  { name = "z", types = ["float32"], shape = ["c"] },
]
profiles = [{ symbols = { n = [1, 2, 4], c = [1, 8, 16] } }]
"""
SOURCE = "NvInferRuntime.h, IPluginV3OneBuildV2::getAliasedInput"


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        ('"v3"', '"dynamic"', f"y.alias: only base v3 has aliases ({SOURCE}); this plugin is of base dynamic"),
        ('alias = "x"', 'alias = "X"', "y.alias: unknown input 'X'"),
        ('alias = "x"', 'alias = "z"', "y.alias: unknown input 'z'"),
        ('shape = ["c"] },\n]\nprofiles', 'shape = ["c"], alias = "x" },\n]\nprofiles',
         f"z.alias: 'y' is written into 'x' already: an input can be aliased to a single output ({SOURCE})"),
        ('alias = "x"', 'alias = "b"', "so their types must be the same: [float32, float16] and [float32]"),
        ('shape = ["c"] },\n]\nprofiles', 'shape = ["n"], alias = "b" },\n]\nprofiles',
         "'z' and 'b' are one memory"),
        ('shape = ["c"] },\n]\noutputs', 'shape = ["c"], alias = "x" },\n]\noutputs', "b.alias: an input has none"),
    ],
)  # fmt: skip
def test_what_an_alias_cannot_be(was: str, now: str, message: str) -> None:
    assert ALIASED.count(was) == 1, was
    with pytest.raises(UsageError) as caught:
        Manifest.parse(ALIASED.replace(was, now))
    assert message in caught.value.message


def test_an_alias_of_another_format_is_another_memory() -> None:
    text = ALIASED.replace('"c"], alias', '"c", "h", "w"], formats = ["linear", "hwc8"], alias')
    text = text.replace('shape = ["n", "c"] }', 'shape = ["n", "c", "h", "w"] }').replace(
        "c = [", "h=[1,2,3],w=[1,2,3],c=["
    )
    with pytest.raises(UsageError, match=r"their formats must be the same: \[linear, hwc8\] and \[linear\]"):
        Manifest.parse(text)


def test_an_aliased_plugin_is_written(tmp_path: Path) -> None:
    ins, outs = ["x:float32:n,c", "b:float32:c"], ["z:float32:c", "y:float32:n,c:alias=x"]
    project = scaffold.new("InPlace", directory=tmp_path, base="v3", inputs=ins, outputs=outs, fields=[])
    manifest = Manifest.load(project)
    assert [tensor.alias for tensor in manifest.outputs] == [None, "x"]
    assert manifest.aliased(manifest.inputs[0])
    assert "kAliasOf[] = {-1, 0};" in header(manifest)
    # An element that was written in place must not be read again: what is behind the end of x counts as 0.
    kernel = (project / "src" / "in_place.cu").read_text()
    assert "loadOnce<T>(in.x, i)" in kernel
    assert "loadCyclic<T>(in.b, i)" in kernel
    x, b = np.arange(6.0).reshape(2, 3), np.ones(3)
    z, y = Reference.load(project, manifest)([x, b], {})
    np.testing.assert_array_equal(z, [1, 2, 3])
    np.testing.assert_array_equal(y, 2 * (x + 1))
    plain = scaffold.new("Plain", directory=tmp_path, base="v3")
    assert "kAliased = false;" in header(Manifest.load(plain))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outputs": ["y:float32:n,c:alias=x"]}, "only base v3 has aliases"),
        ({"outputs": ["y:float32:n,c:aliass=x"], "base": "v3"}, "what is 'aliass=x'?"),
        ({"outputs": ["y:float32:n,c:alias="], "base": "v3"}, "what is 'alias='?"),
        ({"outputs": ["y:float32:n,c:alias=x:alias=x"], "base": "v3"}, "does not describe an output"),
        ({"inputs": ["x:float32:n,c:alias=y"], "base": "v3"}, "what is 'alias=y'?"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        scaffold.new("InPlace", directory=tmp_path, **{"inputs": ["x:float32:n,c"], **options})  # type: ignore[arg-type]
    assert message in caught.value.message
    assert list(tmp_path.iterdir()) == []


SIZED = """
plugin = { name = "Chosen", base = "v3" }
inputs = [
  { name = "x", types = ["float32"], shape = ["n", "c"] },
]
outputs = [
  { name = "rows", types = ["float32"], shape = ["count", "c"] },
  { name = "count", types = ["int32"], shape = [], upper = "n * k", opt = "n" },
  { name = "all", types = ["float32"], shape = ["n", "c"], valid = "kept" },
  { name = "kept", types = ["int32"], shape = [1] },
]
fields = [{ name = "k", type = "int32", default = 2, min = 1, max = 3 }]
profiles = [{ symbols = { n = [1, 2, 4], c = [1, 8, 16] } }]
"""
SIZE = "NvInferRuntime.h, IExprBuilder::declareSizeTensor"


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        ('"v3"', '"dynamic"', f"count.upper: only base v3 has size tensors ({SIZE}); this plugin is of base dynamic"),
        ('["int32"], shape = [], upper', '["float32"], shape = [], upper', 'a size tensor is ["int32"]'),
        ('types = ["int32"], shape = [], upper', 'types = ["int32"], shape = ["n"], upper', "a size tensor is 0-D"),
        ('upper = "n * k", ', "", "count.opt: only a size tensor has one"),
        ('opt = "n"', 'opt = "n * 9"', "opt is 9 and upper 2: must rise, 0 <= opt <= upper"),
        ('upper = "n * k"', 'upper = "n * k - 9"', "a dimension cannot be negative"),
        ('upper = "n * k"', 'upper = "n * 99999999999"', "fit into the INT32 of a size tensor"),
        ('upper = "n * k"', 'upper = "n // (n - n)"', "divides by zero"),
        ('upper = "n * k"', 'upper = "count"', f"'count' depends on the size tensor 'count', and must not ({SIZE})"),
        ('upper = "n * k"', 'upper = "m"', "count.upper: unknown symbol 'm'"),
        ('upper = "n * k"', 'upper = "n *"', "is not a dimension"),
        ('upper = "n * k"', "upper = true", "must be a symbol, an expression or a whole number (got true)"),
        ('"count", "c"', '"count + 1", "c"', "'count + 1' computes with a size tensor: it can only be"),
        ('["float32"], shape = ["count", "c"]', '["float32", "int8"], shape = ["c", "count"]', "in INT8 the second"),
        ('"count", "c"', '"kept", "c"', "unknown symbol 'kept'"),
        ('shape = ["n", "c"] },\n]', 'shape = ["n", "count"] },\n]', "a dimension is called so too"),
        ('shape = ["n", "c"] },\n]', 'shape = ["n", "c"], upper = "n" },\n]', "x.upper: an input has none"),
        ('valid = "kept"', 'valid = "rows"', "'rows' must be one INT32 number"),
        ('valid = "kept"', 'valid = "kep"', "all.valid: unknown output 'kep'; did you mean 'kept'?"),
        ('shape = ["n", "c"], valid', "shape = [], valid", "'all' has no rows: it is 0-D"),
    ],
)  # fmt: skip
def test_what_a_size_tensor_cannot_be(was: str, now: str, message: str) -> None:
    assert SIZED.count(was) == 1, was
    with pytest.raises(UsageError) as caught:
        Manifest.parse(SIZED.replace(was, now))
    assert message in caught.value.message


def test_a_size_tensor_stands_for_its_upper_bound() -> None:
    manifest = Manifest.parse(SIZED)
    env = {"n": 4, "c": 8}
    three = manifest.with_fields({"k": 3})
    assert three.output_shapes(env)["rows"] == (12, 8)
    assert three.output_shapes({**env, "count": 5})["rows"] == (5, 8)
    bounded = three.bounded()
    assert bounded.outputs[0].shape == ("n * 3", "c")
    assert [bounded.is_sized(tensor) for tensor in bounded.outputs] == [True, False, False, False]
    assert bounded.bounded() == bounded
    assert bounded.is_sized(bounded.bounded().outputs[0])
    assert three.possible(env)


def test_bench_says_that_it_has_no_bytes_to_count(tmp_path: Path) -> None:
    (tmp_path / "pluginkit.toml").write_text(SIZED)
    with pytest.raises(UsageError, match="'count' is a size that only enqueue knows"):
        bench(BenchOptions(project=tmp_path))


def reference_of(count: int, rows: int, kept: int, returned: int) -> Reference:
    def reference(x: Any, *, k: int) -> Any:
        del k
        return np.ones((rows, x.shape[1])), np.array(count), np.ones((returned, x.shape[1])), np.array([kept])

    return Reference(Manifest.parse(SIZED), reference)


def test_a_reference_returns_as_much_as_there_is() -> None:
    x = np.zeros((2, 8))
    rows, count, every, kept = reference_of(3, 3, 1, 1).masked([x], {"k": 2})
    assert (rows.shape, int(count), int(kept[0])) == ((3, 8), 3, 1)
    assert every.shape == (2, 8)
    np.testing.assert_array_equal(np.ma.getmaskarray(every)[:, 0], [False, True])
    # Rows that are returned behind the valid ones mean nothing either.
    _, _, every, _ = reference_of(0, 0, 1, 2).masked([x], {"k": 2})
    np.testing.assert_array_equal(np.ma.getmaskarray(every)[:, 0], [False, True])


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((5, 5, 1, 1), "returned 5 for the size tensor 'count'; expected 0 to its upper bound n * 2, which is 4"),
        ((-1, 0, 1, 1), "returned -1 for the size tensor 'count'"),
        ((3, 2, 1, 1), "returned shape [2, 8] for output 'rows'; expected [3, 8]"),
        ((3, 3, 3, 2), "returned 3 for output 'kept', which says how many of the 2 rows of 'all' are valid"),
        ((3, 3, 2, 1), "expected [2, 8], or fewer rows, but the 2 that are valid by 'kept'"),
    ],
)
def test_a_reference_that_contradicts_itself(numbers: tuple[int, int, int, int], message: str) -> None:
    with pytest.raises(CheckFailed) as caught:
        reference_of(*numbers).masked([np.zeros((2, 8))], {"k": 2})
    assert message in caught.value.message


def test_a_plugin_with_a_size_tensor_is_written(tmp_path: Path) -> None:
    outs = ["y:float32:2,count", "count:int32::upper=n * c:opt=n", "z:float32:n,c:valid=k", "k:int32:1"]
    project = scaffold.new("Chosen", directory=tmp_path, base="v3", inputs=["x:float32:n,c"], outputs=outs, fields=[])
    manifest = Manifest.load(project)
    source = header(manifest)
    assert "auto const size1 = s.sizeTensor(1, s.at(0, 0), (s.at(0, 0) * s.at(0, 1)));" in source
    assert "s.add(size1);" in source
    reference = Reference.load(project, manifest)
    for sign, count in ((1, 6), (-1, 3)):
        y, size, _, _ = reference([sign * np.ones((2, 3))], {})
        assert (int(size), y.shape) == (count, (2, count))
    # A size in a network is a size; in a loop it is padded.
    made = plan(manifest, reference, families=["plain", "loop-count", "shape-out"])
    points = {case.id: case for case in made.cases}
    assert points["plain/float32/opt"].expected["y"].shape[1] in (5, 10)
    assert points["loop-count/float32/opt"].expected["y_all"].shape == (2, 2, 10)
    dims = points["shape-out/float32/opt"].expected
    assert list(dims["y_dims"]) == [2, dims["y_flat"].size // 2]
    with pytest.raises(UsageError, match="an output has a size that only enqueue knows"):
        plan(manifest, reference, families=["api-loop-count"])
