"""A plugin that pools by cuDNN, in the host and held against NumPy: its handle and descriptors are its own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import pluginkit
from pluginkit.dtypes import DType
from pluginkit.host import Context, Device, Finding, Library, TensorSpec, build
from pluginkit.host.memory.leaks import HOST_MEMORY, Leak, find_leaks
from tests.shared import Shared

from ..conftest import compile_object, link

pytestmark = pytest.mark.compile

SOURCE = Path(__file__).with_name("pool_plugin.cu")
SHAPE = (2, 3, 7, 8)
WINDOWS = [(0, 2, 2, 0), (0, 3, 1, 1), (1, 2, 2, 0), (1, 3, 2, 1)]
"""Whether it averages; size, stride and padding of both axes."""
Array = npt.NDArray[Any]


def compiled(shared: Shared, layout: int, *defines: str) -> Path:
    flags = [f"-DPLUGINKIT_TRT_LAYOUT={layout}", *(f"-D{one}" for one in defines), f"-I{pluginkit.include_dir()}"]

    def make(place: Path) -> None:
        obj = place / "pool_plugin.o"
        done = compile_object(SOURCE, obj, flags=flags)
        assert done.ok, done.stderr
        link(obj, place / "libpool_plugin.so")

    return shared.once("pool-plugin", SOURCE.read_bytes() + repr(flags).encode(), make) / "libpool_plugin.so"


@pytest.fixture(scope="module")
def library(shared: Shared) -> Library:
    return Library(compiled(shared, 11))


def pooled(x: Array, window: tuple[int, int, int, int]) -> Array:
    """The maxima, or the averages of what is not padding."""
    average, size, stride, padding = window
    edges = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    wide = np.pad(x.astype(np.float64), edges, constant_values=np.nan)
    views = np.lib.stride_tricks.sliding_window_view(wide, (size, size), (2, 3))[:, :, ::stride, ::stride]
    found: Array = np.nanmean(views, (-2, -1)) if average else np.nanmax(views, (-2, -1))
    return found


def live(
    library: Library,
    x: Array,
    window: tuple[int, int, int, int],
    *,
    implicit_batch: bool = False,
    with_handles: bool = False,
) -> Array:
    spec = TensorSpec(DType(x.dtype.name), SHAPE, SHAPE, SHAPE, SHAPE)
    creator = library.creators[0]
    built = build(creator, "pool", {"window": (DType.INT32, window)}, [[spec]], implicit_batch=implicit_batch)
    with Context(creator, built, [spec], Device(library.path), with_handles=with_handles) as context:
        (y,) = context.run([x])
    return y


@pytest.mark.parametrize("implicit_batch", [False, True])
@pytest.mark.parametrize(("window", "dtype"), list(product(WINDOWS, ["float32", "float16"])))
def test_it_pools(library: Library, window: tuple[int, int, int, int], dtype: str, *, implicit_batch: bool) -> None:
    x = np.random.default_rng(7).standard_normal(SHAPE).astype(dtype)
    y = live(library, x, window, implicit_batch=implicit_batch)
    assert y.dtype == x.dtype
    tolerance = 1e-6 if dtype == "float32" else 1e-3
    np.testing.assert_allclose(y, pooled(x, window), rtol=tolerance, atol=tolerance)


def objects_left(library: Library, live_once: Callable[[], object]) -> list[Leak]:
    """Of CUDA's and the libraries': host memory without a line is the runtime's own, which no report shows."""
    found = find_leaks(Device(library.path), live_once)
    return [one for one in found if one.taken.kind != HOST_MEMORY]


def test_it_gives_back_what_it_takes(library: Library) -> None:
    x = np.zeros(SHAPE, np.float32)
    assert objects_left(library, lambda: live(library, x, WINDOWS[0])) == []


def test_it_pools_by_the_handle_that_its_context_gives(shared: Shared) -> None:
    x = np.random.default_rng(7).standard_normal(SHAPE).astype(np.float32)
    library = Library(compiled(shared, 10, "ATTACHED"), 101600)
    y = live(library, x, WINDOWS[1], with_handles=True)
    np.testing.assert_allclose(y, pooled(x, WINDOWS[1]), rtol=1e-6, atol=1e-6)
    with pytest.raises(Finding, match="enqueue: answered 77"):
        live(library, x, WINDOWS[1])  # a builder without that tactic source
    with pytest.raises(Finding, match="has destroyed what attachToContext was given as cudnn"):
        live(library, x, (0, 3, 3, 0), with_handles=True)


def test_tensorrt_11_gives_no_handle(shared: Shared) -> None:
    library = Library(compiled(shared, 11, "ATTACHED"))
    with pytest.raises(Finding, match="enqueue: answered 77"):
        live(library, np.zeros(SHAPE, np.float32), WINDOWS[1], with_handles=True)


def test_the_handles_are_no_leak(shared: Shared) -> None:
    library = Library(compiled(shared, 10, "ATTACHED"), 101600)
    x = np.zeros(SHAPE, np.float32)
    assert objects_left(library, lambda: live(library, x, WINDOWS[0], with_handles=True)) == []
