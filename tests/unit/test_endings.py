"""How commands end that are stopped, or whose reader goes away: no traceback, no "bug", nothing left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pluginkit import scaffold

_NO_READER = """
import os, sys
from pluginkit import cli
read, write = os.pipe()
os.close(read)
os.dup2(write, 1)
cli.main(sys.argv[1:])
"""
_INTERRUPTED_IMPORT = """
import os, signal, sys
from pluginkit import cli

class Extension:
    # An extension module takes Ctrl-C for a failure of its imports.
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            try:
                os.kill(os.getpid(), signal.SIGINT)
                for _ in range(1000):
                    pass
            except KeyboardInterrupt:
                raise ImportError("failed to import") from None
        return None

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
sys.meta_path.insert(0, Extension())
cli.main(sys.argv[2:])
"""
_EARLY = """
import os, signal, sys
from pluginkit.__main__ import main

class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)
        return None

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Pressed())
main()
"""
_OUTSIDE = """
import atexit, os, signal, sys

def press():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass

signal.signal(signal.SIGINT, signal.default_int_handler)
from pluginkit.__main__ import main
if sys.argv.pop(1) == "before":
    press()
atexit.register(press)
main()
"""
_AT_AN_EVENT = """
import os, signal, sys
number, told = int(sys.argv.pop(1)), sys.argv.pop(1)
process, seen = os.getpid(), 0

def event(name, _):
    global seen
    if name in ("import", "open", "exec", "os.mkdir", "os.rename", "subprocess.Popen") and os.getpid() == process:
        seen += 1
        if seen == number:
            os.kill(process, signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
from pluginkit import __main__
sys.addaudithook(event)
try:
    __main__.main()
finally:
    number = 0
    with open(told, "w") as file:
        file.write(str(seen))
"""
_DESTRUCTOR = """
import os, signal, time
from pluginkit.cli import interrupts

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with interrupts.kept():
        Dropped()
        time.sleep(50)
except KeyboardInterrupt:
    print("stopped")
"""
_SLOW = "#!/bin/sh\nsleep 60\n"


@pytest.mark.parametrize("command", [["info"], ["--help"], ["--version"]])
def test_a_reader_that_goes_away_is_no_failed_check(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _NO_READER, *command], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("pluginkit.cli.testing.test", ["test", "--help"]),
        ("ml_dtypes", ["test", "."]),
        ("pluginkit.host.context", ["test", "."]),
    ],
)
def test_an_interrupted_import_is_no_bug(tmp_path: Path, module: str, command: list[str]) -> None:
    # Each is first imported by: the group; what `test` needs; what its workers need.
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_IMPORT, module, *command],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr.strip()) == (130, "stopped: Stopped.")


@pytest.mark.parametrize("module", ["pluginkit.cli", "click", "pluginkit.cli.errors"])
def test_ctrl_c_before_there_is_a_command_line(module: str) -> None:
    """The program's first quarter of a second is imports. Python's own start can't be caught."""
    done = subprocess.run(
        [sys.executable, "-c", _EARLY, module], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr.strip()) == (130, "stopped: Stopped.")


@pytest.mark.parametrize("when", ["before", "after"])
def test_ctrl_c_before_and_after_all_that_a_command_does(when: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _OUTSIDE, when, "--version"], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (130, "stopped: Stopped.\n")


def test_ctrl_c_in_a_destructor_is_not_lost() -> None:
    done = subprocess.run([sys.executable, "-c", _DESTRUCTOR], check=False, capture_output=True, text=True, timeout=40)
    assert (done.stdout, done.stderr) == ("stopped\n", "")


MOMENTS = 6


@pytest.mark.parametrize(
    "command", [("new", "Other"), ("add", "Other", "--project", "mine")], ids=lambda words: words[0]
)
def test_ctrl_c_at_any_moment(tmp_path: Path, command: tuple[str, ...]) -> None:
    """One sentence and the exit code; all is written, or nothing: at imports and files, spread over the command."""
    (tmp_path / "before").mkdir()
    scaffold.new("Mine", directory=tmp_path / "before")

    def run(number: int) -> tuple[int, str, dict[str, bytes]]:
        folder, told = tmp_path / str(number), tmp_path / "told"
        shutil.copytree(tmp_path / "before", folder)
        code = [sys.executable, "-c", _AT_AN_EVENT, str(number), told, *command]
        done = subprocess.run(code, check=False, capture_output=True, text=True, timeout=60, cwd=folder)
        return done.returncode, done.stderr.strip(), _files(folder)

    code, text, whole = run(-1)
    before = _files(tmp_path / "before")
    assert (code, text) == (0, "")
    assert whole != before
    events = int((tmp_path / "told").read_text())
    assert events > 100
    for number in range(1, events, events // MOMENTS):
        code, text, left = run(number)
        assert (number, code, text) == (number, 130, "stopped: Stopped.")
        assert left in (before, whole), number


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


_ENDED_WHILE_IT_IS_MADE = """
import os, signal, sys, tempfile, threading, time
from pluginkit.cuda_cpu import compile
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()  # as NumPy has some, on more than one core
made = tempfile.mkdtemp
def ended(*arguments, **options):
    folder = made(*arguments, **options)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.1)  # till the thread that takes it has
    return folder
tempfile.mkdtemp = ended
sys.exit(compile.main())
"""


def test_a_compiler_that_is_ended_while_its_folder_is_made_leaves_none(tmp_path: Path) -> None:
    (tmp_path / "a.cu").touch()
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, "-c", _ENDED_WHILE_IT_IS_MADE, "--cxx", "g++", "-o", tmp_path / "a.o", tmp_path / "a.cu"]
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    assert subprocess.run(command, check=False, timeout=60, env=environment).returncode == 128 + signal.SIGTERM
    assert not list((tmp_path / "temporary").iterdir())


def test_a_compiler_that_ninja_ends_leaves_no_folder(tmp_path: Path) -> None:
    source, compiler, folder = tmp_path / "a.cu", tmp_path / "g++", tmp_path / "temporary"
    source.touch()
    compiler.write_text(_SLOW)
    compiler.chmod(0o755)
    folder.mkdir()
    command = [sys.executable, "-m", "pluginkit.cuda_cpu.compile", "--cxx", compiler, "-o", tmp_path / "a.o", source]
    child = subprocess.Popen(command, env=os.environ | {"TMPDIR": str(folder)}, start_new_session=True)
    until = time.monotonic() + 60
    while not list(folder.iterdir()):
        assert time.monotonic() < until
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGTERM)
    assert child.wait(60) == 128 + signal.SIGTERM
    assert not list(folder.iterdir())
