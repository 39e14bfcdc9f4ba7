"""Kernels that the driver loads itself."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_void_p
from typing import Any

from pluginkit.gpu.driver import Driver
from pluginkit.gpu.stream import Stream


class Module:
    """A loaded module."""

    def __init__(self, driver: Driver, code: bytes) -> None:
        self._driver = driver
        self._handle = c_void_p()
        driver.call("cuModuleLoadData", ctypes.byref(self._handle), code)

    def launch(
        self,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: Sequence[Any],
        stream: Stream,
        shared_bytes: int = 0,
    ) -> None:
        """Launches a kernel.

        Args:
            kernel: its name, as the module has it.
            grid: blocks in x, y, z.
            block: threads of a block in x, y, z.
            arguments: ctypes values of the parameters' types (`c_uint64` for a pointer).
            stream: where.
            shared_bytes: dynamic shared memory of a block.
        """
        function = c_void_p()
        self._driver.call("cuModuleGetFunction", ctypes.byref(function), self._handle, kernel.encode())
        pointers = (c_void_p * len(arguments))(*(ctypes.addressof(one) for one in arguments))
        self._driver.call("cuLaunchKernel", function, *grid, *block, shared_bytes, stream.handle, pointers, None)

    def close(self) -> None:
        """Unloads it."""
        self._driver.ask("cuModuleUnload", self._handle)
