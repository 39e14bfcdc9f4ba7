"""An INT8 network whose scales a calibrator finds: its cache, and what its engine computes.

There is no oracle in steps, since TensorRT chooses the scales. But they are in the cache: an engine with these as
dynamic ranges, which are held against the oracle elsewhere, must give the same; so must one that reads the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import onnx

from pluginkit.interpreter import walker
from pluginkit.network.networks import Array, Case, Network
from pluginkit.network.weak_types import INT8_STEPS, Weak
from pluginkit.runtimes.tensorrt import calibration_cache
from pluginkit.runtimes.tensorrt.session import TensorrtSession

EXACT = 1e-3
"""How far the scale of kMIN_MAX may be from the largest magnitude over 127, relatively."""


def problem(session: TensorrtSession, network: Network, weak: Weak, cases: Sequence[Case]) -> str:
    """What is wrong with a calibrated network that was built last; empty if nothing is."""
    cache = session.cache()
    scales = calibration_cache.read(cache)
    (call,) = network.calls
    inputs, outputs = _tensors(network, call.node)
    missing = [name for name in (*inputs, *outputs) if name not in scales]
    if missing:
        return f"the calibration cache has no scale of {', '.join(missing)}"
    if weak.kind == "int8-minmax" and (found := _not_largest(weak, scales, inputs)):
        return found
    wanted = [session.run(network, case).outputs for case in cases]
    kept = replace(weak, batches=(), cache=cache)
    ranged = replace(
        kept,
        kind="int8-ranges",
        cache=b"",
        input_scales={call.node: tuple(scales[name] for name in inputs)},
        output_scales={call.node: tuple(scales[name] for name in outputs)},
    )
    step = {name: scales[tensor] for name, tensor in zip(network.outputs, outputs, strict=False)}
    for how, other in (("that reads the cache", kept), ("with the cache's scales as dynamic ranges", ranged)):
        built = session.build_weak(network, other)
        if not built.ok:
            return f"an engine {how} isn't built: {built.message}"
        for case, want in zip(cases, wanted, strict=True):
            got = session.run(network, case).outputs
            if far := [name for name in want if _far(got[name], want[name], step.get(name, 0.0))]:
                return f"{case.id}: an engine {how} gives another {', '.join(far)}"
    return ""


def _tensors(network: Network, node: str) -> tuple[list[str], list[str]]:
    """The names of the plugin's inputs and outputs."""
    (found,) = [one for one in walker.nodes(onnx.load_from_string(network.model).graph) if one.name == node]
    return list(found.input), list(found.output)


def _not_largest(weak: Weak, scales: dict[str, float], inputs: Sequence[str]) -> str:
    for name in inputs:
        largest = max(float(np.abs(batch[name]).max(initial=0.0)) for batch in weak.batches)
        if abs(scales[name] * INT8_STEPS - largest) > EXACT * largest:
            covered = scales[name] * INT8_STEPS
            return f"the calibration cache gives {name} the range {covered:g}; its largest is {largest:g}"
    return ""


def _far(got: Array, want: Array, step: float) -> bool:
    # A range has the scale back with an error of the last bit, which can move a tie.
    return got.shape != want.shape or float(np.max(np.abs(got - want), initial=0.0)) > 1.01 * step
