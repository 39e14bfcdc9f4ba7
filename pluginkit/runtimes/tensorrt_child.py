"""The worker's side of `pluginkit.runtimes.tensorrt`: the full TensorRT, 10.x or 11.x, in a process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from pluginkit.errors import CheckFailed
from pluginkit.runtimes import network_api, nvidia
from pluginkit.runtimes.child import Breadcrumb
from pluginkit.runtimes.nvidia import Answer, Log, trt
from pluginkit.runtimes.tensorrt_engine import Engine
from pluginkit.runtimes.tensorrt_plugins import PluginPlayer
from pluginkit.runtimes.weak import Weak
from pluginkit.testing.api_model import ApiNetwork
from pluginkit.testing.model import Array, Network, NetworkProfile

WHO = "TensorRT"


def open(breadcrumb: Breadcrumb, library: str) -> TensorrtChild:  # noqa: A001, ARG001 (NVIDIA's calls, not the host's)
    """Loads NVIDIA's libraries and has the registry load the plugin's.

    Raises:
        CheckFailed: it doesn't.
    """
    return TensorrtChild(library)


class TensorrtChild:
    """TensorRT in this process, with a plugin library loaded."""

    def __init__(self, library: str) -> None:
        self._log = Log()
        self._registry = cast("trt.IPluginRegistry", trt.get_plugin_registry())
        before = set(nvidia.identities(self._registry))
        nvidia.load(self._registry, library, self._log, WHO)
        self._new = [found for found in nvidia.identities(self._registry) if found not in before]
        self._engines: dict[str, Engine] = {}
        self._runtime: trt.Runtime | None = None

    def version(self) -> str:
        """TensorRT's own."""
        return str(trt.__version__)

    def creators(self) -> list[tuple[str, str, str, str]]:
        """The creators that came with the library: name, version, namespace, class."""
        return self._new

    def build(self, network: Network, file: str, weak: Weak | None, shapes: bool) -> Answer:
        """Parses and builds an ONNX network, and writes the engine.

        Args:
            network: with its profiles.
            file: where the engine goes.
            weak: how the builder chooses precisions; TensorRT 10 only. None: each tensor has its type.
            shapes: besides, give each output's shape out, as a shape tensor NAME_shape.
        """
        self._log.take()
        builder = trt.Builder(self._log)
        made = builder.create_network(_flags(weak))
        parser = trt.OnnxParser(made, self._log)
        if not parser.parse(network.model):
            return self._log.refused(f"{WHO}'s parser", nvidia.parser_errors(parser))
        if shapes:
            _give_shapes(made)
        return self._built(builder, made, network.profiles, file, weak)

    def build_api(self, network: ApiNetwork, file: str, identity: tuple[str, str, str]) -> Answer:
        """As `build`, of a network made by NVIDIA's API, its plugin by `add_plugin_v2` or `add_plugin_v3`."""
        self._log.take()
        builder = trt.Builder(self._log)
        made = builder.create_network(_flags(None))
        calls = {call.node: call for call in network.calls if not call.node.partition("_")[2].startswith("probe_")}
        try:
            player = PluginPlayer(made, self._registry, identity, calls)
            network_api.play(player, network.steps)
        except CheckFailed as error:
            return self._log.refused(f"{WHO}'s API", [*self._log.errors(), error.message])
        return self._built(builder, made, network.profiles, file, None)

    def _built(
        self,
        builder: trt.Builder,
        network: trt.INetworkDefinition,
        profiles: Sequence[NetworkProfile],
        file: str,
        weak: Weak | None,
    ) -> Answer:
        config = builder.create_builder_config()
        try:
            added = nvidia.add_profiles(builder, config, network, profiles, self._log)
        except CheckFailed as error:
            return self._log.refused(f"{WHO}'s builder", [error.message])
        held = None
        if weak is not None:
            # TensorRT 11 hasn't got what this module uses.
            from pluginkit.runtimes import tensorrt_weak

            held = tensorrt_weak.apply(config, network, added, weak)
        engine = builder.build_serialized_network(network, config)
        if engine is None:
            return self._log.refused(f"{WHO}'s builder", [])
        if held is not None and not held.served:
            return self._log.refused(f"{WHO}'s builder", ["it asked the calibrator for no batch"])
        Path(file).write_bytes(engine)
        return True, "built", self._log.told()

    def run(self, file: str, profile: int, feeds: dict[str, Array], switch: bool) -> dict[str, Array]:
        """Runs an engine in the context of a profile, or in another's switched to it: see `Engine`.

        Raises:
            CheckFailed: TensorRT doesn't deserialize it, or refuses the context or the shapes.
        """
        engine = self._engine(file)
        return engine.switch(profile, feeds) if switch else engine.run(profile, feeds)

    def shape_values(self, file: str, profile: int, feeds: dict[str, Array]) -> dict[str, Array]:
        """The shape-tensor outputs of an engine built with `shapes`."""
        return self._engine(file).shape_values(profile, feeds)

    def _engine(self, file: str) -> Engine:
        if file not in self._engines:
            # The plugin's creator is found in the process's registry, which has the library.
            self._runtime = self._runtime or trt.Runtime(self._log)
            engine = self._runtime.deserialize_cuda_engine(Path(file).read_bytes())
            if engine is None:
                _, message, _ = self._log.refused(f"{WHO} doesn't deserialize the engine", [])
                raise CheckFailed(message)
            self._engines[file] = Engine(engine)
        return self._engines[file]

    def forget(self, file: str) -> None:
        """Releases an engine and its contexts."""
        engine = self._engines.pop(file, None)
        if engine is not None:
            engine.close()


def _flags(weak: Weak | None) -> int:
    """Strongly typed, unless the builder is to choose; TensorRT 11 knows nothing else."""
    if weak is not None or int(trt.__version__.partition(".")[0]) >= 11:
        return 0
    return 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)


def _give_shapes(network: trt.INetworkDefinition) -> None:
    for output in [network.get_output(index) for index in range(network.num_outputs)]:
        shape = network.add_shape(output).get_output(0)
        shape.name = f"{output.name}_shape"
        if not network.mark_output_for_shapes(shape):
            raise CheckFailed(f"TensorRT takes no shape-tensor output {shape.name}")
