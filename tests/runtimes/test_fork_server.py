"""Who starts a worker, and that a forked one is like a program of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pluginkit import cli
from pluginkit.cli.testing import test_session
from pluginkit.errors import UsageError
from pluginkit.process import fork_server
from pluginkit.process.worker import Worker, WorkerCrashed
from pluginkit.run import libraries, runner
from pluginkit.run.options import Options

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "bar_plugin"


@pytest.fixture(autouse=True)
def own_server() -> Iterator[None]:
    """One for each test; what other tests have running goes on."""
    kept, message = dict(fork_server._running), fork_server._warned.is_set()
    fork_server._running.clear()
    fork_server._warned.clear()
    yield
    fork_server.stop()
    fork_server._running.update(kept)
    if message:
        fork_server._warned.set()


def start(**environment: str) -> Worker:
    return Worker("tests.runtimes.about_itself", {}, timeout=60, env=environment)


def parent(worker: Worker) -> int:
    found: int = worker.call("getppid")
    return found


def test_workers_are_the_servers_children_and_their_own_group() -> None:
    with start() as one, start(PLUGINKIT_X="1") as other:
        assert parent(one) == parent(other) != os.getpid()
        for worker in (one, other):
            assert worker.call("getpid") == worker.call("getpgrp") == worker.pid
        assert one.call("getcwd") == str(Path.cwd())
        assert other.call("getenv", key="PLUGINKIT_X") == "1"
        assert one.call("getenv", key="PLUGINKIT_X") is None


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONDEVMODE", "ASAN_OPTIONS"])
def test_what_is_read_at_the_start_makes_a_program_of_its_own(name: str) -> None:
    with start(**{name: "1"}) as worker:
        assert parent(worker) == os.getpid()
        assert worker.call("getenv", key=name) == "1"
    with start() as worker:
        assert parent(worker) != os.getpid(), "the server has not got it"
        assert worker.call("getenv", key=name) == os.environ.get(name)


def test_each_library_path_has_a_server_of_its_own_up_to_three(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = []
    for path in ("/a", "/b", "/a", "/c", "/b"):
        monkeypatch.setenv("LD_LIBRARY_PATH", path)
        with start() as worker:
            parents.append(parent(worker))
            assert f"LD_LIBRARY_PATH={path}".encode() in Path(f"/proc/{parents[-1]}/environ").read_bytes().split(b"\0")
    first, second, again, third, last = parents
    assert (first, second) == (again, last)
    assert len({first, second, third, os.getpid()}) == 4
    monkeypatch.setenv("LD_LIBRARY_PATH", "/d")
    with start() as worker:
        assert parent(worker) == os.getpid()


def test_descriptors_of_the_server_and_of_siblings_are_closed() -> None:
    with start() as one, start() as other:
        for worker in (one, other):
            held = [str(fd.readlink()) for fd in Path(f"/proc/{worker.pid}/fd").iterdir()]
            assert not [what for what in held if what.startswith("socket:")], held
            assert len([what for what in held if what.startswith("pipe:")]) == 2, held


def test_a_killed_server_takes_its_workers_along_and_the_next_one_has_another(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        with start() as worker:
            os.kill(parent(worker), signal.SIGKILL)
            with pytest.raises(WorkerCrashed, match="SIGKILL"):
                worker.call("pause")
        with start() as worker:
            assert parent(worker) == os.getpid()
        with start() as worker:
            assert parent(worker) != os.getpid()
    (output,) = caplog.records
    assert (output.name, output.levelname) == ("pluginkit", "WARNING")
    assert "results are the same" in output.getMessage()


def test_a_server_that_does_not_answer_is_not_asked_again_and_its_workers_live_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with start() as first:
        server = parent(first)
        os.kill(server, signal.SIGSTOP)
        try:
            monkeypatch.setattr(fork_server, "PATIENCE", 0.1)
            with start() as second:
                assert parent(second) == os.getpid()
                monkeypatch.undo()
                with start() as third:
                    assert parent(third) not in {os.getpid(), server}
                os.kill(server, signal.SIGCONT)
                # What it was asked for too late shares no pipe with anybody.
                for worker in (first, second):
                    assert [worker.call("getpid") for _ in range(20)] == [worker.pid] * 20
        finally:
            os.kill(server, signal.SIGCONT)
    assert "timed out" in caplog.text


def test_servers_that_do_not_answer_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server, "PATIENCE", 0.0)
    for _ in range(fork_server.MOST + 1):
        with start() as worker:
            assert parent(worker) == os.getpid()
    assert len(fork_server._silent) == fork_server.MOST
    monkeypatch.undo()
    with start() as worker:
        assert parent(worker) == os.getpid()
    fork_server.stop()
    with start() as worker:
        assert parent(worker) != os.getpid()


def test_a_person_is_told_on_stderr() -> None:
    code = (
        f"import sys\nsys.path[:] = {sys.path!r}\nfrom pluginkit.process import fork_server\n"
        "from pluginkit.process.worker import Worker\n"
        "fork_server.PATIENCE = 0.0\n"
        "for _ in range(2):\n    Worker('tests.runtimes.about_itself', {}, timeout=60).close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("The process from which pluginkit forks its workers gave none (")


def test_a_process_that_was_forked_has_a_server_of_its_own() -> None:
    code = (
        f"import os, sys\nsys.path[:] = {sys.path!r}\nfrom pluginkit.process.worker import Worker\n"
        "def served():\n    with Worker('tests.runtimes.about_itself', {}, timeout=60) as worker:\n"
        "        return worker.call('getppid')\n"
        "mine = served()\npid = os.fork()\n"
        "if not pid:\n    os._exit(0 if served() != mine else 1)\n"
        "print(os.waitpid(pid, 0)[1], served() == mine)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["0", "True"], done.stderr


def test_a_forked_server_that_fails_ends_instead_of_going_on_as_its_owner() -> None:
    code = (
        f"import os, sys\nsys.path[:] = {sys.path!r}\nfrom pluginkit.process import fork_server\n"
        "def fail(self):\n    raise OSError('no process is left')\n"
        "fork_server._Nursery.run = fail\n"
        "try:\n    print(fork_server.ForkServer.fork()._process.wait())\n"
        "except OSError:\n    print('it goes on')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "1\n"
    assert "OSError: no process is left" in done.stderr


def test_a_server_that_is_a_fork_has_nothing_of_what_the_process_has_open() -> None:
    """A lock or a pipe that it kept would outlive its owner's use of it; and Ctrl-C is the owner's."""
    code = (
        f"import os, sys\nsys.path[:] = {sys.path!r}\nread, write = os.pipe()\n"
        "from pluginkit.cli.testing import test_session\nfrom pluginkit.process import fork_server\n"
        "fork_server.branch()\nfrom pluginkit.process.worker import Worker\n"
        "with Worker('tests.runtimes.about_itself', {}, timeout=60) as worker:\n"
        "    server = worker.call('getppid')\n"
        "    held = {fd: os.readlink(f'/proc/{server}/fd/{fd}') for fd in os.listdir(f'/proc/{server}/fd')}\n"
        "    print(os.getsid(server) == server, [held[str(fd)] for fd in (0, 1, read, write)] == ['/dev/null'] * 4)\n"
        "    print(sum(what.startswith('pipe:') for fd, what in held.items() if fd != '2'))\n"
        "print(*[name for name in sys.modules if name.startswith(('tensorrt', 'onnxruntime', 'pycuda', 'torch'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["True", "True", "0"], done.stderr


@pytest.mark.parametrize(
    ("program", "options", "expected"),
    [
        (True, [], ["branch"]),
        (False, [], ["begin"]),
        (True, ["--sanitize", "address"], []),
        (True, ["--farm", "local:1"], []),
    ],
)
def test_the_test_command_forks_its_server_from_itself_only_where_the_process_is_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: bool, options: list[str], expected: list[str]
) -> None:
    """Of a process with threads of its own, a fork may wait forever for what one of them held."""
    done: list[str] = []

    def branch() -> None:
        done.append("branch")
        raise BlockingIOError  # of too many processes: the first worker says so

    monkeypatch.setattr(fork_server, "begin", lambda: done.append("begin"))
    monkeypatch.setattr(fork_server, "branch", branch)
    monkeypatch.setattr(test_session, "run", lambda **_: 0)
    assert cli.run(["test", str(tmp_path), *options], program=program) == 0
    assert done == expected


def test_the_server_ends_with_its_owner_though_a_fork_of_that_one_lives() -> None:
    code = (
        f"import os, sys, time\nsys.path[:] = {sys.path!r}\nfrom pluginkit.process.worker import Worker\n"
        "worker = Worker('tests.runtimes.about_itself', {}, timeout=60)\n"
        "if not os.fork():\n    time.sleep(30)\n    os._exit(0)\n"
        "print(worker.call('getppid'), worker.pid, flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True) as done:
        assert done.stdout is not None
        pids = [int(word) for word in done.stdout.readline().split()]
        try:
            assert len(pids) == 2
            deadline = time.monotonic() + 20
            while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert not [pid for pid in pids if alive(pid)]
        finally:
            os.killpg(done.pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_no_two_children_draw_the_same_numbers() -> None:
    drawn = []
    for module in ("numpy.random", "random", "numpy.random", "random"):
        with Worker(module, {}, timeout=60) as worker:
            drawn.append(worker.call("random"))
    assert len(set(drawn)) == 4


def test_what_a_child_was_born_with_is_no_garbage_to_it() -> None:
    with Worker("gc", {}, timeout=60) as worker:
        assert worker.call("get_freeze_count") > 10_000


def test_nothing_of_nvidias_is_in_the_server() -> None:
    code = (
        "import importlib, sys\nfrom pluginkit.process import fork_server\n"
        "for module in fork_server.PRELOADED:\n    importlib.import_module(module)\n"
        "print(*[name for name in sys.modules if name.startswith(('tensorrt', 'onnxruntime', 'pycuda', 'torch'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == ""


def test_what_runs_models_in_a_worker_imports_little() -> None:
    """A worker of `import`, `doctor` and `new --from-onnx` is made in the time of a fork: it imports no builder of
    projects and nothing that only the asker needs."""
    code = (
        "import importlib, sys\nfrom pluginkit.process import fork_server\n"
        "for module in (*fork_server.PRELOADED, 'pluginkit.importing.extraction.capture_worker',\n"
        "               'pluginkit.importing.sizes.sizes_worker', 'pluginkit.importing.hosted_worker'):\n"
        "    importlib.import_module(module)\n"
        "print(*{'pluginkit.build', 'pluginkit.process.worker', 'jinja2', 'polygraphy', 'elftools'} & {*sys.modules})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(("sanitize", "begun"), [((), 1), (("address",), 0)])
def test_a_run_starts_it_before_the_library_is_built(
    monkeypatch: pytest.MonkeyPatch, sanitize: tuple[str, ...], begun: int
) -> None:
    """It imports meanwhile; a sanitized build's workers have another environment."""
    calls: list[str] = []

    def make(*_: object) -> None:
        calls.append("build")
        raise UsageError("as far as that")

    monkeypatch.setattr(fork_server, "begin", lambda: calls.append("server"))
    monkeypatch.setattr(libraries, "make", make)
    with pytest.raises(UsageError, match="as far as that"):
        runner.run(Options(target="cpu", sanitize=sanitize))
    assert calls == ["server"] * begun + ["build"]


def test_an_error_of_the_build_does_not_wait_for_the_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are asked at once; what hangs is ended."""
    project = Path(shutil.copytree(SAMPLE, tmp_path / "bar", ignore=shutil.ignore_patterns("build")))
    asked = tmp_path / "asked"
    (project / "reference.py").write_text(
        f"import pathlib, time\npathlib.Path({str(asked)!r}).touch()\ntime.sleep(120)\n"
    )

    def make(*_: object) -> None:
        until = time.monotonic() + 60
        while not asked.exists():
            assert time.monotonic() < until, "the reference was not asked"
            time.sleep(0.01)
        raise UsageError("the build's own")

    monkeypatch.setattr(libraries, "make", make)
    begun = time.monotonic()
    with pytest.raises(UsageError, match="the build's own"):
        runner.run(Options(project=project, target="cpu", timeout=120))
    assert time.monotonic() - begun < 90  # a second on an idle machine
