"""Shape inputs, of which getOutputShapes gets the values: pluginkit.toml, `pluginkit new`, points, networks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit import scaffold
from pluginkit.bench.runner import BenchOptions
from pluginkit.bench.runner import run as bench
from pluginkit.build import python_signature
from pluginkit.build.signature import header
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.evaluators.rtx.constant_values import with_constants
from pluginkit.evaluators.rtx.participation import problems
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network
from pluginkit.runtimes.verdict import Configured, SeenTensor
from pluginkit.testing.plan import plan
from pluginkit.testing.points import bind, points, read_data
from pluginkit.testing.reference import Reference
from pluginkit.validation.subjects import manifests

VALUES = "NvInferRuntime.h, IPluginV3OneBuild::getOutputShapes"
FILL = """
plugin = { name = "FillTo", base = "v3" }
inputs = [
  { name = "x", types = ["float32", "float16"], shape = ["n", "c"] },
  { name = "size", types = ["int64"], shape = [2], values = ["oh", "ow"] },
  { name = "k", types = ["int32"], shape = [2], values = ["k", 3] },
]
outputs = [
  { name = "y", types = ["float32", "float16"], shape = ["n", "oh", "ow"] },
  { name = "z", types = ["float32"], shape = ["k + 1"] },
]
profiles = [{ symbols = { n = [1, 2, 4], c = [1, 8, 16], oh = [1, 3, 5], ow = [2, 2, 2], k = [0, 1, 4] } }]
"""
SIZE = 'values = ["oh", "ow"]'


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        ('"v3"', '"dynamic"', "size.values: only base v3 has shape inputs (NvInfer.h, INetworkDefinition::"),
        ('["int64"]', '["float32"]', 'size.types: a shape input is ["int32"] or ["int64"]'),
        ('["int64"]', '["int32", "int64"]', "this is [int32, int64]"),
        (f"[2], {SIZE}", f'["n"], {SIZE}', "size.shape: a shape input is 1-D, of a fixed length: [2]; this is [n]"),
        (f"[2], {SIZE}", f"[1, 2], {SIZE}", "size.shape: a shape input is 1-D, of a fixed length: [2]; this is [1, 2]"),
        (f"[2], {SIZE}", '[], values = ["oh"]', "size.shape: a shape input is 1-D: write [1], and Reshape a 0-D"),
        (f"[2], {SIZE}", f"[3], {SIZE}", "size.values: 2 for the 3 elements of its shape"),
        (f"[2], {SIZE}", "[0], values = []", "size.values: 0 elements: from 1 to 8, for they come as a DimsExprs"),
        (f"[2], {SIZE}", '[9], values = ["oh", "ow", 1, 1, 1, 1, 1, 1, 1]', "size.values: 9 elements: from 1 to 8"),
        (SIZE, 'values = ["oh", "ow + 1"]', "size.values: 'ow + 1' must be a symbol, which profiles give values"),
        (SIZE, 'values = ["oh", "ow +"]', "size.values: 'ow +' must be a symbol"),
        (SIZE, 'values = ["oh", -1]', "size.values: '-1' must be a symbol"),
        (SIZE, 'values = ["oh", true]', "must be a symbol, an expression or a whole number (got true)"),
        (SIZE, 'values = "oh"', "inputs.2.values: must be a list"),
        (SIZE, SIZE + ', formats = ["hwc8"]', "size.formats: a shape tensor is linear"),
        (SIZE, SIZE + ', upper = "n"', "size.upper: an input has none"),
        ('"oh", "ow"] },\n  { name = "z"', '"ow"] },\n  { name = "z"',
         f"size.values: no output's shape has 'oh': a shape input's values are passed to getOutputShapes ({VALUES})"),
        ('["k + 1"]', '["k + 1"], values = ["k"]', "z.values: an output has none"),
        ('["float32"], shape = ["k + 1"]', '["int64"], shape = [2], alias = "size"', "z.alias: 'size' is a shape"),
        ('"v3" }', '"v3", workspace = "4 * oh" }', "plugin.workspace: 'oh' is an element of a shape input, which only"),
        ("k = [0, 1, 4]", "k = [0, 1, 4294967296]", "k = [0, 1, 4294967296] doesn't fit into 'k', which is int32"),
        ("k = [0, 1, 4]", "k = [4, 1, 0]", "k = [4, 1, 0] must rise"),
        (", k = [0, 1, 4]", "", "no [min, opt, max] for the symbol 'k'"),
        ("profiles", 'fields = [{ name = "w", type = "float32", length = "oh" }]\nprofiles',
         "the field 'w' has oh elements, and oh is an element of a shape input"),
    ],
)  # fmt: skip
def test_what_a_shape_input_cannot_be(was: str, now: str, message: str) -> None:
    assert FILL.count(was) == 1, was
    with pytest.raises(UsageError) as caught:
        Manifest.parse(FILL.replace(was, now))
    assert message in caught.value.message


def test_int8_channels_are_known_at_build() -> None:
    with pytest.raises(UsageError, match=r"in INT8 the second dimension, .* as on 'oh'"):
        Manifest.parse(FILL.replace('"float16"]', '"int8"]'))


def test_a_shape_input_has_no_scale() -> None:
    scaled = FILL.replace(SIZE, SIZE + ', scale = "s"') + 'fields = [{ name = "s", type = "float32" }]'
    with pytest.raises(UsageError, match=r"size\.scale: a shape input is never INT8"):
        Manifest.parse(scaled)


def test_an_upper_bound_is_needed_in_enqueue_too() -> None:
    size = '{ name = "m", types = ["int32"], shape = [], upper = "oh" },\n]\nprofiles'
    with pytest.raises(UsageError, match=r"m\.upper: 'oh' is an element of a shape input"):
        Manifest.parse(FILL.replace("]\nprofiles", size))


def test_a_symbol_may_be_a_dimension_and_an_element() -> None:
    both = Manifest.parse(FILL.replace('"oh", "ow"] },\n  { name = "k"', '"n", "ow"] },\n  { name = "k"').replace(
        '"n", "oh"', '"n", "n"').replace("oh = [1, 3, 5], ", ""))  # fmt: skip
    assert both.value_symbols() == {"ow", "k"}
    arrays = {"x": np.zeros((2, 8)), "size": np.array([2, 2]), "k": np.array([1, 3])}
    assert bind(both, arrays) == {"n": 2, "c": 8, "ow": 2, "k": 1}
    with pytest.raises(UsageError, match=r"'size' is \[3, 2\]: 'n' is 2 in 'x'"):
        bind(both, {**arrays, "size": np.array([3, 2])})
    with pytest.raises(UsageError, match=r"'k' is \[1, 4\]: element 1 must be 3"):
        bind(both, {**arrays, "k": np.array([1, 4])})


@given(st.integers(0, 99), st.lists(st.integers(0, 9), min_size=9, max_size=9))
def test_points_have_the_values_of_their_symbols(seed: int, numbers: list[int]) -> None:
    ends = [tuple(sorted(numbers[3 * i : 3 * i + 3])) for i in range(3)]
    dump = Manifest.parse(FILL).model_dump(by_alias=True)
    symbols = {**dump["profiles"][0]["symbols"], **dict(zip(("oh", "ow", "k"), ends, strict=True))}
    manifest = Manifest.model_validate({**dump, "profiles": [{"symbols": symbols}]})
    for point in points(manifest, seed):
        env = point.symbols
        assert point.feeds["size"].dtype == np.int64
        assert point.feeds["k"].dtype == np.int32
        assert point.feeds["size"].tolist() == [env["oh"], env["ow"]]
        assert point.feeds["k"].tolist() == [env["k"], 3]
        assert bind(manifest, point.feeds) == env


def test_own_data_is_placed_by_the_values(tmp_path: Path) -> None:
    manifest, file = Manifest.parse(FILL), tmp_path / "data.npz"
    arrays: dict[str, Any] = {"x": np.ones((2, 8), np.float32), "size": np.array([4, 2]), "k": np.array([2, 3])}
    np.savez(file, **arrays)
    assert read_data(manifest, file).symbols == {"n": 2, "c": 8, "oh": 4, "ow": 2, "k": 2}
    np.savez(file, **{**arrays, "size": np.array([6, 2])})
    with pytest.raises(UsageError, match="oh = 6, ow = 2, k = 2 is outside of every profile"):
        read_data(manifest, file)
    np.savez(file, **{**arrays, "size": np.array([4, 2, 1])})
    with pytest.raises(UsageError, match="'size' has shape"):
        read_data(manifest, file)


def filled(x: Any, size: Any, k: Any) -> Any:
    n, (h, w) = x.shape[0], size
    return np.resize(x, (n, int(h), int(w))), np.resize(x, (int(k[0]) + 1,))


def test_the_networks_have_it_as_a_shape_tensor() -> None:
    manifest = Manifest.parse(FILL)
    made = plan(manifest, Reference(manifest, filled))
    families = {network.family for network in made.networks}
    assert {"plain", "shape-in", "multi-profile", "loop-count", "loop-in-if", "scan-axis-1", "cond-both"} <= families
    api = {family for family in families if family.startswith("api-")}
    assert {"api-shape-out", "api-slice", "api-cond-select"} <= api
    assert not {"api-loop-count", "api-cond-lazy"} & api
    for network in made.networks:
        if not isinstance(network, Network):
            continue
        assert all(call.shape_inputs == (1, 2) for call in network.calls)
        nodes = onnx.load_from_string(network.model)
        assert "tensorrt_plugin_shape_input_indices" in str(nodes)
        assert ({"size", "k"} <= network.profiles[0].values.keys()) == (network.family != "shape-values")
    plain = next(network for network in made.networks if network.id == "plain/float32")
    assert isinstance(plain, Network)
    assert plain.profiles[0].values["size"] == ((1, 2), (3, 2), (5, 2))
    assert plain.calls[0].inputs[0][1:] == (((1, 2), (3, 2), (5, 2)), ((0, 3), (1, 3), (4, 3)))
    assert plain.calls[0].ranks == (2, None, None)
    opt = next(case for case in made.cases if case.id == "scan-forward/float32/opt")
    assert (opt.feeds["x"].shape, opt.feeds["size"].tolist()) == ((2, 2, 8), [3, 2])
    assert opt.expected["y_all"].shape == (2, 2, 3, 2)
    with pytest.raises(UsageError, match="an input is a shape input"):
        plan(manifest, Reference(manifest, filled), families=["api-loop-count"])


def test_the_values_as_constants() -> None:
    manifest = Manifest.parse(FILL)
    (network,) = plan(manifest, Reference(manifest, filled), families=["loop-count"]).networks[:1]
    assert isinstance(network, Network)
    fixed = with_constants(network, manifest)
    model = onnx.load_from_string(fixed.model)
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
    assert (constants["size"].tolist(), constants["size"].dtype) == ([3, 2], np.int64)
    assert (constants["k"].tolist(), constants["k"].dtype) == ([1, 3], np.int32)
    assert {value.name for value in model.graph.input} == {"trips", "x"}
    assert fixed.profiles[0].values.keys() == {"trips"}
    onnx.checker.check_model(model)


def test_configure_sees_the_other_inputs_alone() -> None:
    manifest = Manifest.parse(FILL)
    (network,) = plan(manifest, Reference(manifest, filled), families=["plain"]).networks[:1]
    assert isinstance(network, Network)
    (call,) = network.calls

    def configured(*indices: int) -> Configured:
        ranges = [(call.types[index].code, *call.inputs[0][index]) for index in indices]
        return Configured(call.node, tuple(SeenTensor((), kind, 0, 0.0, *ends) for kind, *ends in ranges), ())

    assert problems(network, [configured(0)]) == []
    (problem,) = problems(network, [configured(0, 1, 2)])
    assert "configured with other inputs" in problem


def test_a_plugin_with_a_shape_input_is_written(tmp_path: Path) -> None:
    ins, outs = ["x:float32:n,c", "size:int64:2:values=oh, ow"], ["y:float32:n,oh,ow + 1"]
    project = scaffold.new("FillTo", directory=tmp_path, base="v3", inputs=ins, outputs=outs, fields=[])
    manifest = Manifest.load(project)
    assert manifest.inputs[1].values == ("oh", "ow")
    source = header(manifest)
    assert "s.add(s.value(0, 0));" in source
    assert "s.add((s.value(0, 1) + s.number(1)));" in source
    assert "constexpr int32_t kInputs = 1;" in source
    assert "constexpr int32_t kShapeInputs = 1;" in source
    assert "size" not in source.partition("struct Inputs")[2].partition("}")[0]
    assert "a shape input: `oh, ow`" in (project / "README.md").read_text()
    (y,) = Reference.load(project, manifest)([np.ones((2, 3)), np.array([4, 5])], {})
    assert y.shape == (2, 4, 6)
    # Its own test of the reference runs.
    space: dict[str, Any] = {"__file__": str(project / "tests" / "test_fill_to.py")}
    exec((project / "tests" / "test_fill_to.py").read_text(), space)
    space["test_the_reference_on_numbers_worked_out_by_hand"]()
    with pytest.raises(UsageError, match="'size' is a shape input, and it makes layers of shapes alone"):
        bench(BenchOptions(project=project))


def test_checks_ask_no_shapes_without_values() -> None:
    with_it = manifests.known(Manifest.parse(FILL))
    assert (with_it.answers.made, with_it.answers.taken, with_it.sizes) == ("manifest", (), ())
    without = Manifest.parse(FILL.replace(f", {SIZE}", "").replace(
        ', values = ["k", 3]', "").replace('"n", "oh", "ow"', '"n", "c"').replace('"k + 1"', "1").replace(
        ", oh = [1, 3, 5], ow = [2, 2, 2], k = [0, 1, 4]", ""))  # fmt: skip
    assert len(manifests.known(without).answers.taken[0].ranks) == 3


def test_the_python_module_knows_which_input_it_is(tmp_path: Path) -> None:
    (tmp_path / "pluginkit.toml").write_text(FILL)
    text = python_signature.header(tmp_path, "fill_to", "FillTo", "cpu").partition("#define")[2]
    (made,) = json.loads(text.partition("(")[2].rpartition(")")[0])
    assert (made["shape_inputs"], made["unknown"]) == ([1, 2], ["k", "oh", "ow"])
    assert [one["shape_input"] for one in made["inputs"]] == [False, True, True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": ["x:float32:n,c", "size:int64:2:values=oh,ow"]}, "no output's shape has 'oh'"),
        ({"inputs": ["x:float32:n,c", "size:int64:2:values="]}, "what is 'values='?"),
        ({"inputs": ["x:float32:n,c", "size:int64:2:value=oh,ow"]}, "what is 'value=oh,ow'?"),
        ({"inputs": ["x:float32:n,c", "size:int64:2:values=oh,ow+"]}, "'ow+' is not a dimension"),
        ({"inputs": ["x:float32:n,c", "size:int64:1:values=c"], "base": "dynamic"}, "only base v3 has shape inputs"),
        ({"outputs": ["y:float32:n,c:values=n"]}, "what is 'values=n'?"),
    ],
)
def test_options_that_make_no_sense(options: Mapping[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        scaffold.new("FillTo", directory=tmp_path, **{"base": "v3", "inputs": ["x:float32:n,c"], **options})
    assert message in caught.value.message
    assert list(tmp_path.iterdir()) == []


def test_a_reference_that_returns_another_shape() -> None:
    manifest = Manifest.parse(FILL)

    def wrong(x: Any, size: Any, k: Any) -> Any:
        y, z = filled(x, size, k)
        return y[..., :1], z

    with pytest.raises(CheckFailed, match=r"returned shape \[2, 3, 1\] for output 'y'; expected \[2, 3, 2\]"):
        Reference(manifest, wrong)([np.zeros((2, 8)), np.array([3, 2]), np.array([1, 3])], {})
