"""The plugin LReLU in Python, from NVIDIA's registry to a network. Read it from top to bottom.

    python leaky_relu.py [tensorrt | tensorrt_rtx | tensorrt_lean]

`tensorrt` puts the plugin into a network by NVIDIA's API, `tensorrt_rtx` by its ONNX parser: it can build without a
GPU. `tensorrt_lean` has the registry alone. Without a name the first one that is installed is taken.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias, cast

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper
    from polygraphy.cuda import DeviceArray, Stream
except ImportError as missing:
    sys.exit(f"Stopped: the Python package {missing.name} is not installed.\nFix: pip install onnx polygraphy")

# A creator is found by these three; all must be as in pluginkit.toml.
NAME, VERSION, NAMESPACE = "LReLU", "1", ""
NEG_SLOPE = 0.1
SHAPE = (2, 3, 4, 4)

HERE = Path(__file__).resolve().parent
RUNTIMES = {
    "tensorrt": "pip install tensorrt   (NVIDIA's full TensorRT; needs a GPU)",
    "tensorrt_rtx": "pip install tensorrt-rtx   (builds without a GPU)",
    "tensorrt_lean": "pip install tensorrt-lean   (registry only)",
}


def stop(what: str, fix: str) -> NoReturn:
    """Ends the script with words."""
    sys.exit(f"Stopped: {what}\nFix: {fix}")


# Step 1: one of NVIDIA's Python modules. They have the same classes, as far as they have them.


def choose() -> str:
    """The module's name: the one asked for, or the first that is installed."""
    parser = argparse.ArgumentParser(description="The plugin LReLU, from NVIDIA's registry to a network.")
    parser.add_argument("runtime", nargs="?", choices=RUNTIMES, help="the first one that is installed, if not given")
    asked: str | None = parser.parse_args().runtime
    for name in [asked] if asked else RUNTIMES:
        if importlib.util.find_spec(name):
            return name
    stop(f"not installed: {asked or ', '.join(RUNTIMES)}.", RUNTIMES[asked or "tensorrt_rtx"])


def preload_rtx_parser() -> None:
    """Lets TensorRT-RTX's parser find `libtensorrt_rtx.so`: it opens that name, and the wheel only has `.so.1`.

    The parser looks beside itself. So it is loaded through a folder of links in which both names are.
    """
    wheel = importlib.util.find_spec("tensorrt_rtx_libs")
    if wheel is None or wheel.origin is None:
        return  # no wheel: NVIDIA's archive has all names
    links = HERE / "build" / "rtx"
    links.mkdir(parents=True, exist_ok=True)
    for library in Path(wheel.origin).parent.glob("lib*.so.1"):
        for link in (links / library.name, links / library.stem):
            if link.resolve() != library.resolve():
                link.unlink(missing_ok=True)
                link.symlink_to(library)
    ctypes.CDLL(str(links / "libtensorrt_onnxparser_rtx.so.1"))


RUNTIME = choose()
if TYPE_CHECKING:
    import tensorrt as trt
else:
    try:
        if RUNTIME == "tensorrt_rtx":
            preload_rtx_parser()
        trt = importlib.import_module(RUNTIME)
    except (ImportError, OSError) as error:
        stop(f"{RUNTIME} is installed and can't be loaded: {error}", RUNTIMES[RUNTIME])

Creator: TypeAlias = "trt.IPluginCreator | trt.IPluginCreatorV3One"
Plugin: TypeAlias = "trt.IPluginV2 | trt.IPluginV3"


def has_gpu() -> bool:
    """Whether NVIDIA's driver is there and has a GPU."""
    try:
        return bool(ctypes.CDLL("libcuda.so.1").cuInit(0) == 0)
    except OSError:
        return False


# Step 2: the library goes into the registry, which then lists its creators.


def load(registry: trt.IPluginRegistry, target: str) -> None:
    """Loads what `pluginkit build` has made for a target."""
    library = HERE / "build" / target / "libl_re_lu.so"
    if not library.is_file():
        stop(f"there is no {library}.", f"cd {HERE} && pluginkit build --target {target}")
    before = {identity(creator) for creator in creators(registry)}
    # What this returns says little: some versions give a null handle for a library that they have loaded.
    registry.load_library(str(library))
    new = [identity(creator) for creator in creators(registry) if identity(creator) not in before]
    if not new:
        stop(f"the registry took no creator from {library}.", f"pluginkit inspect --load {library}")
    print(f"load:    {library.relative_to(HERE)} brought {', '.join(new)}")


def creators(registry: trt.IPluginRegistry) -> list[Creator]:
    """Every creator that the registry has."""
    return [cast("Creator", creator) for creator in registry.all_creators]


def identity(creator: Creator) -> str:
    """What a creator is found by."""
    return f"{creator.name} {creator.plugin_version} in namespace {creator.plugin_namespace!r}"


def find(registry: trt.IPluginRegistry) -> Creator:
    """Looks the creator up. TensorRT 10 and 11 get one for V2 plugins from this library, TensorRT-RTX one for V3."""
    creator = registry.get_creator(NAME, VERSION, NAMESPACE)
    if creator is None:
        like = [identity(one) for one in creators(registry) if one.name == NAME]
        stop(
            f"the registry has no creator {NAME} {VERSION} in namespace {NAMESPACE!r}.",
            f"set NAME, VERSION and NAMESPACE to what it has: {', '.join(like) or 'nothing of that name'}",
        )
    assert isinstance(creator, trt.IPluginCreator | trt.IPluginCreatorV3One)
    print(f"find:    {identity(creator)}: an {type(creator).__name__} with the fields {fields_of(creator)}")
    return creator


def fields_of(creator: Creator) -> str:
    """The fields that a creator takes, each with its type."""
    return ", ".join(f"{field.name} ({field.type.name})" for field in creator.field_names)


# Step 3: the creator makes a plugin of fields.


def make(creator: Creator) -> Plugin:
    """A plugin with our slope."""
    # A field points to the array's memory, and the collection copies that pointer: both must live until the creator
    # has read them. `PluginField("neg_slope", np.array(...), ...)` in one line would point to freed memory.
    values = np.array([NEG_SLOPE], np.float32)
    neg_slope = trt.PluginField("neg_slope", values, trt.PluginFieldType.FLOAT32)
    fields = trt.PluginFieldCollection_(trt.PluginFieldCollection([neg_slope]))
    plugin: Plugin | None
    if isinstance(creator, trt.IPluginCreatorV3One):
        plugin = creator.create_plugin("lrelu", fields, trt.TensorRTPhase.BUILD)
    else:
        plugin = creator.create_plugin("lrelu", fields)
    if plugin is None:
        stop(
            f"the creator made no plugin of the field neg_slope, given as {neg_slope.type.name}.",
            f"give each field the name and the type that the creator lists: {fields_of(creator)}",
        )
    print(f"make:    a plugin with neg_slope {NEG_SLOPE}")
    return plugin


def restore(creator: trt.IPluginCreator, plugin: trt.IPluginV2) -> None:
    """What an engine does with a V2 plugin: it keeps its bytes, and has the creator make it again of them."""
    data = bytes(plugin.serialize())
    again = creator.deserialize_plugin("lrelu", data)
    if again is None or bytes(again.serialize()) != data:
        stop("the plugin that was made of the serialized bytes is another one.", "fix serialize() and restore()")
    print(f"restore: the same again, of {len(data)} serialized bytes")


# Step 4: the plugin goes into a network.


def add_layer(network: trt.INetworkDefinition, plugin: Plugin) -> None:
    """By NVIDIA's API, which is for `tensorrt` only."""
    x = network.add_input("x", trt.float32, SHAPE)
    layer: trt.IPluginV2Layer | trt.IPluginV3Layer
    if isinstance(plugin, trt.IPluginV3):
        layer = network.add_plugin_v3(inputs=[x], shape_inputs=[], plugin=plugin)
    else:
        layer = network.add_plugin_v2(inputs=[x], plugin=plugin)
    y = layer.get_output(0)
    y.name = "y"
    network.mark_output(y)


def model() -> bytes:
    """The same network in ONNX: the operator is the creator's name, the attributes are its fields.

    The operator must not have a name that ONNX has, as LeakyRelu: NVIDIA's parser would take that for its own, in
    whatever domain it is.
    """
    node = helper.make_node(
        NAME, ["x"], ["y"], "lrelu", domain="trt.plugins",
        plugin_version=VERSION, plugin_namespace=NAMESPACE, neg_slope=NEG_SLOPE,
    )  # fmt: skip
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in "xy")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("trt.plugins", 1)]
    made: onnx.ModelProto = helper.make_model(helper.make_graph([node], "net", [x], [y]), opset_imports=opsets)
    return bytes(made.SerializeToString())


def build(logger: trt.ILogger, plugin: Plugin) -> trt.IHostMemory:
    """A network with the plugin, built into an engine."""
    try:
        builder = trt.Builder(logger)
    except TypeError:  # so pybind11 says that there was no object
        stop(f"{RUNTIME} makes no builder: it needs a GPU.", RUNTIMES["tensorrt_rtx"])
    network = builder.create_network(0)
    if RUNTIME == "tensorrt_rtx":
        parser = trt.OnnxParser(network, logger)
        if not parser.parse(model()):
            reasons = " ".join(parser.get_error(index).desc() for index in range(parser.num_errors))
            stop(f"NVIDIA's parser refuses the network: {reasons}", "see what it logged above")
    else:
        add_layer(network, plugin)
    layer = network.get_layer(0)
    print(f"network: x {list(SHAPE)} -> {layer.name} ({layer.type.name}) -> y {list(network.get_output(0).shape)}")
    engine = builder.build_serialized_network(network, builder.create_builder_config())
    if engine is None:
        stop("NVIDIA's builder made no engine.", "see what it logged above")
    print(f"build:   an engine of {engine.nbytes} bytes")
    return engine


# Step 5: where there is a GPU, the engine runs.


def run(logger: trt.ILogger, plan: trt.IHostMemory) -> None:
    """Runs the engine once, and holds its output against NumPy's."""
    runtime = trt.Runtime(logger)
    engine = runtime.deserialize_cuda_engine(plan)
    if engine is None:
        stop(f"{RUNTIME} doesn't run the engine on this GPU.", "see what it logged above")
    x = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
    context = engine.create_execution_context()
    with Stream() as stream, DeviceArray(SHAPE) as x_gpu, DeviceArray(SHAPE) as y_gpu:  # of float32
        x_gpu.copy_from(x)
        context.set_tensor_address("x", x_gpu.ptr)
        context.set_tensor_address("y", y_gpu.ptr)
        queued = context.execute_async_v3(stream.ptr)
        stream.synchronize()
        y = y_gpu.numpy()
    if not queued or not np.allclose(y, np.where(x >= 0, x, NEG_SLOPE * x)):
        stop("the output is not NumPy's.", "pluginkit test shows where it differs")
    print("run:     the output is NumPy's")


def main() -> None:
    """All steps."""
    gpu = has_gpu()
    print(f"runtime: {RUNTIME} {trt.__version__}, {'a GPU' if gpu else 'no GPU'}")
    registry: trt.IPluginRegistry = trt.get_plugin_registry()
    load(registry, "gpu" if gpu else "cpu")
    creator = find(registry)
    plugin = make(creator)
    if isinstance(creator, trt.IPluginCreator) and isinstance(plugin, trt.IPluginV2):
        restore(creator, plugin)
    if not hasattr(trt, "Builder"):
        print(f"end:     {RUNTIME} has no builder. For a network: {RUNTIMES['tensorrt_rtx']}")
        return
    logger = trt.Logger(trt.Logger.WARNING)
    engine = build(logger, plugin)
    if gpu:
        run(logger, engine)
    else:
        print("end:     without a GPU the engine is not run; 'pluginkit test' runs the layer on the CPU")


if __name__ == "__main__":
    main()
