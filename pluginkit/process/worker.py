"""A child process for code that may crash, hang or exit: a plugin, or NVIDIA's libraries with a plugin in them.

The child is forked by `pluginkit.process.fork_server`, or a program of its own (`pluginkit.process.worker_main`) where
its environment must be there from the start. It leads a process group of its own and dies with its parent. Messages
are pickles on two pipes of their own, so that whatever a plugin prints can't disturb them; stdout and stderr go to a
file. A small file shared by mmap, the call_file, holds the last native call: it is what remains when a plugin takes
the process down. Its first byte is I while that call is under way and R when it has returned; the name follows.

The kernel kills a program of its own when the thread that started it ends: start a worker in a thread that outlives it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from typing_extensions import Self

from pluginkit.errors import PluginCrashed, PluginkitError
from pluginkit.process import backtrace, fork_server
from pluginkit.process.backtrace import NativeFrame
from pluginkit.process.fork_server import Forked
from pluginkit.process.protocol import HEADER, last_call

LOG_TAIL = 4000
"""How many bytes of the child's stdout and stderr a failure carries."""
TO_TELL = 1.0
"""Seconds in which a child that gives no answer may leave its native frames."""
PRINTED = 65536
"""How many bytes of them a worker keeps of one call."""


class WorkerCrashed(PluginCrashed):
    """The child ended while it owed an answer.

    Attributes:
        how: the signal's name, or `exit code N`.
        last_call: the last native call; empty if there was none.
        inside: whether that call was still under way.
        log_tail: the last of what the child printed.
        frames: the native frames, where the child was to leave them.
        after: what is known of why, as of `LastCall`.
    """

    def __init__(
        self,
        how: str,
        last_call: str,
        inside: bool,
        log_tail: str,
        frames: tuple[NativeFrame, ...] = (),
        after: str = "",
    ) -> None:
        where = f"{_where(last_call, inside)}{after}"
        super().__init__(f"the process ended with {how}{where}{_printed(log_tail)}")
        self.frames = frames
        self.how = how
        self.last_call = last_call
        self.inside = inside
        self.log_tail = log_tail


class WorkerTimeout(PluginCrashed):
    """The child gave no answer in time and was killed.

    Attributes:
        seconds: how long it had.
        last_call, inside, log_tail, frames, after: as of `WorkerCrashed`.
    """

    def __init__(
        self,
        seconds: float,
        last_call: str,
        inside: bool,
        log_tail: str,
        frames: tuple[NativeFrame, ...] = (),
        after: str = "",
    ) -> None:
        where = f"{_where(last_call, inside)}{after}"
        super().__init__(f"no answer within {seconds:g} s{where}; the process was killed{_printed(log_tail)}")
        self.frames = frames
        self.seconds = seconds
        self.last_call = last_call
        self.inside = inside
        self.log_tail = log_tail


def _where(last_call: str, inside: bool) -> str:
    if not last_call:
        return ""
    return f" in {last_call}" if inside else f" after {last_call} had returned"


def _printed(log_tail: str) -> str:
    return f"\n{log_tail}" if log_tail else ""


class WorkerError(PluginkitError):
    """The child's code raised an exception that isn't one of pluginkit's.

    Attributes:
        kind: the exception's class.
        traceback: the child's.
    """

    def __init__(self, kind: str, message: str, traceback: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.traceback = traceback


def ending(code: int) -> str:
    """How a process ended, in words, by what `subprocess.Popen.returncode` would be."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _without_cpu(pid: int | None) -> float:
    """The seconds that a process's main thread waited for a CPU; 0 where the kernel doesn't count them."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _program(
    environment: Mapping[str, str],
    before: Sequence[str],
    python: Sequence[str],
    log: BinaryIO,
    read: int,
    write: int,
) -> subprocess.Popen[bytes]:
    """A child that is a program of its own, or one that `before` starts; `python` is the interpreter
    with its options, which part of its search path is replaced, and by what."""
    *interpreter, replaced, path = python
    # `-m` and `-c` alone would search the working directory first.
    boot = (
        f"import sys; sys.path{replaced} = sys.argv.pop(1).split(':'); "
        "import pluginkit.process.worker_main as main; main.main()"
    )
    # Who is started by another program has that one for a parent, which sees the end of this process itself.
    parent = 0 if before else os.getpid()
    return subprocess.Popen(
        [*before, *interpreter, "-c", boot, path, str(read), str(write), str(parent)],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=dict(environment),
        pass_fds=(read, write),
        start_new_session=True,
    )


class Group:
    """The workers that are started while it is entered, in whatever thread that is: those of one run."""

    def __init__(self) -> None:
        self._members: weakref.WeakSet[Worker] = weakref.WeakSet()
        self._adding = threading.Lock()
        self._killed = False

    def __enter__(self) -> Self:
        _GROUPS.entered = [*getattr(_GROUPS, "entered", ()), self]
        return self

    def __exit__(self, *exc_info: object) -> None:
        _GROUPS.entered = _GROUPS.entered[:-1]

    def add(self, worker: Worker) -> None:
        """A worker was started. Where the group was killed already, it is too."""
        with self._adding:
            self._members.add(worker)
        if self._killed:
            worker.kill()

    def kill(self) -> None:
        """Kills every worker's process group; whoever waits for one finds it dead. For a run that is given up."""
        self._killed = True
        with self._adding:
            members = list(self._members)
        for worker in members:
            worker.kill()


_GROUPS = threading.local()


class Worker:
    """One child process running one child-side module.

    The module has a function `open(call_file, **init)`: the object that it returns answers `call`, by methods. A
    module without one answers by its functions.
    """

    def __init__(
        self,
        module: str,
        init: dict[str, Any],
        *,
        timeout: float,
        env: Mapping[str, str] | None = None,
        command: Sequence[str] = (),
        python: str = "",
    ) -> None:
        """Starts the child and waits until `module.open(call_file, **init)` has returned.

        Args:
            module: dotted name of the child-side module.
            init: arguments of its `open`.
            timeout: seconds for each call, this first one included, without those that it waits for a CPU.
            env: environment variables set on top of this process's own.
            command: a program that starts the child as its own, with its arguments.
            python: another interpreter that the child runs in, 3.10 or newer, which has what `module` imports besides
                pluginkit; PYTHON* variables of this one's environment are nothing to it.

        Raises:
            WorkerCrashed, WorkerTimeout: as for `call`.
            PluginkitError: what `open` raised.
        """
        self._timeout = timeout
        self._starved = 0.0
        self._folder = Path(tempfile.mkdtemp(prefix="pluginkit-worker-"))
        self._log = self._folder / "log"
        self._log_begin = 0
        self.printed = ""
        """What the child has printed in the last call."""
        self.call_file = self._folder / "call_file"
        self.call_file.touch()
        self._process: subprocess.Popen[bytes] | Forked | None = None
        self._to_child = self._from_child = -1
        environment = {**fork_server.own_environment(), **(env or {})}
        try:
            if command or python or not self._forked(environment):
                self._start(partial(_program, environment, command, self._interpreter(python)))
        except OSError:
            self.close()
            raise
        self.join_groups()
        self._ask(("open", {"module": module, "init": init, "call_file": str(self.call_file)}), timeout)

    def _interpreter(self, python: str) -> list[str]:
        """The interpreter, its options, which part of its search path is replaced, and by what."""
        if not python:
            # What the parent can import the child can too, wherever it was started; and nothing else.
            return [sys.executable, "[:]", ":".join(sys.path)]
        source = self._folder / "source"
        source.mkdir()
        (source / "pluginkit").symlink_to(Path(__file__).resolve().parents[1])
        # Its own packages stay, behind pluginkit.
        return [python, "-E", "-B", "[:1]", str(source)]

    def _forked(self, environment: Mapping[str, str]) -> bool:
        """Starts the child as a fork; whether that was possible."""
        server = None
        try:
            server = fork_server.server(environment)
            if server is not None:
                self._start(partial(server.start, environment))
        except OSError as error:
            # It was killed, or it can't import: that shows in the child, with a message.
            fork_server.give_up(server, error)
            return False
        return server is not None

    def _start(self, start: Callable[[BinaryIO, int, int], subprocess.Popen[bytes] | Forked]) -> None:
        """Starts the child on two new pipes: a server that didn't answer in time may yet do what it was asked."""
        read, self._to_child = os.pipe()
        self._from_child, write = os.pipe()
        try:
            with self._log.open("wb") as log:
                self._process = start(log, read, write)
        except OSError:
            self._close_pipes()
            raise
        finally:
            os.close(read)
            os.close(write)

    def join_groups(self) -> None:
        """It is one of the workers of what this thread is doing."""
        for group in getattr(_GROUPS, "entered", ()):
            group.add(self)

    @property
    def forked(self) -> bool:
        """Whether it is the server's child, and no program of its own."""
        return isinstance(self._process, Forked)

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The child's process id; None once it is gone."""
        return self._process.pid if self._process else None

    def call(self, method: str, *, timeout: float | None = None, **kwargs: Any) -> Any:
        """Calls a method of the child's object and returns what it returns.

        Args:
            method: its name.
            timeout: seconds, instead of the worker's own.
            kwargs: its arguments; they and the result must be picklable.

        Raises:
            WorkerCrashed: the child ended; this worker is closed.
            WorkerTimeout: no answer in time; the child was killed, this worker is closed.
            PluginkitError: what the method raised, if it is one of pluginkit's exceptions.
            WorkerError: the method raised another exception; the child lives on.
        """
        if self._process is None:
            raise WorkerError("Closed", f"the worker was closed before {method} was called", "")
        return self._ask((method, kwargs), self._timeout if timeout is None else timeout)

    def _ask(self, request: tuple[str, dict[str, Any]], timeout: float) -> Any:
        self._starved = _without_cpu(self.pid)
        deadline = time.monotonic() + timeout
        self._log_begin = self._log.stat().st_size
        try:
            self._send(pickle.dumps(request, protocol=5), deadline)
            kind, value = pickle.loads(self._receive(deadline))
            self._keep_printed()
        except TimeoutError:
            self._quit()
            remains = self._remains()
            self.close()
            raise WorkerTimeout(timeout, *remains) from None
        except (EOFError, BrokenPipeError):
            how = self._reap()
            remains = self._remains()
            self.close()
            raise WorkerCrashed(how, *remains) from None
        except BaseException:
            # An interrupted exchange leaves the pipes in the middle of a message.
            self.close()
            raise
        if kind == "result":
            return value
        if request[0] == "open":
            self.close()
        raise value if kind == "raised" else WorkerError(*value)

    def _send(self, data: bytes, deadline: float) -> None:
        os.set_blocking(self._to_child, False)
        left = memoryview(HEADER.pack(len(data)) + data)
        while left:
            self._wait([], [self._to_child], deadline)
            left = left[os.write(self._to_child, left[:65536]) :]

    def _receive(self, deadline: float) -> bytearray:
        (size,) = HEADER.unpack(self._read(HEADER.size, deadline))
        return self._read(size, deadline)

    def _read(self, size: int, deadline: float) -> bytearray:
        data = bytearray()
        while len(data) < size:
            self._wait([self._from_child], [], deadline)
            part = os.read(self._from_child, min(size - len(data), 1 << 20))
            if not part:
                raise EOFError
            data += part
        return data

    def _wait(self, read: list[int], write: list[int], deadline: float) -> None:
        """Until one of the pipes is ready. A grandchild can keep the pipe open, so the child is looked at too."""
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                # On a busy machine the child has not had the time that it was given.
                left += _without_cpu(self.pid) - self._starved
            if left <= 0:
                raise TimeoutError
            ready = select.select(read, write, [], min(left, 0.2))
            if ready[0] or ready[1]:
                return
            if self._process is None or self._process.poll() is not None:
                raise EOFError

    def _reap(self) -> str:
        """Waits for a child that closed its pipe; returns how it ended."""
        if self._process is None:
            return "no process"
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            return "a closed pipe"
        return ending(code)

    def _quit(self) -> None:
        """Has a child that is to leave its frames do so."""
        if self._process is not None and backtrace.beside(self.call_file).exists():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGQUIT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(TO_TELL)

    def _remains(self) -> tuple[str, bool, str, tuple[NativeFrame, ...], str]:
        """The last native call, whether it is under way, the tail of the log, the native frames, and what is
        known of why."""
        self._keep_printed()
        last = last_call(self.call_file.read_bytes())
        frames = backtrace.read(backtrace.beside(self.call_file))
        where = f"\n{lines[0]}" if last.beyond and (lines := backtrace.describe(frames)) else ""
        return last.name, last.inside, self.log_tail, frames, f"{last.after}{where}"

    @property
    def log_tail(self) -> str:
        """The last of what the child has printed so far."""
        with self._log.open("rb") as log:
            log.seek(max(0, self._log.stat().st_size - LOG_TAIL))
            return log.read().decode(errors="replace").strip()

    def _keep_printed(self) -> None:
        with self._log.open("rb") as log:
            log.seek(self._log_begin)
            self.printed = log.read(PRINTED).decode(errors="replace")

    def kill(self) -> None:
        """Kills the child's process group, from any thread."""
        process = self._process
        if process is not None:
            # The group outlives its leader as long as a grandchild is in it, and the leader isn't reaped before
            # this, unless it ended by itself: then its number may only be taken by a group of the same number.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kills the child's process group, waits for the child and removes its files. Safe to call again."""
        if self._process is not None:
            self.kill()
            self._process.wait()
            if isinstance(self._process, Forked):
                self._process.close()
            self._process = None
        self._close_pipes()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _close_pipes(self) -> None:
        for name in ("_to_child", "_from_child"):
            fd = getattr(self, name)
            if fd >= 0:
                os.close(fd)
                setattr(self, name, -1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
