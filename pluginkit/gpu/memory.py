"""Device memory, and host memory that the GPU reads."""

from __future__ import annotations

import ctypes

from pluginkit.gpu.driver import DevicePointer, Driver

_DEVICE_MAP = 2
"""`CU_MEMHOSTALLOC_DEVICEMAP`"""


class Memory:
    """`size` bytes of device memory at `address`, freed by `free` or with this object."""

    def __init__(self, driver: Driver, size: int) -> None:
        self._driver = driver
        self.size = size
        self.address = 0
        pointer = DevicePointer()
        # The driver refuses 0 bytes.
        driver.call("cuMemAlloc_v2", ctypes.byref(pointer), max(size, 1))
        self.address = pointer.value

    def free(self) -> None:
        """Frees it. After a sticky error the driver frees nothing; the process's end does."""
        if self.address:
            self._driver.ask("cuMemFree_v2", self.address)
        self.address = 0

    def __del__(self) -> None:
        self.free()


class Flag:
    """4 bytes of pinned host memory, 0 at first, that streams can wait for at `address`.

    The host sets it by itself: a stream that does may share one of the GPU's queues with those that wait.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._host, pointer = ctypes.c_void_p(), DevicePointer()
        driver.call("cuMemHostAlloc", ctypes.byref(self._host), 4, _DEVICE_MAP)
        driver.call("cuMemHostGetDevicePointer_v2", ctypes.byref(pointer), self._host, 0)
        self.address = pointer.value
        self._value = ctypes.c_uint32.from_address(self._host.value or 0)
        self._value.value = 0

    def set(self) -> None:
        """Makes it 1."""
        self._value.value = 1

    def free(self) -> None:
        """Frees it. No stream may wait for it any more."""
        self._driver.ask("cuMemFreeHost", self._host)
