"""The worker's side of `pluginkit.bench.runner`: the library, the GPU, and one case after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pluginkit import gpu, host
from pluginkit.bench import baseline, values
from pluginkit.bench.buffers import Buffers
from pluginkit.bench.layer import BenchLayer
from pluginkit.bench.measurements import Baseline, BenchCase, Machine, Result, Times
from pluginkit.bench.timing import Timer, Work, capture
from pluginkit.errors import PluginkitError
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Array
from pluginkit.process.worker_main import CallFile
from pluginkit.testing.reference import Reference

EMPTY = b""".version 7.0
.target sm_75
.address_size 64
.visible .entry empty()
{
    ret;
}
"""


def open(call_file: CallFile, **init: Any) -> BenchLibrary:  # noqa: A001
    """Loads the library and takes the GPU; arguments are BenchLibrary's."""
    host.set_call_file(call_file.path)
    return BenchLibrary(**init)


class BenchLibrary:
    """A loaded plugin library on a GPU.

    Args:
        library: its file.
        manifest: the plugin's.
        project: the folder that `reference.py` is in.
        seed: what the values follow from.
        sweep: whether a copy of each case's bytes is timed beside it.
    """

    def __init__(
        self,
        library: Path,
        manifest: Manifest,
        project: Path,
        seed: int,
        *,
        sweep: bool = False,
    ) -> None:
        self._sweep = sweep
        self._context = gpu.GpuContext()
        self._timer = Timer(self._context, self._context.stream())
        self._manifest = manifest
        self._reference = Reference.load(project, manifest)
        self._seed = seed
        self._library = host.Library(library)
        plugin = manifest.plugin
        self._creator = self._library.creator(plugin.name, plugin.version, plugin.namespace)
        self._values: tuple[BenchCase, values.Values] | None = None

    def machine(self) -> Machine:
        """The GPU, and how fast it copies."""
        rate, size = self._timer.copy_rate()
        context = self._context
        capability = ".".join(map(str, context.capability))
        return Machine(context.name, capability, context.driver.version, context.l2_bytes, rate, size)

    def ready(self) -> None:
        """Nothing: the library is loaded, and has the plugin."""

    def prepare(self, case: BenchCase) -> None:
        """Asks the reference: a call of its own, since it takes long where tensors are large."""
        if self._values is None or self._values[0] != case:
            self._values = (case, values.make(self._manifest, self._reference, case, self._seed))

    def measure(self, case: BenchCase) -> Result:
        """Times a case that was prepared.

        Raises:
            CheckFailed: the plugin answers wrongly, or an output is not what it must be.
        """
        with self._placed(case) as (buffers, measure, check):
            times, note = measure()
            check()
            result = Result(
                case,
                times,
                buffers.count,
                buffers.turn_bytes,
                self._empty(times.enqueues) if times.enqueues > 1 else None,
                note=note,
            )
        return replace(result, copy=self._copy(case.bytes, buffers.count)) if self._sweep else result

    @contextmanager
    def _placed(self, case: BenchCase) -> Iterator[tuple[Buffers, Callable[[], tuple[Times, str]], Callable[[], None]]]:
        """A case that was prepared, on the GPU: its buffers, what times it, and what checks the outputs in them.

        After an exception nothing is freed: that may be what failed, and the worker ends.
        """
        assert self._values is not None
        _, tensors = self._values
        layer = BenchLayer(self._creator, self._manifest, case, tensors.scales)
        buffers = Buffers(self._context, tensors.inputs, tensors.outputs)
        workspace = self._context.alloc(layer.workspace_bytes) if layer.workspace_bytes else None
        stream = self._timer.stream

        def run(turn: int) -> None:
            address = workspace.address if workspace else 0
            layer.enqueue(buffers.inputs[turn], buffers.outputs[turn], address, stream.handle)

        def measure() -> tuple[Times, str]:
            return self._timer.measure(Work(run, buffers.count), lambda: buffers.poison(stream))

        yield buffers, measure, lambda: self._check(layer, buffers, tensors, case)
        layer.close()
        buffers.free()
        if workspace:
            workspace.free()

    def _copy(self, moved: int, sets: int) -> Times | None:
        return self._timer.copy(moved // 2, sets) if moved > 1 else None

    def _check(self, layer: BenchLayer, buffers: Buffers, tensors: values.Values, case: BenchCase) -> None:
        """What the timed launches have written, in every set."""
        method, allowed = layer.enqueue_name, values.limits(self._manifest, case)
        first = buffers.read(0)
        self._compare(first, tensors, allowed, method)
        # Launches on equal inputs may differ within tolerance: atomic additions of floats do that.
        for index in buffers.others(first):
            self._compare(buffers.read(index), tensors, allowed, method)

    def _compare(self, got: list[Array], tensors: values.Values, allowed: values.Limits, method: str) -> None:
        for tensor, array, want in zip(self._manifest.outputs, got, tensors.outputs, strict=True):
            values.check(tensor.name, array, want, allowed, method)

    def baseline(self, case: BenchCase, *, compiled: bool) -> Baseline:
        """Times the manifest's expression of a case that was prepared, by torch or by its compiler."""
        assert self._values is not None
        _, tensors = self._values
        manifest = self._manifest
        shapes = manifest.input_shapes(case.symbols)
        buffers = Buffers(self._context, tensors.inputs, tensors.outputs)
        found = baseline.measure(
            case.baseline,
            {**values.fields_of(manifest, case), **{name: case.fields[name] for name in case.fields}},
            [(t.name, manifest.type_of(t, case.precision), shapes[t.name]) for t in manifest.inputs],
            [manifest.type_of(t, case.precision) for t in manifest.outputs],
            tensors.outputs,
            values.limits(manifest, case),
            buffers,
            self._timer,
            compiled=compiled,
        )
        buffers.free()
        return found

    def _empty(self, enqueues: int) -> Times | None:
        """A graph of as many empty kernels; None where the GPU doesn't take ours."""
        try:
            module = self._context.module(EMPTY)
        except PluginkitError:
            return None
        stream = self._timer.stream

        def run(_: int) -> None:
            module.launch("empty", (1, 1, 1), (1, 1, 1), [], stream)

        times, _ = self._timer.measure(Work(run, enqueues, lambda turns: capture(stream, run, turns)))
        module.close()
        return times
