"""What a model is run on: random arrays, integers that are valid indices where the model shows into what."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import numpy as np
import onnx

from pluginkit.importing.onnx_graph import dims, own_types, places, subgraphs
from pluginkit.network.networks import Array, NetworkProfile

SMALL = 3
"""Integers whose use the model doesn't show stay below: counts and indices, mostly."""
SAME_VALUES = ("Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Expand", "Slice", "Tile")
"""Operators whose output has no other values than their first input."""
INDICES = {"Gather": 1, "GatherElements": 1, "Scatter": 1, "ScatterElements": 1, "RoiAlign": 2}
"""Operators with an input, of this number, of indices along one axis of the first: attribute `axis`, by default 0."""


def draw(
    model: onnx.ModelProto, profile: NetworkProfile, plugins: str, rng: np.random.Generator
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """The graph's inputs at the profile's opt, and what was drawn, in a line each.

    Args:
        model: the model.
        profile: the inputs' shapes, and the values of those that shapes follow from.
        plugins: the domain of the plugins' nodes.
        rng: what the values follow from.
    """
    constants = {tensor.name for tensor in model.graph.initializer}
    given = [value for value in model.graph.input if value.name not in constants]
    bounds = _bounds(model, profile, plugins)
    feeds: dict[str, Array] = {}
    descriptions = []
    for value in given:
        name, kind = value.name, onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = profile.shapes[name][1]
        if name in profile.values:
            feeds[name] = np.array(profile.values[name][1], kind).reshape(shape)
            continue
        if kind.kind == "b":
            feeds[name] = rng.integers(0, 2, shape).astype(kind)
            what = "true and false"
        elif kind.kind in "iu":
            bound, why = bounds.get(name, (SMALL, "nothing in the model says a range"))
            bound = min(bound, np.iinfo(kind).max)
            feeds[name] = rng.integers(0, bound, shape).astype(kind)
            what = f"integers from 0 to {bound - 1} ({why})"
        else:
            feeds[name] = rng.standard_normal(shape).astype(kind)
            what = "normally distributed numbers"
        descriptions.append(f"{name}: {what}, {kind.name} {'x'.join(map(str, shape)) or 'scalar'}")
    return feeds, tuple(descriptions)


def _bounds(model: onnx.ModelProto, profile: NetworkProfile, plugins: str) -> dict[str, tuple[int, str]]:
    """Of the inputs of integers that are indices: what they must be less than, and why."""
    known = _shapes(model, profile)
    nodes = [place.node for place in places(model.graph)]
    found: dict[str, tuple[int, str]] = {}
    for value in model.graph.input:
        names = {value.name}
        for node in nodes:
            if node.op_type in SAME_VALUES and node.input and node.input[0] in names:
                names.add(node.output[0])
        limits = [limit for node in nodes for limit in _limits(node, names, known, plugins, model)]
        if limits:
            found[value.name] = min(limits)
    return found


def _limits(
    node: onnx.NodeProto, names: set[str], known: Mapping[str, tuple[int, ...]], plugins: str, model: onnx.ModelProto
) -> Iterator[tuple[int, str]]:
    inputs = list(node.input)
    if node.domain == plugins and names & set(inputs):
        # As `pluginkit test` draws them: below every dimension an index is a valid one.
        sizes = [size for name in inputs for size in known.get(name, ()) if size > 0]
        if sizes:
            yield min(sizes), f"below each dimension of what node {node.name} is given"
    if names & set(inputs[INDICES.get(node.op_type, len(inputs)) :][:1]) and inputs[0] in known:
        axis = next((one.i for one in node.attribute if one.name == "axis"), 0)
        shape = known[inputs[0]]
        if -len(shape) <= axis < len(shape) and shape[axis] > 0:
            yield shape[axis], f"indices into {inputs[0]}"
    if node.op_type == "GatherND" and len(inputs) > 1 and inputs[1] in names and known.get(inputs[0]):
        yield max(1, min(known[inputs[0]])), f"indices into {inputs[0]}"
    if node.op_type == "OneHot" and inputs[0] in names:
        depth = next((tensor for tensor in model.graph.initializer if tensor.name == inputs[1]), None)
        if depth is not None:
            yield int(onnx.numpy_helper.to_array(depth).reshape(-1)[0]), f"below the depth of {node.name or 'OneHot'}"


def inferred_at(model: onnx.ModelProto, profile: NetworkProfile, point: int) -> onnx.ModelProto:
    """The model with its inputs as the profile's min (0), opt (1) or max (2) has them, and what onnx infers of that."""
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for value in fixed.graph.input:
        if value.name in profile.shapes:
            kind = value.type.tensor_type.elem_type
            value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, kind, profile.shapes[value.name][point]))
    # Inference is a help: what it can't follow stays open.
    with contextlib.suppress(Exception):
        return onnx.shape_inference.infer_shapes(fixed)
    return fixed


def _shapes(model: onnx.ModelProto, profile: NetworkProfile) -> dict[str, tuple[int, ...]]:
    """Tensors whose shapes are known once the inputs have those of the profile's opt."""
    fixed = inferred_at(model, profile, 1)
    found: dict[str, tuple[int, ...]] = {}
    inner = (graph for place in places(fixed.graph) for _, graph in subgraphs(place.node))
    for graph in (fixed.graph, *inner):
        for name, tensor in own_types(graph).items():
            sizes = dims(tensor)
            if sizes is not None and all(isinstance(size, int) for size in sizes):
                found.setdefault(name, tuple(size for size in sizes if isinstance(size, int)))
    return found
