"""The worker's side of recording: cases in TensorRT 8.5, in the Python that has it.

A process of its own, run with the library's path: cases come as pickles on stdin, each with its length before it, and
an answer to each goes out as a line of JSON.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import struct
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from polygraphy.cuda import DeviceArray, Stream

os.environ.setdefault("PLUGINKIT_BINDINGS", "tensorrt")

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.network.networks import Array
from pluginkit.runtimes.nvidia import bindings as nvidia
from pluginkit.runtimes.nvidia import network_api, version8
from pluginkit.runtimes.tensorrt import calibration_cache
from pluginkit.runtimes.tensorrt.plugins import PluginPlayer
from tests.fidelity.tensorrt8.drawing.case import Case, batches, feeds
from tests.fidelity.tensorrt8.recording import calls, outputs

trt: Any = version8.trt
NUMBERS = {trt.float32: np.float32, trt.float16: np.float16, trt.int8: np.int8, trt.int32: np.int32, trt.bool: np.bool_}
INIT = "initChameleonsPlugins"
LENGTH = struct.Struct("<Q")
LEAST_BYTES = 512
LONGEST = 400
"""Of a message."""


class Refused(Exception):
    """TensorRT refuses it; where, and its words."""

    def __init__(self, stage: str, message: str) -> None:
        super().__init__(message)
        self.stage = stage


class Memory:
    """Device memory that is given back after each case, and a stream."""

    def __init__(self) -> None:
        self.stream = Stream()
        self._held: dict[int, DeviceArray] = {}

    def upload(self, array: Array) -> int:
        """The address of memory with the array's bytes; that of an empty array is not null."""
        content = np.zeros(max(array.nbytes, LEAST_BYTES), np.uint8)
        content[: array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
        held = DeviceArray(content.shape, content.dtype)
        held.copy_from(content)
        self._held[int(held.ptr)] = held
        return int(held.ptr)

    def download(self, address: int, shape: Sequence[int], number: Any) -> Array:
        """What the stream left in memory."""
        self.stream.synchronize()
        held = self._held[address]
        content = np.zeros(held.shape, np.uint8)
        held.copy_to(content)
        size = math.prod(shape) * np.dtype(number).itemsize
        return content[:size].view(number).reshape(tuple(shape))

    def free(self) -> None:
        """Gives all back."""
        for held in self._held.values():
            held.free()
        self._held.clear()


class Recorder:
    """TensorRT 8.5 in this process, with the chameleons."""

    def __init__(self, library: str) -> None:
        self.log = nvidia.Log()
        self.memory = Memory()
        self.registry = trt.get_plugin_registry()
        version8.load(self.registry, library, [INIT], "", self.log)
        self.kept = calls.Kept(library)
        self.builder = trt.Builder(self.log)
        self.runtime = trt.Runtime(self.log)

    def answer(self, case: Case) -> dict[str, Any]:
        """What TensorRT does with a case."""
        self.log.take()
        self.kept.take()
        lives = calls.Lives()
        answer: dict[str, Any] = {"id": case.id, "verdict": "built"}
        try:
            engine = self._engine(case, answer, lives)
            self._runs(case, engine, answer, lives)
            del engine
            lives.add(self.kept.take())
            answer["lives"], answer["run_lives"] = lives.texts(engine=False), lives.texts(engine=True)
            answer["configured"] = lives.configured()
        except Refused as refused:
            answer |= {"verdict": "refused", "stage": refused.stage, "message": str(refused)[:LONGEST]}
        finally:
            self.memory.free()
        return answer

    def _errors(self) -> str:
        return "; ".join(text for text in self.log.errors()[-4:]) or "no message"

    def _engine(self, case: Case, answer: dict[str, Any], lives: calls.Lives) -> Any:
        network = self.builder.create_network(0 if case.implicit_batch else version8.EXPLICIT_BATCH)
        made = {call.node: call for call in case.network.calls}
        try:
            player = PluginPlayer(network, self.registry, (case.plugin, "1", ""), made)
            kept = network_api.play(player, case.network.steps)
        except CheckFailed as error:
            raise Refused("network", "; ".join([*self.log.errors()[-3:], error.message[-160:]])) from None
        config = self.builder.create_builder_config()
        version8.configure(config)
        self.builder.max_batch_size = case.max_batch
        calibrator = self._configured(case, config, network, player)
        plan = self.builder.build_serialized_network(network, config)
        if calibrator is not None:
            answer["served"] = calibrator.served
        if calibrator is not None and calibrator.cache:
            answer["cache"] = calibration_cache.read(calibrator.cache)
            answer["cache_head"] = calibrator.cache.partition(b"\n")[0].decode()
        if plan is None:
            raise Refused("build", self._errors())
        lives.add(self.kept.take())
        engine = self.runtime.deserialize_cuda_engine(bytes(plan))
        del kept, player
        if engine is None:
            raise Refused("deserialize", self._errors())
        return engine

    def _configured(self, case: Case, config: Any, network: Any, player: PluginPlayer) -> Any:
        """The calibrator, which must live until the network is built; None if there is none."""
        for flag in case.flags:
            config.set_flag(getattr(trt.BuilderFlag, flag))
        self._quantized(case, config, network, player)
        added: Sequence[Any] = ()
        if not case.implicit_batch:
            try:
                added = nvidia.add_profiles(self.builder, config, network, case.network.profiles, self.log)
            except CheckFailed as error:
                raise Refused("profile", error.message) from None
        if case.quantized not in ("entropy", "minmax"):
            return None
        from pluginkit.runtimes.tensorrt import weak_types

        calibrator = weak_types.CALIBRATORS[f"int8-{case.quantized}"](case.samples or batches(case), case.cache)
        config.int8_calibrator = calibrator
        config.set_calibration_profile(added[0])
        return calibrator

    @staticmethod
    def _quantized(case: Case, config: Any, network: Any, player: PluginPlayer) -> None:
        """Ranges, precisions of layers, and types of outputs."""
        ends = version8.float_ends(network) if case.float_end else []
        for name, width in case.ranges.items():
            player.tensor(name).dynamic_range = (-width, width)
        layers = [network.get_layer(index) for index in range(network.num_layers)]
        for layer in [one for one in layers if one.name in case.precise]:
            config.set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
            layer.precision = trt.int8
            for index in range(layer.num_outputs):
                if layer.get_output(index).dtype == trt.float32:
                    layer.set_output_type(index, trt.int8)
        version8.hand_ranges_on(ends)
        if case.quantized == "bindings":
            for output in [network.get_output(index) for index in range(network.num_outputs)]:
                if case.type_of(output.name) is DType.INT8:
                    output.dtype = trt.int8

    def _runs(self, case: Case, engine: Any, answer: dict[str, Any], lives: calls.Lives) -> None:
        answer["outputs"], answer["ran"] = [], []
        contexts: dict[int, Any] = {}
        lives.add(self.kept.take())
        for run in case.runs:
            if run.profile not in contexts:
                contexts[run.profile] = self._context(engine, run.profile)
            lives.add(self.kept.take())
            implicit = engine.has_implicit_batch_dimension
            execute = self._implicit if implicit else self._explicit
            got = execute(engine, contexts[run.profile], feeds(case, run))
            answer["outputs"].append({name: outputs.short(array) for name, array in got.items()})
            answer["ran"].append(calls.ran(lives.add(self.kept.take())))

    def _context(self, engine: Any, profile: int) -> Any:
        context = engine.create_execution_context()
        if context is None:
            raise Refused("context", self._errors())
        if context.active_optimization_profile != profile and not engine.has_implicit_batch_dimension:
            stream = self.memory.stream.ptr
            if not context.set_optimization_profile_async(profile_index=profile, stream_handle=stream):
                raise Refused("context", self._errors())
            self.memory.stream.synchronize()
        return context

    def _explicit(self, engine: Any, context: Any, given: Mapping[str, Array]) -> dict[str, Array]:
        names = [engine.get_tensor_name(index) for index in range(engine.num_io_tensors)]
        for name, array in given.items():
            if name not in names:
                continue  # nothing depends on it
            if -1 in tuple(engine.get_tensor_shape(name)) and not context.set_input_shape(name, array.shape):
                raise Refused("run", self._errors())
            context.set_tensor_address(name, self.memory.upload(self._typed(array, engine.get_tensor_dtype(name))))
        targets = {}
        for name in names:
            if engine.get_tensor_mode(name) == trt.TensorIOMode.OUTPUT:
                shape, number = tuple(context.get_tensor_shape(name)), NUMBERS[engine.get_tensor_dtype(name)]
                if min(shape, default=0) < 0:
                    raise Refused("run", f"{name} has the shape {shape}")
                targets[name] = (self.memory.upload(np.full(shape, 77, number)), shape, number)
                context.set_tensor_address(name, targets[name][0])
        if not context.execute_async_v3(self.memory.stream.ptr):
            raise Refused("run", self._errors())
        return {name: self.memory.download(*where) for name, where in targets.items()}

    def _implicit(self, engine: Any, context: Any, given: Mapping[str, Array]) -> dict[str, Array]:
        batch = len(next(iter(given.values())))
        bindings, targets = [0] * engine.num_bindings, {}
        for index in range(engine.num_bindings):
            name, kind = engine.get_binding_name(index), engine.get_binding_dtype(index)
            if engine.binding_is_input(index):
                bindings[index] = self.memory.upload(self._typed(given[name], kind))
                continue
            shape, number = (batch, *engine.get_binding_shape(index)), NUMBERS[kind]
            bindings[index] = self.memory.upload(np.full(shape, 77, number))
            targets[name] = (bindings[index], shape, number)
        if not context.execute_async(batch, bindings, self.memory.stream.ptr):
            raise Refused("run", self._errors())
        return {name: self.memory.download(*where) for name, where in targets.items()}

    @staticmethod
    def _typed(array: Array, kind: Any) -> Array:
        return np.ascontiguousarray(array, NUMBERS[kind])


def _cases() -> Iterator[Case]:
    while head := sys.stdin.buffer.read(LENGTH.size):
        yield pickle.loads(sys.stdin.buffer.read(*LENGTH.unpack(head)))


def main(library: str) -> None:
    """Answers until stdin ends."""
    # What libraries print goes to stderr.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    recorder = Recorder(library)
    for case in _cases():
        try:
            answer = recorder.answer(case)
        except Exception:  # noqa: BLE001 - a case's, told apart from TensorRT's refusals
            answer = {"id": case.id, "verdict": "failed", "message": traceback.format_exc()[-1500:]}
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main(sys.argv[1])
    # Contexts and engines are in no order that TensorRT's destructors like.
    os._exit(0)
