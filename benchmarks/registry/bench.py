"""How a store answers as it grows: `python benchmarks/registry/bench.py [COUNT ...]` (default: 100 1000 10000).

Bundles are made of one small library, told apart by bytes behind its end. Filling a store doesn't wait for the disk
(no fsync); a durable add is timed apart. Each figure is the median of several calls, each on a store opened again.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import onnx
from onnx import TensorProto, helper
from rich.console import Console
from rich.table import Table

from pluginkit.build import toolchain
from pluginkit.registry.bundles import variants
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.bundles.bundle import Bundle, BundlePlugin, Variant
from pluginkit.registry.bundles.systems import described
from pluginkit.registry.resolving import Resolver, resolve
from pluginkit.registry.storage.store import Store
from pluginkit.registry.storage.stores import Stores

RELEASES = 10
"""Of each name; so there are COUNT / RELEASES plugins."""
REPEATS = 5
SYSTEM = described("tensorrt=10.13,sm=none")


def main() -> None:
    """Fill the stores, time, print the table."""
    counts = [int(one) for one in sys.argv[1:]] or [100, 1000, 10_000]
    rows = Table("bundles", "list", "search", "resolve", "verify one", "verify all", "gc", "rebuild", "durable add",
                 title="milliseconds")  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = _library(folder)
        model = _model(folder)
        for count in counts:
            rows.add_row(str(count), *(f"{1000 * seconds:.1f}" for seconds in _measured(folder, library, model, count)))
    Console(width=120).print(rows)


def _measured(folder: Path, library: Path, model: Path, count: int) -> list[float]:
    where = folder / f"store-{count}"
    with mock.patch.object(os, "fsync", lambda _: None), Store.open(where) as store:
        for number in range(count):
            store.add(_content(folder, library, number))

    def opened(what: Callable[[Store], object], repeats: int = REPEATS) -> float:
        times = []
        for _ in range(repeats):
            begun = time.perf_counter()
            with Store.open(where) as store:
                what(store)
            times.append(time.perf_counter() - begun)
        return statistics.median(times)

    with Store.open(where) as store:
        some = store.entries()[count // 2].digest
    more = iter(range(count, count + REPEATS))
    found = [
        opened(lambda store: store.entries()),
        opened(lambda store: store.entries("plugin7")),
        opened(lambda store: resolve(model, Resolver(Stores([store]), SYSTEM))),
        opened(lambda store: store.verify(some)),
        opened(lambda store: store.verify(), 1),
        opened(lambda store: store.gc(), 1),
        opened(lambda store: store.rebuild(), 1),
        opened(lambda store: store.add(_content(folder, library, next(more)))),
    ]
    shutil.rmtree(where)
    return found


def _content(folder: Path, library: Path, number: int) -> Content:
    path = folder / "lib.so"
    path.write_bytes(library.read_bytes() + str(number).encode())
    variant = Variant(**{**variants.facts_of(path), "file": "lib.so", "hosts": ("tensorrt-10", "tensorrt-11")})
    plugin = BundlePlugin(name=f"Plugin{number // RELEASES}", version="1", namespace="bench", base="v3")
    bundle = Bundle(name=plugin.name, release=f"1.{number % RELEASES}", plugins=(plugin,), variants=(variant,))
    return Content(bundle, bundle.to_bytes(), {variant.digest: path})


def _library(folder: Path) -> Path:
    source = folder / "tiny.cpp"
    source.write_text('extern "C" int answer() { return 42; }\n')
    compiler = str(toolchain.cxx_compiler().best().path)
    subprocess.run([compiler, "-shared", "-fPIC", "-nostdlib", "-o", folder / "libtiny.so", source], check=True)
    return folder / "libtiny.so"


def _model(folder: Path) -> Path:
    nodes = [
        helper.make_node(
            f"Plugin{number}", [f"x{number}"], [f"x{number + 1}"], domain="bench", plugin_namespace="bench"
        )
        for number in range(RELEASES)
    ]
    ends = [helper.make_tensor_value_info(f"x{number}", TensorProto.FLOAT, [1]) for number in (0, RELEASES)]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    path = folder / "model.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("bench", 1)]), path
    )
    return path


if __name__ == "__main__":
    main()
