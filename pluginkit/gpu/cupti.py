"""CUPTI's callback API by ctypes: every call of CUDA's runtime and driver while a plugin enqueues.

https://docs.nvidia.com/cupti/api/group__CUPTI__CALLBACK__API.html. What is read here of its structures is the same in
CUDA 12 and 13; the tests hold it against CUPTI's headers.
"""

from __future__ import annotations

import ctypes
import os
import platform
import site
import sysconfig
import threading
from collections.abc import Callable
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path

from pluginkit import installation
from pluginkit.gpu import calls
from pluginkit.gpu.enqueue_rules import Call
from pluginkit.process.backtrace import bare

_DRIVER_API, _RUNTIME_API = 1, 2
"""`CUPTI_CB_DOMAIN_...`"""
_ENTER = 0
"""`CUPTI_API_ENTER`"""


class CallbackData(ctypes.Structure):
    """`CUpti_CallbackData`"""

    _fields_ = (
        ("callbackSite", c_int),
        ("functionName", c_char_p),
        ("functionParams", c_void_p),
        ("functionReturnValue", c_void_p),
        ("symbolName", c_char_p),
        ("context", c_void_p),
        ("contextUid", c_uint32),
        ("correlationData", POINTER(c_uint64)),
        ("correlationId", c_uint32),
    )


_Callback = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_uint32, POINTER(CallbackData))

OnCall = Callable[[Call], None]
OnReturn = Callable[[Call, int], None]


@dataclass(frozen=True)
class Unusable:
    """Why there is no CUPTI."""

    why: str


class Cupti:
    """A subscription to the calls of this process. One library may hold one at a time.

    `on_call` is called in the calling thread before each call of the driver, `on_return` after each with its error
    code.
    """

    def __init__(self, library: ctypes.CDLL, path: Path, handle: c_void_p, callback: object, hub: _Hub) -> None:
        self._library = library
        self._handle = handle
        self._callback = callback  # ctypes frees it without a reference
        self._hub = hub
        self.path = path
        version = c_uint32()
        library.cuptiGetVersion(ctypes.byref(version))
        self.version = version.value
        """CUPTI's API version, as 130000."""

    def watch(self, on_call: OnCall, on_return: OnReturn) -> None:
        """From now on the two are called, and those of earlier calls too."""
        self._hub.listeners.append((on_call, on_return))
        self._enable(1)

    def stop(self) -> None:
        """From now on those of the last `watch` are not."""
        self._hub.listeners.pop()
        if not self._hub.listeners:
            self._enable(0)

    def _enable(self, on: int) -> None:
        for domain in (_DRIVER_API, _RUNTIME_API):
            self._library.cuptiEnableDomain(on, self._handle, domain)

    def close(self) -> None:
        """Ends the subscription."""
        self._library.cuptiUnsubscribe(self._handle)


class _Hub:
    """What CUPTI calls: makes a `Call` of what it is given, with the runtime's function around it."""

    def __init__(self) -> None:
        self.listeners: list[tuple[OnCall, OnReturn]] = []
        self._around: dict[int, str] = {}

    def __call__(self, _user: int, domain: int, _callback_id: int, given: ctypes._Pointer[CallbackData]) -> None:
        data = given.contents
        name = (data.functionName or b"").decode(errors="replace")
        thread = threading.get_ident()
        entering = data.callbackSite == _ENTER
        if domain == _RUNTIME_API:
            self._around[thread] = calls.unversioned(name) if entering else ""
        elif domain == _DRIVER_API:
            code = 0
            if not entering and data.functionReturnValue:
                code = ctypes.cast(data.functionReturnValue, POINTER(c_int))[0]
            # What a call that has failed was to give isn't there.
            call = read(name, self._around.get(thread, ""), data, done=not entering and code == 0)
            for on_call, on_return in self.listeners:
                if entering:
                    on_call(call)
                else:
                    on_return(call, code)


def read(name: str, caller: str, data: CallbackData, *, done: bool) -> Call:
    """A call of the driver, as CUPTI describes it; `done` once it has returned without an error."""
    known, _ = calls.plain(name)
    at, event = calls.STREAM_AT.get(known), 0
    start = data.functionParams or 0
    taken, size = _object(known, start, done=done) if start else (0, 0)
    if known in calls.RECORDS or known in calls.WAITS_FOR_EVENT:
        where, at = {**calls.RECORDS, **calls.WAITS_FOR_EVENT}[known]
        event = _pointer(start + where)
    if known == calls.LAUNCH_EX:
        start, at = _pointer(start), calls.LAUNCH_EX_STREAM_AT
    stream = _pointer(start + at) if at is not None and start else 0
    return Call(name, caller, _demangled(data.symbolName or b""), stream, event, taken, size)


def _object(known: str, arguments: int, *, done: bool) -> tuple[int, int]:
    """The object that a function gives or ends, and its size."""
    first = _pointer(arguments) if known in calls.GIVES_BACK or known in calls.TAKES else 0
    taking = calls.TAKES.get(known)
    if taking is None or not first:
        return first, 0
    if not done:
        return 0, 0
    size = _pointer(arguments + taking.size_at) if taking.size_at is not None else 0
    return first if taking.given else _pointer(first), size


def _pointer(address: int) -> int:
    return c_size_t.from_address(address).value


def subscribe() -> Cupti | Unusable:
    """The first CUPTI on this machine that takes a subscription, or why none does.

    Looked for are, in this order, what PLUGINKIT_CUPTI names (`none`: nothing), the toolkit of CUDA_HOME, CUDA_PATH and
    /usr/local/cuda, NVIDIA's wheels in this Python's environment, and LD_LIBRARY_PATH.
    """
    named = os.environ.get("PLUGINKIT_CUPTI", "")
    if named == "none":
        return Unusable("PLUGINKIT_CUPTI is 'none'")
    problems = []
    for path in [Path(named)] if named else candidates():
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            problems.append(str(error))
            continue
        hub = _Hub()
        handle, callback = c_void_p(), _Callback(hub)
        code = int(library.cuptiSubscribe(ctypes.byref(handle), callback, None))
        if code == 0:
            return Cupti(library, path, handle, callback, hub)
        text = c_char_p()
        library.cuptiGetResultString(code, ctypes.byref(text))
        problems.append(f"{path} gave {(text.value or b'').decode() or code}")
    return Unusable("; ".join(problems) or f"there is no libcupti here: {_remedy()}")


def _remedy() -> str:
    return f"{installation.pip('nvidia-cuda-cupti')}  # or set CUDA_HOME to a toolkit that has CUPTI"


def candidates() -> list[Path]:
    """The libraries that may be CUPTI, each once; the newest of a folder first."""
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    roots.append(Path("/usr/local/cuda"))
    parts = (f"targets/{platform.machine()}-linux/lib", "extras/CUPTI/lib64", "lib64", "lib")
    folders = [root / part for root in roots for part in parts]
    packages = dict.fromkeys([*site.getsitepackages(), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    wheels = [Path(one) / "nvidia" for one in packages]
    folders += [wheel / part for wheel in wheels for part in ("cu13/lib", "cuda_cupti/lib")]
    folders += [Path(one) for one in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if one]
    once: dict[Path, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("libcupti.so.*"), reverse=True):
            once.setdefault(path.resolve(), path)
    return list(once.values())


def _demangled(symbol: bytes) -> str:
    """A kernel's name as its source writes it."""
    if not symbol:
        return ""
    status = c_int()
    demangle = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    demangle.restype = c_void_p
    made = demangle(symbol, None, None, ctypes.byref(status))
    if not made:
        return symbol.decode(errors="replace")
    text = ctypes.string_at(made).decode(errors="replace")
    release = ctypes.CDLL(None).free
    release.argtypes = (c_void_p,)
    release(made)
    return bare(text)
