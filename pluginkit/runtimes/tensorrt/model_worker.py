"""The worker's side of a model's file in TensorRT 8: built, run, and timed layer by layer."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from pluginkit.errors import CheckFailed
from pluginkit.network.networks import Array, NetworkProfile
from pluginkit.process.worker_main import CallFile
from pluginkit.runtimes.nvidia import bindings as nvidia
from pluginkit.runtimes.nvidia import version8
from pluginkit.runtimes.nvidia.bindings import Answer, trt
from pluginkit.runtimes.tensorrt.tensorrt_worker import TensorrtChild

FLAGS = {"float16": "FP16", "int8": "INT8"}
"""Types, and the builder's flags that allow them."""


def open(  # noqa: A001
    call_file: CallFile,  # noqa: ARG001 (NVIDIA's calls, not the host's)
    libraries: Sequence[tuple[str, Sequence[str], str]],
) -> ModelChild:
    """Loads NVIDIA's libraries with their plugins, and `libraries`: path, init functions, and their namespace.

    Raises:
        CheckFailed: one can't be opened, or registers nothing.
    """
    return ModelChild(libraries)


class LayerTimes(trt.IProfiler):  # type: ignore[misc]
    """Keeps what TensorRT's profiler reports, in the engine's order."""

    def __init__(self) -> None:
        super().__init__()
        self.times: dict[str, list[float]] = {}

    def report_layer_time(self, layer_name: str, ms: float) -> None:
        """Called by NVIDIA's libraries, after each run."""
        self.times.setdefault(layer_name, []).append(ms)


class ModelChild(TensorrtChild):
    """TensorRT 8 in this process, with any number of plugin libraries."""

    def __init__(self, libraries: Sequence[tuple[str, Sequence[str], str]]) -> None:
        self._libraries = libraries
        super().__init__("", (), "")

    def _load(self, library: str) -> None:  # noqa: ARG002 (there are several)
        trt.init_libnvinfer_plugins(self.log, "")
        for path, functions, namespace in self._libraries:
            version8.load(self.registry, path, functions, namespace, self.log)

    def build_file(self, path: str, profile: NetworkProfile, types: Sequence[str], file: str) -> Answer:
        """Parses a model, builds it for a profile, and writes the engine.

        Args:
            path: the ONNX file, with its external data beside it.
            profile: the inputs' shapes, and shape tensors' values.
            types: those of FLAGS that the builder may use.
            file: where the engine goes.
        """
        self.log.take()
        builder = trt.Builder(self.log)
        network = builder.create_network(version8.EXPLICIT_BATCH)
        parser = trt.OnnxParser(network, self.log)
        if not parser.parse_from_file(path):
            return self.log.refused(f"{self.WHO}'s parser", nvidia.parser_errors(parser))
        config = self.configuration(builder)
        # Outputs are compared with FP32's.
        config.clear_flag(trt.BuilderFlag.TF32)
        for kind in types:
            config.set_flag(getattr(trt.BuilderFlag, FLAGS[kind]))
        try:
            nvidia.add_profiles(builder, config, network, [profile], self.log)
        except CheckFailed as error:
            return self.log.refused(f"{self.WHO}'s builder", [error.message])
        return self.written(builder, network, config, file)

    def timed(self, file: str, feeds: dict[str, Array], times: int) -> tuple[dict[str, Array], list[tuple[str, float]]]:
        """The outputs of a run, and the median of each layer's milliseconds in as many more, in the engine's order."""
        outputs = self.run(file, 0, feeds, switch=False)
        profiler = LayerTimes()
        self.engine(file).context(0).profiler = profiler
        for _ in range(times):
            self.run(file, 0, feeds, switch=False)
        return outputs, [(name, statistics.median(found)) for name, found in profiler.times.items()]

    def tensors(self, file: str) -> str:
        """The inputs and outputs of an engine's file, with their shapes, in a line.

        Raises:
            CheckFailed: NVIDIA doesn't deserialize it.
        """
        engine = self.engine(file).context(0).engine
        names = [engine.get_tensor_name(index) for index in range(engine.num_io_tensors)]
        return ", ".join(f"{name} {list(engine.get_tensor_shape(name))}" for name in names)
