"""Questions to code that may crash, hang or exit, each in a fork of this process that ends with it.

A fork costs some milliseconds, and has all that this process has loaded. It answers one question after the other; where
one ends it, the next fork goes on with the question behind. Ask before this process has threads.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pluginkit.errors import PluginkitError

_HEADER = struct.Struct("<Q")

Question = Callable[[], Any]


@dataclass(frozen=True)
class ForkOutcome:
    """What came of a question.

    Attributes:
        answer: what it returned; None where it did not.
        refusal: the message of the exception that it raised.
        ending: how its process ended instead: a signal's name, `exit code N` or `hung`; `not asked` after the end of
            the time for all.
    """

    answer: Any = None
    refusal: str = ""
    ending: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is an answer."""
        return not self.refusal and not self.ending


def ask(questions: Sequence[Question], *, each: float, end: float) -> list[ForkOutcome]:
    """Ask questions in forks of this process.

    Args:
        questions: their answers are pickled; what one leaves in memory, the next of the same fork finds.
        each: seconds for one.
        end: when no more is asked, as of `time.monotonic`.
    """
    found: list[ForkOutcome] = []
    while len(found) < len(questions):
        if time.monotonic() >= end:
            return [*found, *([ForkOutcome(ending="not asked")] * (len(questions) - len(found)))]
        found += _from_one_fork(questions[len(found) :], each, end)
    return found


def _from_one_fork(questions: Sequence[Question], each: float, end: float) -> list[ForkOutcome]:
    """The outcomes of as many questions as one fork lives for; at least one."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        # Not by way of exit handlers, which are the parent's.
        try:
            with suppress(BaseException):
                os.close(read)
                silent = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silent, 1)
                os.dup2(silent, 2)
                _answer(questions, write)
        finally:
            os._exit(0)
    os.close(write)
    found: list[ForkOutcome] = []
    try:
        while len(found) < len(questions):
            left = min(each, end - time.monotonic())
            if left <= 0 and found:
                break
            message = _message(read, time.monotonic() + max(0.0, left))
            if message is None:
                found.append(ForkOutcome(ending="hung"))
                break
            if not message:
                _, status = os.waitpid(child, 0)
                child = 0
                found.append(ForkOutcome(ending=_ending(status)))
                break
            found.append(pickle.loads(message))
    finally:
        os.close(read)
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return found


def _answer(questions: Sequence[Question], write: int) -> None:
    for question in questions:
        try:
            outcome = ForkOutcome(question())
        except PluginkitError as error:
            outcome = ForkOutcome(refusal=error.message or type(error).__name__)
        except Exception as error:  # noqa: BLE001 - whatever a binding makes of an answer is no answer
            outcome = ForkOutcome(refusal=f"{type(error).__name__}: {error}")
        data = pickle.dumps(outcome, protocol=5)
        with os.fdopen(os.dup(write), "wb") as pipe:
            pipe.write(_HEADER.pack(len(data)) + data)


def _message(read: int, end: float) -> bytes | None:
    """The next message; empty where the fork has ended, None where it says nothing in time."""
    data, wanted = b"", _HEADER.size
    while len(data) < wanted:
        if not select.select([read], [], [], max(0.0, end - time.monotonic()))[0]:
            return None
        part = os.read(read, wanted - len(data))
        if not part:
            return b""
        data += part
        if len(data) == _HEADER.size and wanted == _HEADER.size:
            wanted += _HEADER.unpack(data)[0]
    return data[_HEADER.size :]


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit code {os.WEXITSTATUS(status)}"
