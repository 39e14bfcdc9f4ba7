"""The batch of classes that are not IPluginV2DynamicExt."""

from __future__ import annotations

import numpy as np
import tensorrt as trt

from pluginkit.runtimes.nvidia.copying.plugin import CALLS, CopyingSetup, calls

from .engine import EXPLICIT, LOG, REGISTRY, Network, compared, control, copying, creator_of, data, driver, loaded, run

IMAGE = (4, 8, 8)


def _run_implicit(engine: trt.ICudaEngine, given: np.ndarray) -> np.ndarray:
    cuda, target = driver(), driver().upload(np.full(given.shape, 77, np.float32))
    context = engine.create_execution_context()
    if not context.execute_async(len(given), [cuda.upload(given), target], cuda.stream.value):
        raise LOG.refused()
    return cuda.download(target, given.shape, np.float32)


def _ioext(*, explicit: bool) -> str:
    creator_of(CopyingSetup("ioext", workspace=16))
    made = Network(EXPLICIT if explicit else 0)
    if not explicit:
        made.builder.max_batch_size = 4
    made.output(made.copy(made.input("x", (2, *IMAGE) if explicit else IMAGE)), "y")
    engine = loaded(made.build())
    given, since = data(2, *IMAGE), len(CALLS)
    got = run(engine, {"x": given})["y"] if explicit else _run_implicit(engine, given)
    shapes = {call.tensors[0].dims for call in calls("configurePlugin")}
    sizes = {call.value for call in calls("getWorkspaceSize")}
    batches = [call.value["batch"] for call in calls("enqueue", since)]
    same = compared({"y": got}, {"y": given})
    return f"built, {same}; configurePlugin {sorted(shapes)}, getWorkspaceSize {sorted(sizes)}, enqueue {batches}"


@control
def ioext_implicit() -> str:
    return _ioext(explicit=False)


@control
def ioext_explicit() -> str:
    return _ioext(explicit=True)


@control
def v2_explicit() -> str:
    field = trt.PluginField("negSlope", np.array([0.1], np.float32), trt.PluginFieldType.FLOAT32)
    creator = REGISTRY.get_plugin_creator("LReLU_TRT", "1", "")
    made = Network()
    leaky = creator.create_plugin("leaky", trt.PluginFieldCollection([field]))
    made.output(made.plugin(leaky, made.input("x", (2, *IMAGE))).get_output(0), "y")
    made.build()
    return "built"


@control
def ext_nvidia() -> str:
    field = trt.PluginField("scale", np.array([2], np.float32), trt.PluginFieldType.FLOAT32)
    creator = REGISTRY.get_plugin_creator("ResizeNearest_TRT", "1", "")
    made = Network()
    twice = creator.create_plugin("twice", trt.PluginFieldCollection([field]))
    made.output(made.plugin(twice, made.input("x", (2, *IMAGE))).get_output(0), "y")
    given = data(2, *IMAGE)
    return f"built, {compared(run(loaded(made.build()), {'x': given}), {'y': given.repeat(2, 2).repeat(2, 3)})}"


def _open_dimensions(kind: str) -> str:
    creator_of(CopyingSetup(kind))
    made = Network()
    made.output(made.copy(made.input("x", (-1, *IMAGE))), "y")
    made.profile(x=((1, *IMAGE), (2, *IMAGE), (4, *IMAGE)))
    made.build()
    return "built"


@control
def ioext_open() -> str:
    return _open_dimensions("ioext")


@control
def ext_open() -> str:
    return _open_dimensions("ext")


@control
def dynamic_implicit() -> str:
    made = Network(0)
    made.output(made.gelu(made.input("x", IMAGE)), "y")
    made.build()
    return "built"


def _broadcast(flags: int) -> str:
    creator_of(CopyingSetup("ext"))
    made = Network(flags)
    shape = (2, *IMAGE) if flags else IMAGE
    made.output(made.plugin(copying(), made.input("x", shape), made.constant(np.zeros(shape))).get_output(0), "y")
    made.build()
    told = [int(one) for one in calls("configurePlugin")[-1].value["broadcast"]]
    if flags:
        return f"inputIsBroadcast {told}"
    asked = sorted({call.value for call in calls("canBroadcastInputAcrossBatch")})
    return f"canBroadcastInputAcrossBatch {asked}, inputIsBroadcast {told}"


@control
def ext_broadcast_implicit() -> str:
    return _broadcast(0)


@control
def ext_broadcast_explicit() -> str:
    return _broadcast(EXPLICIT)
