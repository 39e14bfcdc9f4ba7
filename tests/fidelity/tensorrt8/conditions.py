"""What a case has that TensorRT 8.5.3 refuses or falls over, by its network alone: the `when` of explained.toml."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from pluginkit.dtypes import DType
from pluginkit.interpreter.api_structure import reads as reads_of
from pluginkit.network import api_model as api
from pluginkit.network.networks import PluginCall
from tests.fidelity.signature import MAX_OUTPUTS, MAX_RANK

from .drawing.case import Case

LEAST_OF_INT8 = 3
"""Dimensions."""


def ranks(case: Case) -> Iterator[tuple[DType, int]]:
    """Type and number of dimensions of each of the plugins' tensors, the batch among them."""
    for call in case.network.calls:
        for kind, (_, dims, _) in zip(call.types, call.inputs[0], strict=True):
            yield kind, len(dims)
        for index, kind in enumerate(call.output_types):
            yield kind, output_rank(case, call, index)


def output_rank(case: Case, call: PluginCall, index: int) -> int:
    """How many dimensions an output has, by the plugin's fields; the batch among them."""
    fields = {name: value for name, (_, value) in call.fields.items()}
    inputs = [len(dims) for _, dims, _ in call.inputs[0]]
    rule = fields.get(f"rule{index}")
    if rule:
        return inputs[-1] if rule == "last" else max(inputs)
    listed = fields.get(f"dims{index}")
    found = len(listed) if isinstance(listed, tuple) else int(fields.get(f"rank{index}", 0))  # type: ignore[arg-type]
    return found + (case.base != "dynamic")


def few_dimensions(case: Case) -> bool:
    """An INT8 tensor of less than three dimensions; with an implicit batch that isn't one."""
    least = LEAST_OF_INT8 + case.implicit_batch
    return any(kind is DType.INT8 and count < least for kind, count in ranks(case))


def beside_other_types(case: Case) -> bool:
    """A plugin with an INT8 tensor and one of another type."""
    kinds = [{*call.types, *call.output_types} for call in case.network.calls]
    return any(DType.INT8 in one and len(one) > 1 for one in kinds)


def eight_dimensions(case: Case) -> bool:
    """An output of eight dimensions, the batch not among them."""
    calls = [(call, index) for call in case.network.calls for index in range(min(len(call.output_types), MAX_OUTPUTS))]
    most = MAX_RANK + (case.base != "dynamic")
    return any(output_rank(case, call, index) >= most for call, index in calls)


def shared_input_layers(case: Case) -> bool:
    """A plugin that gets two tensors or more from IIfConditionalInputLayers, one of which something else reads too."""
    inner = {step.out for step in case.network.steps if isinstance(step, api.BranchInput)}
    inner |= {step.out for step in case.network.steps if isinstance(step, api.Quantize) and step.x in inner}
    layers = [step for step in case.network.steps if isinstance(step, api.PluginLayer)]
    reads = Counter(name for step in case.network.steps for name in {*reads_of(step)})
    return any(
        sum(name in inner for name in layer.inputs) > 1 and any(reads[name] > 1 for name in layer.inputs)
        for layer in layers
    )


def quantized_with_implicit_batch(case: Case) -> bool:
    """An IQuantizeLayer in a network of an implicit batch."""
    return case.implicit_batch and case.quantized == "explicit"


def quantized_in_flow(case: Case) -> bool:
    """IQuantizeLayers in a loop or a conditional."""
    return case.quantized == "explicit" and case.family not in ("plain", "chain", "neighbour", "before", "after")


def mixed_v2(case: Case) -> bool:
    """An IPluginV2 on tensors of several types."""
    return case.base == "v2" and any(len({*call.types, *call.output_types}) > 1 for call in case.network.calls)


CONDITIONS: dict[str, Callable[[Case], bool]] = {
    one.__name__.replace("_", "-"): one
    for one in (
        few_dimensions,
        beside_other_types,
        eight_dimensions,
        shared_input_layers,
        quantized_with_implicit_batch,
        quantized_in_flow,
        mixed_v2,
    )
}
