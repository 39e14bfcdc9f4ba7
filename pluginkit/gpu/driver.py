"""libcuda.so.1 by ctypes: the functions that pluginkit calls, and what their errors mean.

Names and argument types are those of CUDA's driver API (https://docs.nvidia.com/cuda/cuda-driver-api/); the versions
(`_v2`) are what `cuda.h` makes of the plain names.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint, c_uint32, c_uint64, c_void_p
from functools import cache
from typing import Any

from pluginkit.errors import CheckFailed, ToolMissing

DevicePointer = c_uint64
"""`CUdeviceptr`"""

_P = POINTER
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (_P(c_int),),
    "cuDeviceGetCount": (_P(c_int),),
    "cuDeviceGet": (_P(c_int), c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetAttribute": (_P(c_int), c_int, c_int),
    "cuDeviceTotalMem_v2": (_P(c_size_t), c_int),
    "cuDevicePrimaryCtxRetain": (_P(c_void_p), c_int),
    "cuDevicePrimaryCtxRelease_v2": (c_int,),
    "cuCtxSetCurrent": (c_void_p,),
    "cuCtxSynchronize": (),
    "cuMemAlloc_v2": (_P(DevicePointer), c_size_t),
    "cuMemFree_v2": (DevicePointer,),
    "cuMemHostAlloc": (_P(c_void_p), c_size_t, c_uint),
    "cuMemHostGetDevicePointer_v2": (_P(DevicePointer), c_void_p, c_uint),
    "cuMemFreeHost": (c_void_p,),
    "cuMemGetInfo_v2": (_P(c_size_t), _P(c_size_t)),
    "cuMemcpyHtoDAsync_v2": (DevicePointer, c_void_p, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync_v2": (c_void_p, DevicePointer, c_size_t, c_void_p),
    "cuMemcpyDtoDAsync_v2": (DevicePointer, DevicePointer, c_size_t, c_void_p),
    "cuMemsetD8Async": (DevicePointer, c_ubyte, c_size_t, c_void_p),
    "cuStreamCreate": (_P(c_void_p), c_uint),
    "cuStreamDestroy_v2": (c_void_p,),
    "cuStreamSynchronize": (c_void_p,),
    "cuStreamQuery": (c_void_p,),
    "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
    "cuStreamWaitValue32_v2": (c_void_p, DevicePointer, c_uint32, c_uint),
    "cuStreamBeginCapture_v2": (c_void_p, c_int),
    "cuStreamEndCapture": (c_void_p, _P(c_void_p)),
    "cuStreamIsCapturing": (c_void_p, _P(c_int)),
    "cuEventCreate": (_P(c_void_p), c_uint),
    "cuEventDestroy_v2": (c_void_p,),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventSynchronize": (c_void_p,),
    "cuEventElapsedTime": (_P(c_float), c_void_p, c_void_p),
    "cuGraphGetNodes": (c_void_p, _P(c_void_p), _P(c_size_t)),
    "cuGraphNodeGetType": (c_void_p, _P(c_int)),
    "cuGraphInstantiateWithFlags": (_P(c_void_p), c_void_p, c_uint64),
    "cuGraphLaunch": (c_void_p, c_void_p),
    "cuGraphDestroy": (c_void_p,),
    "cuGraphExecDestroy": (c_void_p,),
    "cuModuleLoadData": (_P(c_void_p), c_char_p),
    "cuModuleUnload": (c_void_p,),
    "cuModuleGetFunction": (_P(c_void_p), c_void_p, c_char_p),
    "cuLaunchKernel": (c_void_p, *(c_uint,) * 7, c_void_p, _P(c_void_p), _P(c_void_p)),
}

STICKY = {
    "CUDA_ERROR_ASSERT",
    "CUDA_ERROR_CONTEXT_IS_DESTROYED",
    "CUDA_ERROR_ECC_UNCORRECTABLE",
    "CUDA_ERROR_EXTERNAL_DEVICE",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    "CUDA_ERROR_INVALID_PC",
    "CUDA_ERROR_LAUNCH_FAILED",
    "CUDA_ERROR_LAUNCH_TIMEOUT",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_UNKNOWN",
}
"""Errors after which every call in the process fails: the driver API's documentation says of each that the process must
be ended and started again."""

REMEDIES = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": "A kernel read or wrote memory that isn't mapped: compute-sanitizer's memcheck names "
    "the line, and so does `pluginkit test --sanitize address` on target cpu.",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "A kernel read or wrote at an address that its type may not have (a float4 at 4 "
    "bytes, say).",
    "CUDA_ERROR_ASSERT": "An assert() in a kernel failed; what it printed stands above.",
    "CUDA_ERROR_LAUNCH_FAILED": "A kernel faulted (a trap, shared memory out of bounds, ...).",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "There is no code for this GPU: pluginkit build --target gpu --arch native",
    "CUDA_ERROR_OUT_OF_MEMORY": "Does another process hold the GPU's memory? nvidia-smi shows them.",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "The kernel module and libcuda.so are of two versions: reboot, or load the "
    "module again.",
    "CUDA_ERROR_INSUFFICIENT_DRIVER": "The driver is older than the code needs: install a newer one.",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "The PTX was made by a toolkit that is newer than the driver: build with an "
    "older toolkit, or for this GPU (--arch native).",
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": "The call may not be made while a stream is captured into a graph.",
    "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT": "Work on the legacy default stream, which waits for the captured one: use "
    "the stream that enqueue is given.",
    "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED": "An earlier call was not allowed while the stream was being captured.",
}
"""What to do about an error."""


class CudaError(CheckFailed):
    """A call of CUDA's driver failed.

    Attributes:
        code: its number.
        name: as `CUDA_ERROR_ILLEGAL_ADDRESS`.
        text: the driver's message.
        where: the function of the driver that reported it. Kernels run later than they are launched, so it may be any
            after the launch.
        sticky: whether the process's every further call fails too.
    """

    def __init__(self, code: int, name: str, text: str, where: str) -> None:
        super().__init__(f"{where} gave {name} ({code}): {text}", hint=REMEDIES.get(name, ""))
        self.code = code
        self.name = name
        self.text = text
        self.where = where

    @property
    def sticky(self) -> bool:
        """Whether the process's every further call fails too."""
        return self.name in STICKY


class Driver:
    """The driver, initialised; `load` has the process's one."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise ToolMissing(
                f"CUDA's driver can't be loaded: {error}",
                hint="libcuda.so.1 is a part of NVIDIA's driver; is it installed?",
            ) from None
        for name, arguments in _SIGNATURES.items():
            function = getattr(self._library, name, None)
            if function is None:
                raise ToolMissing(f"libcuda.so.1 has no {name}.", hint="A driver for CUDA 12.0 or newer is needed.")
            function.argtypes = arguments
            function.restype = c_int
        try:
            self.call("cuInit", 0)
        except CudaError as error:
            raise ToolMissing(f"CUDA's driver does not start: {error.message}", hint=error.hint) from None
        number = c_int()
        self.call("cuDriverGetVersion", ctypes.byref(number))
        self.version = f"{number.value // 1000}.{number.value % 1000 // 10}"
        """The highest version of CUDA that it supports, as `13.0`."""

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function of the driver.

        Raises:
            CudaError: it answers an error.
        """
        code = self.ask(name, *arguments)
        if code:
            raise self.error(code, name)

    def ask(self, name: str, *arguments: Any) -> int:
        """Calls a function of the driver, and answers its error code."""
        return int(getattr(self._library, name)(*arguments))

    def error(self, code: int, where: str) -> CudaError:
        """The error of a code that the function `where` has answered."""
        return CudaError(code, self._message("cuGetErrorName", code), self._message("cuGetErrorString", code), where)

    def _message(self, function: str, code: int) -> str:
        text = c_char_p()
        getattr(self._library, function)(c_int(code), ctypes.byref(text))
        return (text.value or b"unknown error").decode()


@cache
def load() -> Driver:
    """The driver of this process.

    Raises:
        ToolMissing: there is none, it is too old, or it finds no GPU.
    """
    return Driver()
