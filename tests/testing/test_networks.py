"""What the families promise beside their oracles: applicability, selection, models on disk, and planted faults."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from pluginkit import cli
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.interpreter import api_layers, api_walker, shape_check, walker
from pluginkit.interpreter import scan as scan_
from pluginkit.interpreter.api_structure import reads
from pluginkit.manifest import Manifest
from pluginkit.network import api_model as api
from pluginkit.network.networks import Case, Network
from pluginkit.network.plan import Plan
from pluginkit.testing import families as networks
from pluginkit.testing.comparison import compare
from pluginkit.testing.families import FAMILIES as ALL
from pluginkit.testing.families import selection
from pluginkit.testing.families.base import Setting
from pluginkit.testing.plan import plan
from pluginkit.testing.precision import represent
from pluginkit.testing.reference import Reference

from .conftest import EXAMPLES, FAMILIES, Example

ROOT = Path(__file__).resolve().parents[2]
BY_API = [name for name, family in FAMILIES.items() if family.BY_API]
ONNX = [name for name, family in FAMILIES.items() if not family.BY_API]
Array = np.ndarray[Any, Any]


class Stand:
    """The plugin by its reference, with the types and roundings of its node; counts what it is asked."""

    def __init__(self, example: Example, network: Network | api.ApiNetwork) -> None:
        self._example = example
        self._calls = {call.node: call for call in network.calls}
        self.enqueues = 0

    def __call__(self, node: str, inputs: Sequence[Array]) -> list[Array]:
        self.enqueues += 1
        call, manifest = self._calls[node], self._example.manifest
        real = [
            value.astype(np.float64) * (scale if kind is DType.INT8 else 1.0)
            if kind is not DType.INT32
            else value.astype(np.int64)
            for value, kind, scale in zip(inputs, call.types, call.scales, strict=True)
        ]
        scale_fields = manifest.scale_fields()
        given = {name: value for name, (_, value) in call.fields.items() if name not in scale_fields}
        fields = {f.name: f.default for f in manifest.fields if f.name not in scale_fields} | given
        left = self._example.reference(real, fields)
        found = []
        for value, kind, scale in zip(left, call.output_types, call.output_scales, strict=True):
            held = represent(value, kind, scale)
            found.append((np.rint(held / scale) if kind is DType.INT8 else held).astype(kind.numpy))
        return found


def ran(example: Example, made: Plan, case: Case) -> tuple[dict[str, Array], int]:
    """A case run by what runs networks in the host, and the number of enqueues."""
    network = made.network(case)
    stand = Stand(example, network)
    if isinstance(network, Network):
        model = onnx.load_from_string(network.model)
        outputs = walker.run(model, example.manifest.plugin.name, stand, case.feeds)
    else:
        outputs = api_walker.run(network, stand, case.feeds)
    return outputs, stand.enqueues


def wrong(example: Example, made: Plan) -> list[str]:
    """The cases whose outputs or enqueue counts aren't the oracle's."""
    found = []
    for case in made.cases:
        try:
            outputs, enqueues = ran(example, made, case)
        except CheckFailed:
            found.append(case.id)
            continue
        right = compare(case.defined(outputs), case.expected, case.tolerance).ok
        if not right or enqueues != case.enqueues:
            found.append(case.id)
    return found


def planned(name: str, family: str, *, precisions: list[DType] | None = None) -> Plan:
    example = EXAMPLES[name]
    return plan(example.manifest, example.reference, families=[family], precisions=precisions, seed=5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_oracle_and_host_agree_in_values_and_enqueues(name: str, family: str) -> None:
    made = planned(name, family)
    assert made.cases
    assert wrong(EXAMPLES[name], made) == []
    for case in made.cases:
        assert tuple(case.expected) == made.network(case).outputs


@pytest.mark.parametrize("precision", [DType.FLOAT32, DType.FLOAT16, DType.INT8])
@pytest.mark.parametrize("family", BY_API)
def test_api_networks_in_every_precision(family: str, precision: DType) -> None:
    for name in ("leaky", "trio"):
        assert wrong(EXAMPLES[name], planned(name, family, precisions=[precision])) == []


def test_fields_called_as_onnx_has_words_of_its_own() -> None:
    manifest = Manifest.parse(
        """
        plugin = {name = "Leaky"}
        inputs = [{name = "x", types = ["float32"], shape = ["n"]}]
        outputs = [{name = "y", types = ["float32"], shape = ["n"]}]
        fields = [{name = "name", type = "float32", default = 0.5}, {name = "domain", type = "int32", default = 3}]
        profiles = [{symbols = {n = [1, 2, 4]}}]
        """
    )
    made = plan(
        manifest, Reference(manifest, lambda x, *, name, domain: name * x + domain), families=["plain", "api-cond-lazy"]
    )
    assert wrong(Example(manifest, lambda x, *, name, domain: name * x + domain, lambda *_: []), made) == []
    (node,) = onnx.load_from_string(made.usual[0].model).graph.node[:1]
    given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    assert (given["name"], given["domain"], node.domain) == (0.5, 3, "pluginkit")


def test_0_d_tensors() -> None:
    manifest = Manifest.parse(
        """
        plugin = {name = "Leaky"}
        inputs = [{name = "x", types = ["float32", "float16", "int8"], shape = [], scale = "s"}]
        outputs = [{name = "y", types = ["float32", "float16", "int8"], shape = [], scale = "t"}]
        fields = [{name = "s", type = "float32", default = 0.0}, {name = "t", type = "float32", default = 0.0}]
        profiles = [{symbols = {}}]
        """
    )
    example = Example(manifest, lambda x: 0.5 * x, lambda *_: [])
    made = plan(manifest, example.reference)
    assert wrong(example, made) == []
    assert {network.family for network in made.networks} >= {"plain", "loop-count", "if-in-if", "api-loop-while"}


@pytest.mark.parametrize("family", ["cond-then", "cond-else", "loop-in-if", "if-in-if", "if-in-loop"])
def test_no_branch_gives_one_whole_number_twice(family: str) -> None:
    """NVIDIA's builder refuses that (refusal same-constants). What counts rows is no more than there are."""
    manifest = Manifest.parse(
        """
        plugin = {name = "Leaky", base = "v3"}
        inputs = [{name = "x", types = ["float32"], shape = ["n"]}]
        outputs = [
            {name = "p", types = ["int32"], shape = []},
            {name = "q", types = ["int32"], shape = []},
            {name = "rows", types = ["float32"], shape = [1, 2], valid = "many"},
            {name = "many", types = ["int32"], shape = []},
        ]
        profiles = [{symbols = {n = [1, 2, 4]}}]
        """
    )

    def reference(x: Array) -> list[Array]:
        return [np.int32(7), np.int32(9), np.full((1, 2), x.mean(), np.float32), np.int32(1)]

    example = Example(manifest, reference, lambda *_: [])
    made = plan(manifest, example.reference, families=[family], random=0)
    assert made.cases
    assert wrong(example, made) == []
    for network in made.usual:
        graph = onnx.load_from_string(network.model).graph
        graphs = [graph, *(one.g for node in walker.nodes(graph) for one in node.attribute if one.HasField("g"))]
        values = [
            int(numpy_helper.to_array(value))
            for one in graphs
            for value in one.initializer
            if re.search("_(p|q|many)_fill", value.name)
        ]
        assert len(values) == 3
        assert len(set(values)) == 3


# Planted faults in what runs the networks: each must be seen by a case of the family.


def test_a_trip_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    run = walker.Loop._run
    monkeypatch.setattr(walker.Loop, "_run", lambda self, limit, *more, **named: run(self, limit - 1, *more, **named))
    for family in ("loop-count", "loop-invariant", "if-in-loop", "loop-in-loop"):
        assert wrong(EXAMPLES["leaky"], planned("leaky", family, precisions=[DType.FLOAT32]))


@pytest.mark.parametrize("family", ["scan-reverse-input", "scan-reverse-output", "scan-axis-1"])
def test_a_direction_or_axis_that_is_not_looked_at(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of = scan_.Slicing.of

    def blind(node: onnx.NodeProto) -> scan_.Slicing:
        found = of(node)
        ahead = replace(found, backwards=(0,) * len(found.axes), output_backwards=(0,) * len(found.output_axes))
        return replace(ahead, output_axes=(0,) * len(found.output_axes)) if family == "scan-axis-1" else ahead

    monkeypatch.setattr(scan_.Slicing, "of", staticmethod(blind))
    seen = wrong(EXAMPLES["bar"], planned("bar", family, precisions=[DType.FLOAT32]))
    assert any("/max" in case for case in seen)
    assert wrong(EXAMPLES["bar"], planned("bar", "scan-forward", precisions=[DType.FLOAT32])) == []


def test_eager_branches_are_seen_by_their_enqueues(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tensors of both branches are computed: the values stay right."""

    def both(self: Any, step: api.BranchOutput, scope: Any) -> Array:
        (conditional,) = [s for s in self._steps if isinstance(s, api.Conditional)]
        then, otherwise = self.value(step.then, scope), self.value(step.otherwise, scope)
        return then if bool(self.value(conditional.flag, scope)) else otherwise

    monkeypatch.setattr(api_walker._Graph, "_either", both)
    for family in ("api-cond-lazy", "api-cond-mixed", "api-cond-empty"):
        made = planned("leaky", family, precisions=[DType.FLOAT32])
        seen = wrong(EXAMPLES["leaky"], made)
        assert seen, family
        outputs = [compare(ran(EXAMPLES["leaky"], made, c)[0], c.expected, c.tolerance).ok for c in made.cases]
        assert all(outputs), "only the enqueues tell"


def test_lazy_layers_that_should_be_eager_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_walker._Graph, "_eager", lambda *_: None)
    made = planned("leaky", "api-cond-eager", precisions=[DType.FLOAT32])
    assert wrong(EXAMPLES["leaky"], made) == [case.id for case in made.cases]


def test_a_conditional_without_input_layers_is_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that hangs on no input layer is computed by need: only `api-cond-select` tells."""
    eager = api_walker._Graph._eager

    def lazy(self: Any, name: str, conditional: str, scope: Any) -> None:
        if any(isinstance(step, api.BranchInput) and step.conditional == conditional for step in self._steps):
            eager(self, name, conditional, scope)

    monkeypatch.setattr(api_walker._Graph, "_eager", lazy)
    assert found_by("leaky") == {"api-cond-select"}


def test_a_shared_input_layer_leaves_both_branches_lazy(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hangs on an input layer of both branches is taken for eager: only `api-cond-shared` tells."""
    lazy = api_walker._Graph._lazy

    def eager(self: Any, name: str, conditional: str) -> bool:
        step = self._by_out[name]
        if isinstance(step, api.BranchInput):
            return sum(name in reads(other) for other in self._steps) < 2
        return lazy(self, name, conditional)

    monkeypatch.setattr(api_walker._Graph, "_lazy", eager)
    assert found_by("leaky") == {"api-cond-shared"}


def test_a_constant_condition_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is constant counts as true: only `api-cond-constant` tells."""
    either = api_walker._Graph._either

    def taken(self: Any, step: api.BranchOutput, scope: Any) -> Array:
        (conditional,) = [s for s in self._steps if isinstance(s, api.Conditional) and s.name == step.conditional]
        flag = self._by_out[conditional.flag]
        constant = isinstance(flag, api.Cast) and isinstance(self._by_out[flag.x], api.ConstantLayer)
        return either(self, replace(step, otherwise=step.then) if constant else step, scope)

    monkeypatch.setattr(api_walker._Graph, "_either", taken)
    assert found_by("leaky") == {"api-cond-constant"}


@pytest.mark.parametrize("fault", ["axis", "direction"])
def test_an_iterator_on_a_further_axis_is_looked_at(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of axes from 2 on the axis, or the direction, counts for nothing: only `api-loop-iterator-axes` tells."""
    sliced = api_walker._slice

    def blind(values: Array, at: int, step: api.IteratorLayer) -> Array:
        if fault == "axis":
            return sliced(values, at, replace(step, axis=min(step.axis, 1)))
        return sliced(values, 0 if step.axis > 1 and step.reverse else at, step)

    monkeypatch.setattr(api_walker, "_slice", blind)
    assert found_by("leaky") == {"api-loop-iterator-axes"}


def test_what_nothing_depends_on_never_enqueues(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each conditional and each plugin outside of loops is run: only `api-unused` tells."""
    run = api_walker.run

    def everything(network: api.ApiNetwork, call: walker.Call, feeds: Mapping[str, Array]) -> dict[str, Array]:
        ends = [api.NetworkOutput(step.out) for step in network.steps if isinstance(step, api.BranchOutput)]
        shown = {step.x for step in network.steps if isinstance(step, api.IdentityLayer)}
        more = [end for end in ends if end.x not in shown]
        outputs = run(replace(network, steps=(*network.steps, *more)), call, feeds)
        return {name: value for name, value in outputs.items() if name in network.outputs}

    monkeypatch.setattr(api_walker, "run", everything)
    assert found_by("leaky") == {"api-unused"}


@pytest.mark.parametrize(
    ("layer", "fault", "family"),
    [
        (api.Slice, lambda values: [values[0], values[1], values[2], np.minimum(values[3], 1)], "api-slice"),
        (api.Slice, lambda values: [values[0], 0 * values[1], *values[2:]], "api-slice"),
        (api.Resize, lambda values: [np.flip(values[0], -1), values[1]], "api-resize"),
        (api.Gather, lambda values: [values[0], -1 - values[1]], "api-shapes"),
        (api.ReduceProduct, lambda values: [values[0][:1]], "api-shapes"),
        (api.Concat, lambda values: values[::-1], "api-shapes"),
    ],
)  # fmt: skip
def test_layers_that_make_shapes_are_looked_at(
    layer: type[api.Step], fault: Any, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What such a layer gets is another value: the family of that layer tells."""
    compute = api_layers.compute

    def wronged(step: api.Step, values: Sequence[Array]) -> Array:
        return compute(step, fault(list(values)) if isinstance(step, layer) else values)

    assert wrong(EXAMPLES["leaky"], planned("leaky", family)) == []
    monkeypatch.setattr(api_layers, "compute", wronged)
    seen = wrong(EXAMPLES["leaky"], planned("leaky", family))
    assert any("/max" in case for case in seen)
    assert not wrong(EXAMPLES["leaky"], planned("leaky", "api-shape-out"))


def found_by(example: str) -> set[str]:
    """The families by NVIDIA's API of which a case goes wrong."""
    return {family for family in BY_API if wrong(EXAMPLES[example], planned(example, family))}


def test_a_dropped_mask_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    made = planned("leaky", "api-concat-longer", precisions=[DType.FLOAT32])
    assert wrong(EXAMPLES["leaky"], made) == []
    monkeypatch.setattr(Case, "defined", lambda self, outputs: outputs)
    assert wrong(EXAMPLES["leaky"], made) == [case.id for case in made.cases]


def test_a_padding_of_another_length_is_seen() -> None:
    made = planned("leaky", "api-concat-longer", precisions=[DType.FLOAT32])
    cases = tuple(replace(case, padded={name: n + 1 for name, n in case.padded.items()}) for case in made.cases)
    assert wrong(EXAMPLES["leaky"], replace(made, cases=cases)) == [case.id for case in made.cases]


@pytest.mark.parametrize("family", ["api-loop-iterator-0-reversed", "api-loop-reverse-0", "api-loop-iterator-1"])
def test_an_iterator_or_output_turned_round_is_seen(family: str) -> None:
    made = planned("leaky", family, precisions=[DType.FLOAT32])
    (network,) = made.by_api
    steps: list[api.Step] = []
    for step in network.steps:
        if isinstance(step, api.IteratorLayer):
            steps.append(replace(step, reverse=not step.reverse))
        else:
            steps.append(step)
    turned = replace(made, networks=(replace(network, steps=tuple(steps)),))
    seen = wrong(EXAMPLES["leaky"], turned)
    assert [case.id for case in made.cases if not case.id.endswith("/min")] == [c for c in seen if "/min" not in c]


def test_a_concatenation_below_the_trip_count_is_an_error() -> None:
    made = planned("leaky", "api-concat-longer", precisions=[DType.FLOAT32])
    case = next(case for case in made.cases if case.point == "max")
    short = replace(case, feeds={**case.feeds, "length": np.array(2, np.int32)})
    with pytest.raises(CheckFailed, match=r"its length is 2, and the loop made 3 trips"):
        ran(EXAMPLES["leaky"], made, short)


# Bad signatures and names.

NO_FEEDBACK = Manifest.parse(
    """
    plugin = {name = "Doubling"}
    inputs = [{name = "x", types = ["float32"], shape = ["n", "c"]}]
    outputs = [{name = "y", types = ["float32"], shape = ["2 * n", "c"]}]
    profiles = [{symbols = {n = [1, 2, 4], c = [3, 3, 3]}}]
    """
)
DEEP = Manifest.parse(
    """
    plugin = {name = "Deep"}
    inputs = [{name = "x", types = ["float32"], shape = ["n", 1, 1, 1, 1, 1, 1, 1]}]
    outputs = [{name = "y", types = ["float32"], shape = ["n + 1", 1, 1, 1, 1, 1, 1, 1]}]
    profiles = [{symbols = {n = [1, 2, 4]}}]
    """
)


def doubling(x: Array) -> Array:
    return np.concatenate([x, x])


def test_what_cannot_be_a_state_stands_elsewhere() -> None:
    made = plan(NO_FEEDBACK, Reference(NO_FEEDBACK, doubling), seed=1)
    families = {network.family for network in made.networks}
    assert {"loop-while", "chain", "shape-values"} == set(ALL) - families
    example = Example(NO_FEEDBACK, doubling, lambda *_: [])
    assert wrong(example, made) == []


def test_a_signature_that_no_loop_can_hold() -> None:
    refused = {one.family.NAME: one.refusal for one in selection.offered(DEEP) if one.refusal}
    loops = {name for name in FAMILIES if "loop" in name or "scan" in name or "concat" in name}
    assert set(refused) == {*loops, "chain", "shape-values"}
    assert "8 dimensions" in refused["loop-count"]
    with pytest.raises(UsageError, match="The network 'loop-count' cannot hold Deep: 'y' has 8 dimensions"):
        selection.choose(DEEP, ["loop-count"])
    with pytest.raises(UsageError, match="The network 'loop' cannot hold Deep"):
        selection.choose(DEEP, ["loop"])
    assert "cond-both" in {family.NAME for family in selection.choose(DEEP, None)}


def test_a_name_and_a_group() -> None:
    manifest = EXAMPLES["leaky"].manifest
    assert [family.NAME for family in selection.choose(manifest, ["scan", "scan"])] == [
        "scan-forward", "scan-reverse-input", "scan-reverse-output", "scan-axis-1",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="no network 'loop-cuont'; did you mean 'loop-count'"):
        selection.choose(manifest, ["loop-cuont"])


# The host's refusals of INT8 in loops.


def int8_loop(op: str) -> Network:
    made = planned("leaky", "loop-count" if op == "Loop" else "scan-forward", precisions=[DType.FLOAT32])
    (network,) = made.usual
    model = onnx.load_from_string(network.model)
    (node,) = [node for node in model.graph.node if node.op_type == op]
    (body,) = [attribute.g for attribute in node.attribute if attribute.name == "body"]
    end = body.output[-1]
    made_of = next(one for one in body.node if end.name in one.output)
    made_of.output[0] = "before_cast"
    body.node.append(helper.make_node("Cast", ["before_cast"], [end.name], "n998_cast", to=onnx.TensorProto.INT8))
    end.type.tensor_type.elem_type = onnx.TensorProto.INT8
    if op == "Loop":
        (state,) = [value for value in body.input if value.name.endswith("_state")]
        state.type.tensor_type.elem_type = onnx.TensorProto.INT8
        inner = next(one for one in body.node if one.op_type == "Leaky")
        inner.input[0] = "state_float"
        body.node.insert(0, helper.make_node("Cast", [state.name], ["state_float"], "n997_cast", to=1))
        model.graph.node.insert(0, helper.make_node("Cast", ["x"], ["x_int8"], "n996_cast", to=3))
        node.input[2] = "x_int8"
    return replace(network, model=model.SerializeToString())


class Built:
    """What the host knows of the plugin Leaky."""

    input_dims = ((-1, -1, -1, -1),)
    v3 = None

    class _Shape:
        def at(self, dims: object, actual: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
            return actual[0]

    class _Output:
        dtype = DType.FLOAT32

    shapes = (_Shape(),)
    outputs = ((_Output(),),)


@pytest.mark.parametrize(("op", "what"), [("Loop", "state 0"), ("Scan", "concatenated output 0")])
def test_int8_never_crosses_a_loops_boundary(op: str, what: str) -> None:
    network = int8_loop(op)
    built: Mapping[str, Any] = {call.node: Built() for call in network.calls}
    with pytest.raises(CheckFailed, match=f"{op} '.*': {what} is INT8") as caught:
        shape_check.walk(network, "Leaky", built)
    assert "loops compute in FP32 and FP16" in str(caught.value)


# Listing, saving, documents.


def test_saved_models_pass_the_checker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = EXAMPLES["trio"].manifest
    from pluginkit.testing import onnx_export

    written = onnx_export.save(manifest, list(FAMILIES.values()), tmp_path / "models")
    assert len(written) == len(ONNX) * 3 == len(list((tmp_path / "models").iterdir()))
    for path in written:
        onnx.checker.check_model(str(path), full_check=True)
        model = onnx.load(path)
        assert {(opset.domain, opset.version) for opset in model.opset_import} == {("", 17), ("pluginkit", 1)}
        values = [*model.graph.input, *model.graph.output]
        assert all(value.name and value.type.tensor_type.HasField("shape") for value in values)
        assert all(node.name for node in walker.nodes(model.graph))


def test_the_list(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["networks", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in output] == list(ALL)
    assert all(row["description"].endswith(".") for row in output)
    assert "applicable" not in output[0]
    assert cli.run(["networks", "--save", "models"]) == 2
    assert "--save needs a plugin's signature" in capsys.readouterr().err
    assert cli.run(["networks", "--network", "lop"]) == 2
    assert "did you mean 'loop'?" in capsys.readouterr().err


def test_the_list_for_a_project(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "pluginkit.toml").write_text(
        '[plugin]\nname = "Deep"\n[[inputs]]\nname = "x"\ntypes = ["float32"]\n'
        'shape = ["n", 1, 1, 1, 1, 1, 1, 1]\n[[outputs]]\nname = "y"\ntypes = ["float32"]\n'
        'shape = ["n + 1", 1, 1, 1, 1, 1, 1, 1]\n[[profiles]]\nsymbols = { n = [1, 2, 4] }\n'
    )
    assert cli.run(["networks", "--project", str(tmp_path), "--json"]) == 0
    output = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert not output["loop-count"]["applicable"]
    assert "8 dimensions" in output["loop-count"]["why_not"]
    assert output["cond-both"]["applicable"]
    assert cli.run(["networks", "--project", str(tmp_path), "--save", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "cond-both-float32.onnx").exists()
    assert not list((tmp_path / "out").glob("loop-*"))


def test_the_document_has_every_network() -> None:
    text = (ROOT / "docs" / "networks.md").read_text()
    message = re.findall(r"^### `([\w-]+)`", text, re.MULTILINE)
    assert message == list(ALL)
    for name, section in zip(message, re.split(r"^### ", text, flags=re.MULTILINE)[1:], strict=True):
        for layer in ALL[name].LAYERS:
            assert layer.split(" ")[0].split("(")[0] in section, (name, layer)


def imports(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.startswith("pluginkit")}


def test_no_oracle_imports_what_runs_networks() -> None:
    start = Path(networks.__file__).parent
    # pluginkit/__init__.py imports what `pluginkit.load` needs only when that is asked for.
    todo, seen = list(start.glob("*.py")), {ROOT / "pluginkit" / "__init__.py"}
    while todo:
        file = todo.pop()
        seen.add(file)
        for name in imports(file):
            path = ROOT.joinpath(*name.split(".")).with_suffix(".py")
            package = ROOT.joinpath(*name.split(".")) / "__init__.py"
            todo += [one for one in (path, package) if one.exists() and one not in seen and one not in todo]
    names = {str(file.relative_to(ROOT)) for file in seen}
    assert "pluginkit/testing/families/looping.py" in names
    assert not {name for name in names if name.startswith(("pluginkit/runtimes", "pluginkit/host"))}


def test_the_setting_of_the_list_is_enough() -> None:
    """Applicability is asked without scales; it must be the same in every precision."""
    for example in EXAMPLES.values():
        for family in FAMILIES.values():
            output = {family.refusal(Setting(example.manifest, kind, {})) for kind in example.manifest.precisions()}
            assert len(output) == 1


def test_the_state_of_a_scan_has_one_type_before_and_after_a_trip() -> None:
    """The plugin's floats cross the boundary of a Scan as they are: float16 isn't carried on as float32."""
    tensors = {
        "x": ("inputs", "float16"),
        "b": ("inputs", "float32"),
        "y": ("outputs", "float32"),
        "z": ("outputs", "float16"),
    }
    tables = [
        f'[[{table}]]\nname = "{name}"\ntypes = ["{kind}"]\nshape = ["n"]' for name, (table, kind) in tensors.items()
    ]
    profile = "[[profiles]]\nsymbols = { n = [1, 2, 4] }"
    manifest = Manifest.parse("\n".join(['[plugin]\nname = "Two"', *tables, profile]))
    setting = Setting(manifest, DType.FLOAT32, {})
    assert FAMILIES["scan-forward"].feedback(setting) == [("x", "z")]
    assert FAMILIES["loop-count"].feedback(setting) == [("x", "y"), ("b", "z")]
