"""A child-side module that does to its process what bad plugins do."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from pluginkit.errors import CheckFailed
from pluginkit.host.errors import Finding
from pluginkit.process.worker_main import CallFile


class Misbehaving:
    def __init__(self, call_file: CallFile) -> None:
        self.call_file = call_file

    def echo(self, value: object) -> object:
        return value

    def pid(self) -> int:
        return os.getpid()

    def abort(self) -> None:
        self.call_file.enter("configurePlugin")
        os.write(2, b"about to abort\n")
        os.abort()

    def sys_exit(self) -> None:
        sys.exit(3)

    def os_exit(self, code: int) -> None:
        os._exit(code)

    def thread_exit(self) -> None:
        threading.Thread(target=os._exit, args=(9,)).start()
        time.sleep(60)

    def segfault(self) -> None:
        self.call_file.enter("enqueue")
        ctypes.string_at(0)

    def exit_after_a_call(self) -> None:
        self.call_file.enter("terminate")
        self.call_file.leave()
        os._exit(1)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def hang_deaf(self, started: str) -> None:
        Path(started).touch()
        while True:
            pass

    def hang(self, where: str) -> None:
        self.call_file.enter(where)
        while True:
            pass

    def chatter(self, megabytes: int) -> int:
        for _ in range(megabytes):
            os.write(1, b"x" * 999_999 + b"\n")
            os.write(2, b"y" * 999_999 + b"\n")
        return megabytes

    def grandchild(self) -> int:
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"]).pid

    def grandchild_holding_pipes_then_exit(self, pid_file: str) -> None:
        pid = os.fork()
        if pid == 0:
            time.sleep(300)
            os._exit(0)
        Path(pid_file).write_text(str(pid))
        os._exit(5)

    def close_pipes_and_stay(self) -> None:
        os.closerange(3, 64)
        time.sleep(300)

    def check_failed(self) -> None:
        raise CheckFailed("y[3] is 7", hint="look there")

    def finding(self) -> None:
        raise Finding("IPluginV2::clone", "answered null", rule="L1", contained=True)

    def plain_error(self) -> None:
        raise ZeroDivisionError("by nought")

    def unpicklable(self) -> object:
        return lambda: None


def open(call_file: CallFile, *, fail: str = "") -> Misbehaving:  # noqa: A001
    if fail == "exit":
        os._exit(4)
    if fail:
        raise CheckFailed(fail)
    return Misbehaving(call_file)
