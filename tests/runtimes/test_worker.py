"""Workers with children that abort, exit, hang, crash, flood and fork: each an outcome, none an orphan."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pluginkit.errors import CheckFailed
from pluginkit.host.errors import Finding
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerError, WorkerTimeout, _without_cpu

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HERE))


def start(timeout: float = 20.0, **init: object) -> Worker:
    return Worker("misbehaving", dict(init), timeout=timeout)


@pytest.fixture
def worker() -> Iterator[Worker]:
    with start() as worker:
        yield worker


def gone(pid: int) -> bool:
    """Whether a process has ended, within two seconds (a zombie whose reaper is another process counts)."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_values_cross_both_ways(worker: Worker) -> None:
    array = np.arange(3_000_000, dtype=np.float32)
    assert np.array_equal(worker.call("echo", value=array), array)
    assert worker.call("echo", value={"a": (1, None)}) == {"a": (1, None)}


def test_a_child_has_its_time_on_a_busy_machine_too(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it waits for a CPU is not its time."""
    waited = iter([2.0])
    monkeypatch.setattr("pluginkit.process.worker._without_cpu", lambda pid: next(waited, 2.0 + 20.0))
    assert worker.call("sleep", seconds=0.5, timeout=0.1) is None
    monkeypatch.setattr("pluginkit.process.worker._without_cpu", lambda pid: 2.0)
    with pytest.raises(WorkerTimeout):
        worker.call("sleep", seconds=20.0, timeout=0.1)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel doesn't count waiting for a CPU")
def test_the_kernel_counts_what_a_process_waits_for_a_cpu() -> None:
    """Two processes that share a CPU have half of it each."""
    (cpu, *_) = sorted(os.sched_getaffinity(0))
    code = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"
    busy = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    try:
        end = time.monotonic() + 20
        while min(_without_cpu(one.pid) for one in busy) < 0.1 and time.monotonic() < end:
            time.sleep(0.05)
        assert min(_without_cpu(one.pid) for one in busy) >= 0.1
    finally:
        for one in busy:
            one.kill()
            one.wait()
    assert _without_cpu(busy[0].pid) == 0.0
    assert _without_cpu(None) == 0.0


def test_abort_names_signal_call_and_last_words(worker: Worker) -> None:
    with pytest.raises(WorkerCrashed) as caught:
        worker.call("abort")
    assert (caught.value.how, caught.value.last_call) == ("SIGABRT", "configurePlugin")
    assert "about to abort" in caught.value.log_tail
    assert "SIGABRT in configurePlugin" in caught.value.message
    assert caught.value.exit_code == 6


def test_segfault(worker: Worker) -> None:
    with pytest.raises(WorkerCrashed) as caught:
        worker.call("segfault")
    assert (caught.value.how, caught.value.last_call) == ("SIGSEGV", "enqueue")


@pytest.mark.parametrize(
    ("method", "arguments", "how"),
    [
        ("sys_exit", {}, "exit code 3"),
        ("os_exit", {"code": 7}, "exit code 7"),
        ("os_exit", {"code": 0}, "exit code 0"),
        ("thread_exit", {}, "exit code 9"),
    ],
)
def test_exits(worker: Worker, method: str, arguments: dict[str, int], how: str) -> None:
    with pytest.raises(WorkerCrashed) as caught:
        worker.call(method, **arguments)
    assert caught.value.how == how


def test_an_end_outside_of_native_code_says_so(worker: Worker) -> None:
    with pytest.raises(WorkerCrashed, match="exit code 1 after terminate had returned") as caught:
        worker.call("exit_after_a_call")
    assert (caught.value.last_call, caught.value.inside) == ("terminate", False)


def test_the_childs_environment_and_module_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "os.py").write_text("raise SystemExit('the working directory was searched')")
    with Worker("posixpath", {}, timeout=20, env={"PLUGINKIT_X": "1"}) as worker:
        assert worker.call("expandvars", path="$PLUGINKIT_X") == "1"


def test_a_program_may_stand_before_the_child(tmp_path: Path) -> None:
    """One that starts it as its own, as compute-sanitizer does."""
    between = tmp_path / "between"
    between.write_text('#!/bin/sh\necho "started $1"\nshift\n"$@"\nexit 9\n')
    between.chmod(0o755)
    command = (str(between), "by me")
    with Worker("tests.runtimes.misbehaving", {}, timeout=30, command=command) as worker:
        assert worker.call("echo", value=[1]) == [1]
        assert worker.call("pid") != worker.pid
        with pytest.raises(WorkerCrashed, match="exit code 9 in configurePlugin"):
            worker.call("abort")


def test_a_hang_is_killed_in_time_and_named() -> None:
    with start() as worker:
        pid = worker.call("pid")
        begun = time.monotonic()
        with pytest.raises(WorkerTimeout) as caught:
            worker.call("hang", where="enqueue", timeout=0.5)
        assert time.monotonic() - begun < 5
        assert caught.value.last_call == "enqueue"
        assert "0.5 s in enqueue" in caught.value.message
        assert gone(pid)
        with pytest.raises(WorkerError, match="closed"):
            worker.call("pid")


def test_megabytes_of_output_neither_block_nor_mix_in(worker: Worker) -> None:
    assert worker.call("chatter", megabytes=5) == 5
    with pytest.raises(WorkerCrashed) as caught:
        worker.call("abort")
    assert len(caught.value.log_tail) <= 4000


def test_grandchildren_die_with_close() -> None:
    with start() as worker:
        grandchild = worker.call("grandchild")
        assert Path(f"/proc/{grandchild}").exists()
    assert gone(grandchild)


def test_a_grandchild_that_holds_the_pipe_does_not_hide_the_end(worker: Worker, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    with pytest.raises(WorkerCrashed) as caught:
        worker.call("grandchild_holding_pipes_then_exit", pid_file=str(pid_file))
    assert caught.value.how == "exit code 5"
    assert gone(int(pid_file.read_text()))


def test_closed_pipes_of_a_living_child(worker: Worker) -> None:
    pid = worker.call("pid")
    with pytest.raises(WorkerCrashed, match="closed pipe"):
        worker.call("close_pipes_and_stay")
    assert gone(pid)


def test_errors_of_pluginkit_arrive_intact_and_the_child_lives_on(worker: Worker) -> None:
    with pytest.raises(CheckFailed) as caught:
        worker.call("check_failed")
    assert (caught.value.message, caught.value.hint) == ("y[3] is 7", "look there")
    with pytest.raises(Finding, match="answered null") as found:
        worker.call("finding")
    assert (found.value.method, found.value.rule, found.value.contained) == ("IPluginV2::clone", "L1", True)
    assert worker.call("echo", value=1) == 1


def test_other_errors_bring_kind_and_traceback(worker: Worker) -> None:
    with pytest.raises(WorkerError, match="by nought") as caught:
        worker.call("plain_error")
    assert caught.value.kind == "ZeroDivisionError"
    assert "plain_error" in caught.value.traceback
    with pytest.raises(WorkerError, match="can't be sent"):
        worker.call("unpicklable")
    assert worker.call("echo", value=2) == 2


def test_open_that_fails_or_exits_leaves_nothing() -> None:
    with pytest.raises(CheckFailed, match="no such plugin"):
        start(fail="no such plugin")
    with pytest.raises(WorkerCrashed, match="exit code 4"):
        start(fail="exit")


def test_close_removes_the_files_and_can_be_repeated(worker: Worker) -> None:
    folder = worker.call_file.parent
    assert folder.exists()
    worker.close()
    worker.close()
    assert not folder.exists()


def test_no_orphans_when_the_parent_is_killed(tmp_path: Path) -> None:
    script = (
        f"import sys\nsys.path[:] = {sys.path!r}\nfrom pluginkit.process.worker import Worker\n"
        "w = Worker('misbehaving', {}, timeout=60)\n"
        f"print(w.call('pid'), flush=True)\nw.call('hang_deaf', started={str(tmp_path / 'started')!r})\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        # A child that waits for a request would see the closed pipe: this one looks at nothing.
        while not (tmp_path / "started").exists():
            time.sleep(0.02)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert gone(child)


def test_a_run_that_is_given_up_ends_its_workers_and_no_others_and_wakes_who_waits() -> None:
    script = (
        f"import sys, threading, time\nsys.path[:] = {sys.path!r}\n"
        "from pluginkit.process import worker\n"
        "run, other = worker.Group(), worker.Group()\n"
        "with other:\n"
        "    stays = worker.Worker('misbehaving', {}, timeout=60)\n"
        "with run:\n"
        "    w = worker.Worker('misbehaving', {}, timeout=60)\n"
        "said = []\n"
        "def wait():\n"
        "    try:\n"
        "        w.call('hang', where='enqueue')\n"
        "    except worker.WorkerCrashed as error:\n"
        "        said.append(error.how)\n"
        "thread = threading.Thread(target=wait)\n"
        "thread.start()\n"
        "time.sleep(0.5)\n"
        "run.kill()\n"
        "thread.join(10)\n"
        "print(said, w.pid, stays.pid is not None)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "['SIGKILL'] None True\n"
