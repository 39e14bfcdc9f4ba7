"""The worker's side of `pluginkit.runtimes.host`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from pluginkit import host, layouts
from pluginkit.host.memory.leaks import Leak, Site, find_leaks
from pluginkit.interpreter import api_structure, preflight, shape_check
from pluginkit.manifest import Manifest, type_rules
from pluginkit.network.api_model import ApiNetwork
from pluginkit.network.large import LargeCase, LargeRun
from pluginkit.network.networks import Array, Network, PluginCall
from pluginkit.process import backtrace
from pluginkit.process.worker_main import CallFile
from pluginkit.runtimes.host import expected_shapes, expected_workspace, large, listed_fields
from pluginkit.runtimes.host.contexts import AS_8_5, NetworkContexts, plugins_of, specs_of
from pluginkit.runtimes.verdict import Ran, Target, Way

Earlier: TypeAlias = tuple[str, dict[str, Array], Sequence[Sequence[Array]]]
"""A run in the same contexts before: its profile, its feeds, and which elements need not be written."""


def open(  # noqa: A001
    call_file: CallFile, *, library: Path, manifest: Manifest, target: Target, version: int = 0
) -> HostChild:
    """Loads the library, which is built for that target, and finds the plugin's creator.

    `version` is what the host says it is; 0: what the library is for.
    """
    host.set_call_file(call_file.path)
    host.set_backtrace_file(backtrace.beside(call_file.path))
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
        self._warnings = host.take_warnings()

    def warnings(self) -> tuple[host.DemandWarning, ...]:
        """Those of the library, and of what was built since the last call."""
        return (*self._warnings, *host.take_warnings())

    def build(self, network: Network | ApiNetwork, *, implicit_batch: bool = False) -> dict[str, host.BuiltPlugin]:
        """Builds a network's plugin nodes: node -> what was built.

        Raises:
            CheckFailed: the network or the plugin is wrong (the plugin: a Finding with the method's name).
        """
        if isinstance(network, Network):
            preflight.check(network, self._identity)
        else:
            api_structure.check(network)
            preflight.check_api(network)
        listed_fields.check(self._manifest, self._creator.fields)
        # To ask for all types and formats in each network would take as long as all else of a build.
        chooses = network.family == "plain" and isinstance(network, Network) and not network.variant
        built = {call.node: self._build(call, implicit_batch, chooses) for call in plugins_of(network)}
        for call in plugins_of(network):
            expected_shapes.check(self._manifest, call, built[call.node])
            expected_workspace.check(self._manifest, call, built[call.node])
        preflight.check_outputs(network, {node: len(plugin.shapes) for node, plugin in built.items()})
        return built

    def _build(self, call: PluginCall, implicit_batch: bool, chooses: bool) -> host.BuiltPlugin:
        kinds = call.execution_types
        return host.build(
            self._creator,
            call.node,
            call.fields,
            [specs_of(call, index) for index in range(len(call.inputs))],
            output_scales=[scale or host.NO_SCALE for scale in call.output_scales] if call.implicit else (),
            output_formats=[form.code for form in call.output_formats],
            output_types=call.output_types,
            implicit_batch=implicit_batch,
            undeclared=type_rules.undeclared(self._manifest, kinds),
            declared_types=type_rules.declared_types(self._manifest, kinds),
            shape_inputs=call.shape_inputs,
            chooses=chooses,
        )

    def damage(self, built: dict[str, host.BuiltPlugin]) -> None:
        """Asks for plugins of what is left of the engine's bytes; what is found is among the `warnings`."""
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
    ) -> tuple[list[Leak], list[Leak], list[Leak]]:
        """What each life of the network's plugins leaves behind: what `initialize` took, what clones take that only
        `terminate` gives back, and what else.

        A life is that of `build` and of `run`. What is left by plugins that are restored, initialized, terminated and
        destroyed, and not by those that are restored and destroyed, is initialize's; what clones leave, and not those
        that are terminated, is of the second kind.
        """

        def live() -> None:
            self.build(network)
            self.run(network, built, profile, feeds, order="forward", deferred=False, tactic=0, way="eager", free=free)

        found = find_leaks(self._device, live)
        initialized: set[Site] = set()
        of_clones: set[Site] = set()
        if found and self._creator.kind == "v2":

            def sites(*, initialize: bool, end: Literal["none", "destroy", "terminate"] = "none") -> set[Site]:
                return {leak.site for leak in find_leaks(self._device, partial(self._restore, built, initialize, end))}

            initialized = sites(initialize=True) - sites(initialize=False)
            if any(one.site not in initialized for one in found):
                of_clones = sites(initialize=True, end="destroy") - sites(initialize=True, end="terminate")
        host.take_warnings()
        kinds = (initialized, of_clones - initialized, {one.site for one in found} - initialized - of_clones)
        first, second, rest = ([one for one in found if one.site in kind] for kind in kinds)
        return first, second, rest

    def _restore(
        self, built: dict[str, host.BuiltPlugin], initialize: bool, clones_end: Literal["none", "destroy", "terminate"]
    ) -> None:
        for layer in built.values():
            plugin = self._creator.deserialize(layer.layer, layer.serialized.data)
            plugin.set_plugin_namespace(layer.namespace)
            if initialize:
                plugin.initialize()
            if clones_end != "none":
                clone = plugin.clone()
                if clones_end == "terminate":
                    clone.terminate()
                clone.destroy()
            if initialize:
                plugin.terminate()
            plugin.destroy()

    def large(
        self, case: LargeCase, built: dict[str, host.BuiltPlugin], most_touched: int, cpu_seconds: float
    ) -> LargeRun:
        """Runs the layer of a network with one plugin on tensors that are too large to be compared as a whole."""
        (call,) = plugins_of(case.network)
        layer = host.with_tactic(built[call.node], 0, 0)
        return large.run(self._creator, self._device, case, layer, specs_of(call, 0), most_touched, cpu_seconds)

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
        initialize_clones: bool = False,
    ) -> Ran:
        """Deserializes the layers, runs the model, and destroys the layers. `tactic` is the index of theirs, `free`
        that of the case. With `earlier` the model runs on those before, in the same contexts, and as asked after the
        first of them too. `initialize_clones` is that of `host.Context`."""
        asked: Earlier = (profile, feeds, free)
        order_of_runs = [*earlier[:1], asked, *earlier[1:], asked] if earlier else [asked]
        if way == AS_8_5:
            order_of_runs = [asked, asked]
        # A run that has failed before this one has left its own.
        host.take_warnings()
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

        numbers = [names.index(name) for name, _, _ in order_of_runs]
        with ExitStack() as stack:
            contexts = NetworkContexts(
                stack, self._creator, self._device, network, layer, numbers[0], way, initialize_clones=initialize_clones
            )
            for number, (_, values, masks) in zip(numbers, order_of_runs, strict=True):
                contexts.switch(number)
                outputs, enqueues = contexts.run(self._identity[0], values, masks)
        return Ran(outputs, enqueues, gpu.watch.source if gpu is not None else "", host.take_warnings())
