"""The libraries of this folder's sources, and their families of functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ..conftest import EVERYWHERE, NVCC, Kit

Array = np.ndarray
Run = Callable[..., Array]
Load = Callable[[str], ctypes.CDLL]


@pytest.fixture(scope="session")
def kit(kit: Kit) -> Kit:
    """For the sources of this folder."""
    return kit.within(Path(__file__).parent)


@pytest.fixture(params=EVERYWHERE)
def load(request: pytest.FixtureRequest, kit: Kit) -> Load:
    """`load(name)` gives the library of a source, once by each compiler; nvcc's runs on a GPU."""
    return lambda name: ctypes.CDLL(str(kit.library(name, request.param)))


@pytest.fixture
def on_gpu(request: pytest.FixtureRequest) -> bool:
    """Whether what `load` gives runs on a GPU."""
    return bool(request.node.callspec.params["load"] == NVCC)


class Family:
    """Functions of one type, called for each element of up to three columns."""

    def __init__(self, library: ctypes.CDLL, name: str, result: type, argument: type) -> None:
        names = getattr(library, f"{name}_names")
        names.restype = ctypes.c_char_p
        self.names: list[str] = names().decode().split()
        self.result, self.argument = np.dtype(result), np.dtype(argument)
        sizes = getattr(library, f"{name}_sizes")()
        assert sizes == self.result.itemsize * 16 + self.argument.itemsize
        self._run = getattr(library, f"{name}_run")

    def __call__(self, name: str, *columns: Array) -> Array:
        given = [np.ascontiguousarray(column, self.argument) for column in columns]
        given += [np.zeros_like(given[0])] * (3 - len(given))
        out = np.zeros(given[0].shape, self.result)
        at = [ctypes.c_void_p(array.ctypes.data) for array in (out, *given)]
        assert self._run(self.names.index(name), out.size, *at) == 0
        return out
