"""The worker's side of `pluginkit.runtimes.nvidia.engines`: NVIDIA's builder and runtime in one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from polygraphy.exception import PolygraphyException

from pluginkit import layouts
from pluginkit.errors import CheckFailed
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.networks import Array, Network, PluginCall
from pluginkit.process.worker_main import CallFile
from pluginkit.runtimes.nvidia import bindings as nvidia
from pluginkit.runtimes.nvidia.bindings import Answer, Log, trt
from pluginkit.runtimes.nvidia.engine_contexts import Engine

if nvidia.IS_8:
    from pluginkit.runtimes.nvidia import version8


def open(call_file: CallFile, library: str) -> RtxEngineChild:  # noqa: A001, ARG001 (NVIDIA's calls, not the host's)
    """Loads NVIDIA's libraries and has the registry load the plugin's.

    Raises:
        CheckFailed: it doesn't.
    """
    return RtxEngineChild(library)


@dataclass(frozen=True)
class Made:
    """A network, with what must live until it is built: the parser holds the weights of a model.

    `refusal` is the parser's, None if there is none.
    """

    builder: trt.Builder
    network: trt.INetworkDefinition
    parser: trt.OnnxParser | None = None
    refusal: Answer | None = None


class EngineChild:
    """NVIDIA's libraries in this process, with a plugin library loaded."""

    WHO: str

    def __init__(self, library: str) -> None:
        self.log = Log()
        self.registry = cast("trt.IPluginRegistry", trt.get_plugin_registry())
        before = set(nvidia.identities(self.registry))
        self._load(library)
        self._new = [found for found in nvidia.identities(self.registry) if found not in before]
        self._engines: dict[str, Engine] = {}
        self._runtime: trt.Runtime | None = None

    def _load(self, library: str) -> None:
        """Has the registry load the library."""
        nvidia.load(self.registry, library, self.log, self.WHO)

    def creators(self) -> list[tuple[str, str, str, str]]:
        """The creators that came with the library: name, version, namespace, class."""
        return self._new

    def build(self, network: Network, file: str) -> Answer:
        """Parses and builds an ONNX network with its profiles, each tensor of its own type, and writes the engine."""
        made = self.parsed(network, strongly_typed())
        return made.refusal or self.built(made, network, file)

    def parsed(self, network: Network, flags: int) -> Made:
        """A network of these flags with the model in it."""
        self.log.take()
        builder = trt.Builder(self.log)
        made = builder.create_network(flags)
        parser = trt.OnnxParser(made, self.log)
        refusal = None
        if not parser.parse(network.model):
            refusal = self.log.refused(f"{self.WHO}'s parser", nvidia.parser_errors(parser))
        return Made(builder, made, parser, refusal)

    def built(self, made: Made, network: AnyNetwork, file: str) -> Answer:
        """Builds what was made of a network, with its profiles, and writes the engine."""
        config = self.configuration(made.builder)
        self.hold_types(config, made.network, network.calls)
        try:
            nvidia.add_profiles(made.builder, config, made.network, network.profiles, self.log)
        except CheckFailed as error:
            return self.log.refused(f"{self.WHO}'s builder", [error.message])
        return self.written(made.builder, made.network, config, file)

    def configuration(self, builder: trt.Builder) -> trt.IBuilderConfig:
        """What a network is built with, before its profiles."""
        return builder.create_builder_config()

    def hold_types(
        self, config: trt.IBuilderConfig, network: trt.INetworkDefinition, calls: Sequence[PluginCall]
    ) -> None:
        """Has the builder keep the tensors' types, where a network is not strongly typed."""

    def written(
        self, builder: trt.Builder, network: trt.INetworkDefinition, config: trt.IBuilderConfig, file: str
    ) -> Answer:
        """Builds a configured network, and writes the engine."""
        engine = builder.build_serialized_network(network, config)
        if engine is None:
            return self.log.refused(f"{self.WHO}'s builder", [])
        Path(file).write_bytes(engine)
        return True, "built", self.log.text_lines()

    def run(self, file: str, profile: int, feeds: dict[str, Array], switch: bool) -> dict[str, Array]:
        """Runs an engine in the context of a profile, or in another's switched to it: see `Engine`.

        Raises:
            CheckFailed: NVIDIA doesn't deserialize it, or refuses the context or the shapes.
        """
        engine = self.engine(file)
        self.log.take()
        try:
            return engine.switch(profile, feeds) if switch else engine.run(profile, feeds)
        except PolygraphyException as error:
            # It says that something failed; NVIDIA's log says why.
            raise CheckFailed("\n".join((f"{self.WHO}: {error}", *self.log.errors()))) from None

    def engine(self, file: str) -> Engine:
        """The engine of a file, deserialized the first time."""
        if file not in self._engines:
            # The plugin's creator is found in the process's registry, which has the library.
            self._runtime = self._runtime or trt.Runtime(self.log)
            engine = self._runtime.deserialize_cuda_engine(Path(file).read_bytes())
            if engine is None:
                _, message, _ = self.log.refused(f"{self.WHO} doesn't deserialize the engine", [])
                raise CheckFailed(message)
            self._engines[file] = Engine(engine)
        return self._engines[file]

    def forget(self, file: str) -> None:
        """Releases an engine and its contexts."""
        engine = self._engines.pop(file, None)
        if engine is not None:
            engine.close()


class RtxEngineChild(EngineChild):
    """TensorRT-RTX in this process."""

    WHO = "TensorRT-RTX"


def strongly_typed() -> int:
    """The flag for it; TensorRT 11 knows nothing else. TensorRT 8 hasn't got it: its networks are of explicit batch."""
    if nvidia.MAJOR in layouts.NUMBERS and not layouts.layout(nvidia.MAJOR).weakly_typed:
        return 0
    if nvidia.IS_8:
        return version8.EXPLICIT_BATCH
    return 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
