"""The child's side of `pluginkit.process.worker`: forked by `pluginkit.process.fork_server`, or started by the worker
with the arguments READ_FD WRITE_FD PARENT_PID.
"""

from __future__ import annotations

import ctypes
import importlib
import mmap
import os
import pickle
import signal
import sys
import traceback
from pathlib import Path
from typing import Any, BinaryIO

from pluginkit.errors import PluginkitError
from pluginkit.process.protocol import CALL_FILE_BYTES, HEADER

PR_SET_PDEATHSIG = 1


class CallFile:
    """Names the last native call, in a file that the parent reads after a crash. `pluginkit.host` writes the same."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("r+b") as file:
            file.truncate(CALL_FILE_BYTES)
            self._map = mmap.mmap(file.fileno(), CALL_FILE_BYTES)

    def enter(self, call: str) -> None:
        """A native call begins."""
        name = call.encode()[: CALL_FILE_BYTES - 2]
        self._map[: len(name) + 2] = b"I" + name + b"\0"

    def leave(self) -> None:
        """It has returned."""
        self._map[:1] = b"R"


def die_with_parent(parent: int) -> None:
    """Has the kernel kill this process when its parent ends (prctl(2), PR_SET_PDEATHSIG). 0: whoever that is."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if parent and os.getppid() != parent:
        # The parent was gone before the kernel knew.
        os._exit(1)


def _receive(pipe: BinaryIO) -> tuple[str, dict[str, Any]] | None:
    header = pipe.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (size,) = HEADER.unpack(header)
    request: tuple[str, dict[str, Any]] = pickle.loads(pipe.read(size))
    return request


def _reply(pipe: BinaryIO, message: tuple[str, Any]) -> None:
    try:
        data = pickle.dumps(message, protocol=5)
    except Exception as error:  # noqa: BLE001 (anything can come out of a __reduce__)
        what = ("PicklingError", f"the {message[0]} can't be sent: {error}", traceback.format_exc())
        data = pickle.dumps(("error", what), protocol=5)
    pipe.write(HEADER.pack(len(data)) + data)
    pipe.flush()


def _crosses(error: Exception) -> bool:
    """Whether the exception arrives as what it is. One of a plugin project's own classes wouldn't."""
    if not isinstance(error, PluginkitError):
        return False
    try:
        pickle.loads(pickle.dumps(error, protocol=5))
    except Exception:  # noqa: BLE001 (anything can come out of a __reduce__)
        return False
    return True


def _open(module: str, init: dict[str, Any], call_file: str) -> Any:
    loaded = importlib.import_module(module)
    if not hasattr(loaded, "open"):
        return loaded
    return loaded.open(CallFile(Path(call_file)), **init)


def serve(read: int, write: int) -> None:
    """Answers requests until the parent closes its pipe. SystemExit and the like end the process as they would."""
    served: Any = None
    with os.fdopen(read, "rb") as requests, os.fdopen(write, "wb") as replies:
        while (request := _receive(requests)) is not None:
            method, kwargs = request
            try:
                if served is None:
                    served = _open(**kwargs)
                    answer: tuple[str, Any] = ("result", None)
                else:
                    answer = ("result", getattr(served, method)(**kwargs))
            except Exception as error:  # noqa: BLE001 (all of it is the parent's to judge)
                error_text = (type(error).__name__, str(error), traceback.format_exc())
                answer = ("raised", error) if _crosses(error) else ("error", error_text)
            _reply(replies, answer)


def begin(read: int, write: int, parent: int) -> None:
    """Serves on the pipe ends until the asker closes them, or the parent ends."""
    # A plugin's own children must not keep the pipes open, or the parent would wait for them.
    os.set_inheritable(read, False)
    os.set_inheritable(write, False)
    die_with_parent(parent)
    serve(read, write)


def main() -> None:
    """Takes the pipe ends and the parent's process id from the command line."""
    read, write, parent = (int(argument) for argument in sys.argv[1:4])
    begin(read, write, parent)


if __name__ == "__main__":
    main()
