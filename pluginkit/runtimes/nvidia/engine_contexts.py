"""The worker's side of running engines: a context per profile, run by Polygraphy's TrtRunner."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
from polygraphy.backend.trt import TrtRunner

from pluginkit.errors import CheckFailed
from pluginkit.network.networks import Array
from pluginkit.runtimes.nvidia.bindings import IS_8, trt

if TYPE_CHECKING:
    from polygraphy.cuda import Stream


class Engine:
    """A deserialized engine and its contexts, made when they are needed.

    TensorRT lets one context at a time use a profile (IExecutionContext::setOptimizationProfileAsync).
    """

    def __init__(self, engine: trt.ICudaEngine) -> None:
        self._engine = engine
        self._runners: dict[int, TrtRunner] = {}

    def run(self, profile: int, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Runs once, in the context of a profile.

        Args:
            profile: its number.
            feeds: graph input -> array; shape tensors' values too.

        Returns:
            Graph output -> array: float32; int64 of that, int32 of what else is integer or bool.
        """
        return _run(self._runner(profile), feeds)

    def switch(self, profile: int, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """As `run`, in a context of another profile that is switched to this one, after this one's was released.

        Raises:
            CheckFailed: the engine has one profile only, or the switch was refused.
        """
        others = [index for index in range(self._engine.num_optimization_profiles) if index != profile]
        if not others:
            raise CheckFailed("an engine with one profile has no context to switch")
        self._release(profile)
        runner = self._runner(others[0])
        # From here on it is this profile's: the other one is free.
        del self._runners[others[0]]
        try:
            self._to(runner.context, profile, runner.stream)
        except CheckFailed:
            runner.deactivate()
            raise
        self._runners[profile] = runner
        return _run(runner, feeds)

    def both(self, runs: Sequence[tuple[int, Mapping[str, Array]]], times: int = 8) -> list[dict[str, Array]]:
        """Runs in contexts of different profiles at once, in a thread and on a stream each.

        Args:
            runs: the profile and what `run` takes, of each.
            times: how often each runs, so that they meet.

        Returns:
            What the last run of each gives.
        """
        runners = [self._runner(profile) for profile, _ in runs]
        for runner, (_, feeds) in zip(runners, runs, strict=True):
            # Sets its shapes: in two threads at once 8.5.3 refused some of them.
            _run(runner, feeds)
        together = threading.Barrier(len(runs))

        def repeat(runner: TrtRunner, feeds: Mapping[str, Array]) -> dict[str, Array]:
            together.wait()
            for _ in range(times - 1):
                _run(runner, feeds)
            return _run(runner, feeds)

        with ThreadPoolExecutor(len(runs)) as pool:
            asked = [pool.submit(repeat, runner, feeds) for runner, (_, feeds) in zip(runners, runs, strict=True)]
            return [one.result() for one in asked]

    def context(self, profile: int) -> trt.IExecutionContext:
        """The context of a profile, with the shapes that it ran last."""
        context: trt.IExecutionContext = self._runner(profile).context
        return context

    def accepts(self, profile: int, name: str, dims: Sequence[int]) -> bool:
        """Whether a profile's context takes a shape of an input."""
        return bool(self.context(profile).set_input_shape(name, tuple(dims)))

    def _runner(self, profile: int) -> TrtRunner:
        if profile not in self._runners:
            context = self._engine.create_execution_context()
            if context is None:
                raise CheckFailed(f"NVIDIA makes no execution context for profile {profile}")
            runner = TrtRunner(context)
            runner.activate()
            try:
                self._to(context, profile, runner.stream)
            except CheckFailed:
                runner.deactivate()
                raise
            self._runners[profile] = runner
        return self._runners[profile]

    def _to(self, context: trt.IExecutionContext, profile: int, stream: Stream) -> None:
        """Sets a context's profile, and waits for it: the next enqueue may be on another stream."""
        if context.active_optimization_profile == profile:
            return
        if not context.set_optimization_profile_async(profile_index=profile, stream_handle=stream.ptr):
            raise CheckFailed(f"NVIDIA refuses to switch a context to profile {profile}")
        stream.synchronize()

    def shape_values(self, profile: int, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The values of shape-tensor outputs for these inputs; the plugin computes shapes and is not run.

        TrtRunner can't: it has outputs on the device, and these are on the host.

        Raises:
            CheckFailed: TensorRT doesn't take the shapes, or lacks one.
        """
        context: trt.IExecutionContext = self._runner(profile).context
        held = self._shape_inputs(context, feeds)
        values = {}
        for name in self._names(trt.TensorIOMode.OUTPUT):
            if self._engine.is_shape_inference_io(name):
                dims = tuple(context.get_tensor_shape(name))
                values[name] = np.zeros(dims, trt.nptype(self._engine.get_tensor_dtype(name)))
                context.set_tensor_address(name, values[name].ctypes.data)
        lacking = context.infer_shapes()
        del held
        if lacking:
            raise CheckFailed(f"NVIDIA computes no shapes: {', '.join(lacking)} not specified")
        return {name: _plain(array) for name, array in values.items()}

    def _shape_inputs(self, context: trt.IExecutionContext, feeds: Mapping[str, Array]) -> list[Array]:
        """Gives a context its inputs' shapes, and the shape tensors' values, which are to be held until it is asked."""
        held = []
        for name in self._names(trt.TensorIOMode.INPUT):
            array = np.asarray(_typed(self._engine, name, feeds[name]), order="C")
            if not context.set_input_shape(name, array.shape):
                raise CheckFailed(f"NVIDIA refuses shape {list(array.shape)} for input {name!r}")
            if self._engine.is_shape_inference_io(name):
                held.append(array)
                context.set_tensor_address(name, array.ctypes.data)
        return held

    def _names(self, mode: trt.TensorIOMode) -> list[str]:
        names = [self._engine.get_tensor_name(index) for index in range(self._engine.num_io_tensors)]
        return [name for name in names if self._engine.get_tensor_mode(name) == mode]

    def _release(self, profile: int) -> None:
        runner = self._runners.pop(profile, None)
        if runner is not None:
            runner.deactivate()

    def close(self) -> None:
        """Releases every context."""
        for profile in list(self._runners):
            self._release(profile)


def _run(runner: TrtRunner, feeds: Mapping[str, Array]) -> dict[str, Array]:
    given = {name: _typed(runner.engine, name, array) for name, array in feeds.items()}
    outputs = runner.infer(given, check_inputs=False)
    return {name: _plain(array) for name, array in outputs.items()}


def _typed(engine: trt.ICudaEngine, name: str, array: Array) -> Array:
    """A network input in the engine's type: TensorRT 8 makes INT32 of INT64."""
    return np.asarray(array, trt.nptype(engine.get_tensor_dtype(name))) if IS_8 else array


def _plain(array: Array) -> Array:
    """A copy in the types that outputs are compared in: TrtRunner writes over its arrays in the next run."""
    whole = np.int64 if array.dtype == np.int64 else np.int32
    return array.astype(whole if array.dtype.kind in "iub" else np.float32)
