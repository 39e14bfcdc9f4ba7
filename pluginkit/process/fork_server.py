"""Starts workers by fork(2), from a process that has imported what all of them need: half a second less for each.

A process has one server, started with its first worker or, of `pluginkit test`, forked from it before it has threads;
another one where its own environment has changed since in what programs read at their start. A server has one thread,
and loads neither a plugin nor a library of NVIDIA's: what can crash is in its children alone. A request on its socket
brings a child's environment and `sys.path`, and descriptors: the child's two pipes, its log, its working directory, and
a socket of its own. There the server sends the child's process id and, when it has ended, its exit code. The child
stays a zombie until the client closes that socket, so its number isn't reused as long as the client may kill it.

The server ends with the process that started it, and its children with the server (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import logging
import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from pluginkit.process.worker_main import die_with_parent

NUMBER = struct.Struct("<q")
PATIENCE = 60.0
"""Seconds in which a server imports and forks, or is given up."""
PRELOADED = (
    "numpy.random",
    "onnx.reference.ops",
    "pluginkit.process.worker_main",
    "pluginkit.interpreter.walker",
    "pluginkit.testing.planning_worker",
    "pluginkit.runtimes.host.host_worker",
)
"""They bring NumPy, onnx and pydantic, and nothing of NVIDIA's."""
READ_AT_START = ("LD_", "LC_", "LANG", "PYTHON", "MALLOC_", "GLIBC_", "OMP_", "OPENBLAS_", "MKL_", "NPY_", "PROTOCOL_")
"""What begins so is read by the loader, libc, Python or a library when a program starts: a fork is too late for it."""

MOST = 3
"""Servers of a process. Each is some 60 MB, and lives as long as its process, since its children die with it."""


def startup(environment: Mapping[str, str]) -> dict[str, str]:
    """What a program reads of its environment when it starts; the sanitizers' options are of it too."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(READ_AT_START) or name.endswith("SAN_OPTIONS")
    }


def own_environment() -> dict[str, str]:
    """What a worker has that is given nothing else: this process's, and what it prints is in the log at once."""
    return {**os.environ, "PYTHONUNBUFFERED": "1"}


class Forked:
    """A child of the server, with what `subprocess.Popen` has."""

    def __init__(self, own: socket.socket) -> None:
        self._own = own
        (self.pid,) = NUMBER.unpack(_read(own, NUMBER.size))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, or minus the signal; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end.

        Raises:
            subprocess.TimeoutExpired: it did not end in time.
        """
        if self.returncode is None:
            if not select.select([self._own], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("worker", timeout or 0)
            try:
                (self.returncode,) = NUMBER.unpack(_read(self._own, NUMBER.size))
            except (EOFError, OSError):
                # The server was killed, and its children with it.
                self.returncode = -signal.SIGKILL
        return self.returncode

    def close(self) -> None:
        """Has the server forget it; its process id may be another's from now on."""
        self._own.close()


class _Fork:
    """A server that was forked, with what `ForkServer` needs of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """As of `subprocess.Popen`."""
        return self._wait(os.WNOHANG)

    def kill(self) -> None:
        """As of `subprocess.Popen`."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int | None:
        """As of `subprocess.Popen`."""
        return self._wait(0)

    def _wait(self, options: int) -> int | None:
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode


class ForkServer:
    """The asker's side of a server."""

    def __init__(self, control: socket.socket, process: subprocess.Popen[bytes] | _Fork) -> None:
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self._control, self._process = control, process

    @classmethod
    def program(cls, environment: Mapping[str, str]) -> ForkServer:
        """A server that is a program of its own."""
        control, theirs = socket.socketpair()
        boot = "import sys; sys.path[:] = sys.argv.pop(1).split(':'); from pluginkit.process.fork_server import main; "
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-c", boot + "main()", ":".join(sys.path), str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=dict(environment),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        return cls(control, process)

    @classmethod
    def fork(cls) -> ForkServer:
        """A server that is a fork of this process, which has one thread and has imported what the server needs.

        It leads a session of its own, so that Ctrl-C is the owner's, and has none of the owner's open files but stderr.
        """
        control, theirs = socket.socketpair()
        owner = os.getpid()
        pid = os.fork()
        if pid == 0:
            # Its children leave it by SystemExit. Anything else would reach who serves above, in the owner's name.
            try:
                os.setsid()
                die_with_parent(owner)
                _leave_files(but=theirs)
                _Nursery(theirs, owner).run()
            except KeyboardInterrupt:
                os._exit(1)
            except Exception:  # noqa: BLE001 (whatever it is, this process ends of it)
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        theirs.close()
        return cls(control, _Fork(pid))

    def start(self, environment: Mapping[str, str], log: BinaryIO, read: int, write: int) -> Forked:
        """A child that serves on its two pipes; its stdout and stderr go to the log.

        Raises:
            OSError: the server has ended, or doesn't answer.
        """
        request = pickle.dumps((dict(environment), list(sys.path)), protocol=5)
        mine, theirs = socket.socketpair()
        mine.settimeout(PATIENCE)
        folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            with theirs, self._lock:
                fds = [read, write, log.fileno(), folder, theirs.fileno()]
                socket.send_fds(self._control, [NUMBER.pack(len(request))], fds)
                self._control.sendall(request)
            return Forked(mine)
        except BaseException as error:
            mine.close()
            if isinstance(error, EOFError):
                raise ConnectionError("it has ended") from None
            raise
        finally:
            os.close(folder)

    @property
    def ended(self) -> bool:
        """Whether its process is gone, and its children with it."""
        return self.owner == os.getpid() and self._process.poll() is not None

    def close(self) -> None:
        """Ends it. A process that has inherited it by fork lets it be."""
        self._control.close()
        if self.owner == os.getpid():
            self._process.kill()
            self._process.wait()
        else:
            self._process.returncode = 0


_running: dict[frozenset[tuple[str, str]], ForkServer] = {}
_silent: list[ForkServer] = []
"""Those that gave no child when asked, and may have others: they are left alone."""
_starting = threading.Lock()
_warned = threading.Event()
"""Set once the warning about a server that gave no child is printed."""


def server(environment: Mapping[str, str]) -> ForkServer | None:
    """The server of this process whose children can have that environment; None: it must be a program of its own."""
    wanted, own = startup(environment), startup(own_environment())
    if wanted != own:
        return None
    with _starting:
        for key, there in list(_running.items()):
            if there.owner != os.getpid():
                _running.pop(key).close()
        key = frozenset(wanted.items())
        if key not in _running and len(_running) + len(_silent) < MOST:
            _running[key] = ForkServer.program(own_environment())
        return _running.get(key)


def begin() -> None:
    """Starts the server of this process, which imports while the process has other things to do than a worker."""
    with contextlib.suppress(OSError):  # the first worker says so
        server(own_environment())


def branch() -> None:
    """Forks this process's server from itself, while it has one thread: nothing is imported again."""
    preload()
    _running[frozenset(startup(own_environment()).items())] = ForkServer.fork()


def give_up(one: ForkServer | None, error: OSError) -> None:
    """No worker is asked of that server again, which is logged once; its children live on if it does."""
    with _starting:
        for key, there in list(_running.items()):
            if there is one:
                del _running[key]
                _silent.append(one)
        for there in [there for there in _silent if there.ended]:
            _silent.remove(there)
            there.close()
        if _warned.is_set():
            return
        _warned.set()
    logging.getLogger("pluginkit").warning(
        "The process from which pluginkit forks its workers gave none (%s). Workers are started as programs of their "
        "own instead: results are the same, each takes half a second longer. Was it killed, or is memory short?",
        error,
    )


def stop() -> None:
    """Ends this process's servers, and their children with them. The next worker starts another."""
    with _starting:
        while _running:
            _running.popitem()[1].close()
        while _silent:
            _silent.pop().close()


atexit.register(stop)


def _leave_files(but: socket.socket) -> None:
    """In a fork: puts /dev/null in the place of what the process above has open, locks and pipes among it.

    The numbers stay taken: the objects that they belong to may close them whenever they like.
    """
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for number in [int(file.name) for file in Path("/proc/self/fd").iterdir()]:
        if number not in {2, null, but.fileno()}:
            with contextlib.suppress(OSError):  # of the listing itself, which is closed by now
                os.fstat(number)
                os.dup2(null, number, inheritable=number < 2)
    sys.stdout = io.TextIOWrapper(open(1, "wb", buffering=0, closefd=False), write_through=True)  # noqa: SIM115
    os.close(null)


def _read(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = source.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def main() -> None:
    """The server: imports, and forks a child for each request until the client is gone."""
    control, owner = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    control.set_inheritable(False)
    preload()
    _Nursery(control, owner).run()


def preload() -> None:
    """Imports what workers need. It is not garbage: a child that looked for some there would have a copy of all its
    memory."""
    gc.disable()
    for module in PRELOADED:
        importlib.import_module(module)
    gc.freeze()
    gc.enable()


class _Nursery:
    """The server's children, by their sockets."""

    def __init__(self, control: socket.socket, owner: int) -> None:
        self._control, self._owner = control, owner
        self._children: dict[socket.socket, int] = {}
        self._living: set[socket.socket] = set()
        self._ended, self._wakeup = socket.socketpair()
        self._ended.setblocking(False)
        self._wakeup.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakeup.fileno(), warn_on_full_buffer=False)

    def run(self) -> None:
        """Serves. In a child it does not come back: that ends as a program does."""
        # A fork of the owner may hold the socket open when the owner has ended.
        while os.getppid() == self._owner:
            for ready in select.select([self._control, self._ended, *self._children], [], [], 2)[0]:
                if ready is self._ended:
                    self._ended.recv(4096)
                    self._report()
                elif ready is not self._control:
                    self._forget(ready)
                elif not self._take():
                    return

    def _take(self) -> bool:
        """One request; False where there are no more."""
        size, fds, _flags, _address = socket.recv_fds(self._control, NUMBER.size, 5)
        if len(size) < NUMBER.size:
            return False
        environment, path = pickle.loads(_read(self._control, *NUMBER.unpack(size)))
        read, write, log, folder, own = fds
        connection = socket.socket(fileno=own)
        server = os.getpid()
        child = os.fork()
        if child == 0:
            connection.close()
            self._leave(log, folder)
            _serve(environment, path, read, write, server)
        for fd in (read, write, log, folder):
            os.close(fd)
        # The child does the same: whoever comes first, it leads its group before anybody knows its number.
        with contextlib.suppress(ProcessLookupError):
            os.setpgid(child, child)
        self._children[connection] = child
        self._living.add(connection)
        _send(connection, child)
        return True

    def _leave(self, log: int, folder: int) -> None:
        """In the child: nothing of the server's is left but its imports."""
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for end in (self._control, self._ended, self._wakeup, *self._children):
            end.close()
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.fchdir(folder)
        os.close(log)
        os.close(folder)

    def _report(self) -> None:
        """Sends how each ended child has ended; it stays a zombie."""
        for connection in list(self._living):
            ended = os.waitid(os.P_PID, self._children[connection], os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None:
                self._living.discard(connection)
                _send(connection, ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)

    def _forget(self, connection: socket.socket) -> None:
        """The asker has closed its end."""
        child = self._children.pop(connection)
        self._living.discard(connection)
        connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _send(connection: socket.socket, number: int) -> None:
    # The asker may be gone by now; that shows at the next select.
    with contextlib.suppress(OSError):
        connection.sendall(NUMBER.pack(number))


def _serve(environment: dict[str, str], path: list[str], read: int, write: int, server: int) -> None:
    """In the child: all that it does."""
    import numpy as np

    from pluginkit.process import worker_main

    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = path
    # Python's own generator is seeded again by a fork; NumPy's would be the same in every child.
    np.random.seed()
    worker_main.begin(read, write, server)
    sys.exit()
