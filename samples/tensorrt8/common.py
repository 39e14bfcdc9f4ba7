"""What the examples share: a network, its engine, a run of it, the comparison, and the exit code."""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
import tensorrt as trt
from polygraphy.backend.trt import (
    CreateConfig,
    CreateNetwork,
    EngineFromNetwork,
    PostprocessConfig,
    Profile,
    TrtRunner,
)
from polygraphy.exception import PolygraphyException
from polygraphy.logger import G_LOGGER

from pluginkit.errors import CheckFailed, PluginkitError, ToolMissing, UsageError
from pluginkit.runtimes.nvidia import creator_fields

G_LOGGER.colors = False  # without the package colored it prints a line about that
# TensorRT's warnings are logged from there; Polygraphy's own are about itself.
G_LOGGER.module_severity = {"": G_LOGGER.ERROR, "backend/trt/util.py": G_LOGGER.WARNING}
warnings.simplefilter("ignore", DeprecationWarning)  # bindings by number, which only 8 has

T = TypeVar("T")

_kept: list[object] = []
"""Values of constants, and plugins: a network copies neither."""


def keep(thing: T) -> T:
    """Lets a thing live until the program ends."""
    _kept.append(thing)
    return thing


def new_network(*, explicit_batch: bool = True) -> tuple[trt.Builder, trt.INetworkDefinition]:
    """A builder, and an empty network with explicit or implicit batch.

    Raises:
        ToolMissing: TensorRT makes no builder.
    """
    try:
        made: tuple[trt.Builder, trt.INetworkDefinition] = CreateNetwork(explicit_batch=explicit_batch)()
    except TypeError as error:  # what 8.5's bindings raise for a null pointer
        message = f"TensorRT {trt.__version__} makes no builder: its log, above, says why"
        hint = "Where it names CUDA's error 35 or 100, run this on a machine with an NVIDIA GPU."
        raise ToolMissing(message, hint=hint) from error
    return made


def constant(network: trt.INetworkDefinition, values: np.ndarray) -> trt.ITensor:
    """A tensor of a network with fixed values."""
    values = keep(np.array(values, order="C"))
    return network.add_constant(values.shape, values).get_output(0)


def mark_output(network: trt.INetworkDefinition, name: str, tensor: trt.ITensor) -> None:
    """Makes a tensor an output of the network."""
    tensor.name = name
    network.mark_output(tensor)


def build(
    builder: trt.Builder,
    network: trt.INetworkDefinition,
    *profiles: Profile,
    configure: Callable[[trt.Builder, trt.INetworkDefinition, trt.IBuilderConfig], None] | None = None,
) -> trt.ICudaEngine:
    """An engine of the network, deserialized.

    Args:
        builder, network: what `new_network` gave.
        profiles: one or more where a dimension or a shape tensor's value is open.
        configure: gets builder, network and IBuilderConfig, to set what Polygraphy doesn't.
    """
    config = CreateConfig(profiles=list(profiles), tactic_sources=usable_sources())
    if configure is not None:
        config = PostprocessConfig(config, configure)
    engine: trt.ICudaEngine = EngineFromNetwork((builder, network), config)()
    return engine


@lru_cache(maxsize=1)  # it says so once
def usable_sources() -> list[trt.TacticSource]:
    """The tactic sources but those of cuBLAS and cuDNN, unless these libraries are there and are NVIDIA's."""
    sources = dict(trt.TacticSource.__members__)
    lacking = []
    # Packages for machines without them have libraries in their place whose functions only fail.
    for title, library, function, of_it in (
        ("cuBLAS", "libcublas.so.11", "cublasGetProperty", ("CUBLAS", "CUBLAS_LT")),
        ("cuDNN", "libcudnn.so.8", "cudnnGetProperty", ("CUDNN",)),
    ):
        value = ctypes.c_int(-1)
        try:
            there = getattr(ctypes.CDLL(library), function)(0, ctypes.byref(value)) == 0
        except (OSError, AttributeError):
            there = False
        if not there:
            lacking.append(title)
            for name in of_it:
                del sources[name]
    if lacking:
        print(f"No {', no '.join(lacking)}: their tactic sources are switched off")
    return list(sources.values())


def run(engine: trt.ICudaEngine, feeds: Mapping[str, np.ndarray], profile: int = 0) -> dict[str, np.ndarray]:
    """Runs an engine once, in a context of its own.

    Args:
        engine: what `build` gave.
        feeds: the inputs' arrays; a shape tensor's values too.
        profile: number of the optimization profile.
    """
    with TrtRunner(engine, optimization_profile=profile or None) as runner:
        return {name: np.array(array) for name, array in runner.infer(dict(feeds)).items()}


def compare(what: str, got: np.ndarray, wanted: np.ndarray, tolerance: float = 1e-5) -> None:
    """Holds an output against NumPy's, and prints the largest difference.

    Raises:
        CheckFailed: another shape, or a difference above the tolerance.
    """
    if got.shape != wanted.shape:
        raise CheckFailed(f"{what}: the shape is {got.shape}, not {wanted.shape}")
    worst = float(np.max(np.abs(got.astype(np.float64) - wanted), initial=0.0))
    if not worst <= tolerance:
        raise CheckFailed(f"{what}: the largest difference to NumPy is {worst:.3g}, more than {tolerance:.3g}")
    print(f"{what}: right; largest difference to NumPy {worst:.3g}")


def make_plugin(creator: trt.IPluginCreator, fields: Mapping[str, np.ndarray]) -> trt.IPluginV2:
    """A plugin with fields of FLOAT32 or INT32. A builder must be there: creators of NVIDIA's log to its logger.

    Raises:
        CheckFailed: the creator doesn't list a field, or gives null.
    """
    creator_fields.check(creator, fields)
    kinds = {np.dtype(np.float32): trt.PluginFieldType.FLOAT32, np.dtype(np.int32): trt.PluginFieldType.INT32}
    given = keep([trt.PluginField(name, keep(value), kinds[value.dtype]) for name, value in fields.items()])
    plugin = keep(creator.create_plugin(creator.name, trt.PluginFieldCollection(given)))
    if plugin is None:
        raise CheckFailed(f"{creator.name}: createPlugin gives null; TensorRT's log, above, says why")
    return plugin


def load_plugin(arguments: Sequence[str], sample: str, name: str, namespace: str) -> trt.IPluginCreator:
    """The creator of a sample's plugin: its library is opened, and its init function registers it in a namespace.

    Args:
        arguments: the program's, whose second one is the library.
        sample: the folder in samples/.
        name: the plugin's.
        namespace: where the registry gets it.

    Raises:
        UsageError: no library is given, or it can't be opened.
        CheckFailed: the registry has no such creator after it.
    """
    hint = f"pluginkit build --target gpu --arch 90 --layout 8 in samples/{sample}; give build/gpu/lib{sample}.so."
    if len(arguments) != 2:
        raise UsageError(f"{name} comes from a library: python {arguments[0]} LIBRARY", hint=hint)
    try:
        register = getattr(keep(ctypes.CDLL(arguments[1])), f"init{name}Plugins")
    except (OSError, AttributeError) as error:
        raise UsageError(str(error), hint=hint) from None
    register.restype, register.argtypes = ctypes.c_bool, [ctypes.c_void_p, ctypes.c_char_p]
    if not register(None, namespace.encode()):
        raise CheckFailed(f"{arguments[1]}: init{name}Plugins gives false")
    creator = trt.get_plugin_registry().get_plugin_creator(name, "1", namespace)
    if creator is None:
        raise CheckFailed(f"the registry has no {name} 1 in the namespace {namespace!r}")
    print(f"{name} 1 is registered in the namespace {namespace!r}")
    return creator


def main(example: Callable[[], None]) -> None:
    """Runs an example, and ends the program: with 0, or with a sentence and pluginkit's exit codes 1, 2 and 4."""
    try:
        example()
    except PluginkitError as error:
        print(f"Stopped: {error.message}", *([f"Fix: {error.hint}"] if error.hint else []), sep="\n", file=sys.stderr)
        sys.exit(error.exit_code)
    except PolygraphyException as error:
        print(f"Stopped: {error}", file=sys.stderr)
        sys.exit(1)
