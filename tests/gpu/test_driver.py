"""CUDA's driver through pluginkit.gpu: memory, streams, events, graphs, and errors that stick."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from pluginkit import gpu
from pluginkit.errors import ToolMissing

pytestmark = pytest.mark.gpu

PTX = b"""
.version 8.0
.target sm_52
.address_size 64
.visible .entry add(.param .u64 address, .param .u32 value)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<4>;
    ld.param.u64 %rd1, [address];
    ld.param.u32 %r1, [value];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd2, %rd1, %rd2;
    ld.global.u32 %r3, [%rd2];
    add.s32 %r3, %r3, %r1;
    st.global.u32 [%rd2], %r3;
    ret;
}
"""
ONE = (1, 1, 1)


@pytest.fixture(scope="module")
def context() -> gpu.GpuContext:
    return gpu.GpuContext()


def arguments(memory: gpu.Memory, value: int) -> list[object]:
    return [ctypes.c_uint64(memory.address), ctypes.c_uint32(value)]


def numbers(context: gpu.GpuContext, memory: gpu.Memory) -> list[int]:
    found = np.zeros(memory.size // 4, np.int32)
    context.read(found, memory.address)
    return found.tolist()


def test_a_gpu_says_what_it_is(context: gpu.GpuContext) -> None:
    assert context.name
    assert context.arch == "".join(map(str, context.capability))
    assert context.capability >= (5, 0)
    assert context.l2_bytes > 1 << 18
    assert 0 < context.free_bytes() <= context.memory_bytes
    assert context.multiprocessors > 0
    assert float(context.driver.version) >= 12


def test_memory(context: gpu.GpuContext) -> None:
    memory, other = context.alloc(16), context.alloc(16)
    assert memory.address % 256 == 0
    context.write(memory.address, np.arange(4, dtype=np.int32))
    assert numbers(context, memory) == [0, 1, 2, 3]
    context.copy(other.address, memory.address, 8)
    context.fill(other.address + 8, 0xFF, 8)
    assert numbers(context, other) == [0, 1, -1, -1]
    with pytest.raises(ValueError, match="not C-contiguous"):
        context.write(memory.address, np.zeros((4, 4), np.int32)[:, 0])
    with pytest.raises(gpu.CudaError, match="CUDA_ERROR_OUT_OF_MEMORY") as error:
        context.alloc(1 << 50)
    assert not error.value.sticky
    assert numbers(context, memory) == [0, 1, 2, 3]


def test_a_kernel_on_a_stream_and_its_time(context: gpu.GpuContext) -> None:
    memory, stream, module = context.alloc(16), context.stream(), context.module(PTX)
    begin, end = context.event(), context.event()
    context.write(memory.address, np.arange(4, dtype=np.int32), stream)
    begin.record(stream)
    for _ in range(10):
        module.launch("add", ONE, (4, 1, 1), arguments(memory, 5), stream)
    end.record(stream)
    end.synchronize()
    assert stream.done()
    assert 0 < end.seconds_since(begin) < 1
    assert numbers(context, memory) == [50, 51, 52, 53]
    with pytest.raises(gpu.CudaError, match="cuModuleGetFunction gave CUDA_ERROR_NOT_FOUND"):
        module.launch("subtract", ONE, ONE, [], stream)
    for one in (begin, end, stream, module):
        one.close()


def test_streams_wait_for_a_flag_that_the_host_sets(context: gpu.GpuContext) -> None:
    flag, streams = context.flag(), [context.stream() for _ in range(64)]  # more than the GPU has queues
    for stream in streams:
        stream.wait_until(flag.address, 1)
    assert not any(stream.done() for stream in streams)
    flag.set()
    for stream in streams:
        stream.synchronize()
    flag.free()


def test_a_graph_is_replayed_on_what_is_in_memory_then(context: gpu.GpuContext) -> None:
    memory, stream, module = context.alloc(16), context.stream(), context.module(PTX)
    context.fill(memory.address, 0, 16)
    stream.begin_capture()
    assert stream.capturing() == "active"
    module.launch("add", ONE, (4, 1, 1), arguments(memory, 1), stream)
    graph = stream.end_capture()
    assert stream.capturing() == "no"
    assert graph.nodes() == ["kernel"]
    assert numbers(context, memory) == [0] * 4
    executable = graph.instantiate()
    for start in (10, 20):
        context.write(memory.address, np.full(4, start, np.int32))
        executable.launch(stream)
        stream.synchronize()
        assert numbers(context, memory) == [start + 1] * 4
    executable.close()
    graph.close()


def test_what_a_capture_does_not_allow_ends_it(context: gpu.GpuContext) -> None:
    stream = context.stream()
    stream.begin_capture()
    with pytest.raises(gpu.CudaError, match="CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"):
        stream.synchronize()
    assert stream.capturing() == "invalidated"
    with pytest.raises(gpu.CudaError, match="CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"):
        stream.end_capture()
    stream.synchronize()


STICKY = f"""
import ctypes
from pluginkit import gpu
from pluginkit.errors import ToolMissing
context = gpu.GpuContext()
stream = context.stream()
context.module({PTX!r}).launch("add", (1, 1, 1), (4, 1, 1), [ctypes.c_uint64(8), ctypes.c_uint32(1)], stream)
for wait in (stream.synchronize, lambda: context.alloc(4)):
    try:
        wait()
    except gpu.CudaError as error:
        print(error.where, error.name, error.sticky)
"""


def test_a_kernel_that_faults_makes_every_later_call_fail() -> None:
    done = subprocess.run([sys.executable, "-c", STICKY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{where} CUDA_ERROR_ILLEGAL_ADDRESS True" for where in ("cuStreamSynchronize", "cuMemAlloc_v2")
    ]


def test_no_such_gpu() -> None:
    with pytest.raises(ToolMissing, match="There is no GPU 99"):
        gpu.GpuContext(99)
