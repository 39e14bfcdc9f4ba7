"""Plugins in engines of TensorRT 8.5: built, deserialized and run on a GPU, and held against their reference.

A program for the Python 3.10 of tools/real_tensorrt.py, which has no pluginkit:

    $PLUGINKIT_TENSORRT8_PYTHON tests/gpu/in_tensorrt8.py FOLDER

FOLDER has, of a generated MyPlugin and of the samples bar_plugin and pool_int8, the library that was built with
`pluginkit build --target gpu --layout 8` and the reference.py, as lib<name>.so and <name>.py. Prints the cases that
fail, and the counts; exits with 1 if any does.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tensorrt as trt

warnings.simplefilter("ignore", DeprecationWarning)  # bindings by number, which 8.5 deprecates

RANGE = 3.0
"""Of each INT8 tensor; a step is RANGE / 127."""
TOLERANCES = {"float32": 1e-5, "float16": 4e-3, "int8": RANGE / 127 * 1.01}
TYPES = {"float32": trt.float32, "float16": trt.float16, "int8": trt.float32}
"""Of the network's inputs and outputs."""


@dataclass(frozen=True)
class Plugin:
    """A plugin, the symbols of its inputs, and the sizes (min, opt, max) of each; without them shapes are static."""

    name: str
    slug: str
    inputs: Mapping[str, str]
    fields: Sequence[Mapping[str, float]] = ({},)
    profile: Mapping[str, tuple[int, int, int]] | None = None
    points: Sequence[Mapping[str, int]] = ()

    def shapes(self) -> list[Mapping[str, int]]:
        """The profile's ends, its optimum, and random points between; or the static shapes."""
        if self.profile is None:
            return list(self.points)
        ends = [{symbol: sizes[i] for symbol, sizes in self.profile.items()} for i in range(3)]
        random = np.random.default_rng(3)
        draw = [{s: int(random.integers(v[0], v[2] + 1)) for s, v in self.profile.items()} for _ in range(21)]
        return ends + draw


POOL = {"mode": 0, "kernel_h": 2, "kernel_w": 2, "stride_h": 2, "stride_w": 2, "pad_h": 0, "pad_w": 0, "ceil_mode": 0,
        "count_include_pad": 0}  # fmt: skip
PLUGINS = (
    Plugin("MyPlugin", "my_plugin", {"x": "nchw"}, [{"alpha": alpha} for alpha in (0.5, 0.0, -1.25)],
           {"n": (1, 3, 5), "c": (1, 8, 20), "h": (1, 9, 33), "w": (1, 7, 40)}),
    Plugin("BarPlugin", "bar_plugin", {"a": "nchw", "b": "mchw"}, ({},),
           {"n": (1, 2, 4), "m": (1, 3, 5), "c": (1, 3, 8), "h": (1, 8, 64), "w": (1, 8, 64)}),
    Plugin("PoolInt8", "pool_int8", {"x": "nchw"},
           [{**POOL, "mode": mode, "kernel_h": k, "kernel_w": k, "pad_h": pad, "pad_w": pad}
            for mode in (0, 1) for k, pad in ((2, 0), (3, 1))],
           points=[dict(zip("nchw", size, strict=True)) for size in ((2, 4, 8, 8), (1, 3, 9, 13), (3, 32, 17, 11))]),
)  # fmt: skip


class Cuda:
    """The driver's functions that a run needs, in the primary context."""

    def __init__(self) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: object) -> None:
        """Call a function of the driver; an error ends the program."""
        code = getattr(self._driver, name)(*arguments)
        assert code == 0, f"{name}: error {code}"

    def upload(self, array: np.ndarray) -> ctypes.c_uint64:
        """Memory on the GPU with the array's bytes."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(array.nbytes, 16)))
        self.call("cuMemcpyHtoD_v2", address, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))
        return address

    def download(self, address: ctypes.c_uint64, into: np.ndarray) -> None:
        """The bytes of an array, back from the GPU."""
        self.call("cuMemcpyDtoH_v2", into.ctypes.data_as(ctypes.c_void_p), address, ctypes.c_size_t(into.nbytes))


class Log(trt.ILogger):
    """Keeps warnings and errors."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self.lines: list[str] = []

    def log(self, severity: trt.ILogger.Severity, message: str) -> None:
        if severity <= trt.ILogger.WARNING:
            self.lines.append(message)


def engine_of(plugin: Plugin, fields: Mapping[str, float], shapes: Mapping[str, int], kind: str, log: Log) -> bytes:
    """A serialized engine with the plugin as its one layer.

    In INT8 with a layer in floating point behind it: 8.5 refuses INT8 at a network's end.
    """
    builder = trt.Builder(log)
    config = builder.create_builder_config()
    config.set_tactic_sources(0)  # cuBLAS and cuDNN are stand-ins
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
    values = {k: np.array([v], np.float32 if isinstance(v, float) else np.int32) for k, v in fields.items()}
    kinds = {np.dtype(np.float32): trt.PluginFieldType.FLOAT32, np.dtype(np.int32): trt.PluginFieldType.INT32}
    given = trt.PluginFieldCollection([trt.PluginField(k, v, kinds[v.dtype]) for k, v in values.items()])
    creator = trt.get_plugin_registry().get_plugin_creator(plugin.name, "1", "")
    assert creator is not None, f"the registry has no {plugin.name}"
    made = creator.create_plugin("layer", given)
    assert made is not None, f"{plugin.name} is not made of {dict(fields)}"
    dims = {k: [-1 if plugin.profile else shapes[s] for s in symbols] for k, symbols in plugin.inputs.items()}
    inputs = [network.add_input(name, TYPES[kind], dims[name]) for name in plugin.inputs]
    layer = network.add_plugin_v2(inputs, made)
    outputs = [layer.get_output(i) for i in range(layer.num_outputs)]
    if kind == "float16":
        config.set_flag(trt.BuilderFlag.FP16)
    if kind == "int8":
        config.set_flag(trt.BuilderFlag.INT8)
        config.set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
        layer.precision = trt.int8
        for index, tensor in enumerate(outputs):
            layer.set_output_type(index, trt.int8)
            behind = network.add_activation(tensor, trt.ActivationType.CLIP)
            behind.alpha, behind.beta, behind.precision = -1e3, 1e3, trt.float32
            behind.set_output_type(0, trt.float32)
            outputs[index] = behind.get_output(0)
        for tensor in (*inputs, *(layer.get_output(i) for i in range(layer.num_outputs)), *outputs):
            tensor.dynamic_range = (-RANGE, RANGE)
    for index, tensor in enumerate(outputs):
        tensor.name = f"out{index}"
        network.mark_output(tensor)
        tensor.dtype = TYPES[kind]
    if plugin.profile:
        profile = builder.create_optimization_profile()
        for name, symbols in plugin.inputs.items():
            profile.set_shape(name, *([plugin.profile[s][i] for s in symbols] for i in range(3)))
        config.add_optimization_profile(profile)
    built = builder.build_serialized_network(network, config)
    assert built is not None, "; ".join(log.lines[-3:])
    return bytes(built)


def runs(
    plugin: Plugin, fields: Mapping[str, float], shapes: Sequence[Mapping[str, int]], kind: str,
    reference: Callable[..., object], cuda: Cuda, log: Log,
) -> Iterator[str]:  # fmt: skip
    """What is wrong at each shape; empty where the outputs are right."""
    engine = trt.Runtime(log).deserialize_cuda_engine(engine_of(plugin, fields, shapes[0], kind, log))
    assert engine is not None, "; ".join(log.lines[-3:])
    context = engine.create_execution_context()
    number = np.float16 if kind == "float16" else np.float32
    random = np.random.default_rng(7)
    step = RANGE / 127
    for shape in shapes:
        arrays = {k: random.uniform(-2.5, 2.5, [shape[s] for s in v]).astype(number) for k, v in plugin.inputs.items()}
        seen = [array.astype(np.float64) for array in arrays.values()]
        if kind == "int8":
            seen = [np.clip(np.round(array / step), -128, 127) * step for array in seen]
        answer = reference(*seen, **fields)
        wanted = [np.asarray(one) for one in (answer if isinstance(answer, tuple) else (answer,))]
        if kind == "int8":
            wanted = [np.clip(one, -RANGE, RANGE) for one in wanted]
        got = [np.full(one.shape, 77, number) for one in wanted]
        addresses = {name: cuda.upload(np.ascontiguousarray(array)) for name, array in arrays.items()}
        addresses |= {f"out{index}": cuda.upload(one) for index, one in enumerate(got)}
        for name, array in arrays.items() if plugin.profile else ():
            assert context.set_binding_shape(engine.get_binding_index(name), array.shape), f"{name}: {array.shape}"
        bindings = [addresses[engine.get_binding_name(i)].value for i in range(engine.num_bindings)]
        done = context.execute_v2(bindings)
        cuda.call("cuCtxSynchronize")
        worst = 0.0
        for index, (mine, right) in enumerate(zip(got, wanted, strict=True)):
            cuda.download(addresses[f"out{index}"], mine)
            worst = max(worst, float(np.max(np.abs(mine - right), initial=0.0)))
        for address in addresses.values():
            cuda.call("cuMemFree_v2", address)
        wrong = not done or not worst <= TOLERANCES[kind]
        yield f"{plugin.name} {kind} {dict(fields)} {dict(shape)}: {worst:.3g}" if wrong else ""


def reference_of(path: Path) -> Callable[..., object]:
    """The function `reference` of a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.reference


def main(folder: Path) -> int:
    """All cases; the exit code."""
    cuda, log = Cuda(), Log()
    passed: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for plugin in PLUGINS:
        library = ctypes.CDLL(str(folder / f"lib{plugin.slug}.so"))
        register = getattr(library, f"init{plugin.name}Plugins")
        register.restype, register.argtypes = ctypes.c_bool, [ctypes.c_void_p, ctypes.c_char_p]
        assert register(None, b""), f"{plugin.name} is not registered"
        reference = reference_of(folder / f"{plugin.slug}.py")
        for kind in TYPES:
            for fields in plugin.fields:
                for shapes in [plugin.shapes()] if plugin.profile else [[one] for one in plugin.points]:
                    for wrong in runs(plugin, fields, shapes, kind, reference, cuda, log):
                        (failed if wrong else passed)[f"{plugin.name} {kind}"] += 1
                        if wrong:
                            print(wrong)
    for name in sorted({*passed, *failed}):
        print(f"{name}: {passed[name]} of {passed[name] + failed[name]}")
    print(f"TensorRT {trt.__version__}: {sum(passed.values())} passed, {sum(failed.values())} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
