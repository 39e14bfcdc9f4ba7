"""Questions to code that may crash, hang or exit, each in a fork of this process that ends with it.

A fork costs some milliseconds, and has all that this process has loaded. It answers one question after the other; where
one ends it, the next fork goes on with the question behind. Ask before this process has threads.

A fork leads a process group, so that what the code has started ends with it. It leaves no core file: it may be made to
crash on purpose.
"""

from __future__ import annotations

import os
import pickle
import resource
import select
import signal
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pluginkit.errors import PluginkitError
from pluginkit.process.worker import TO_TELL
from pluginkit.process.worker_main import die_with_parent

LOOK = 0.05
"""Seconds between two looks at a fork's memory."""
HUNG, MEMORY, NOT_ASKED = "hung", "memory", "not asked"
"""Endings that are not process's own."""

_HEADER = struct.Struct("<Q")

Question = Callable[[], Any]


@dataclass(frozen=True)
class ForkOutcome:
    """What came of a question.

    Attributes:
        answer: what it returned; None where it did not.
        refusal: the message of the exception that it raised.
        ending: how its process ended instead: a signal's name, `exit code N`, HUNG, or MEMORY; NOT_ASKED after the end
            of the time for all, or after too many that hung.
    """

    answer: Any = None
    refusal: str = ""
    ending: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is an answer."""
        return not self.refusal and not self.ending


def ask(
    questions: Sequence[Question],
    *,
    each: float,
    end: float,
    most_hung: int | None = None,
    most_memory: int | None = None,
) -> list[ForkOutcome]:
    """Ask questions in forks of this process.

    Args:
        questions: their answers are pickled; what one leaves in memory, the next of the same fork finds.
        each: seconds for one.
        end: when no more is asked, as of `time.monotonic`.
        most_hung: after how many that hang no more is asked; None: all are.
        most_memory: bytes that a fork may have in use; None: no limit.
    """
    found: list[ForkOutcome] = []
    while len(found) < len(questions):
        hung = sum(one.ending == HUNG for one in found)
        if time.monotonic() >= end or (most_hung is not None and hung >= most_hung):
            return [*found, *([ForkOutcome(ending=NOT_ASKED)] * (len(questions) - len(found)))]
        found += _from_one_fork(questions[len(found) :], each, end, most_memory)
    return found


def _from_one_fork(
    questions: Sequence[Question], each: float, end: float, most_memory: int | None
) -> list[ForkOutcome]:
    """The outcomes of as many questions as one fork lives for; at least one."""
    read, write = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        # Not by way of exit handlers, which are the parent's.
        try:
            with suppress(BaseException):
                os.setpgid(0, 0)
                die_with_parent(parent)
                resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
                os.close(read)
                silent = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silent, 1)
                os.dup2(silent, 2)
                _answer(questions, write)
        finally:
            os._exit(0)
    os.close(write)
    # The child does the same: whoever comes first, it leads its group.
    with suppress(ProcessLookupError, PermissionError):
        os.setpgid(child, child)
    found: list[ForkOutcome] = []
    try:
        while len(found) < len(questions):
            left = min(each, end - time.monotonic())
            if left <= 0 and found:
                break
            deadline = time.monotonic() + max(0.0, left)
            message = _message(read, deadline, child, most_memory)
            if isinstance(message, str):
                # Whoever has a handler for it leaves its frames.
                os.kill(child, signal.SIGQUIT)
                _wait(child, time.monotonic() + TO_TELL)
                found.append(ForkOutcome(ending=message))
                break
            if not message:
                found.append(ForkOutcome(ending=_ending(child, deadline)))
                break
            found.append(pickle.loads(message))
    finally:
        os.close(read)
        # Not reaped yet, so the group's number is still its own.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return found


def _wait(child: int, end: float) -> None:
    """Until a child has ended, or the time has; it stays to be reaped."""
    while time.monotonic() < end and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.01)


def _answer(questions: Sequence[Question], write: int) -> None:
    for question in questions:
        try:
            outcome = ForkOutcome(question())
        except PluginkitError as error:
            outcome = ForkOutcome(refusal=error.message or type(error).__name__)
        except Exception as error:  # noqa: BLE001 - whatever a binding makes of an answer is not an answer
            outcome = ForkOutcome(refusal=f"{type(error).__name__}: {error}")
        data = pickle.dumps(outcome, protocol=5)
        with os.fdopen(os.dup(write), "wb") as pipe:
            pipe.write(_HEADER.pack(len(data)) + data)


def _message(read: int, end: float, child: int, most_memory: int | None) -> bytes | str:
    """The next message; empty where the fork has ended, HUNG or MEMORY where it goes beyond a limit."""
    data, wanted = b"", _HEADER.size
    while len(data) < wanted:
        left = max(0.0, end - time.monotonic())
        if not select.select([read], [], [], left if most_memory is None else min(left, LOOK))[0]:
            if most_memory is not None and _memory(child) > most_memory:
                return MEMORY
            if time.monotonic() < end:
                continue
            return HUNG
        part = os.read(read, wanted - len(data))
        if not part:
            return b""
        data += part
        if len(data) == _HEADER.size and wanted == _HEADER.size:
            wanted += _HEADER.unpack(data)[0]
    return data[_HEADER.size :]


def _memory(process: int) -> int:
    """Bytes that a process has in use: its resident set (proc(5), statm)."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def _ending(child: int, end: float) -> str:
    """How a child has ended that closed its pipe, or HUNG where it lives on; it stays to be reaped."""
    _wait(child, end)
    ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return HUNG
    if ended.si_code == os.CLD_EXITED:
        return f"exit code {ended.si_status}"
    try:
        return signal.Signals(ended.si_status).name
    except ValueError:
        return f"signal {ended.si_status}"
