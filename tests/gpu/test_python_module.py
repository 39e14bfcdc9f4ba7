"""A library's Python module on the GPU: arrays of torch, CuPy and PyCUDA, on the caller's stream, without copies."""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pluginkit.build import build
from pluginkit.build.gpus import find_driver

_DRIVER = find_driver()
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.compile,
    pytest.mark.xdist_group("gpu"),
    pytest.mark.skipif(not _DRIVER.gpus, reason=f"no GPU: {_DRIVER.problem or 'the driver shows none'}"),
]
N, C = 4, 64
SLOPE = 0.25


@pytest.fixture(scope="session")
def folder(three_plugins: Path) -> Path:
    """Where the module is."""
    made = build(three_plugins, "gpu", python=True, werror=True)[0]
    assert made.module
    return made.module.parent


@pytest.fixture(scope="session")
def module(folder: Path) -> Any:
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("scale")
    finally:
        sys.path.remove(str(folder))


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.fixture
def cupy() -> Any:
    return pytest.importorskip("cupy")


def values(kind: str, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-8, 8, (N, C)).astype(kind)


def shifted(a: Any, b: Any) -> Any:
    total = a + b
    return np.where(total >= 0, total, SLOPE * total)


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "int8"])
def test_torch_tensors_of_each_type(module: Any, torch: Any, kind: str) -> None:
    x = torch.arange(-128, 128).reshape(N, C).to(getattr(torch, kind)).cuda()
    y = module.Scale(factor=2.0, mode=0)(x)
    assert (y.dtype, y.shape, y.device) == (x.dtype, x.shape, x.device)
    wide = x.double()
    expected = torch.where(wide >= 0, wide, 2 * wide)
    assert torch.equal(y.double(), expected.clamp(-128, 127) if kind == "int8" else expected)


def test_a_plugin_with_a_workspace_and_static_ones(module: Any, torch: Any) -> None:
    a, b = (torch.from_numpy(values("float32", seed)).cuda() for seed in (1, 2))
    total, double = module.Shift(slope=SLOPE)(a, b)
    expected = shifted(a.cpu().numpy(), b.cpu().numpy())
    np.testing.assert_array_equal(total.cpu().numpy(), expected)
    np.testing.assert_array_equal(double.cpu().numpy(), 2 * expected)
    still = torch.full((2, 3, 4), -3.0, device="cuda")
    assert torch.equal(module.Still(alpha=0.5)(still), still * 0.5)


def test_torch_runs_on_its_current_stream(module: Any, torch: Any) -> None:
    layer, stream = module.Scale(factor=2.0, mode=0), torch.cuda.Stream()
    x, y = torch.zeros(N, C, device="cuda"), torch.zeros(N, C, device="cuda")
    layer(x, out=y)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)  # the stream is busy: only what comes behind on it sees the 3
        x.fill_(3.0)
        made = layer(x)
        assert layer(x, out=y) is y
        busy = not stream.query()
    stream.synchronize()
    assert busy, "the call has waited for the stream"
    assert torch.equal(made, x)
    assert torch.equal(y, x)


@pytest.mark.parametrize("how", ["object", "handle", "protocol"])
def test_a_given_stream_waits_for_that_of_the_arrays(module: Any, torch: Any, how: str) -> None:
    class Protocol:
        def __init__(self, handle: int) -> None:
            self.handle_ = handle

        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, self.handle_

    layer, mine, other = module.Scale(factor=2.0, mode=0), torch.cuda.Stream(), torch.cuda.Stream()
    x, y = torch.zeros(N, C, device="cuda"), torch.zeros(N, C, device="cuda")
    layer(x, out=y)
    torch.cuda.synchronize()
    given = {"object": mine, "handle": mine.cuda_stream, "protocol": Protocol(mine.cuda_stream)}[how]
    with torch.cuda.stream(other):
        torch.cuda._sleep(100_000_000)
        x.fill_(5.0)
        layer(x, out=y, stream=given)
    mine.synchronize()
    assert torch.equal(y, torch.full_like(y, 5.0))


def test_a_call_is_captured_into_a_graph(module: Any, torch: Any) -> None:
    layer = module.Shift(slope=SLOPE)
    a, b = (torch.ones(N, C, device="cuda") for _ in range(2))
    out = (torch.zeros_like(a), torch.zeros_like(a))
    layer(a, b, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        layer(a, b, out=out)
    a.fill_(-9.0)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out[0], torch.full_like(a, -8.0 * SLOPE))


def test_cupy_arrays_and_its_current_stream(module: Any, cupy: Any) -> None:
    layer, stream = module.Scale(factor=2.0, mode=0), cupy.cuda.Stream(non_blocking=True)
    for kind in ("float32", "float16"):
        x = cupy.asarray(values(kind))
        y = layer(x)
        assert isinstance(y, cupy.ndarray)
        cupy.testing.assert_array_equal(y, cupy.where(x >= 0, x, 2 * x))
    with stream:
        x = cupy.asarray(values("float32", 7))
        y = layer(x)
        z = layer(x, out=cupy.empty_like(x), stream=stream)
        cupy.testing.assert_array_equal(y, cupy.where(x >= 0, x, 2 * x))
        cupy.testing.assert_array_equal(z, y)


def test_an_array_that_has_dlpack_alone(module: Any, torch: Any) -> None:
    asked = []

    class Only:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

        def __dlpack_device__(self) -> Any:
            return self.tensor.__dlpack_device__()

        def __dlpack__(self, stream: int | None = None) -> Any:
            asked.append(stream)
            return self.tensor.__dlpack__(stream=stream)

    x, y = torch.full((N, C), -1.0, device="cuda"), torch.zeros(N, C, device="cuda")
    stream = torch.cuda.Stream()
    module.Scale(factor=2.0, mode=0)(Only(x), out=Only(y), stream=stream)
    stream.synchronize()
    assert torch.equal(y, torch.full_like(y, -2.0))
    assert asked == [stream.cuda_stream] * 2


def test_what_is_refused(module: Any, torch: Any, cupy: Any) -> None:
    layer, x = module.Scale(), torch.ones(N, C, device="cuda")
    side = torch.cuda.Stream()
    for given, options, kind, output in (
        (np.ones((N, C), np.float32), {}, TypeError, "a numpy.ndarray, lies on the host, and this library"),
        (x.cpu(), {}, TypeError, "a torch.Tensor, lies on the host"),
        ([1.0], {}, TypeError, "a list, is not an array on a GPU"),
        (x.double(), {}, TypeError, "takes no float64 as input 0 (x); it takes float32, float16, bfloat16, int8"),
        (x.t(), {}, ValueError, "not contiguous"),
        (x.flatten()[1:1 + C].reshape(1, C), {}, ValueError, "not a multiple of 256"),
        (x, {"out": np.ones((N, C), np.float32)}, TypeError, "output 0 (y), a numpy.ndarray, lies on the host"),
        (x, {"out": x}, ValueError, "shares memory with input 0 (x)"),
        (x, {"stream": "mine"}, TypeError, "stream is a str"),
        (x[0], {}, ValueError, "it takes 2 dimensions, [n, c]"),
    ):  # fmt: skip
        with pytest.raises(kind) as caught:
            layer(given, **options)
        assert output in str(caught.value)
    with torch.cuda.stream(side), pytest.raises(ValueError, match="from different streams"):
        layer(x, out=cupy.zeros((N, C), np.float32))
    with pytest.raises(RuntimeError, match="requires grad"):
        layer(x.clone().requires_grad_())
    with pytest.raises(RuntimeError, match="no TensorRT in this process"):
        module.register("mine")


def test_pycuda_arrays_streams_and_contexts(folder: Path) -> None:
    pytest.importorskip("pycuda")
    # In a process of its own: PyCUDA makes a context beside the one that torch and CuPy share.
    script = f"""
        import sys
        sys.path.insert(0, {str(folder)!r})
        import numpy as np
        import torch
        elsewhere = torch.zeros(4, 4, device="cuda")
        import pycuda.autoinit
        import pycuda.driver as cuda
        import pycuda.gpuarray as gpuarray
        import scale

        x = np.arange(-8, 8, dtype=np.float32).reshape(4, 4)
        expected = np.where(x >= 0, x, 2 * x)
        layer = scale.Scale(factor=2.0, mode=0)
        x_gpu = gpuarray.to_gpu(x)
        y_gpu = layer(x_gpu)
        assert type(y_gpu) is gpuarray.GPUArray
        assert (y_gpu.get() == expected).all()

        stream = cuda.Stream()
        z_gpu = gpuarray.empty((4, 4), np.float32)
        assert layer(x_gpu, out=z_gpu, stream=stream) is z_gpu
        stream.synchronize()
        assert (z_gpu.get() == expected).all()
        a, b = scale.Shift(slope=0.25)(x_gpu, x_gpu)
        assert (a.get() == np.where(x >= 0, 2 * x, 0.5 * x)).all()
        print("used", pycuda.VERSION_TEXT)

        try:
            layer(x_gpu, out=elsewhere, stream=0)
        except ValueError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("used 2")
    assert "is in another CUDA context than" in done.stdout


def test_a_call_costs_little(module: Any, torch: Any) -> None:
    """Printed for docs/python.md; the bound only says that nothing is prepared again."""
    layer, x = module.Scale(), torch.ones(N, C, device="cuda")
    y = layer(x)
    torch.cuda.synchronize()
    for name, call in {"out": lambda: layer(x, out=y), "new output": lambda: layer(x), "torch": lambda: x + y}.items():
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            for _ in range(1000):
                call()
            times.append((time.perf_counter() - begin) * 1e3)
            torch.cuda.synchronize()
        print(f"{name}: {min(times):.1f} us a call")
        assert min(times) < 200
