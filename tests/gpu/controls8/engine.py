"""Networks of TensorRT 8.5 for the controls: built, run, and compared with what is right."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import tensorrt as trt

from pluginkit.runtimes.nvidia.copying import layout, plugin

EXPLICIT = 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)
NUMBERS = {trt.float32: np.float32, trt.float16: np.float16, trt.int8: np.int8, trt.int32: np.int32, trt.bool: np.bool_}
Arrays = Mapping[str, np.ndarray]


class Refused(Exception):
    """TensorRT took it not; the text is its own message."""


class Driver:
    """CUDA's driver, with a primary context: memory, and one stream."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)

    def call(self, name: str, *arguments: object) -> None:
        """Call a function.

        Raises:
            RuntimeError: its code isn't 0.
        """
        if code := getattr(self.library, name)(*arguments):
            raise RuntimeError(f"{name}: error {code}")

    def upload(self, array: np.ndarray) -> int:
        """The address of memory with the array's bytes, which stays until the process ends."""
        address = ctypes.c_uint64()
        array = np.ascontiguousarray(array)
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(array.nbytes, 512)))
        if array.nbytes:
            source = array.ctypes.data_as(ctypes.c_void_p)
            self.call("cuMemcpyHtoD_v2", address, source, ctypes.c_size_t(array.nbytes))
        return address.value

    def download(self, address: int, shape: Sequence[int], number: Any) -> np.ndarray:
        """What the stream left in memory."""
        array = np.empty(shape, number)
        self.call("cuStreamSynchronize", self.stream)
        if array.nbytes:
            target = array.ctypes.data_as(ctypes.c_void_p)
            self.call("cuMemcpyDtoH_v2", target, ctypes.c_uint64(address), ctypes.c_size_t(array.nbytes))
        return array


@cache
def driver() -> Driver:
    """The one of this process, made when it is first needed: the registry's controls run without a GPU."""
    return Driver()


class Log(trt.ILogger):
    """Keeps warnings and errors."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self.errors: list[str] = []
        self.warnings: list[str] = []

    def log(self, severity: trt.ILogger.Severity, message: str) -> None:
        if severity <= trt.ILogger.ERROR:
            self.errors.append(message)
        elif severity == trt.ILogger.WARNING:
            self.warnings.append(message)

    def refused(self) -> Refused:
        """The last errors as an exception."""
        return Refused("; ".join((self.errors or self.warnings)[-4:]) or "no message")


LOG = Log()
REGISTRY = trt.get_plugin_registry()
trt.init_libnvinfer_plugins(LOG, "")


def gelu() -> Any:
    """NVIDIA's CustomGeluPluginDynamic in FP32: an IPluginV2DynamicExt that applies GELU to any shape."""
    creator = REGISTRY.get_plugin_creator("CustomGeluPluginDynamic", "1", "")
    field = trt.PluginField("type_id", np.array([0], np.int32), trt.PluginFieldType.INT32)
    return creator.create_plugin("gelu", trt.PluginFieldCollection([field]))


def gelu_of(x: np.ndarray) -> np.ndarray:
    """What it computes."""
    wide = x.astype(np.float64)
    return np.asarray(0.5 * wide * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3))))


def creator_of(setup: plugin.CopyingSetup) -> plugin.CopyingCreator:
    """A creator of copying plugins, registered."""
    made = plugin.CopyingCreator(setup, driver().library)
    if not layout.register(registry_address(), made.address):
        raise LOG.refused()
    return made


def registry_address() -> int:
    """Of the registry that the bindings use."""
    library = ctypes.CDLL("libnvinfer.so.8")
    library.getPluginRegistry.restype = ctypes.c_void_p
    return int(library.getPluginRegistry())


def copying() -> Any:
    """A plugin of the creator that is registered."""
    return REGISTRY.get_plugin_creator("Copying", "1", "").create_plugin("copy", trt.PluginFieldCollection([]))


class Network:
    """A network that is being made, with its configuration."""

    def __init__(self, flags: int = EXPLICIT, *, sources: Sequence[Any] = ()) -> None:
        driver()
        self.builder = trt.Builder(LOG)
        self.api = self.builder.create_network(flags)
        self.config = self.builder.create_builder_config()
        # Without cuBLAS and cuDNN, which the machine need not have.
        self.config.set_tactic_sources(sum(1 << int(one) for one in sources))
        self._kept: list[Any] = []

    def input(self, name: str, shape: Sequence[int], kind: Any = trt.float32, width: float = 0) -> Any:
        """A network input; `width` is that of its dynamic range, if it has one."""
        tensor = self.api.add_input(name, kind, shape)
        if width:
            tensor.dynamic_range = (-width, width)
        return tensor

    def constant(self, value: Any, number: Any = np.float32) -> Any:
        """A constant."""
        array = np.array(value, number, order="C")
        self._kept.append(array)
        return self.api.add_constant(array.shape, trt.Weights(array)).get_output(0)

    def plugin(self, made: Any, *tensors: Any) -> Any:
        """A plugin's layer."""
        self._kept.append(made)
        layer = self.api.add_plugin_v2(list(tensors), made)
        if layer is None:
            raise LOG.refused()
        return layer

    def gelu(self, tensor: Any) -> Any:
        """The output of NVIDIA's plugin."""
        return self.plugin(gelu(), tensor).get_output(0)

    def copy(self, *tensors: Any) -> Any:
        """The output of a copying plugin."""
        return self.plugin(copying(), *tensors).get_output(0)

    def one_by_one(self, tensor: Any) -> Any:
        """The output of a convolution that changes nothing."""
        channels = tensor.shape[1]
        weights, bias = np.eye(channels, dtype=np.float32).reshape(channels, channels, 1, 1), np.zeros(channels)
        self._kept += [weights, bias := bias.astype(np.float32)]
        return self.api.add_convolution_nd(tensor, channels, (1, 1), weights, bias).get_output(0)

    def output(self, tensor: Any, name: str, kind: Any = None, width: float = 0) -> None:
        """A network output."""
        tensor.name = name
        self.api.mark_output(tensor)
        if kind is not None:
            tensor.dtype = kind
        if width:
            tensor.dynamic_range = (-width, width)

    def parse(self, model: bytes) -> None:
        """Add an ONNX model, by NVIDIA's parser.

        Raises:
            Refused: it doesn't take it.
        """
        parser = trt.OnnxParser(self.api, LOG)
        self._kept.append(parser)
        if not parser.parse(model):
            raise Refused("; ".join(parser.get_error(index).desc() for index in range(parser.num_errors)))

    def profile(self, **shapes: Sequence[Sequence[int]]) -> Any:
        """An optimization profile, with min, opt and max of each input."""
        made = self.builder.create_optimization_profile()
        for name, three in shapes.items():
            made.set_shape(name, *three)
        self.config.add_optimization_profile(made)
        return made

    def build(self) -> bytes:
        """The serialized engine.

        Raises:
            Refused: TensorRT doesn't build it.
        """
        built = self.builder.build_serialized_network(self.api, self.config)
        if built is None:
            raise LOG.refused()
        return bytes(built)

    def engine(self) -> Any:
        """As `build`, deserialized."""
        return loaded(self.build())


_RUNTIMES: list[Any] = []


def loaded(engine: bytes) -> Any:
    """An engine that was serialized.

    Raises:
        Refused: TensorRT doesn't take it.
    """
    _RUNTIMES.append(runtime := trt.Runtime(LOG))
    made = runtime.deserialize_cuda_engine(engine)
    if made is None:
        raise LOG.refused()
    return made


def run(engine: Any, inputs: Arrays, context: Any = None) -> dict[str, np.ndarray]:
    """The outputs of an engine of an explicit batch.

    Raises:
        Refused: a shape is outside of the profile, or the execution failed.
    """
    context = context or engine.create_execution_context()
    cuda = driver()
    for name, array in inputs.items():
        if -1 in tuple(engine.get_tensor_shape(name)) and not context.set_input_shape(name, array.shape):
            raise LOG.refused()
        context.set_tensor_address(name, cuda.upload(array))
    outputs = {}
    for index in range(engine.num_io_tensors):
        name = engine.get_tensor_name(index)
        if engine.get_tensor_mode(name) == trt.TensorIOMode.OUTPUT:
            shape, number = tuple(context.get_tensor_shape(name)), NUMBERS[engine.get_tensor_dtype(name)]
            outputs[name] = (cuda.upload(np.full(shape, 77, number)), shape, number)
            context.set_tensor_address(name, outputs[name][0])
    if not context.execute_async_v3(cuda.stream.value):
        raise LOG.refused()
    return {name: cuda.download(*where) for name, where in outputs.items()}


def compared(got: Arrays, right: Arrays, tolerance: float = 1e-5) -> str:
    """`right`, or how far the outputs are from it."""
    for name, wanted in right.items():
        if got[name].shape != wanted.shape:
            return f"wrong: {name} has shape {got[name].shape}, not {wanted.shape}"
        worst = float(np.max(np.abs(got[name].astype(np.float64) - wanted), initial=0.0))
        if not worst <= tolerance:
            return f"wrong: {name} is off by {worst:.3g}"
    return "right"


def data(*shape: int, scale: float = 1.0) -> np.ndarray:
    """Random FP32 numbers, the same in each run."""
    return (np.random.default_rng(7).uniform(-1, 1, shape) * scale).astype(np.float32)


CONTROLS: dict[str, Callable[[], str]] = {}
"""All controls by name; each gives what was seen, or raises Refused."""


def control(function: Callable[[], str]) -> Callable[[], str]:
    """Adds a control."""
    CONTROLS[function.__name__] = function
    return function
