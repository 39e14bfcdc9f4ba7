"""The worker's side of `pluginkit.runtimes.tensorrt`: what the full TensorRT has and TensorRT-RTX hasn't."""

from __future__ import annotations

from pluginkit.errors import CheckFailed
from pluginkit.network.api_model import ApiNetwork
from pluginkit.network.model import Array, Network
from pluginkit.network.weak_types import Weak
from pluginkit.process.child import Breadcrumb
from pluginkit.runtimes.nvidia import bindings as nvidia
from pluginkit.runtimes.nvidia import network_api
from pluginkit.runtimes.nvidia.bindings import Answer, trt
from pluginkit.runtimes.nvidia.engine_child import EngineChild, strongly_typed
from pluginkit.runtimes.tensorrt.plugins import PluginPlayer


def open(breadcrumb: Breadcrumb, library: str) -> TensorrtChild:  # noqa: A001, ARG001 (NVIDIA's calls, not the host's)
    """Loads NVIDIA's libraries and has the registry load the plugin's.

    Raises:
        CheckFailed: it doesn't.
    """
    return TensorrtChild(library)


class TensorrtChild(EngineChild):
    """TensorRT in this process, with a plugin library loaded."""

    WHO = "TensorRT"

    def build_shapes(self, network: Network, file: str) -> Answer:
        """As `build`, and gives each output's shape out, as a shape tensor NAME_shape."""
        made = self.parsed(network, strongly_typed())
        if made.refusal:
            return made.refusal
        _give_shapes(made.network)
        return self.built(made.builder, made.network, network.profiles, file)

    def build_weak(self, network: Network, file: str, weak: Weak) -> Answer:
        """As `build`, but the builder chooses precisions: TensorRT 10 only."""
        # TensorRT 11 hasn't got what this module uses.
        from pluginkit.runtimes.tensorrt import weak_types as tensorrt_weak

        made = self.parsed(network, 0)
        if made.refusal:
            return made.refusal
        config = made.builder.create_builder_config()
        try:
            added = nvidia.add_profiles(made.builder, config, made.network, network.profiles, self.log)
        except CheckFailed as error:
            return self.log.refused(f"{self.WHO}'s builder", [error.message])
        calibrator = tensorrt_weak.apply(config, made.network, added, weak)
        answer = self.written(made.builder, made.network, config, file)
        if answer[0] and calibrator is not None and not calibrator.served:
            return self.log.refused(f"{self.WHO}'s builder", ["it asked the calibrator for no batch"])
        return answer

    def build_api(self, network: ApiNetwork, file: str, identity: tuple[str, str, str]) -> Answer:
        """As `build`, of a network made by NVIDIA's API, its plugin by `add_plugin_v2` or `add_plugin_v3`."""
        self.log.take()
        builder = trt.Builder(self.log)
        made = builder.create_network(strongly_typed())
        calls = {call.node: call for call in network.calls if not call.node.partition("_")[2].startswith("probe_")}
        try:
            player = PluginPlayer(made, self.registry, identity, calls)
            kept = network_api.play(player, network.steps)
        except CheckFailed as error:
            return self.log.refused(f"{self.WHO}'s API", [*self.log.errors(), error.message])
        answer = self.built(builder, made, network.profiles, file)
        # The network doesn't copy constants, and plugins must live as long as it.
        del kept, player
        return answer

    def shape_values(self, file: str, profile: int, feeds: dict[str, Array]) -> dict[str, Array]:
        """The shape-tensor outputs of an engine built by `build_shapes`."""
        return self.engine(file).shape_values(profile, feeds)


def _give_shapes(network: trt.INetworkDefinition) -> None:
    for output in [network.get_output(index) for index in range(network.num_outputs)]:
        shape = network.add_shape(output).get_output(0)
        shape.name = f"{output.name}_shape"
        if not network.mark_output_for_shapes(shape):
            raise CheckFailed(f"TensorRT takes no shape-tensor output {shape.name}")
