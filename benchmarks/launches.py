"""What an enqueue costs on tiny tensors: `python benchmarks/launches.py [FILE.json]`. Needs a GPU and nvcc.

One generated plugin is built against IPluginV2DynamicExt and against IPluginV3. Its V2 class, its V3 class and the V2
class in the V3 adapter are enqueued on one stream, many times over by the host's loop in C++; beside them an empty
kernel is launched by a loop in C++. Each round measures all of them in turn. On tensors without elements no kernel is
launched, so that the calls alone are left. The samples' tiny shapes are measured in the same way.
"""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from pluginkit import gpu, host, scaffold
from pluginkit.bench.cases import cases
from pluginkit.bench.layer import BenchLayer
from pluginkit.bench.measurements import BenchCase
from pluginkit.build import build, toolchain
from pluginkit.build.gpus import find_driver
from pluginkit.dtypes import DType
from pluginkit.manifest import Manifest

ROUNDS, LAUNCHES, CALLS, PYTHON_CALLS = 60, 500, 20000, 300
"""Of launches so many that they fit into the driver's queue: else the GPU's speed would count too."""
TENSORRT_11, TENSORRT_RTX = 110100, 10701
EMPTY_KERNEL = "empty kernel"
AGAIN = "empty kernel, again"
"""The same a second time in each round: what its ratio is off 1 by is the run's noise."""
SAMPLES = Path(__file__).resolve().parents[1] / "samples"
TINY = 64
"""Elements of each of the generated plugin's tensors."""
EMPTY = """
__global__ void empty() {}
__global__ void emptyOf6(void const*, void const*, void*, void*, size_t, size_t) {}

// Whether a launch has failed is asked after each, as in any enqueue.
extern "C" int launchEmpty(void* stream, long times)
{
    int error = 0;
    for (long i = 0; i < times && error == 0; ++i)
    {
        empty<<<1, 256, 0, static_cast<cudaStream_t>(stream)>>>();
        error = static_cast<int>(cudaGetLastError());
    }
    return error;
}

extern "C" int launchEmptyOf6(void* stream, long times)
{
    int error = 0;
    for (long i = 0; i < times && error == 0; ++i)
    {
        emptyOf6<<<1, 256, 0, static_cast<cudaStream_t>(stream)>>>(stream, stream, stream, stream, 1, 2);
        error = static_cast<int>(cudaGetLastError());
    }
    return error;
}
"""


class Subject:
    """A layer on memory of its own."""

    def __init__(
        self, context: gpu.GpuContext, library: Path, version: int, manifest: Manifest, case: BenchCase
    ) -> None:
        plugin = manifest.plugin
        self._library = host.Library(library, version)
        creator = self._library.creator(plugin.name, plugin.version, plugin.namespace)
        tensors = (*manifest.inputs, *manifest.outputs)
        scales = {t.name: 0.05 for t in tensors if manifest.type_of(t, case.precision) is DType.INT8}
        self.interface = creator.kind
        self._layer = BenchLayer(creator, manifest, case, scales)
        # Twice what the generated plugin's tensors have, and more than the samples' tiny ones.
        self._memory = [context.alloc(1 << 20) for _ in (*self._layer.ins, *self._layer.outs)]
        addresses = [memory.address for memory in self._memory]
        self._inputs, self._outputs = addresses[: len(self._layer.ins)], addresses[len(self._layer.ins) :]

    def enqueue(self, stream: gpu.Stream, times: int) -> None:
        """So many on the stream."""
        self._layer.enqueue(self._inputs, self._outputs, 0, stream.handle, times)


def main() -> None:
    """Build, measure, print, write."""
    with tempfile.TemporaryDirectory() as folder:
        found = prepared(Path(folder))()
    show(found)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def show(found: dict[str, Any]) -> None:
    """Print the figures."""
    table = Table("on a stream, back to back", "us each (median)", "10 %", "90 %", "of the empty kernel", "at 95 %")
    for name, times in found["launches"].items():
        cells = (f"{1e6 * times[key]:.3f}" for key in ("median", "low", "high"))
        table.add_row(name, *cells, f"{times['ratio']:.3f}", f"{times['ratio_low']:.3f} to {times['ratio_high']:.3f}")
    console = Console(width=120)
    console.print(table)
    for what, digits in (("calls", 1), ("python_calls", 0)):
        table = Table(
            "no elements, so no launch" if what == "calls" else "called from Python, with a launch", "ns each"
        )
        for name, times in found[what].items():
            table.add_row(name, f"{1e9 * times['median']:.{digits}f}")
        console.print(table)


def prepared(folder: Path) -> Callable[[], dict[str, Any]]:
    """Builds what is to be measured; what measures it answers all figures, in seconds."""
    arch = find_driver().gpus[0].arch
    projects = {base: _generated(folder / base, base) for base in ("dynamic", "v3")}
    projects |= {name: SAMPLES / name for name in ("bar_plugin", "pool_int8")}
    with ThreadPoolExecutor() as pool:
        jobs = {name: pool.submit(_built, project, arch) for name, project in projects.items()}
        launch_empty = _empty(folder, arch)
        built = {name: job.result() for name, job in jobs.items()}
    # A library is told once by which TensorRT it was loaded, so each has a file of its own.
    adapted = Path(shutil.copy(built["dynamic"][0], folder / "adapted.so"))
    return lambda: _measured(built, adapted, launch_empty)


def _measured(
    built: dict[str, tuple[Path, Manifest]], adapted: Path, launch_empty: dict[str, Callable[[int, int], None]]
) -> dict[str, Any]:
    context = gpu.GpuContext()
    stream = context.stream()
    kinds: dict[str, tuple[str, int]] = {
        "IPluginV2DynamicExt": ("dynamic", TENSORRT_11),
        "IPluginV3": ("v3", TENSORRT_11),
        "V2 in the V3 adapter": ("dynamic", TENSORRT_RTX),
    }

    def subjects(count: int) -> dict[str, Subject]:
        made = {}
        for name, (base, version) in kinds.items():
            library, manifest = built[base]
            library = adapted if version == TENSORRT_RTX else library
            case = cases(manifest, [DType.FLOAT32])[0]
            case = replace(case, symbols={"n": count})
            made[name] = Subject(context, library, version, manifest, case)
        return made

    tiny, empty = subjects(TINY), subjects(0)
    works: dict[str, Callable[[int], None]] = {
        EMPTY_KERNEL: lambda times: launch_empty["launchEmpty"](stream.handle, times),
        "empty kernel with 6 parameters": lambda times: launch_empty["launchEmptyOf6"](stream.handle, times),
    }
    works |= {name: _work(one, stream) for name, one in tiny.items()}
    for name in ("bar_plugin", "pool_int8"):
        library, manifest = built[name]
        for case in (case for case in cases(manifest) if case.shape == "tiny"):
            works[f"{name} {case.id}"] = _work(Subject(context, library, TENSORRT_11, manifest, case), stream)
    works[AGAIN] = works[EMPTY_KERNEL]
    found: dict[str, Any] = {
        "gpu": context.name,
        "rounds": ROUNDS,
        "launches_each": LAUNCHES,
        "launches": _rounds(works, lambda work: _on_stream(context, stream, work)),
        "calls": _rounds({name: _work(one, stream) for name, one in empty.items()}, lambda work: _clock(work, CALLS)),
        "python_calls": _rounds(
            {name: _work(one, stream) for name, one in tiny.items()}, lambda work: _from_python(work, stream)
        ),
    }
    return found


def _generated(folder: Path, base: str) -> Path:
    folder.mkdir()
    return scaffold.new("Same", directory=folder, inputs=["x:float32:n"], base=base)


def _built(project: Path, arch: str) -> tuple[Path, Manifest]:
    return build(project, "gpu", archs=(arch,))[0].library, Manifest.load(project)


def _empty(folder: Path, arch: str) -> dict[str, Callable[[int, int], None]]:
    source, library = folder / "empty.cu", folder / "libempty.so"
    source.write_text(EMPTY)
    nvcc = str(toolchain.nvcc().best().path)
    command = [nvcc, "-O2", "-shared", "-Xcompiler", "-fPIC", f"-arch=sm_{arch}", "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    loaded = ctypes.CDLL(str(library))
    return {name: _checked(loaded[name]) for name in ("launchEmpty", "launchEmptyOf6")}


def _checked(function: Any) -> Callable[[int, int], None]:
    function.argtypes = (ctypes.c_void_p, ctypes.c_long)

    def launch(stream: int, times: int) -> None:
        if code := function(stream, times):
            raise RuntimeError(f"an empty kernel: cudaError {code}")

    return launch


def _work(subject: Subject, stream: gpu.Stream) -> Callable[[int], None]:
    return lambda times: subject.enqueue(stream, times)


def _rounds(
    works: dict[str, Callable[[int], None]], measure: Callable[[Callable[[int], None]], float]
) -> dict[str, dict[str, float]]:
    """Each work's seconds, all of them in turn in each round, the first two not counted.

    `ratio` is the median of what a round's seconds are of those of the round's first work: a machine's speed drifts.
    It lies between `ratio_low` and `ratio_high` at 95 %, by the order of the rounds' ratios (of n the binomial
    distribution's (n -+ 1.96 sqrt(n)) / 2).
    """
    found: dict[str, list[float]] = {name: [] for name in works}
    for number in range(ROUNDS + 2):
        for name, work in works.items():
            seconds = measure(work)
            if number >= 2:
                found[name].append(seconds)
    first = np.array(next(iter(found.values())))
    return {
        name: {
            **dict(zip(("low", "median", "high"), map(float, np.quantile(all_, (0.1, 0.5, 0.9))), strict=True)),
            **_ratio(np.sort(np.array(all_) / first)),
        }
        for name, all_ in found.items()
    }


def _ratio(ordered: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float]:
    count = len(ordered)
    away = 0.98 * count**0.5
    low, high = max(0, int(count / 2 - away)), min(count - 1, int(np.ceil(count / 2 + away)))
    return {"ratio": float(np.median(ordered)), "ratio_low": float(ordered[low]), "ratio_high": float(ordered[high])}


def _on_stream(context: gpu.GpuContext, stream: gpu.Stream, work: Callable[[int], None]) -> float:
    begin, end = context.event(), context.event()
    begin.record(stream)
    work(LAUNCHES)
    end.record(stream)
    stream.synchronize()
    return end.seconds_since(begin) / LAUNCHES


def _clock(work: Callable[[int], None], times: int) -> float:
    started = time.perf_counter()
    work(times)
    return (time.perf_counter() - started) / times


def _from_python(work: Callable[[int], None], stream: gpu.Stream) -> float:
    started = time.perf_counter()
    for _ in range(PYTHON_CALLS):
        work(1)
    seconds = (time.perf_counter() - started) / PYTHON_CALLS
    stream.synchronize()
    return seconds


if __name__ == "__main__":
    main()
