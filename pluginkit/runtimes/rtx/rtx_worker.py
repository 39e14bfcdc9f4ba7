"""The worker's side of `pluginkit.runtimes.rtx.session`: NVIDIA's tensorrt_rtx in a process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from typing import cast

from pluginkit.errors import CheckFailed
from pluginkit.interpreter.walker import as_exported
from pluginkit.network.api_model import ApiNetwork
from pluginkit.network.networks import Dims, NetworkProfile
from pluginkit.process.worker_main import CallFile
from pluginkit.runtimes.nvidia import bindings as nvidia
from pluginkit.runtimes.nvidia import network_api
from pluginkit.runtimes.nvidia.bindings import Answer, Log, trt
from pluginkit.runtimes.rtx.registering import take_registering
from pluginkit.runtimes.verdict import ModelInput


def open(call_file: CallFile) -> RtxChild:  # noqa: A001, ARG001 (the probe's trace says more than the call_file)
    """Makes a builder; its logger gets the registry's messages too."""
    _keep_freed_memory()
    return RtxChild()


class RtxChild:
    """TensorRT-RTX in this process."""

    def __init__(self) -> None:
        self._log = Log()
        self._builder = trt.Builder(self._log)
        self._registry = self._builder.get_plugin_registry()
        self._process = cast("trt.IPluginRegistry", trt.get_plugin_registry())
        self._before = {*nvidia.identities(self._registry), *nvidia.identities(self._process)}
        self._shapes: dict[str, Dims] = {}
        self._log.take()

    def set_probe(self, environment: Mapping[str, str]) -> None:
        """What the probe library is to read of its environment, before it is loaded."""
        os.environ.update(environment)

    def load(self, library: str) -> None:
        """Has the registry load a library, or opens one that registers its creators itself.

        Raises:
            CheckFailed: it doesn't, with its message.
        """
        if not take_registering(self._process, library):
            nvidia.load(self._registry, library, self._log, "TensorRT-RTX")

    def creators(self) -> list[tuple[str, str, str, str]]:
        """The creators that came by `load`: name, version, namespace, class."""
        there = (*nvidia.identities(self._registry), *nvidia.identities(self._process))
        return [found for found in there if found not in self._before]

    def load_probed(self, probe: str, library: str) -> None:
        """Has the registry load a copy of the probe library that stands before a plugin library.

        Raises:
            CheckFailed: as `load`.
        """
        os.environ["PLUGINKIT_PROBE_LIBRARY"] = library
        self.load(probe)

    def supported(self, operators: Sequence[str]) -> list[str]:
        """Those operators that the parser knows itself."""
        parser = trt.OnnxParser(self._builder.create_network(0), self._log)
        return [operator for operator in operators if parser.supports_operator(operator)]

    def parse_file(
        self, path: str, names: Sequence[str], marked: Sequence[str] = ()
    ) -> tuple[list[ModelInput], str, tuple[str, ...]]:
        """Parses a model: its inputs, the reason why not (empty if it went well), and the log's lines.

        `names` are the inputs', and `marked` outputs that a later engine has as shape tensors.
        """
        self._log.take()
        network = self._builder.create_network(0)
        parser = trt.OnnxParser(network, self._log)
        if not parser.parse_from_file(path):
            _, message, log = self._log.refused("NVIDIA's parser", nvidia.parser_errors(parser))
            return [], message, log
        _name(network, names)
        _mark(network, marked)
        found = [network.get_input(index) for index in range(network.num_inputs)]
        inputs = [ModelInput(one.name, tuple(one.shape), one.is_shape_tensor, one.dtype.name) for one in found]
        return inputs, "", self._log.text_lines()

    def build_file(
        self, path: str, names: Sequence[str], profiles: Sequence[NetworkProfile], marked: Sequence[str] = ()
    ) -> Answer:
        """As `build`, of a model's file; `names` and `marked` as of `parse_file`."""
        self._log.take()
        network = self._builder.create_network(0)
        parser = trt.OnnxParser(network, self._log)
        if not parser.parse_from_file(path):
            return self._log.refused("NVIDIA's parser", nvidia.parser_errors(parser))
        _name(network, names)
        _mark(network, marked)
        return self._built(network, profiles)

    def hide(self, what: str) -> None:
        """What of plugins' answers the probe doesn't pass on: it answers that there is none. Empty: all is passed."""
        os.environ["PLUGINKIT_PROBE_HIDES"] = what

    def build(self, model: bytes, profiles: Sequence[NetworkProfile], exported: str, formats: Sequence[int]) -> Answer:
        """Parses and builds: whether it went well, the reason, the log's lines with the errors first.

        `formats` has one number of `TensorFormat` for each of the plugin's tensors: the probe lets no other pass.
        """
        os.environ["PLUGINKIT_PROBE_FORMATS"] = ",".join(str(number) for number in formats)
        self._log.take()
        network = self._builder.create_network(0)
        parser = trt.OnnxParser(network, self._log)
        if not parser.parse(as_exported(model, exported) if exported else model):
            return self._log.refused("NVIDIA's parser", nvidia.parser_errors(parser))
        return self._built(network, profiles)

    def build_api(self, network: ApiNetwork) -> Answer:
        """As `build`, of a network made by NVIDIA's API around the layers that its parser made of plugin nodes."""
        os.environ["PLUGINKIT_PROBE_FORMATS"] = ""
        self._log.take()
        made = self._builder.create_network(0)
        parser = trt.OnnxParser(made, self._log)
        if not parser.parse(network.model):
            return self._log.refused("NVIDIA's parser", nvidia.parser_errors(parser))
        try:
            kept = network_api.fill(made, network.steps)
        except CheckFailed as error:
            return self._log.refused("NVIDIA's API", [*self._log.errors(), str(error)])
        answer = self._built(made, network.profiles)
        del kept
        return answer

    def shapes(self) -> dict[str, Dims]:
        """Each output of the network built last with its shape; -1 is a dynamic dimension."""
        return self._shapes

    def _built(self, network: trt.INetworkDefinition, profiles: Sequence[NetworkProfile]) -> Answer:
        config = self._builder.create_builder_config()
        # Without it a plugin whose output shares an input's memory is refused.
        config.set_preview_feature(trt.PreviewFeature.ALIASED_PLUGIN_IO_10_03, True)
        try:
            nvidia.add_profiles(self._builder, config, network, profiles, self._log)
        except CheckFailed as error:
            return self._log.refused("NVIDIA's builder", [error.message])
        if self._builder.build_serialized_network(network, config) is None:
            return self._log.refused("NVIDIA's builder", [])
        outputs = [network.get_output(index) for index in range(network.num_outputs)]
        self._shapes = {output.name: tuple(output.shape) for output in outputs}
        return True, "built, not run", self._log.text_lines()


def _keep_freed_memory() -> None:
    """Have malloc(3) keep what is freed: each build takes the same megabytes again, and fills them.

    New from the kernel at each build, they are a quarter of a test run's CPU time.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # glibc's
        libc.mallopt(_M_MMAP_MAX, 0)
        libc.mallopt(_M_TRIM_THRESHOLD, 256 << 20)


_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
"""Of malloc.h."""


def _name(network: trt.INetworkDefinition, names: Sequence[str]) -> None:
    """Give the inputs their names again: the parser calls one that a body passes on by its name in the body."""
    if len(names) == network.num_inputs:
        for index, name in enumerate(names):
            network.get_input(index).name = name


def _mark(network: trt.INetworkDefinition, names: Sequence[str]) -> None:
    for output in [network.get_output(index) for index in range(network.num_outputs)]:
        if output.name in names:
            network.mark_output_for_shapes(output)
