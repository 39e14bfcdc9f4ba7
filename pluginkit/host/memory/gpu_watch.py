"""Every call of CUDA that a plugin makes in enqueue, checked as it is made; findings go to the file that the session
reads, as those of target cpu's own runtime do (E2, E3).
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pluginkit.gpu import cupti
from pluginkit.gpu.enqueue_rules import Broken, Call, Enqueue

FINDINGS = "PLUGINKIT_CPU_FINDINGS"
"""The environment variable that names the file."""
CHECK = "PLUGINKIT_GPU_CHECK"
"""The environment variable with the tool of compute-sanitizer that this process runs under."""
_FRAMES = 64


class _Symbol(ctypes.Structure):
    """`Dl_info` of dlfcn.h"""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


class Watch:
    """The calls of CUDA in this process, reported by CUPTI where it is installed. `library` is the plugin's."""

    def __init__(self, library: Path) -> None:
        self._library = os.fsencode(library)
        self._cupti: cupti.Cupti | cupti.Unusable | None = None

    @property
    def source(self) -> str:
        """For people: by what enqueue's calls are seen."""
        found = self._subscribed()
        if isinstance(found, cupti.Unusable):
            return f"by capture alone: {found.why}"
        return f"by CUPTI {found.version // 10000}.{found.version % 10000 // 100} ({found.path})"

    def _subscribed(self) -> cupti.Cupti | cupti.Unusable:
        if self._cupti is None:
            taken = os.environ.get(CHECK)
            # Both want the driver's calls, and only one may have them.
            self._cupti = cupti.Unusable(f"compute-sanitizer's {taken} runs") if taken else cupti.subscribe()
        return self._cupti

    @contextmanager
    def enqueue(self, stream: int) -> Iterator[None]:
        """Around a call of enqueue on that stream: records the rules that it breaks."""
        rules = Enqueue(stream)
        with self.calls(on_call=lambda call: self._record(rules.see(call))):
            yield
        self._record(rules.end())

    @contextmanager
    def refused(self) -> Iterator[list[tuple[Call, int]]]:
        """Around calls of CUDA: those that answer an error, with its code."""
        errors: list[tuple[Call, int]] = []

        def on_return(call: Call, code: int) -> None:
            if code:
                errors.append((call, code))

        with self.calls(on_return=on_return):
            yield errors

    @contextmanager
    def calls(
        self, on_call: cupti.OnCall = lambda _: None, on_return: cupti.OnReturn = lambda _, __: None
    ) -> Iterator[None]:
        """Around calls of CUDA: the two are called, if there is CUPTI."""
        found = self._subscribed()
        if isinstance(found, cupti.Unusable):
            yield
            return
        # A buffer of pluginkit's own that is freed meanwhile would look like the plugin's call.
        collects = gc.isenabled()
        gc.disable()
        found.watch(on_call, on_return)
        try:
            yield
        finally:
            found.stop()
            if collects:
                gc.enable()

    def close(self) -> None:
        """Ends the subscription, of which CUPTI gives one at a time."""
        if isinstance(self._cupti, cupti.Cupti):
            self._cupti.close()
        self._cupti = None

    def _record(self, broken: list[Broken]) -> None:
        if not broken:
            return
        offsets = self.offsets()
        with Path(os.environ[FINDINGS]).open("a", encoding="utf-8") as file:
            for one in broken:
                record = {"kind": one.kind, "text": one.text, "kernel": one.call.kernel}
                where = {"library": os.fsdecode(self._library), "offsets": offsets} if offsets else {}
                file.write(json.dumps({**record, **where}) + "\n")

    def offsets(self) -> list[int]:
        """Where in the plugin's library the calling thread is, innermost first."""
        c = ctypes.CDLL(None)
        addresses, symbol = (ctypes.c_void_p * _FRAMES)(), _Symbol()
        found = []
        for address in filter(None, addresses[: c.backtrace(addresses, _FRAMES)]):
            known = c.dladdr(ctypes.c_void_p(address), ctypes.byref(symbol))
            if known and os.path.realpath(symbol.file or b"") == os.path.realpath(self._library):
                found.append(address - int(symbol.base or 0))
        return found
