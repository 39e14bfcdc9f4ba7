"""Ninja that begins before the build: what is taken over, what is ended, and who has the folder meanwhile."""

from __future__ import annotations

import fcntl
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pluginkit.build import cache
from pluginkit.process import early_build


def settings(ninja: str | Path, project: Path) -> str:
    return cache.script({"CMAKE_MAKE_PROGRAM": str(ninja), "PLUGINKIT_PROJECT": str(project)})


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A built project's folder, whose Ninja writes its process id and says what it was asked."""
    folder = tmp_path / "build" / "cpu"
    (folder / "cmake").mkdir(parents=True)
    ninja = tmp_path / "ninja"
    ninja.write_text(
        '#!/bin/sh\necho $$ > "$2/pid"\necho "$NINJA_STATUS$*"\nif [ -e "$2/slow" ]; then sleep 60; fi\necho end\n'
    )
    ninja.chmod(0o755)
    (folder / "cmake" / "build.ninja").touch()
    (folder / "cmake" / early_build.INIT).write_text(settings(ninja, tmp_path))
    yield folder
    early_build.cancel()


def asked(place: Path, *more: str) -> list[str]:
    return [str(place.parents[1] / "ninja"), "-C", str(place / "cmake"), "all", *more]


def free(place: Path) -> bool:
    """Whether another process could build in the folder."""
    with (place / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def started(place: Path) -> int:
    """The process id of the folder's Ninja."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if (text := (place / "cmake" / "pid").read_text() if (place / "cmake" / "pid").exists() else "").endswith("\n"):
            return int(text)
        time.sleep(0.01)
    raise AssertionError("it did not start")


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_who_builds_has_what_it_wrote_and_the_lock(place: Path) -> None:
    early_build.begin(place.parents[1])
    assert not free(place)
    lines: list[str] = []
    with early_build.locked(place) as begun:
        assert begun is not None
        done = begun.finish(asked(place), lines.append)
        assert not free(place)
        assert begun.finish(asked(place), lines.append) is None  # once
    assert done is not None
    assert done.ok
    assert lines == [f"[%f/%t/%s] -C {place}/cmake all", "end"]
    assert free(place)


@pytest.mark.parametrize("how", ["another command", "configured again", "an error", "no build"])
def test_what_is_not_asked_is_ended(place: Path, how: str) -> None:
    (place / "cmake" / "slow").touch()
    early_build.begin(place.parents[1])
    pid = started(place)
    if how == "no build":
        early_build.cancel()
    else:
        with early_build.locked(place) as begun:
            assert begun is not None
            if how == "another command":
                assert begun.finish(asked(place, "module"), lambda _: None) is None
            elif how == "configured again":
                begun.cancel()
    assert gone(pid)
    assert free(place)
    with early_build.locked(place) as begun:
        assert begun is None


def test_nothing_begins_where_somebody_builds_or_nothing_was_built(place: Path, tmp_path: Path) -> None:
    early_build.begin(tmp_path / "build")  # not a project
    with (place / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        early_build.begin(tmp_path)
    # Also where the project was copied from another folder, which is what Ninja would build.
    for text in ("", settings("/nowhere/ninja", tmp_path), settings(tmp_path / "ninja", tmp_path / "original")):
        (place / "cmake" / early_build.INIT).write_text(text)
        early_build.begin(tmp_path)
    (place / "cmake" / "build.ninja").unlink()
    early_build.begin(tmp_path)
    assert not (place / "cmake" / "pid").exists()
    assert free(place)


def test_who_waits_for_another_build_says_so(place: Path) -> None:
    said = threading.Event()
    with (place / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)

        def build() -> None:
            with early_build.locked(place, said.set):
                pass

        second = threading.Thread(target=build)
        second.start()
        assert said.wait(30)
        assert second.is_alive()
    second.join(30)
    assert not second.is_alive()
    said.clear()
    with early_build.locked(place, said.set):
        assert not said.is_set()


def test_a_fork_of_the_process_ends_nothing(place: Path) -> None:
    """Workers are forks of the command: what they do at their end is no end of the compiler."""
    (place / "cmake" / "slow").touch()
    early_build.begin(place.parents[1])
    pid = started(place)
    child = os.fork()
    if child == 0:
        early_build.cancel()
        os._exit(0)
    os.waitpid(child, 0)
    with early_build.locked(place) as begun:
        assert begun is not None
        assert begun._program is not None
        with pytest.raises(subprocess.TimeoutExpired):
            begun._program._child.wait(0.3)
    assert gone(pid)
