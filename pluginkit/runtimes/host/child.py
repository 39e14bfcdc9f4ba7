"""The worker's side of `pluginkit.runtimes.host`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnx

from pluginkit import host, layouts
from pluginkit.errors import CheckFailed
from pluginkit.formats import Format
from pluginkit.host.memory.leaks import Leak, Site, find_leaks
from pluginkit.interpreter import api_structure, api_walker, preflight, shape_check, walker
from pluginkit.manifest import Manifest, type_rules
from pluginkit.network.api_model import ApiNetwork, is_probe
from pluginkit.network.large import LargeCase, LargeRun
from pluginkit.network.model import Array, Network, PluginCall, Range
from pluginkit.process.child import Breadcrumb
from pluginkit.runtimes.host import expected_shapes, expected_workspace, large, listed_fields
from pluginkit.runtimes.verdict import Ran, Target, Way

Earlier: TypeAlias = tuple[str, dict[str, Array], Sequence[Sequence[Array]]]
"""A run in the same contexts before: its profile, its feeds, and which elements need not be written."""


def open(  # noqa: A001
    breadcrumb: Breadcrumb, *, library: Path, manifest: Manifest, target: Target, version: int = 0
) -> HostChild:
    """Loads the library, which is built for that target, and finds the plugin's creator.

    `version` is what the host says it is; 0: what the library is for.
    """
    host.set_breadcrumb_file(breadcrumb.path)
    return HostChild(library, manifest, target, version)


def _host_version(manifest: Manifest) -> int:
    """What the host says it is: the newest TensorRT, unless the library's plugin classes are those of another alone."""
    chosen = manifest.library.layout if manifest.library is not None else None
    return layouts.layout(chosen or layouts.NUMBERS[0]).host_version


class HostChild:
    """A loaded plugin library."""

    def __init__(self, library: Path, manifest: Manifest, target: Target, version: int) -> None:
        plugin = manifest.plugin
        self._manifest = manifest
        self._identity = (plugin.name, plugin.version, plugin.namespace)
        self._library = host.Library(library, version or _host_version(manifest))
        self._creator = self._library.creator(plugin.name, plugin.version, plugin.namespace)
        self._device: host.AnyDevice = host.GpuDevice(library) if target == "gpu" else host.Device(library)
        self._doubts = host.take_doubts()

    def doubts(self) -> tuple[host.Doubt, ...]:
        """Those of the library, and of what was built since the last call."""
        return (*self._doubts, *host.take_doubts())

    def build(self, network: Network | ApiNetwork, *, implicit_batch: bool = False) -> dict[str, host.BuiltPlugin]:
        """Builds a network's plugin nodes: node -> what was built.

        Raises:
            CheckFailed: the network or the plugin is wrong (the plugin: a Finding with the method's name).
        """
        if isinstance(network, Network):
            preflight.check(network, self._identity)
        else:
            api_structure.check(network)
        listed_fields.check(self._manifest, self._creator.fields)
        built = {call.node: self._build(call, implicit_batch) for call in _plugins(network)}
        for call in _plugins(network):
            expected_shapes.check(self._manifest, call, built[call.node])
            expected_workspace.check(self._manifest, call, built[call.node])
        if isinstance(network, ApiNetwork):
            return built
        preflight.check_outputs(network, {node: len(plugin.shapes) for node, plugin in built.items()})
        return built

    def _build(self, call: PluginCall, implicit_batch: bool) -> host.BuiltPlugin:
        kinds = call.execution_types
        return host.build(
            self._creator,
            call.node,
            call.fields,
            [_specs(call, index) for index in range(len(call.inputs))],
            output_scales=[scale or host.NO_SCALE for scale in call.output_scales] if call.implicit else (),
            output_formats=[form.code for form in call.output_formats],
            output_types=call.output_types,
            implicit_batch=implicit_batch,
            undeclared=type_rules.undeclared(self._manifest, kinds),
            undeclared_types=type_rules.undeclared_types(self._manifest, kinds),
            shape_inputs=call.shape_inputs,
        )

    def damage(self, built: dict[str, host.BuiltPlugin]) -> None:
        """Asks for plugins of what is left of the engine's bytes; what is found is among the `doubts`."""
        for layer in built.values():
            host.damaged_bytes.check(self._creator, layer)
            host.damaged_bytes.check_fields(self._creator, layer)

    def leaks(
        self,
        network: Network,
        built: dict[str, host.BuiltPlugin],
        profile: str,
        feeds: dict[str, Array],
        free: Sequence[Sequence[Array]],
    ) -> tuple[list[Leak], list[Leak]]:
        """What each life of the network's plugins leaves behind: what `initialize` took, and what else.

        A life is that of `build` and of `run`. What is left by plugins that are restored, initialized, terminated and
        destroyed, and not by those that are restored and destroyed, is initialize's.
        """

        def live() -> None:
            self.build(network)
            self.run(network, built, profile, feeds, order="forward", deferred=False, tactic=0, way="eager", free=free)

        found = find_leaks(self._device, live)
        initialized: set[Site] = set()
        if found and self._creator.kind == "v2":
            with_it, without = (
                {leak.site for leak in find_leaks(self._device, partial(self._restore, built, initialize))}
                for initialize in (True, False)
            )
            initialized = with_it - without
        host.take_doubts()
        return [one for one in found if one.site in initialized], [one for one in found if one.site not in initialized]

    def _restore(self, built: dict[str, host.BuiltPlugin], initialize: bool) -> None:
        for layer in built.values():
            plugin = self._creator.deserialize(layer.layer, layer.serialized.data)
            plugin.set_plugin_namespace(layer.namespace)
            if initialize:
                plugin.initialize()
                plugin.terminate()
            plugin.destroy()

    def large(
        self, case: LargeCase, built: dict[str, host.BuiltPlugin], most_touched: int, cpu_seconds: float
    ) -> LargeRun:
        """Runs the layer of a network with one plugin on tensors that are too large to be compared as a whole."""
        (call,) = _plugins(case.network)
        layer = host.with_tactic(built[call.node], 0, 0)
        return large.run(self._creator, self._device, case, layer, _specs(call, 0), most_touched, cpu_seconds)

    def walk(self, network: Network, built: dict[str, host.BuiltPlugin]) -> list[list[shape_check.Outputs]]:
        """Runs the network on zeros: the graph outputs' types and shapes, per profile at min, opt and max.

        Raises:
            CheckFailed: what the plugin answers doesn't fit what is around it.
        """
        return shape_check.walk(network, self._identity[0], built)

    def run(
        self,
        network: Network | ApiNetwork,
        built: dict[str, host.BuiltPlugin],
        profile: str,
        feeds: dict[str, Array],
        order: str,
        deferred: bool,
        tactic: int,
        way: Way,
        free: Sequence[Sequence[Array]],
        earlier: Sequence[Earlier] = (),
    ) -> Ran:
        """Deserializes the layers, runs the model, and destroys the layers. `tactic` is the index of theirs, `free`
        that of the case. With `earlier` the model runs on those before, in the same contexts, and as asked after the
        first of them too."""
        asked: Earlier = (profile, feeds, free)
        order_of_runs = [*earlier[:1], asked, *earlier[1:], asked] if earlier else [asked]
        # A run that has failed before this one has left its own.
        host.take_doubts()
        # The library's runtime asks for it at each launch.
        os.environ["PLUGINKIT_CPU_SCHEDULE"] = order
        self._device.defer(deferred)
        if isinstance(self._device, host.Device):
            self._device.at_start = way == "page-start"
        gpu = self._device if isinstance(self._device, host.GpuDevice) else None
        if gpu is not None:
            gpu.in_graph = way == "graph"
        names = [p.name for p in network.profiles]

        def layer(call: PluginCall, index: int) -> host.BuiltPlugin:
            return host.with_tactic(built[call.node], index, tactic)

        at = names.index(order_of_runs[0][0])
        with ExitStack() as stack:
            contexts = {
                call.node: stack.enter_context(
                    host.Context(
                        self._creator,
                        layer(call, at),
                        _specs(call, at),
                        self._device,
                        concurrent=way == "concurrent",
                        with_handles=way == "handles",
                        surrounded=way == "eager" and network.family == "plain",
                    )
                )
                for call in _plugins(network)
            }

            shape_inputs = {call.node: call.shape_inputs for call in _plugins(network)}

            def enqueue(node: str, inputs: Sequence[Array]) -> Sequence[Array]:
                context = contexts[node]
                _check_types(node, inputs, context.specs, shape_inputs[node])
                return context.run([np.asarray(value, order="C") for value in inputs], next(calls, ()))

            for number, (name, values, masks) in enumerate(order_of_runs):
                calls = iter(masks)
                if number and name != order_of_runs[number - 1][0]:
                    for call in _plugins(network):
                        profile_index = names.index(name)
                        contexts[call.node].switch_profile(layer(call, profile_index), _specs(call, profile_index))
                before = sum(context.enqueues for context in contexts.values())
                if isinstance(network, ApiNetwork):
                    outputs = api_walker.run(network, enqueue, values)
                else:
                    outputs = walker.run(onnx.load_from_string(network.model), self._identity[0], enqueue, values)
                enqueues = sum(context.enqueues for context in contexts.values()) - before
        return Ran(outputs, enqueues, gpu.watch.source if gpu is not None else "", host.take_doubts())


def _plugins(network: Network | ApiNetwork) -> list[PluginCall]:
    """The plugin's nodes without the probes behind it, which the library doesn't have."""
    return [call for call in network.calls if isinstance(network, Network) or not is_probe(call.node)]


def _specs(call: PluginCall, profile: int) -> list[host.TensorSpec]:
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
