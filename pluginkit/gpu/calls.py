"""CUDA's driver functions by what they do to an enqueue: what puts work on a stream, allocates, waits, orders streams.

A table of facts from cuda.h and CUPTI's generated_cuda_meta.h, which has a struct of each function's arguments; the
tests compile both and compare. Names carry versions (`_v2`), since a version may have other arguments; `_ptsz` and
`_ptds` mean that stream 0 is the thread's own default stream, and the arguments stay the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

STREAM_AT = {
    "cuGraphLaunch": 8,
    "cuLaunchCooperativeKernel": 40,
    "cuLaunchGridAsync": 16,
    "cuLaunchHostFunc": 0,
    "cuLaunchKernel": 40,
    "cuMemAllocAsync": 16,
    "cuMemAllocFromPoolAsync": 24,
    "cuMemBatchDecompressAsync": 32,
    "cuMemDiscardAndPrefetchBatchAsync": 56,
    "cuMemDiscardBatchAsync": 32,
    "cuMemFreeAsync": 8,
    "cuMemMapArrayAsync": 16,
    "cuMemPrefetchAsync": 24,
    "cuMemPrefetchAsync_v2": 32,
    "cuMemPrefetchBatchAsync": 56,
    "cuMemcpy2DAsync_v2": 8,
    "cuMemcpy3DAsync_v2": 8,
    "cuMemcpy3DBatchAsync": 32,
    "cuMemcpy3DBatchAsync_v2": 24,
    "cuMemcpy3DPeerAsync": 8,
    "cuMemcpyAsync": 24,
    "cuMemcpyAtoHAsync_v2": 32,
    "cuMemcpyBatchAsync": 64,
    "cuMemcpyBatchAsync_v2": 56,
    "cuMemcpyDtoDAsync_v2": 24,
    "cuMemcpyDtoHAsync_v2": 24,
    "cuMemcpyHtoAAsync_v2": 32,
    "cuMemcpyHtoDAsync_v2": 24,
    "cuMemcpyPeerAsync": 40,
    "cuMemsetD16Async": 24,
    "cuMemsetD2D16Async": 40,
    "cuMemsetD2D32Async": 40,
    "cuMemsetD2D8Async": 40,
    "cuMemsetD32Async": 24,
    "cuMemsetD8Async": 24,
    "cuSignalExternalSemaphoresAsync": 24,
    "cuStreamAddCallback": 0,
    "cuStreamAttachMemAsync": 0,
    "cuStreamBatchMemOp": 0,
    "cuStreamBatchMemOp_v2": 0,
    "cuStreamWaitValue32": 0,
    "cuStreamWaitValue32_v2": 0,
    "cuStreamWaitValue64": 0,
    "cuStreamWaitValue64_v2": 0,
    "cuStreamWriteValue32": 0,
    "cuStreamWriteValue32_v2": 0,
    "cuStreamWriteValue64": 0,
    "cuStreamWriteValue64_v2": 0,
    "cuWaitExternalSemaphoresAsync": 24,
}
"""Functions that put work on a stream: at which byte of their arguments it stands."""

LAUNCH_EX = "cuLaunchKernelEx"
"""Its stream stands in the CUlaunchConfig that its first argument points to."""
LAUNCH_EX_STREAM_AT = 32

RECORDS = {"cuEventRecord": (0, 8), "cuEventRecordWithFlags": (0, 8)}
"""Where the event and the stream stand in what records one."""
WAITS_FOR_EVENT = {"cuStreamWaitEvent": (8, 0)}
"""Where the event and the stream stand in what has a stream wait for one."""

SYNCHRONIZES = {"cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize"}
"""Functions, without their versions, in which the host waits."""

ALLOCATES = {
    *("cuMemAlloc", "cuMemAllocPitch", "cuMemAllocHost", "cuMemHostAlloc", "cuMemAllocManaged"),
    *("cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuMemFreeAsync"),
    *("cuMemFree", "cuMemFreeHost", "cuMemHostRegister", "cuMemHostUnregister"),
    *("cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap", "cuMemAddressReserve", "cuMemAddressFree"),
    *("cuMemPoolCreate", "cuMemPoolDestroy"),
    *("cuArrayCreate", "cuArray3DCreate", "cuArrayDestroy", "cuMipmappedArrayCreate", "cuMipmappedArrayDestroy"),
}
"""Functions, without their versions, that allocate or free memory."""


@dataclass(frozen=True)
class Taking:
    """A function that gives an object which is to be given back.

    Attributes:
        kind: of the object, for messages.
        family: which functions of `GIVES_BACK` end it.
        size_at: at which byte of its arguments the object's size in bytes stands; None where none does.
        given: whether its first argument is the object itself, not the place where it is put.
    """

    kind: str
    family: str
    size_at: int | None = None
    given: bool = False


TAKES = {
    "cuArray3DCreate_v2": Taking("array", "array"),
    "cuArrayCreate_v2": Taking("array", "array"),
    "cuEventCreate": Taking("event", "event"),
    "cuMemAllocAsync": Taking("device memory", "address", 8),
    "cuMemAllocFromPoolAsync": Taking("device memory", "address", 8),
    "cuMemAllocHost_v2": Taking("pinned memory", "address", 8),
    "cuMemAllocManaged": Taking("managed memory", "address", 8),
    "cuMemAllocPitch_v2": Taking("device memory", "address"),
    "cuMemAlloc_v2": Taking("device memory", "address", 8),
    "cuMemCreate": Taking("device memory", "physical memory", 8),
    "cuMemHostAlloc": Taking("pinned memory", "address", 8),
    "cuMemHostRegister_v2": Taking("registered memory", "registered", 8, given=True),
    "cuMemPoolCreate": Taking("memory pool", "pool"),
    "cuMipmappedArrayCreate": Taking("array", "mipmapped array"),
    "cuStreamCreate": Taking("stream", "stream"),
    "cuStreamCreateWithPriority": Taking("stream", "stream"),
}
"""Functions that give an object: their first argument points to where it is put."""

GIVES_BACK = {
    "cuArrayDestroy": "array",
    "cuEventDestroy_v2": "event",
    "cuMemFreeAsync": "address",
    "cuMemFreeHost": "address",
    "cuMemFree_v2": "address",
    "cuMemHostUnregister": "registered",
    "cuMemPoolDestroy": "pool",
    "cuMemRelease": "physical memory",
    "cuMipmappedArrayDestroy": "mipmapped array",
    "cuStreamDestroy_v2": "stream",
}
"""Functions that end an object, which is their first argument: its family."""


def plain(name: str) -> tuple[str, bool]:
    """A function's name without the suffix by which stream 0 is the thread's default stream, and whether it was
    there."""
    found = re.sub(r"_pt[sd][sz]$", "", name)
    return found, found != name


def unversioned(name: str) -> str:
    """A function's name as its callers write it: `cuMemAlloc`, `cudaMalloc`."""
    return re.sub(r"(_v\d+|_pt[sd][sz])+$", "", name)


def copies_at_once(name: str) -> bool:
    """Whether it copies on the default stream and waits for that."""
    return re.fullmatch(r"cuMemcpy\w*", unversioned(name)) is not None and not unversioned(name).endswith("Async")


def sets_at_once(name: str) -> bool:
    """Whether it sets memory on the default stream."""
    return re.fullmatch(r"cuMemset\w*", unversioned(name)) is not None and not unversioned(name).endswith("Async")
