"""Proof that a build has really asked the plugin: a plugin that the builder optimised away would pass everything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pluginkit.dtypes import DType
from pluginkit.formats import Format
from pluginkit.network.api_model import ApiNetwork
from pluginkit.network.networks import Dims, Network, PluginCall
from pluginkit.runtimes.verdict import Configured, SeenTensor

Key = tuple[tuple[int, Dims, Dims, Dims], ...]
"""Per tensor: type, min, opt, max."""


def problems(
    network: Network | ApiNetwork, seen: Sequence[Configured], expected: Sequence[Configured] = ()
) -> list[str]:
    """What is missing for each plugin node to have been configured for each profile as the host expects.

    Args:
        network: gives the types and the min/opt/max of each node's inputs.
        seen: what the plugin's configure was called with by the runtime.
        expected: what it was called with by the host: then outputs are compared as well.

    Returns:
        One sentence for each fault; none if all is well.
    """
    found = []
    for call in network.calls:
        mine = [record for record in seen if record.node == call.node]
        for index, profile in enumerate(network.profiles):
            where = f"plugin node {call.node!r}, profile {profile.name!r}"
            if not mine:
                if call.live:
                    found.append(f"{where}: never configured. Was it optimised away?")
                continue
            inputs = _inputs(call, index)
            matching = [record for record in mine if _key(record.inputs) == inputs]
            if not matching:
                saw = "; ".join(sorted({_text(_key(record.inputs)) for record in mine}))
                found.append(f"{where}: configured with other inputs than {_text(inputs)}, namely {saw}")
                continue
            outputs = _outputs(call, inputs, expected)
            if isinstance(network, Network) and network.held_formats:
                held = network.held_formats
                if not any(_has_formats((*one.inputs, *one.outputs), held) for one in matching):
                    saw = "; ".join(sorted({_formats((*one.inputs, *one.outputs)) for one in matching}))
                    wanted = ", ".join(form.trt for form in held)
                    found.append(f"{where}: configured with the formats {saw}, not with {wanted}")
            if outputs is not None and not any(_within(_key(record.outputs), outputs) for record in matching):
                saw = "; ".join(sorted({_text(_key(record.outputs)) for record in matching}))
                found.append(f"{where}: the host expects the outputs {_text(outputs)}, configure saw {saw}")
    return found


def _has_formats(tensors: Sequence[SeenTensor], formats: Sequence[Format]) -> bool:
    """NVIDIA calls kHWC and kDHWC of one channel linear, which is the same memory."""
    return all(
        seen.format == form.code
        or (seen.format == Format.LINEAR.code and form.lanes == 1 and form.axis and seen.max[-form.axis] == 1)
        for seen, form in zip(tensors, formats, strict=True)
    )


def _formats(tensors: Iterable[SeenTensor]) -> str:
    return ", ".join(Format.from_code(tensor.format).trt for tensor in tensors)


def _inputs(call: PluginCall, profile: int) -> Key:
    given = enumerate(zip(call.types, call.inputs[profile], strict=True))
    # configurePlugin gets no shape inputs.
    return tuple((dtype.code, *shape) for index, (dtype, shape) in given if index not in call.shape_inputs)


def _outputs(call: PluginCall, inputs: Key, expected: Iterable[Configured]) -> Key | None:
    for record in expected:
        if record.node == call.node and _key(record.inputs) == inputs:
            return _key(record.outputs)
    return None


def _within(seen: Key, expected: Key) -> bool:
    """The same types and shapes at opt, and bounds that are not wider: NVIDIA simplifies `n + m - n` to `m`."""
    if [(kind, best) for kind, _, best, _ in seen] != [(kind, best) for kind, _, best, _ in expected]:
        return False
    return all(
        all(mine <= its for mine, its in zip((*wide[1], *high), (*low, *wide[3]), strict=True))
        for (_, low, _, high), wide in zip(seen, expected, strict=True)
    )


def _key(tensors: Iterable[SeenTensor]) -> Key:
    return tuple((tensor.type, tensor.min, tensor.opt, tensor.max) for tensor in tensors)


def _text(key: Key) -> str:
    return ", ".join(f"{_type(code)} {_dims(low)}/{_dims(best)}/{_dims(high)}" for code, low, best, high in key)


def _type(code: int) -> str:
    try:
        return DType.from_code(code).value
    except ValueError:
        return f"DataType {code}"


def _dims(dims: Dims) -> str:
    return "x".join(str(n) for n in dims) or "scalar"
