"""loop: a Loop with a trip count, the plugin in its body."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import GraphProto, TensorProto, helper

from pluginkit import shapes
from pluginkit.manifest import Tensor
from pluginkit.testing.model import Array, Network, PluginCall, Range
from pluginkit.testing.networks.base import Answer, Applier, Body, Names, Setting, network, value_info
from pluginkit.testing.points import Point

NAME = "loop"
DESCRIPTION = "A Loop with a trip count: outputs feed back into inputs of the same shape, the others are concatenated."

TRIPS = (1, 3, 4)
"""The trip count at min, opt and max."""
_DECAY = 0.5


def control_name(setting: Setting) -> str:
    """The graph input that gives the trip count: a 0-D int64."""
    return setting.free_name("trips")


def controls(setting: Setting, point: Point) -> list[tuple[str, dict[str, Array]]]:
    """The trip count follows the point; random points have 2 trips, own data has opt's."""
    count = {"min": TRIPS[0], "opt": TRIPS[1], "max": TRIPS[2], "data": TRIPS[1]}.get(point.name, 2)
    return [("", {control_name(setting): np.array(count, np.int64)})]


def feedback(setting: Setting) -> list[tuple[str, str]]:
    """(input, output that is fed back into it): pairs of the same symbolic shape, each output once."""
    free = [tensor for tensor in setting.manifest.outputs if setting.is_float(tensor)]
    pairs = []
    for tensor in setting.manifest.inputs:
        match = next((out for out in free if _shape(out) == _shape(tensor)), None)
        if setting.is_float(tensor) and match is not None:
            free.remove(match)
            pairs.append((tensor.name, match.name))
    return pairs


def _shape(tensor: Tensor) -> list[shapes.Expr]:
    return [shapes.parse(dim) for dim in tensor.shape]


def _states(setting: Setting) -> list[Tensor]:
    return [tensor for tensor in setting.manifest.inputs if setting.is_float(tensor)]


def _scanned(setting: Setting) -> list[Tensor]:
    fed = {output for _, output in feedback(setting)}
    return [tensor for tensor in setting.manifest.outputs if tensor.name not in fed]


def _last(setting: Setting, tensor: Tensor) -> str:
    return setting.free_name(f"{tensor.name}_last")


def _all(setting: Setting, tensor: Tensor) -> str:
    return setting.free_name(f"{tensor.name}_all")


def build(setting: Setting) -> Network:
    """The network.

    States are the float inputs: those of `feedback` become the plugin's output, the others are halved each
    trip. INT32 inputs don't change and come from outside. Graph outputs: the states' last values (`x_last`), and
    the outputs that are no states, concatenated on a new axis 0 (`y_all`).
    """
    manifest, trips, states = setting.manifest, control_name(setting), _states(setting)
    last = [_last(setting, tensor) for tensor in states]
    scanned = [_all(setting, tensor) for tensor in _scanned(setting)]
    names = Names([trips, *[tensor.name for tensor in manifest.inputs], *last, *scanned])
    main = Body(setting, names, "main")
    body, call = _body(setting, names)
    going = main.constant("going", TensorProto.BOOL, [], [True])
    main.op("Loop", [trips, going, *[tensor.name for tensor in states]], [*last, *scanned], body=body)
    values: Range = ((TRIPS[0],), (TRIPS[1],), (TRIPS[2],))
    return network(
        setting,
        NAME,
        main,
        inputs=[
            helper.make_tensor_value_info(trips, TensorProto.INT64, []),
            *[value_info(setting, tensor, tensor.name) for tensor in manifest.inputs],
        ],
        outputs=[
            *[value_info(setting, tensor, name) for tensor, name in zip(states, last, strict=True)],
            *[
                value_info(setting, tensor, name, lead=["trip_count"])
                for tensor, name in zip(_scanned(setting), scanned, strict=True)
            ],
        ],
        calls=[call],
        control=(trips, values),
    )


def _body(setting: Setting, names: Names) -> tuple[GraphProto, PluginCall]:
    body = Body(setting, names, "body")
    states = _states(setting)
    inside = {tensor.name: names.tensor(f"body_{tensor.name}_state") for tensor in states}
    iteration, going = names.tensor("body_iteration"), names.tensor("body_going")
    still = body.op("Identity", [going], names.tensor("body_still"))
    left, call = body.plugin([inside.get(tensor.name, tensor.name) for tensor in setting.manifest.inputs])
    produced = dict(zip([tensor.name for tensor in setting.manifest.outputs], left, strict=True))
    fed = dict(feedback(setting))
    ends = []
    for tensor in states:
        end = names.tensor(f"body_{tensor.name}_next")
        if tensor.name in fed:
            body.op("Identity", [produced[fed[tensor.name]]], end)
        else:
            half = body.constant(f"{tensor.name}_decay", TensorProto.FLOAT, [], [_DECAY])
            body.op("Mul", [inside[tensor.name], half], end)
        ends.append(value_info(setting, tensor, end))
    for tensor in _scanned(setting):
        end = body.op("Identity", [produced[tensor.name]], names.tensor(f"body_{tensor.name}_scan"))
        ends.append(value_info(setting, tensor, end))
    graph = helper.make_graph(
        body.nodes,
        "loop_body",
        [
            helper.make_tensor_value_info(iteration, TensorProto.INT64, []),
            helper.make_tensor_value_info(going, TensorProto.BOOL, []),
            *[value_info(setting, tensor, inside[tensor.name]) for tensor in states],
        ],
        [helper.make_tensor_value_info(still, TensorProto.BOOL, []), *ends],
        body.constants,
    )
    return graph, call


def sources(setting: Setting) -> dict[str, str]:
    """Graph output -> the plugin output that it shows; states that only decay show none."""
    fed = dict(feedback(setting))
    shown = {_last(setting, t): fed[t.name] for t in _states(setting) if t.name in fed}
    return {**shown, **{_all(setting, tensor): tensor.name for tensor in _scanned(setting)}}


def oracle(applier: Applier, feeds: Mapping[str, Array]) -> Answer:
    """What must come out, trip by trip; each trip enqueues once."""
    setting, fed = applier.setting, dict(feedback(applier.setting))
    trips = int(feeds[control_name(setting)])
    now = {tensor.name: np.asarray(feeds[tensor.name]) for tensor in setting.manifest.inputs}
    history: dict[str, list[Array]] = {tensor.name: [] for tensor in _scanned(setting)}
    for _ in range(trips):
        left = applier([now[tensor.name] for tensor in setting.manifest.inputs])
        produced = dict(zip([tensor.name for tensor in setting.manifest.outputs], left, strict=True))
        for tensor in _states(setting):
            name = tensor.name
            now[name] = produced[fed[name]] if name in fed else applier.state(now[name] * np.float32(_DECAY))
        for name, values in history.items():
            values.append(produced[name])
    outputs = {_last(setting, tensor): now[tensor.name].astype(np.float64) for tensor in _states(setting)}
    outputs.update({_all(setting, tensor): np.stack(history[tensor.name]) for tensor in _scanned(setting)})
    return Answer(outputs, enqueues=trips, chain=trips if fed else 1)
