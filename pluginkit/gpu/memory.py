"""Device memory."""

from __future__ import annotations

import ctypes

from pluginkit.gpu.driver import DevicePointer, Driver


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
