"""Runs other programs: output, timeout, and no process left behind."""

from __future__ import annotations

import errno
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import time
import tty
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pluginkit.errors import PluginkitError, ToolMissing

_CHUNK = 65536
_LINE_END = re.compile(rb"\r\n|\n|\r")
_TO_TERMINAL = 'exec >"$0" 2>&1 && exec "$@"'
"""The shell opens the terminal in the program's session, which so gets SIGHUP when we are killed."""
_POLL = 0.005
_TO_END = 5.0
"""Seconds that a program has to end what it has started."""


class ProcessTimeout(PluginkitError):
    """A program that didn't end in time. Its process group was killed."""

    exit_code = 4


@dataclass(frozen=True)
class Completed:
    """What a program left: its exit status (negative = the signal that ended it) and what it wrote."""

    command: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """Whether it ended with status 0."""
        return self.returncode == 0

    @property
    def status(self) -> str:
        """`exit status 2`, or `signal SIGSEGV`."""
        if self.returncode < 0:
            with suppress(ValueError):
                return f"signal {signal.Signals(-self.returncode).name}"
            return f"signal {-self.returncode}"
        return f"exit status {self.returncode}"

    def __str__(self) -> str:
        return f"{shlex.join(self.command)}: {self.status}"


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str | None] | None = None,
    timeout: float | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Completed:
    """Run a program to its end and return what it wrote, whatever its exit status.

    Args:
        command: The program and its arguments; no shell is involved.
        cwd: The folder to run in.
        env: Changes to this process's environment; None removes a variable.
        timeout: Seconds, after which the program and its descendants are killed.
        on_line: Called with each line as it comes; stderr is then part of stdout.

    Raises:
        ToolMissing: The program doesn't exist or can't be executed.
        ProcessTimeout: It ran past `timeout`.
    """
    return Program(command, cwd=cwd, env=env, joined=on_line is not None).finish(timeout=timeout, on_line=on_line)


class Program:
    """A program at work. `finish` or `stop` must come once."""

    def __init__(
        self,
        command: Sequence[str | os.PathLike[str]],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str | None] | None = None,
        joined: bool = True,
        terminal: bool = False,
    ) -> None:
        """Starts it.

        Args:
            command, cwd, env: as of `run`.
            joined: whether stderr is part of stdout.
            terminal: whether it writes to a terminal, as which Ninja is told to say what it starts. A pipe where this
                machine has no more terminals.

        Raises:
            ToolMissing: as `run`.
        """
        self.command = tuple(os.fspath(argument) for argument in command)
        if terminal and shutil.which(self.command[0]) is None:
            raise ToolMissing(f"Can't run {shlex.join(self.command)}: there is no such program.")
        ours, theirs = _terminal() if terminal else (None, subprocess.PIPE)
        try:
            self._child = subprocess.Popen(
                ("/bin/sh", "-c", _TO_TERMINAL, os.ttyname(theirs), *self.command) if ours else self.command,
                cwd=cwd,
                env=_environment(env),
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=subprocess.STDOUT if joined else subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            missing = f"the folder {cwd}" if cwd and not cwd.is_dir() else self.command[0]
            raise ToolMissing(f"Can't run {shlex.join(self.command)}: {missing} does not exist.") from error
        except OSError as error:
            raise ToolMissing(f"Can't run {shlex.join(self.command)}: {error.strerror}.") from error
        finally:
            if ours:
                os.close(theirs)
        self._child.stdout = ours or self._child.stdout

    def finish(self, *, timeout: float | None = None, on_line: Callable[[str], None] | None = None) -> Completed:
        """What it leaves; nothing of it is left behind.

        Raises:
            ProcessTimeout: It ran past `timeout`, from now on.
        """
        try:
            stdout, stderr = _collect(self._child, timeout, on_line)
        except TimeoutError as error:
            raise ProcessTimeout(
                f"{shlex.join(self.command)} was stopped after {timeout:g} s: it had not ended by itself."
            ) from error
        except BaseException:
            self._ask_to_end()
            raise
        finally:
            _end(self._child)
        return Completed(self.command, self._child.returncode, stdout, stderr)

    def stop(self) -> None:
        """Asks it to end, then kills it."""
        self._ask_to_end()
        _end(self._child)

    def _ask_to_end(self) -> None:
        """By SIGTERM, so that it ends what it has started in groups of their own, as Ninja does with compilers."""
        self._child.terminate()
        pipes = [pipe.fileno() for pipe in (self._child.stdout, self._child.stderr) if pipe and not pipe.closed]
        for pipe in pipes:
            os.set_blocking(pipe, False)
        until = time.monotonic() + _TO_END
        while self._child.poll() is None and time.monotonic() < until:
            # One that waits for its pipe to be read doesn't take the signal.
            for pipe in pipes:
                with suppress(OSError):  # it has written nothing, or closed its terminal
                    os.read(pipe, _CHUNK)
            time.sleep(_POLL)


def _environment(changes: Mapping[str, str | None] | None) -> dict[str, str] | None:
    if not changes:
        return None
    merged: dict[str, str | None] = {**os.environ, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def _collect(  # noqa: C901 - one loop over two pipes and a clock
    child: subprocess.Popen[bytes], timeout: float | None, on_line: Callable[[str], None] | None
) -> tuple[str, str]:
    """Read both pipes until the program closes them or the time is over.

    A grandchild that keeps a pipe open after the program ended must not keep us: half a second is left for its output.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    texts: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
    seen = 0
    with selectors.DefaultSelector() as selector:
        for name, pipe in (("stdout", child.stdout), ("stderr", child.stderr)):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, name)
        ended: float | None = None
        while selector.get_map():
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                raise TimeoutError
            if ended is not None and now >= ended + 0.5:
                break
            wait = 0.5 if deadline is None else min(0.5, deadline - now)
            for key, _ in selector.select(wait):
                data = _read(key.fd)
                if data:
                    texts[key.data] += data
                else:
                    selector.unregister(key.fileobj)
            if on_line:
                seen = _lines(texts["stdout"], seen, on_line)
            if ended is None and child.poll() is not None:
                ended = time.monotonic()
    rest = None if deadline is None else max(0.0, deadline - time.monotonic())
    try:
        child.wait(rest)
    except subprocess.TimeoutExpired as error:
        raise TimeoutError from error
    if on_line and seen < len(texts["stdout"]):
        on_line(texts["stdout"][seen:].decode(errors="replace"))
    return texts["stdout"].decode(errors="replace"), texts["stderr"].decode(errors="replace")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except OSError as error:
        if error.errno != errno.EIO:  # of a terminal that the program has closed
            raise
        return b""


def _lines(text: bytearray, start: int, on_line: Callable[[str], None]) -> int:
    """What stands between two line ends; what a terminal overwrites (carriage return) is a line too, unless empty."""
    while end := _LINE_END.search(text, start):
        if end.start() > start or end[0] != b"\r":
            on_line(text[start : end.start()].decode(errors="replace"))
        start = end.end()
    return start


def _terminal() -> tuple[IO[bytes] | None, int]:
    """Our end of a new terminal, and the program's; a pipe for it where there is no terminal to be had."""
    try:
        ours, theirs = os.openpty()
    except OSError:
        return None, subprocess.PIPE
    tty.setraw(theirs)
    return os.fdopen(ours, "rb", buffering=0), theirs


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the program's process group, reap the program and close the pipes."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()


__all__ = ["Completed", "ProcessTimeout", "Program", "run"]
