"""Finds this machine's NVIDIA GPUs through the driver's library.

The driver is asked in a process of its own, because a broken one may crash or hang. That process runs this file
as a script, so nothing of pluginkit may be imported at its top.
"""

from __future__ import annotations

import ctypes
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import UUID

_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR of cuda.h
NO_GPU = "cuInit gave error 100"  # CUDA_ERROR_NO_DEVICE of cuda.h
_DEVICES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvhost-gpu", "/dev/dxg")


@dataclass(frozen=True)
class Gpu:
    """A GPU.

    Attributes:
        name: as the driver has it.
        capability: its compute capability, e.g. `9.0`.
        memory: bytes of its memory; 0 where the driver doesn't say.
        uuid: what tells it from another one, as nvidia-smi writes it; empty where the driver doesn't say.
    """

    name: str
    capability: str
    memory: int = 0
    uuid: str = ""

    @property
    def arch(self) -> str:
        """The number by which nvcc calls its architecture, e.g. `90`."""
        return self.capability.replace(".", "")


@dataclass(frozen=True)
class DriverInfo:
    """What the driver reports: the highest CUDA version it supports and its GPUs; `problem` if it doesn't answer.

    `version` is the driver's own, empty where NVIDIA's management library isn't there (Jetson, WSL).
    """

    cuda: str = ""
    gpus: tuple[Gpu, ...] = ()
    problem: str = ""
    version: str = ""


def find_driver(timeout: float = 20.0) -> DriverInfo:
    """Ask NVIDIA's driver, in a child process that is given `timeout` seconds."""
    from pluginkit.errors import PluginkitError
    from pluginkit.process.programs import run

    if not any(Path(device).exists() for device in _DEVICES):
        return DriverInfo(problem=f"no NVIDIA device here: none of {', '.join(_DEVICES)} exists")
    try:
        answer = run([sys.executable, "-I", __file__], timeout=timeout)
    except PluginkitError as error:
        return DriverInfo(problem=error.message)
    if not answer.ok:
        return DriverInfo(problem=f"asking libcuda ended with {answer.status}: {answer.stderr.strip()[-200:]}")
    facts = json.loads(answer.stdout)
    return DriverInfo(facts["cuda"], tuple(Gpu(**gpu) for gpu in facts["gpus"]), facts["problem"], facts["version"])


def _ask_driver() -> DriverInfo:
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return DriverInfo(problem=f"the driver's library can't be loaded: {error}")
    if status := cuda.cuInit(0):
        return DriverInfo(problem=f"cuInit gave error {status}")
    number = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(number))
    version = f"{number.value // 1000}.{number.value % 1000 // 10}"
    cuda.cuDeviceGetCount(ctypes.byref(number))
    gpus = []
    for index in range(number.value):
        device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        name = ctypes.create_string_buffer(256)
        cuda.cuDeviceGet(ctypes.byref(device), index)
        cuda.cuDeviceGetName(name, len(name), device)
        cuda.cuDeviceGetAttribute(ctypes.byref(major), _MAJOR, device)
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), _MINOR, device)
        memory, identity = ctypes.c_size_t(), (ctypes.c_ubyte * 16)()
        cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        # CUuuid of cuda.h: 16 bytes, which nvidia-smi writes as any UUID. Of a MIG instance _v2 gives its own.
        ask = getattr(cuda, "cuDeviceGetUuid_v2", None) or cuda.cuDeviceGetUuid
        unique = "" if ask(identity, device) else f"GPU-{UUID(bytes=bytes(identity))}"
        text = name.value.decode(errors="replace")
        gpus.append(Gpu(text, f"{major.value}.{minor.value}", memory.value, unique))
    return DriverInfo(version, tuple(gpus), version=_driver_version())


def _driver_version() -> str:
    """By nvmlSystemGetDriverVersion of nvml.h, whose buffer is of 80 bytes."""
    try:
        management = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return ""
    text = ctypes.create_string_buffer(80)
    if management.nvmlInit_v2() or management.nvmlSystemGetDriverVersion(text, 80):
        return ""
    return text.value.decode(errors="replace")


if __name__ == "__main__":
    json.dump(asdict(_ask_driver()), sys.stdout)
