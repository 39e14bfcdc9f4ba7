"""The worker's side of `pluginkit.runtimes.tensorrt`: what the full TensorRT has and TensorRT-RTX hasn't."""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit.errors import CheckFailed
from pluginkit.network.api_model import AnyNetwork, ApiNetwork, is_probe
from pluginkit.network.networks import Array, Network, PluginCall
from pluginkit.network.weak_types import Weak
from pluginkit.process.worker_main import CallFile
from pluginkit.runtimes.nvidia import bindings as nvidia
from pluginkit.runtimes.nvidia import network_api
from pluginkit.runtimes.nvidia.bindings import IS_8, Answer, trt
from pluginkit.runtimes.nvidia.copying import NAME
from pluginkit.runtimes.nvidia.engine_worker import EngineChild, Made, strongly_typed
from pluginkit.runtimes.tensorrt.plugins import PluginPlayer

if IS_8:
    from pluginkit.runtimes.nvidia import version8


def open(  # noqa: A001
    call_file: CallFile,  # noqa: ARG001 (NVIDIA's calls, not the host's)
    library: str,
    functions: Sequence[str] = (),
    namespace: str = "",
) -> TensorrtChild:
    """Loads NVIDIA's libraries and has the registry load the plugin's; of TensorRT 8 by its init `functions`.

    Raises:
        CheckFailed: it doesn't.
    """
    return TensorrtChild(library, functions, namespace)


class TensorrtChild(EngineChild):
    """TensorRT in this process, with a plugin library loaded."""

    WHO = "TensorRT"

    def __init__(self, library: str, functions: Sequence[str], namespace: str) -> None:
        self._functions, self._namespace = functions, namespace
        self._cache = b""
        super().__init__(library)

    def _load(self, library: str) -> None:
        if IS_8:
            version8.load(self.registry, library, self._functions, self._namespace, self.log)
        else:
            super()._load(library)

    def configuration(self, builder: trt.Builder) -> trt.IBuilderConfig:
        """As there; of TensorRT 8 without tactic sources whose libraries aren't here."""
        config = super().configuration(builder)
        if IS_8:
            version8.configure(config)
        return config

    def hold_types(
        self, config: trt.IBuilderConfig, network: trt.INetworkDefinition, calls: Sequence[PluginCall]
    ) -> None:
        """TensorRT 8 has no strongly typed networks: flags and constraints."""
        if IS_8:
            version8.hold_types(config, network, calls)

    def lacking(self) -> list[str]:
        """The tactic sources that are switched off, because their libraries aren't here."""
        return version8.lacking() if IS_8 else []

    def build_shapes(self, network: Network, file: str) -> Answer:
        """As `build`, and gives each output's shape out, as a shape tensor NAME_shape."""
        made = self.parsed(network, strongly_typed())
        if made.refusal:
            return made.refusal
        _give_shapes(made.network)
        return self.built(made, network, file)

    def build_control(self, network: AnyNetwork, file: str) -> Answer:
        """Builds a network with a plugin that copies instead of the one that is tested: TensorRT 8 only."""
        version8.copying_plugin(len(network.calls[0].output_types))
        if isinstance(network, Network):
            return self.build(network, file)
        return self.build_api(network, file, (NAME, "1", ""))

    def build_weak(self, network: Network, file: str, weak: Weak) -> Answer:
        """As `build`, but the builder chooses precisions: TensorRT 8 and 10 only."""
        # TensorRT 11 hasn't got what this module uses.
        from pluginkit.runtimes.tensorrt import weak_types as tensorrt_weak

        made = self.parsed(network, strongly_typed() if IS_8 else 0)
        if made.refusal:
            return made.refusal
        config = self.configuration(made.builder)
        try:
            added = nvidia.add_profiles(made.builder, config, made.network, network.profiles, self.log)
        except CheckFailed as error:
            return self.log.refused(f"{self.WHO}'s builder", [error.message])
        calibrator = tensorrt_weak.apply(config, made.network, added, weak)
        answer = self.written(made.builder, made.network, config, file)
        if answer[0] and calibrator is not None:
            if not calibrator.served and not weak.cache:
                return self.log.refused(f"{self.WHO}'s builder", ["it asked the calibrator for no batch"])
            self._cache = calibrator.cache
        return answer

    def cache(self) -> bytes:
        """What the calibrator of the last network was given to keep."""
        return self._cache

    def build_api(self, network: ApiNetwork, file: str, identity: tuple[str, str, str]) -> Answer:
        """As `build`, of a network made by NVIDIA's API, its plugin by `add_plugin_v2` or `add_plugin_v3`."""
        self.log.take()
        builder = trt.Builder(self.log)
        made = builder.create_network(strongly_typed())
        calls = {call.node: call for call in network.calls if not is_probe(call.node)}
        try:
            player = PluginPlayer(made, self.registry, identity, calls)
            kept = network_api.play(player, network.steps)
        except CheckFailed as error:
            return self.log.refused(f"{self.WHO}'s API", [*self.log.errors(), error.message])
        answer = self.built(Made(builder, made), network, file)
        # The network doesn't copy constants, and plugins must live as long as it.
        del kept, player
        return answer

    def shape_values(self, file: str, profile: int, feeds: dict[str, Array]) -> dict[str, Array]:
        """The shape-tensor outputs of an engine built by `build_shapes`."""
        return self.engine(file).shape_values(profile, feeds)

    def run_in(self, file: str, profile: int) -> dict[str, list[str]]:
        """Plugin layer -> types and formats of its tensors in an engine, in the context of a profile that has run."""
        return version8.run_in(self.engine(file).context(profile))

    def both(self, file: str, runs: Sequence[tuple[int, dict[str, Array]]]) -> list[dict[str, Array]]:
        """Two runs at once, each in a context of its own, of another profile: see `Engine.both`."""
        return self.engine(file).both(runs)

    def accepted(self, file: str, profile: int, name: str, dims: Sequence[int]) -> bool:
        """Whether an engine takes a shape of an input: see `Engine.accepts`."""
        return self.engine(file).accepts(profile, name, dims)


def _give_shapes(network: trt.INetworkDefinition) -> None:
    for output in [network.get_output(index) for index in range(network.num_outputs)]:
        shape = network.add_shape(output).get_output(0)
        shape.name = f"{output.name}_shape"
        if not network.mark_output_for_shapes(shape):
            raise CheckFailed(f"TensorRT takes no shape-tensor output {shape.name}")
