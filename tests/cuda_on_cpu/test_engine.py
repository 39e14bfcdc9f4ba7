"""Threads that work together: barriers, warps, spinning, and the order in which threads run."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.compilers import default_cxx

from .conftest import COMPILERS, Kit

pytestmark = pytest.mark.compile
Load = Callable[[str], ctypes.CDLL]

SCHEDULES = ["forward", "reverse", "7", "8"]


@pytest.fixture
def engine(load: Load) -> ctypes.CDLL:
    return load("engine")


@pytest.fixture(params=SCHEDULES)
def schedule(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    # Python's os.environ reaches the C library's environment, which the runtime reads at each launch.
    monkeypatch.setenv("PLUGINKIT_CPU_SCHEDULE", request.param)
    return str(request.param)


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize("threads", [1, 31, 32, 33, 100, 1024])
def test_barriers_count_and_fold_predicates(engine: ctypes.CDLL, schedule: str, threads: int) -> None:
    counts, ors, ands = (np.full(threads, -1, np.int32) for _ in range(3))
    for limit in (threads - 1, threads):
        assert engine.runBarriers(_at(counts), _at(ors), _at(ands), threads, limit) == 0
        assert (counts == (np.arange(threads) % 3 == 0).sum()).all()
        assert (ors == (limit < threads)).all()
        assert (ands == (limit == threads)).all()


def test_shared_memory_with_a_barrier_in_many_blocks(engine: ctypes.CDLL, schedule: str) -> None:
    x = np.random.default_rng(1).standard_normal((3000, 256)).astype(np.float32)
    y = np.zeros_like(x)
    assert engine.runReverse(_at(x), _at(y), len(x)) == 0
    np.testing.assert_array_equal(y, x[:, ::-1])


@pytest.mark.parametrize(("threads", "n"), [(64, 64), (64, 40), (96, 33), (1024, 1000)])
def test_threads_that_returned_are_not_waited_for(engine: ctypes.CDLL, schedule: str, threads: int, n: int) -> None:
    y = np.full(threads, -1, np.float32)
    assert engine.runEarlyReturn(_at(y), threads, n) == 0
    np.testing.assert_array_equal(y[:n], np.cumsum(np.arange(n)))
    assert (y[n:] == -1).all()


@pytest.mark.parametrize(("threads", "blocks"), [(1, 1), (64, 300), (97, 1), (1024, 1)])
def test_threads_end_by_exit_wherever_they_are(engine: ctypes.CDLL, schedule: str, threads: int, blocks: int) -> None:
    counts, sums = (np.full(threads, -1, np.int32) for _ in range(2))
    assert engine.runExits(_at(counts), _at(sums), threads, blocks) == 0
    alive = [sum(t % 4 > round_ for t in range(threads)) for round_ in range(3)]
    # A thread's last count is of the round before it went; none, if it went at once.
    expected = [([-1, *alive][t % 4]) for t in range(threads)]
    np.testing.assert_array_equal(counts, expected)
    assert (sums[np.arange(threads) % 4 != 3] == -1).all()
    assert all(1 <= each <= 8 for each in sums[np.arange(threads) % 4 == 3])


def test_copies_of_cuda_pipeline(engine: ctypes.CDLL, schedule: str) -> None:
    x = np.arange(256, dtype=np.float32)
    y = np.zeros_like(x)
    assert engine.runPipelined(_at(x), _at(y), 256) == 0
    np.testing.assert_array_equal(y, x[::-1])


@pytest.mark.parametrize("width", [4, 8, 16, 32])
def test_shuffles_stay_in_their_segment(engine: ctypes.CDLL, schedule: str, width: int) -> None:
    n = 64
    got = np.zeros((4, n), np.int32)
    assert engine.runShuffles(_at(got), n, width) == 0
    t = np.arange(n)
    begin = t - t % width
    up, down, other = t - 3, t + 3, t ^ 6
    np.testing.assert_array_equal(got[0], begin + 5 % width)
    np.testing.assert_array_equal(got[1], np.where(up >= begin, up, t))
    np.testing.assert_array_equal(got[2], np.where(down < begin + width, down, t))
    np.testing.assert_array_equal(got[3], np.where(other < begin + width, other, t))


def test_a_lane_that_is_not_there_gives_poison(engine: ctypes.CDLL) -> None:
    got = np.zeros((4, 20), np.int32)
    assert engine.runShuffles(_at(got), 20, 32) == 0
    assert got[2, :17].tolist() == list(range(3, 20))
    assert got[2, 17:].tolist() == [-1, -1, -1]


def test_votes_matches_and_reductions(engine: ctypes.CDLL, schedule: str) -> None:
    n = 80  # the last warp has 16 lanes
    got = np.zeros((7, n), np.uint32)
    assert engine.runVotes(_at(got), n) == 0
    for first in range(0, n, 32):
        lanes = np.arange(first, min(first + 32, n))
        here = slice(first, lanes[-1] + 1)
        bits = [1 << (t - first) for t in lanes]
        assert (got[0, here] == sum(b for b, t in zip(bits, lanes, strict=True) if t % 3 == 0)).all()
        assert (got[1, here] == (40 in lanes)).all()
        assert (got[2, here] == (lanes < 64).all()).all()
        assert got[3, here].tolist() == [
            sum(b for b, u in zip(bits, lanes, strict=True) if u % 4 == t % 4) for t in lanes
        ]
        assert (got[4, here] == 1).all()
        assert (got[5, here] == lanes.sum()).all()
        assert (got[6, here] == (lanes ^ 1).max()).all()


def test_lanes_of_a_branch_meet_without_the_others(engine: ctypes.CDLL, schedule: str) -> None:
    got = np.zeros(64, np.uint32)
    assert engine.runBranches(_at(got)) == 0
    assert got.tolist() == [0xFFF + (t // 32 * 32 << 16) if t % 32 < 12 else 0xFFFFF000 for t in range(64)]


@pytest.mark.parametrize("workers", ["1", "4"])
def test_a_block_may_wait_for_a_later_one(engine: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, workers: str) -> None:
    monkeypatch.setenv("PLUGINKIT_CPU_WORKERS", workers)
    got = np.zeros((3, 40), np.int32)
    assert engine.runWaitForAnotherBlock(_at(got), 3, 40) == 0
    assert (got[0] == 1).all()


def test_a_lock_is_held_by_one_thread_at_a_time(engine: ctypes.CDLL, schedule: str) -> None:
    count = np.zeros(1, np.int32)
    assert engine.runLocked(_at(count), 7, 96) == 0
    assert count[0] == 7 * 96


def _places(engine: ctypes.CDLL, blocks: int = 5, threads: int = 70) -> list[int]:
    counter, places = np.zeros(1, np.int32), np.full(blocks * threads, -1, np.int32)
    assert engine.runOrder(_at(counter), _at(places), blocks, threads) == 0
    return [int(each) for each in places]


def test_the_schedule_says_who_runs_first(engine: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    everyone = list(range(350))
    assert _places(engine) == everyone
    monkeypatch.setenv("PLUGINKIT_CPU_SCHEDULE", "reverse")
    assert _places(engine) == everyone[::-1]
    monkeypatch.setenv("PLUGINKIT_CPU_SCHEDULE", "3")
    shuffled = _places(engine)
    assert shuffled not in (everyone, everyone[::-1])
    assert sorted(shuffled) == everyone


def test_only_a_whole_name_is_a_setting(engine: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    everyone = list(range(350))
    for other in ("PLUGINKIT_CPU_SCHEDULES", "PLUGINKIT_CPU_SCHED", "CPU_SCHEDULE", "XPLUGINKIT_CPU_SCHEDULE"):
        monkeypatch.setenv(other, "reverse")
    assert _places(engine) == everyone
    monkeypatch.setenv("PLUGINKIT_CPU_SCHEDULE", "reverse")
    monkeypatch.setenv("PLUGINKIT_CPU_TIME_LIMIT", "")  # as if it weren't set
    monkeypatch.setenv("PLUGINKIT_CPU_DEFERRED", "")
    assert _places(engine) == everyone[::-1]


def test_blocks_and_threads_in_three_dimensions(engine: ctypes.CDLL, schedule: str) -> None:
    x, y, z = 4, 3, 2
    got = np.zeros((y, x, z, z, y, x), np.uint32)  # the grid is (z, x, y), the block (x, y, z)
    assert engine.runCoordinates(_at(got), x, y, z) == 0
    bz, by, bx, tz, ty, tx = np.indices(got.shape)
    np.testing.assert_array_equal(got, tx + 10 * ty + 100 * tz + 1000 * bx + 10000 * by + 100000 * bz)


def test_blocks_are_shared_among_host_threads(engine: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLUGINKIT_CPU_WORKERS", "4")
    before = len(list(Path("/proc/self/task").iterdir()))
    x = np.random.default_rng(1).standard_normal((20000, 256)).astype(np.float32)
    y = np.zeros_like(x)
    assert engine.runReverse(_at(x), _at(y), len(x)) == 0
    np.testing.assert_array_equal(y, x[:, ::-1])
    assert len(list(Path("/proc/self/task").iterdir())) == before  # none of them is left


_COUNTS_THREADS = """
#include <dlfcn.h>
#include <pthread.h>

static int started;

int threadsStarted(void)
{
    return __atomic_exchange_n(&started, 0, __ATOMIC_SEQ_CST);
}

int pthread_create(pthread_t *thread, pthread_attr_t const *attributes, void *(*begin)(void *), void *argument)
{
    int (*real)(pthread_t *, pthread_attr_t const *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    __atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST);
    return real(thread, attributes, begin, argument);
}
"""

_STARTS = """
import ctypes, sys

library, count = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(None).threadsStarted
values, reversed_ = ((ctypes.c_float * (20000 * 256))() for _ in range(2))

def started(launch, *arguments):
    count()
    assert launch(*arguments) == 0
    return count()

print(started(library.runReverse, values, reversed_, 1),
      started(library.runIncrement, values, 1, 1000),
      started(library.runReverse, values, reversed_, 20000))
"""


def test_launches_of_one_block_start_no_host_threads(kit: Kit, tmp_path: Path) -> None:
    # 5 million barriers are worth sharing on any machine.
    source, counter = tmp_path / "counter.c", tmp_path / "counter.so"
    source.write_text(_COUNTS_THREADS)
    flags = ["-x", "c", "-D_GNU_SOURCE", "-shared", "-fPIC"]
    subprocess.run([default_cxx(), *flags, str(source), "-o", str(counter), "-ldl"], check=True)
    environment = os.environ | {"PLUGINKIT_CPU_WORKERS": "4", "LD_PRELOAD": str(counter)}
    command = [sys.executable, "-S", "-c", _STARTS, str(kit.library("engine"))]
    done = subprocess.run(command, check=True, timeout=60, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["0", "0", "3"]


def test_the_timer_finds_every_thread_once(engine: ctypes.CDLL) -> None:
    values = np.zeros((1024, 1024), np.float32)
    assert engine.runIncrement(_at(values), len(values), 300) == 0
    assert (values == 300).all()


@pytest.mark.parametrize("cxx", COMPILERS)
@pytest.mark.parametrize("order", ["forward", "7"])
def test_stops_anywhere_find_every_thread_once(kit: Kit, cxx: str, order: str) -> None:
    # Its own process: the timer's signal is sent to it some thousand times, between threads and in them.
    library = kit.library("stops", cxx)
    environment = os.environ | {"PLUGINKIT_CPU_WORKERS": "1", "PLUGINKIT_CPU_SCHEDULE": order}
    program = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).runStops(3))"
    command = [sys.executable, "-S", "-c", program, str(library)]
    done = subprocess.run(command, check=True, timeout=120, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["0"]


_ELSEWHERE = """
import ctypes, os, sys, threading

library = ctypes.CDLL(sys.argv[1])

def waits():
    got = (ctypes.c_int * 120)()
    assert library.runWaitForAnotherBlock(got, 3, 40) == 0
    assert set(got[:40]) == {1}

waits()
for _ in range(2):
    thread = threading.Thread(target=waits)
    thread.start()
    thread.join()
    waits()
for _ in range(2):
    child = os.fork()
    if child == 0:
        waits()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    waits()
"""


def test_the_timer_is_the_running_threads_and_the_childs(kit: Kit) -> None:
    # One worker, which is kept from launch to launch; without its timer the kernel would never end.
    environment = os.environ | {"PLUGINKIT_CPU_WORKERS": "1"}
    subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, str(kit.library("engine"))], check=True, timeout=60, env=environment
    )


_TOGETHER = """
import ctypes, os, signal, sys, threading

def waits(library):
    for _ in range(4):
        got = (ctypes.c_int * 120)()
        assert library.runWaitForAnotherBlock(got, 3, 40) == 0
        assert set(got[:40]) == {1}
    done.append(library)

done, heard = [], []
signal.signal(signal.SIGURG, lambda *_: heard.append(1))
threads = [threading.Thread(target=waits, args=[ctypes.CDLL(path)]) for path in sys.argv[1:]]
for thread in threads:
    thread.start()
while len(done) < len(threads) and any(thread.is_alive() for thread in threads):
    os.kill(os.getpid(), signal.SIGURG)
    threads[0].join(0.01)
assert len(done) == len(threads)
print(len(heard) > 1)
"""


def test_two_libraries_and_the_process_get_their_own_signals(kit: Kit, tmp_path: Path) -> None:
    # A handler is the process's: without what is passed on, the kernel of the library that came first would never end.
    libraries = [shutil.copy(kit.library("engine"), tmp_path / f"{name}.so") for name in ("first", "second")]
    environment = os.environ | {"PLUGINKIT_CPU_WORKERS": "1"}
    command = [sys.executable, "-c", _TOGETHER, *map(str, libraries)]
    done = subprocess.run(command, check=True, timeout=60, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["True"]


@pytest.mark.parametrize("order", ["forward", "reverse", "6"])
def test_the_blocks_of_a_cooperative_launch_wait_for_one_another(
    engine: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    monkeypatch.setenv("PLUGINKIT_CPU_SCHEDULE", order)
    # A random order comes back to waiting blocks many times.
    blocks = 20 if order != "6" else 8
    written, sums = np.zeros(blocks * 33, np.int32), np.zeros(blocks * 33, np.int32)
    assert engine.runGridRounds(_at(written), _at(sums), blocks, 33, True) == 0
    assert (sums == 6 * ((np.arange(sums.size) + sums.size // 2) % sums.size)).all()


def test_a_grid_that_cannot_wait_is_said_to(engine: ctypes.CDLL, capfd: pytest.CaptureFixture[str]) -> None:
    nothing = ctypes.c_void_p()
    assert engine.runGridRounds(nothing, nothing, 14 * 64 + 1, 32, True) == 720  # cudaErrorCooperativeLaunchTooLarge
    assert "of which only 224 can run at once" in capfd.readouterr().err
