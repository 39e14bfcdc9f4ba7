"""The libraries of this folder's sources, what they report, and their control."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..conftest import Kit

CONTROL_FIELDS: dict[str, tuple[Any, ...]] = {
    "enqueue_begin": (None, ctypes.c_void_p),
    "enqueue_end": (None,),
    "drain": (ctypes.c_int,),
    "set_deferred": (None, ctypes.c_int),
    "register_region": (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int),
    "unregister_region": (ctypes.c_int, ctypes.c_void_p),
    "make_stream": (ctypes.c_void_p,),
    "destroy_stream": (ctypes.c_int, ctypes.c_void_p),
    "live_allocations": (ctypes.c_size_t,),
    "live_bytes": (ctypes.c_size_t,),
    "last_error": (ctypes.c_int,),
    "clear_errors": (None,),
}


class Control(ctypes.Structure):
    """`PluginkitCpuControl` of pluginkit/cpu/control.h."""

    _fields_ = [(name, ctypes.CFUNCTYPE(*types)) for name, types in CONTROL_FIELDS.items()]


def control_of(library: ctypes.CDLL) -> Any:
    """The library's control."""
    get = library.pluginkit_cpu_control
    get.restype = ctypes.POINTER(Control)
    assert not get(0), "a version that never was"
    return get(1).contents


Findings = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Findings:
    """A function that gives what was reported since the test began."""
    file = tmp_path / "findings.jsonl"
    monkeypatch.setenv("PLUGINKIT_CPU_FINDINGS", str(file))
    return lambda: [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


@pytest.fixture(scope="session")
def kit(kit: Kit) -> Kit:
    """For the sources of this folder."""
    return kit.within(Path(__file__).parent)
