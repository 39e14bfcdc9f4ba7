"""Handlers of signals are the process's: of runtimes whose launches overlap, and of the process itself.

Each test is a process of its own with two libraries, `first` and `second`, of which each has a runtime.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cuda_on_cpu.conftest import Kit

_PROGRAM = """
import _ctypes, ctypes, os, signal, sys, threading, time

class Launch:
    def __init__(self, library, how=0):
        self.library, self.how = library, how
        library.newWord.restype = ctypes.POINTER(ctypes.c_int)
        self.word = library.newWord()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        while self.word[0] == 0:
            time.sleep(0.001)

    def run(self):
        self.error = self.library.runHold(self.word, self.how)

    def end(self):
        self.word[1] = 1
        self.thread.join()
        return self.error

def caught():
    # Which of the runtime's signals the process handles.
    with open("/proc/self/status") as status:
        mask = next(int(line.split()[1], 16) for line in status if line.startswith("SigCgt"))
    return [each for each in (signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV, signal.SIGURG) if mask >> each - 1 & 1]

first, second = map(ctypes.CDLL, sys.argv[1:3])
before = caught()
"""


@pytest.fixture
def run(kit: Kit, tmp_path: Path) -> Callable[[str], int]:
    """`run(program)` gives how that program ends."""
    paths = [str(shutil.copy(kit.library("handlers"), tmp_path / f"{name}.so")) for name in ("first", "second")]
    environment = os.environ | {"PLUGINKIT_CPU_WORKERS": "1", "PLUGINKIT_CPU_FINDINGS": str(tmp_path / "findings")}

    def ends(program: str) -> int:
        command = [sys.executable, "-S", "-c", _PROGRAM + program, *paths]
        return subprocess.run(command, check=False, timeout=60, env=environment).returncode

    return ends


@pytest.mark.parametrize("how", ["SIGSEGV", "SIGFPE", "SIGSTKFLT"])
def test_faults_of_launches_that_overlap_are_each_ones_own(run: Callable[[str], int], how: str) -> None:
    # Either may end first; a runtime that ends while the other's kernel runs comes again.
    program = f"""
how = signal.{how}
errors = {{signal.SIGSEGV: 700, signal.SIGFPE: 719, signal.SIGSTKFLT: 719}}
for one, other in ((first, second), (second, first)):
    a, b = Launch(one, how), Launch(other, how)
    assert a.end() == errors[how]
    again = Launch(one, how)
    assert again.end() == errors[how]
    assert b.end() == errors[how]
    assert caught() == before
    a, b = Launch(one, how), Launch(other, how)
    assert b.end() == errors[how]
    assert a.end() == errors[how]
    assert caught() == before
"""
    assert run(program) == 0


def test_a_library_may_go_while_anothers_kernel_runs(run: Callable[[str], int]) -> None:
    program = """
a, b = Launch(first), Launch(second, signal.SIGSEGV)
assert a.end() == 0
_ctypes.dlclose(first._handle)
with open("/proc/self/maps") as maps:
    assert sys.argv[1] not in maps.read()
assert b.end() == 700
assert caught() == before
"""
    assert run(program) == 0


@pytest.mark.parametrize(
    ("how", "act"),
    [
        ("SIGSEGV", "ctypes.string_at(8)"),
        *((how, f"signal.raise_signal(signal.{how})") for how in ("SIGSEGV", "SIGFPE")),
    ],
)
def test_what_is_no_kernels_ends_the_process(run: Callable[[str], int], how: str, act: str) -> None:
    program = f"""
a, b = Launch(first), Launch(second)
assert a.end() == 0
again = Launch(first)
{act}
time.sleep(10)
"""
    assert run(program) == -getattr(signal, how)


def test_the_processs_own_handler_has_what_is_no_kernels(run: Callable[[str], int]) -> None:
    # It leaves by longjmp, as often as it likes, and is the process's again at the end.
    program = """
first.handleFaults()
bad = ctypes.c_void_p(8)
mine = caught()
a, b = Launch(first, signal.SIGSEGV), Launch(second)
good = ctypes.create_string_buffer(4)
assert [first.isReadable(bad), first.isReadable(good)] == [0, 1]
assert [first.isReadable(bad) for _ in range(20)] == [0] * 20
assert a.end() == 700
assert first.isReadable(bad) == 0
assert b.end() == 0
assert caught() == mine
assert first.isReadable(bad) == 0
"""
    assert run(program) == 0


def test_handlers_that_pass_on_to_each_other_let_the_process_end(run: Callable[[str], int]) -> None:
    # The process's came while a kernel ran, and passes on to the runtime's; in the next launch that is its own.
    program = """
a = Launch(first)
first.chain(signal.SIGFPE)
assert a.end() == 0
a, b = Launch(first), Launch(second)
signal.raise_signal(signal.SIGFPE)
"""
    assert run(program) == -signal.SIGFPE


def test_a_handler_that_comes_during_a_launch_stays(run: Callable[[str], int]) -> None:
    program = """
a, b = Launch(first), Launch(second)
first.chain(signal.SIGFPE)
assert a.end() == b.end() == 0
assert caught() == sorted([*before, signal.SIGFPE]), caught()
"""
    assert run(program) == 0


def test_a_handler_has_its_mask_and_its_flags_during_launches_and_after(run: Callable[[str], int]) -> None:
    # Of the first launch of a runtime, which learns from it, and of later ones.
    program = """
first.handleWithMask()
for launch in range(3):
    a = Launch(first)
    signal.raise_signal(signal.SIGURG)
    assert first.blocked() == 0b1011, bin(first.blocked())
    b = Launch(second)
    assert a.end() == b.end() == 0
    assert first.hasMask() == 1, launch
"""
    assert run(program) == 0


def test_the_threads_stack_for_signals_is_its_own_again(run: Callable[[str], int]) -> None:
    program = """
first.giveStack.restype = ctypes.c_void_p
stack = ctypes.c_void_p(first.giveStack())
for library in (first, second):
    library.newWord.restype = ctypes.POINTER(ctypes.c_int)
    word = library.newWord()
    word[1] = 1
    assert library.runHold(word, signal.SIGSTKFLT) == 719
    assert first.hasStack(stack) == 1
"""
    assert run(program) == 0


def test_a_forked_child_launches_and_ends_while_the_parents_kernel_runs(run: Callable[[str], int]) -> None:
    program = """
a = Launch(first, signal.SIGSEGV)
child = os.fork()
if child == 0:
    assert caught() == before
    word = second.newWord
    word.restype = ctypes.POINTER(ctypes.c_int)
    word = word()
    word[1] = 1
    assert second.runHold(word, signal.SIGSEGV) == 700
    assert caught() == before
    ctypes.CDLL(None).exit(23) # with what libraries do at the end
until = time.monotonic() + 30
while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
    assert time.monotonic() < until
    time.sleep(0.01)
assert os.waitstatus_to_exitcode(ended[1]) == 23
assert a.end() == 700
assert caught() == before
"""
    assert run(program) == 0
