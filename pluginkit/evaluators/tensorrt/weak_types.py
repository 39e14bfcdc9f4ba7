"""Networks of TensorRT 8 and 10 whose precision the builder chooses by flags: made of a plan's FP32 network `plain`.

They get the inputs of the explicitly typed network of that precision, and must give the same as that one; with
dynamic ranges also those of networks that pluginkit's host quantizes implicitly, where descriptors have the scales.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import onnx

from pluginkit.interpreter import walker
from pluginkit.network.attributes import field_attribute
from pluginkit.network.networks import Case, Network
from pluginkit.network.plan import Plan
from pluginkit.network.weak_types import Weak, WeakKind
from pluginkit.testing.calibration import METHODS

KINDS: dict[WeakKind, str] = {
    "fp16": "float16",
    "int8-ranges": "int8",
    "int8-minmax": "int8",
    "int8-entropy": "int8",
}
"""Of which of the plan's precisions each one's cases are."""


def networks(plan: Plan) -> Iterator[tuple[Network, Weak, list[Case]]]:
    """Each network, how it gets its precision, and its cases; none where the plan lacks FP32 or the precision."""
    found = {network.id: network for network in plan.networks if isinstance(network, Network)}
    for full in found.values():
        family, kind_of, *part = full.id.split("/")
        if (family, kind_of) != ("plain", "float32"):
            continue
        for kind, precision in KINDS.items():
            if low := found.get("/".join(("plain", precision, *part))):
                yield from _made(plan, full, low, kind, "/".join(("plain", kind, *part)))
        for method in METHODS:
            if low := found.get("/".join(("plain", f"int8-implicit-{method}", *part))):
                yield from _made(plan, full, low, "int8-ranges", "/".join(("plain", f"int8-ranges-{method}", *part)))


def _made(
    plan: Plan, full: Network, low: Network, kind: WeakKind, name: str
) -> Iterator[tuple[Network, Weak, list[Case]]]:
    cases = [replace(case, network_id=name) for case in plan.cases if case.network_id == low.id and not case.advisory]
    calibrating = [case for case in plan.cases if case.network_id == full.id and case.point == "opt"]
    batches = tuple(case.feeds for case in calibrating if case.profile == full.profiles[0].name)
    weak = Weak(
        kind,
        # Nodes are numbered, so with casts before it the plugin's has another name.
        input_scales={one.node: other.scales for one, other in zip(full.calls, low.calls, strict=True)},
        output_scales={one.node: other.output_scales for one, other in zip(full.calls, low.calls, strict=True)},
    )
    if weak.calibrated:
        weak = replace(weak, batches=batches)
    if batches or not weak.calibrated:
        yield replace(_with_fields(full, low), id=name), weak, cases


def _with_fields(full: Network, low: Network) -> Network:
    """The FP32 network with the other's fields: an INT8 plugin's scales are fields too."""
    model = onnx.load_from_string(full.model)
    fields = {one.node: other.fields for one, other in zip(full.calls, low.calls, strict=True)}
    for node in walker.nodes(model.graph):
        if node.name in fields:
            kept = [attribute for attribute in node.attribute if attribute.name not in fields[node.name]]
            del node.attribute[:]
            node.attribute.extend(kept)
            node.attribute.extend(field_attribute(name, *given) for name, given in fields[node.name].items())
    return replace(full, model=model.SerializeToString())
