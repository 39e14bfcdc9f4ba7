"""Pushes and pulls that are killed: registry and store stay whole, and the next one ends what was begun.

The process kills itself at a chosen one of its requests, pieces of files and syncs to the disk, so no moment depends on
how fast the machine is.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.oci import artifacts, blobs, pulling, pushing, reference, repository
from pluginkit.registry.oci.repository import Repository
from pluginkit.registry.oci.transport import NotInRegistry
from pluginkit.registry.storage.store import Store

from .conftest import Two

POINTS = [3, pytest.param(50, marks=pytest.mark.slow)]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs, "CHUNK", 6000)
    monkeypatch.setattr(blobs, "_PIECE", 3000)


class Clock:
    """Counts what a process does, and kills it at the one that is chosen."""

    def __init__(self, last: int = -1) -> None:
        self.count = 0
        self._last = last

    def tick(self, *_: object) -> None:
        if self.count == self._last:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1

    def watch(self) -> None:
        """Count requests (before and after each) and syncs; only in a process that ends soon."""
        request, sync = requests.Session.request, os.fsync

        def counted(session: requests.Session, *args: Any, **more: Any) -> requests.Response:
            self.tick()
            response = request(session, *args, **more)
            self.tick()
            return response

        def synced(handle: int) -> None:
            sync(handle)
            self.tick()

        requests.Session.request = counted  # type: ignore[assignment, method-assign]
        os.fsync = synced


def in_child(what: Callable[[Clock], None], last: int = -1) -> int:
    """Do something in a forked process that is killed at one of its ticks; how many there were if it wasn't."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 99
        try:
            clock = Clock(last)
            clock.watch()
            what(clock)
            os.write(writing, str(clock.count).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with os.fdopen(reading) as file:
        text = file.read()
    assert ended == (0 if last < 0 else -signal.SIGKILL)
    return int(text) if text else 0


def push(content: Content, place: str, clock: Clock | None = None) -> None:
    with repository.opened(reference.parse(place)) as remote:
        pushing.push(content, remote, signatures=[b"one"], progress=clock.tick if clock else lambda *_: None)


def pull(place: str, folder: Path, tag: str, clock: Clock | None = None) -> None:
    with repository.opened(reference.parse(place)) as remote, Store.open(folder) as store:
        pulling.pull(
            remote,
            tag,
            store,
            choose=lambda bundle: bundle.variants,
            accept=lambda *_: None,
            progress=clock.tick if clock else lambda *_: None,
        )


def whole(remote: Repository, tag: str) -> bool:
    """Whether a tag leads to a bundle all of whose files are there."""
    found = pulling.look(remote, tag)
    for one in found.listed.values():
        remote.manifest(one.digest)
    return all(blobs.size_of(remote, digest) == size for digest, size in found.bundle.files().items())


@pytest.mark.parametrize("points", POINTS)
def test_pushes(registry: str, two: Two, tmp_path: Path, points: int) -> None:
    before, content = two("1.0"), two("2.0")
    push(before, f"{registry}/kills/push-{points}")
    count = in_child(lambda clock: push(content, f"{registry}/kills/push-{points}", clock))
    assert count > 50, "requests, and pieces of files"
    for number in range(points):
        place = f"{registry}/kills/push-{points}-{number}"
        push(before, place)
        in_child(lambda clock, place=place: push(content, place, clock), count * number // points)
        with repository.opened(reference.parse(place)) as remote:
            tags = [one for one in remote.tags() if not one.startswith("sha256-")]
            assert "scale-1.0" in tags
            assert all(whole(remote, one) for one in tags), (
                "a tag, the user's or the digest's, comes after what it names"
            )
            push(content, place)
            assert whole(remote, "scale-2.0")
            assert len(pulling.signatures_of(remote, remote.manifest("scale-2.0").digest)) == 1
            assert whole(remote, "scale-1.0")


@pytest.mark.parametrize("points", POINTS)
def test_pulls(registry: str, two: Two, tmp_path: Path, points: int) -> None:
    before, content = two("1.0"), two("2.0")
    place = f"{registry}/kills/pull-{points}"
    push(content, place)
    count = in_child(lambda clock: pull(place, tmp_path / "first", "scale-2.0", clock))
    assert count > 30
    for number in range(points):
        folder = tmp_path / f"store{number}"
        with Store.open(folder) as store:
            store.add(before)
        in_child(lambda clock, folder=folder: pull(place, folder, "scale-2.0", clock), count * number // points)
        with Store.open(folder) as store:
            assert store.verify() == []
            assert store.here(before.digest) == before.files.keys()
            assert store.here(content.digest) in (frozenset(), content.files.keys()), "all of it, or nothing"
        pull(place, folder, "scale-2.0")
        with Store.open(folder) as store:
            assert store.verify() == []
            assert store.here(content.digest) == content.files.keys()
            assert store.signatures(content.digest) == [b"one"]
            store.gc()
            assert not list((folder / "tmp").iterdir()), "what was killed leaves nothing"
            assert store.verify() == []


def test_what_a_killed_push_has_left_is_not_found(registry: str, two: Two) -> None:
    """Killed at its first manifest: there is no tag, and so no bundle."""
    content, place = two("3.0"), f"{registry}/kills/first"
    in_child(lambda clock: push(content, place, clock), 8)
    with repository.opened(reference.parse(place)) as remote, pytest.raises(NotInRegistry):
        remote.manifest(artifacts.default_tag(content.bundle))
