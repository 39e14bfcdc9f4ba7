"""The execution contexts of a network's plugins, and a run of the network in them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack

import numpy as np
import onnx

from pluginkit import host
from pluginkit.errors import CheckFailed
from pluginkit.formats import Format
from pluginkit.interpreter import api_walker, never_seen, walker
from pluginkit.network.api_model import ApiNetwork, is_probe
from pluginkit.network.networks import Array, Network, PluginCall, Range
from pluginkit.runtimes.verdict import Way

AS_8_5: Way = "as-8.5"
_TIMED = 100
"""So many calls of enqueue TensorRT 8.5.3 was seen to make to time one type (docs/behaviours.md, `timing`)."""
_TIMED_SECONDS = 1.0
"""CPU seconds that they may take here, more or less: a slow plugin is called fewer times."""

Layer = Callable[[PluginCall, int], host.BuiltPlugin]
"""A plugin's node, as it was built for a profile."""


class NetworkContexts:
    """A context of each of a network's plugins; as TensorRT 8.5.3 one in each other profile, too, at the same time.

    Args:
        stack: ends them.
        creator: the plugin's.
        device: where they run.
        network: the network.
        layer: what was built.
        profile: the number of the profile that they begin in.
        way: how enqueue is called.
        initialize_clones: that of `host.Context`.
    """

    def __init__(
        self,
        stack: ExitStack,
        creator: host.Creator,
        device: host.AnyDevice,
        network: Network | ApiNetwork,
        layer: Layer,
        profile: int,
        way: Way,
        *,
        initialize_clones: bool = False,
    ) -> None:
        def opened(call: PluginCall, number: int) -> host.Context:
            context = host.Context(
                creator,
                layer(call, number),
                specs_of(call, number),
                device,
                concurrent=way == "concurrent",
                with_handles=way == "handles",
                surrounded=way == "eager" and network.family == "plain",
                own_bounds=way == AS_8_5,
                initialize_clones=initialize_clones,
            )
            return stack.enter_context(context)

        self._network = network
        self._layer = layer
        self._profile = profile
        self._way = way
        self._calls = {call.node: call for call in plugins_of(network)}
        self._contexts = {name: opened(call, profile) for name, call in self._calls.items()}
        others = [number for number in range(len(network.profiles)) if number != profile and way == AS_8_5]
        self._beside = [opened(call, number) for call in self._calls.values() for number in others]
        if way == AS_8_5:
            # Of an engine of several profiles 8.5.3 makes clones for all of them in each context: one runs.
            for call in self._calls.values():
                opened(call, profile)
        self._masks: Iterator[Sequence[Array]] = iter(())
        self._ran = False

    def switch(self, profile: int) -> None:
        """The runs that follow are in another profile."""
        if profile != self._profile:
            for name, context in self._contexts.items():
                context.switch_profile(self._layer(self._calls[name], profile), specs_of(self._calls[name], profile))
        self._profile = profile

    def run(
        self, op_type: str, feeds: Mapping[str, Array], masks: Sequence[Sequence[Array]]
    ) -> tuple[dict[str, Array], int]:
        """Runs the network.

        Args:
            op_type: the plugin's name.
            feeds: graph input -> array.
            masks: of each call of the plugin, which elements of its outputs need not be written.

        Returns:
            Graph output -> array, and how often enqueue was called.
        """
        # After the first run, so that what they are configured for is what the plugin has seen last.
        for context in self._beside if self._ran else ():
            context.run([np.zeros(spec.opt, spec.dtype.numpy) for spec in context.specs])
        self._masks = iter(masks)
        began, before = time.process_time(), self._enqueues
        not_taken = self._not_taken if self._way == "branches" else None
        if isinstance(self._network, ApiNetwork):
            outputs = api_walker.run(self._network, self._enqueue, feeds, not_taken)
        else:
            model = onnx.load_from_string(self._network.model)
            outputs = walker.run(model, op_type, self._enqueue, feeds, not_taken)
        self._ran = True
        if self._way == AS_8_5:
            for context in self._contexts.values():
                context.times = max(1, min(_TIMED, int(_TIMED_SECONDS / (time.process_time() - began))))
        return outputs, self._enqueues - before

    @property
    def _enqueues(self) -> int:
        return sum(context.enqueues for context in self._contexts.values())

    def _checked(self, node: str, inputs: Sequence[Array]) -> host.Context:
        context = self._contexts[node]
        _check_types(node, inputs, context.specs, self._calls[node].shape_inputs)
        return context

    def _enqueue(self, node: str, inputs: Sequence[Array]) -> Sequence[Array]:
        context = self._checked(node, inputs)
        return context.run([np.asarray(value, order="C") for value in inputs], next(self._masks, ()))

    def _not_taken(self, node: str, inputs: Sequence[Array]) -> Sequence[Array]:
        """The same in a branch that is not taken. A shape input has values that the network computes."""
        apart = self._calls[node].shape_inputs
        given = [value if i in apart else never_seen.like(value) for i, value in enumerate(inputs)]
        return self._checked(node, inputs).run(given, used=False)


def plugins_of(network: Network | ApiNetwork) -> list[PluginCall]:
    """The plugin's nodes without the probes behind it, which the library doesn't have."""
    return [call for call in network.calls if isinstance(network, Network) or not is_probe(call.node)]


def specs_of(call: PluginCall, profile: int) -> list[host.TensorSpec]:
    """The inputs of a plugin's node in a profile."""
    return [
        host.TensorSpec(
            dtype,
            # An element of a shape input is never a constant here: it comes from outside of the network.
            (-1,) * len(call.inputs[profile][i][0])
            if i in call.shape_inputs
            else _dims([ranges[i] for ranges in call.inputs]),
            *call.inputs[profile][i],
            scale=call.scales[i] or host.NO_SCALE if call.implicit else 1.0,
            format=call.formats[i].code if call.formats else Format.LINEAR.code,
        )
        for i, dtype in enumerate(call.types)
    ]


def _dims(ranges: Sequence[Range]) -> tuple[int, ...]:
    """The network's dimensions: those that differ anywhere in any profile are dynamic."""
    shapes = [shape for low_opt_high in ranges for shape in low_opt_high]
    return tuple(sizes[0] if len(set(sizes)) == 1 else -1 for sizes in zip(*shapes, strict=True))


def _check_types(
    node: str, inputs: Sequence[Array], specs: Sequence[host.TensorSpec], shape_inputs: Sequence[int]
) -> None:
    for index, (value, spec) in enumerate(zip(inputs, specs, strict=True)):
        sizes = tuple(int(number) for number in value.ravel()) if index in shape_inputs else value.shape
        inside = len(sizes) == len(spec.dims) and all(
            low <= size <= high for low, size, high in zip(spec.min, sizes, spec.max, strict=True)
        )
        if not inside and index in shape_inputs:
            raise CheckFailed(
                f"plugin node {node!r}: the shape input {index} has the values {list(sizes)}, outside of the profile's "
                f"{list(spec.min)} to {list(spec.max)}",
                hint="Is what the network computes for it right?",
            )
        if not inside:
            # Only a plugin that feeds a plugin, itself in a loop say, can bring this about.
            raise CheckFailed(
                f"plugin node {node!r}: input {index} has the shape {value.shape}, outside of the profile's "
                f"{spec.min} to {spec.max}",
                hint="Is the shape that the plugin feeding it computes right?",
            )
