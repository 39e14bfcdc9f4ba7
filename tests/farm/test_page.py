"""docs/farm.md, followed on loopback: a scheduler, workers, and a run on them, by the commands of the page."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.farm.cluster import PATIENT

PAGE = (Path(__file__).parents[2] / "docs" / "farm.md").read_text(encoding="utf-8")
STEPS = [
    line.removeprefix("$ ").partition("  #")[0].strip()
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]


def commands(program: str, *, tls: bool = False) -> list[str]:
    """The page's, in order: of the farm on a private network, or of that with TLS."""
    found = [one for one in STEPS if one.startswith(program) and ("tls" in one) is tls]
    return [one for one in found if "CUDA_VISIBLE_DEVICES" not in one]


def here(command: str, port: int) -> list[str]:
    """The command for this machine alone."""
    words = shlex.split(re.sub(r"10\.0\.0\.\d+", "127.0.0.1", command).replace(":8786", f":{port}"))
    return [sys.executable, "-m", *words]


@contextmanager
def background(command: list[str], folder: Path) -> Iterator[None]:
    process = subprocess.Popen(
        [*command, *(["--no-dashboard"] if "dask" in command else [])],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
@pytest.mark.compile
def test_the_page_on_loopback(bar: Path, tmp_path: Path) -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (scheduler,) = commands("dask scheduler")
    (worker,) = commands("dask worker")
    (farm,) = commands("pluginkit farm")
    (test,) = [one for one in commands("pluginkit test --farm tcp") if "gpu" not in one]
    started = [*here(scheduler, port), "--port", str(port)]
    with background(started, tmp_path), background([*here(worker, port), "--nthreads", "1"], tmp_path):
        deadline = time.monotonic() + PATIENT
        while (asked := run(here(farm, port), tmp_path)).returncode:
            assert time.monotonic() < deadline, asked.stderr
            time.sleep(0.5)
        assert "1 worker" in asked.stdout
        ran = run([*here(test, port), "--network", "plain", "--fp32"], bar)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "by 1 worker on 1 machine" in " ".join(ran.stdout.split())
        none = run([*here(test, port), "--target", "gpu"], bar)
        assert (none.returncode, "No worker of the farm has a GPU" in none.stderr) == (4, True)


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("page", ["farm.md", "ci.md"])
def test_nothing_is_started_on_every_address(page: str) -> None:
    """Who reaches a scheduler or a worker runs code there; without --host Dask listens on all addresses."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    started = re.findall(r"dask (?:scheduler|worker) [^#\n`]*--[^#\n`]*", text)
    started += re.findall(r"^\$ .*?(dask (?:scheduler|worker)\b[^#\n]*)", text, re.MULTILINE)
    assert started
    named = [one for one in started if one != "dask scheduler --scheduler-file FILE"]
    assert [one for one in named if "--host" not in one or "--dashboard-address" not in one] == []


def test_the_page_has_the_commands() -> None:
    """And every option of pluginkit's that it names is one."""
    assert len(commands("dask", tls=True)) == 2
    shown = subprocess.run(
        [sys.executable, "-m", "pluginkit", "test", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for command in (one for one in STEPS if one.startswith("pluginkit test")):
        for word in shlex.split(command):
            assert not word.startswith("--") or word in shown, command
