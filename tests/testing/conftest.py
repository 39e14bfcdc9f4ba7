"""Three signatures, their references, and their plugins as standard ONNX operators for onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper

from pluginkit.dtypes import DType
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Array, Case, Network, PluginCall
from pluginkit.testing.families import FAMILIES as ALL
from pluginkit.testing.reference import Reference

FAMILIES = {name: family for name, family in ALL.items() if name != "shape-values"}
"""Those that hold a plugin without shape inputs (with one: test_shape_inputs.py)."""

Emit = Callable[[Sequence[str], Sequence[str], str], list[NodeProto]]


@dataclass(frozen=True)
class Example:
    """A plugin: signature, reference, and nodes that compute it in float32 (inputs, outputs, prefix)."""

    manifest: Manifest
    function: Callable[..., object]
    emit: Emit

    @property
    def reference(self) -> Reference:
        return Reference(self.manifest, self.function)


def tensors(kind: str, *specs: tuple[str, str, bool]) -> str:
    return "".join(
        f'[[{kind}]]\nname = "{name}"\ntypes = ["float32", "float16", "int8"]\nshape = [{shape}]\n'
        + (f'scale = "{name}_scale"\n' if scaled else "")
        for name, shape, scaled in specs
    )


def scale_fields(*names: str) -> str:
    return "".join(f'[[fields]]\nname = "{name}_scale"\ntype = "float32"\ndefault = 0.0\n' for name in names)


NCHW = '"n", "c", "h", "w"'
LEAKY = Manifest.parse(
    '[plugin]\nname = "Leaky"\n'
    + tensors("inputs", ("x", NCHW, True))
    + tensors("outputs", ("y", NCHW, True))
    + '[[fields]]\nname = "alpha"\ntype = "float32"\ndefault = 0.5\n'
    + scale_fields("x", "y")
    + '[[profiles]]\nname = "default"\nsymbols = { n = [1, 2, 4], c = [1, 3, 8], h = [1, 8, 16], w = [1, 8, 16] }\n'
)
BAR = Manifest.parse(
    '[plugin]\nname = "BarPlugin"\n'
    + tensors("inputs", ("a", NCHW, False), ("b", '"m", "c", "h", "w"', False))
    + tensors("outputs", ("copy", '"m", "c", "h", "w"', False), ("joined", '"n + m", "c", "h", "w"', False))
    + '[[profiles]]\nname = "small"\n'
    + "symbols = { n = [1, 2, 3], m = [1, 1, 2], c = [1, 2, 4], h = [1, 4, 6], w = [1, 4, 6] }\n"
    + '[[profiles]]\nname = "large"\n'
    + "symbols = { n = [4, 5, 6], m = [2, 3, 4], c = [3, 3, 3], h = [7, 7, 8], w = [7, 7, 8] }\n"
)
TRIO = Manifest.parse(
    '[plugin]\nname = "Trio"\nnamespace = "lab"\nversion = "7"\n'
    + tensors("inputs", ("a", '"n", "c"', True), ("b", '"n", "c"', True))
    + '[[inputs]]\nname = "k"\ntypes = ["int64"]\nshape = [1]\n'
    + tensors("outputs", ("mix", '"n", "c"', True), ("wide", '"n", "c * 2"', True))
    + scale_fields("a", "b", "mix", "wide")
    + '[[profiles]]\nname = "default"\nsymbols = { n = [1, 2, 5], c = [4, 6, 9] }\n'
)


def emit_leaky(inputs: Sequence[str], outputs: Sequence[str], prefix: str) -> list[NodeProto]:
    return [helper.make_node("LeakyRelu", inputs, outputs, alpha=0.5)]


def emit_bar(inputs: Sequence[str], outputs: Sequence[str], prefix: str) -> list[NodeProto]:
    return [
        helper.make_node("Identity", [inputs[1]], [outputs[0]]),
        helper.make_node("Concat", inputs, [outputs[1]], axis=0),
    ]


def emit_trio(inputs: Sequence[str], outputs: Sequence[str], prefix: str) -> list[NodeProto]:
    half = helper.make_node("Constant", [], [f"{prefix}h"], value_float=0.5)
    return [
        half,
        helper.make_node("Mul", [inputs[1], f"{prefix}h"], [f"{prefix}b"]),
        helper.make_node("Sub", [inputs[0], f"{prefix}b"], [f"{prefix}d"]),
        helper.make_node("Cast", [inputs[2]], [f"{prefix}k"], to=TensorProto.FLOAT),
        helper.make_node("Add", [f"{prefix}d", f"{prefix}k"], [outputs[0]]),
        helper.make_node("Concat", inputs[:2], [outputs[1]], axis=1),
    ]


EXAMPLES = {
    "leaky": Example(LEAKY, lambda x, *, alpha: np.where(x >= 0, x, alpha * x), emit_leaky),
    "bar": Example(BAR, lambda a, b: (b, np.concatenate([a, b])), emit_bar),
    "trio": Example(TRIO, lambda a, b, k: (a - 0.5 * b + k, np.concatenate([a, b], axis=1)), emit_trio),
}


@pytest.fixture(params=EXAMPLES, scope="session")
def example(request: pytest.FixtureRequest) -> Example:
    return EXAMPLES[request.param]


def inlined(network: Network, example: Example) -> onnx.ModelProto:
    """The network's model with standard operators in place of the plugin's nodes."""
    model = onnx.load_from_string(network.model)
    calls = {call.node: call for call in network.calls}
    _replace(model.graph, calls, example)
    assert not calls, f"no such nodes: {list(calls)}"
    onnx.checker.check_model(model, full_check=True)
    return model


def _replace(graph: onnx.GraphProto, calls: dict[str, PluginCall], example: Example) -> None:
    nodes: list[NodeProto] = []
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _replace(attribute.g, calls, example)
        nodes += _as_standard(node, calls.pop(node.name), example, graph) if node.domain else [node]
    del graph.node[:]
    graph.node.extend(nodes)


def _as_standard(node: NodeProto, call: PluginCall, example: Example, graph: onnx.GraphProto) -> list[NodeProto]:
    nodes, inputs, outputs, after = [], [], [], []
    prefix = f"{node.name}_"
    for index, (name, kind) in enumerate(zip(node.input, call.types, strict=True)):
        inputs.append(f"{prefix}i{index}" if kind in (DType.FLOAT16, DType.INT8) else name)
        nodes += _convert(name, inputs[-1], kind, call.scales[index], graph, enter=False)
    for index, (name, kind) in enumerate(zip(node.output, call.output_types, strict=True)):
        outputs.append(f"{prefix}o{index}" if kind in (DType.FLOAT16, DType.INT8) else name)
        after += _convert(outputs[-1], name, kind, call.output_scales[index], graph, enter=True)
    return [*nodes, *example.emit(inputs, outputs, prefix), *after]


def _convert(
    source: str, target: str, kind: DType, scale: float, graph: onnx.GraphProto, *, enter: bool
) -> list[NodeProto]:
    if kind is DType.FLOAT16:
        to = TensorProto.FLOAT16 if enter else TensorProto.FLOAT
        return [helper.make_node("Cast", [source], [target], to=to)]
    if kind is not DType.INT8:
        return []
    graph.initializer.append(helper.make_tensor(f"{target}.s", TensorProto.FLOAT, [], [scale]))
    graph.initializer.append(helper.make_tensor(f"{target}.z", TensorProto.INT8, [], [0]))
    op = "QuantizeLinear" if enter else "DequantizeLinear"
    return [helper.make_node(op, [source, f"{target}.s", f"{target}.z"], [target])]


def session(model: onnx.ModelProto) -> Callable[[Case], dict[str, Array]]:
    """Run a standard model's cases in onnxruntime (no fusing of Q and DQ)."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    opened = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in opened.get_outputs()]
    return lambda case: dict(zip(names, opened.run(names, dict(case.feeds)), strict=True))
