"""Shapes, profiles, contexts, and the order of calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from pluginkit.runtimes.nvidia.copying.plugin import CALLS, CopyingSetup, calls

from .engine import LOG, Network, compared, control, copying, creator_of, data, gelu, loaded, run

THREE = ((1, 4), (2, 4), (6, 4))
"""Min, opt and max of x."""


def _open(made: Any) -> Any:
    """An engine of a plugin on x, whose first dimension is open, and its output y."""
    network = Network()
    network.output(network.plugin(made, network.input("x", (-1, 4))).get_output(0), "y")
    network.profile(x=THREE)
    return loaded(network.build())


@control
def shape_outside() -> str:
    run(_open(gelu()), {"x": data(7, 4)})
    return "run"


def _two_profiles() -> Any:
    made = Network()
    made.output(made.gelu(made.input("x", (-1, 4))), "y")
    made.profile(x=THREE)
    made.profile(x=((8, 4), (8, 4), (16, 4)))
    return loaded(made.build())


@control
def shape_of_another_profile() -> str:
    context = _two_profiles().create_execution_context()
    if context.active_optimization_profile != 0:
        return f"the context has profile {context.active_optimization_profile}"
    if not context.set_input_shape("x", (16, 4)):
        raise LOG.refused()
    return "taken"


@control
def binding_names() -> str:
    engine = _two_profiles()
    return ", ".join(engine.get_binding_name(index) for index in range(engine.num_bindings))


@control
def output_for_shapes() -> str:
    made = Network()
    y = made.gelu(made.input("x", (-1, 4)))
    shape = made.api.add_shape(y).get_output(0)
    shape.name = "shape"
    made.api.mark_output_for_shapes(shape)
    made.output(y, "y")
    made.profile(x=THREE)
    engine = loaded(made.build())
    context = engine.create_execution_context()
    context.set_binding_shape(engine.get_binding_index("x"), (3, 4))
    return f"before execution: {list(context.get_shape(engine.get_binding_index('shape')))}"


@control
def size_of_a_plugin() -> str:
    creator_of(CopyingSetup(types=["INT32"]))
    made = Network()
    reshape = made.api.add_shuffle(made.input("x", (2, 6)))
    reshape.set_input(1, made.copy(made.constant([3, 4], np.int32)))
    made.output(reshape.get_output(0), "y")
    made.build()
    return "built"


@control
def plugin_of_a_shape() -> str:
    creator_of(CopyingSetup(types=["INT32"]))
    made = Network()
    made.output(made.copy(made.api.add_shape(made.input("x", (-1, 4))).get_output(0)), "y")
    made.profile(x=THREE)
    engine = loaded(made.build())
    return f"built, {compared(run(engine, {'x': data(3, 4)}), {'y': np.array([3, 4])})}"


def _empty(engine: Any) -> str:
    before = len(CALLS)
    got = run(engine, {"x": data(0, 4)})
    return f"built, {compared(got, {'y': data(0, 4)})}; enqueue {len(calls('enqueue', before))}"


@control
def empty_static() -> str:
    creator_of(CopyingSetup())
    made = Network()
    made.output(made.copy(made.input("x", (0, 4))), "y")
    return _empty(loaded(made.build()))


@control
def empty_by_profile() -> str:
    creator_of(CopyingSetup())
    made = Network()
    made.output(made.copy(made.input("x", (-1, 4))), "y")
    made.profile(x=((0, 4), (2, 4), (6, 4)))
    return _empty(loaded(made.build()))


@control
def contexts() -> str:
    creator_of(CopyingSetup())
    engine = _open(copying())
    deserialized = calls("deserializePlugin")[-1].object
    since = len(CALLS)
    kept = [engine.create_execution_context() for _ in range(2)]
    clones = {call.value for call in calls("clone", since) if call.object == deserialized}
    attached = {call.object for call in calls("attachToContext", since)}
    initialized = {call.object for call in calls("initialize")}
    del kept
    return (
        f"{len(clones)} clones of the deserialized plugin, {len(clones & attached)} attached; "
        f"initialize of {'the deserialized one' if deserialized in initialized else 'another'}"
        f"{' and of the clones' if clones & initialized else ''}"
    )


@control
def configured_again() -> str:
    creator_of(CopyingSetup())
    engine = _open(copying())
    context = engine.create_execution_context()
    (clone,) = {call.object for call in calls("attachToContext")[-1:]}
    since = len(CALLS)
    run(engine, {"x": data(3, 4)}, context)
    configured = [call for call in calls("configurePlugin", since) if call.object == clone]
    if not configured:
        return "not configured again"
    x = configured[0].tensors[0]
    return f"configurePlugin on the context's clone: dims {list(x.dims)}, min {list(x.min)}, max {list(x.max)}"


@control
def configured_at_build() -> str:
    creator_of(CopyingSetup())
    _open(copying())
    x = calls("configurePlugin")[0].tensors[0]
    written = len(calls("serialize"))
    return f"dims {list(x.dims)}, min {list(x.min)}, max {list(x.max)}; serialize {written} times"


@control
def alignment() -> str:
    creator_of(CopyingSetup(workspace=256))
    engine = _open(copying())
    since = len(CALLS)
    run(engine, {"x": data(3, 4)})
    *tensors, workspace = calls("enqueue", since)[0].value["pointers"]
    aligned = all(one % 256 == 0 for one in (*tensors, workspace or 1))
    return "multiples of 256" if aligned else "other addresses"


@control
def initialize_fails() -> str:
    creator_of(CopyingSetup(initialize=1))
    _open(copying())
    return "built"
