"""A store: nothing is lost, and nothing is given out that isn't what its digest says."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pluginkit.errors import CheckFailed, PluginkitError, UsageError
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.storage import index, stores
from pluginkit.registry.storage import store as store_module
from pluginkit.registry.storage.store import NotFoundError, Store

from .conftest import Make


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


def blob(store: Store, content: Content) -> Path:
    """Where a bundle's library lies."""
    return store.file(content.bundle.variants[0].digest)


def damage(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


def in_child(what: Callable[[], object]) -> int:
    """Do something in a forked process; its exit code, or minus the signal that ended it."""
    child = os.fork()
    if not child:
        try:
            what()
        except PluginkitError as error:
            os.write(2, f"{error}\n".encode())
            os._exit(error.exit_code)
        except BaseException as error:  # noqa: BLE001 - a forked process must not go on as pytest
            os.write(2, f"{error!r}\n".encode())
            os._exit(99)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_bundle_goes_in_and_comes_out(store: Store, make: Make) -> None:
    content = make()
    assert store.add(content)
    assert not store.add(content), "it is there already"
    assert [one.label for one in store.entries()] == ["scale 1.0"]
    out = store.content(content.digest)
    assert out.manifest == content.manifest
    assert blob(store, content).read_bytes() == next(iter(content.files.values())).read_bytes()
    assert store.verify() == []


def test_bundles_are_found(store: Store, make: Make) -> None:
    first, second = make(release="1.9"), make(release="1.10")
    other = make(name="other", plugins=(("Relu_6%", "2", ""),))
    for content in (second, first, other):
        store.add(content)
    assert store.find("scale").release == "1.10", "1.10 is newer than 1.9, whichever was added last"
    assert store.find("scale@1.9").digest == first.digest
    assert store.find(first.digest[:19]).digest == first.digest
    assert store.find(first.digest[7:19]).digest == first.digest
    assert [one.name for one in store.entries("relu_6%")] == ["other"]
    assert store.entries("lu%6") == [], "% and _ are not wildcards"
    assert [one.digest for one in store.having("Scale", "1", "acme")] == [second.digest, first.digest]
    assert store.having("Scale", "1.0", "acme") == [], "versions are exact strings"
    for output in ("none", "scale@3", "abcd", "sha256:", "ab", "%"):
        with pytest.raises(NotFoundError):
            store.find(output)


def test_remove_and_gc(store: Store, make: Make) -> None:
    first, second = make(salt="a"), make(release="2.0", salt="b")
    store.add(first)
    store.add(second)
    gone, kept = blob(store, first), blob(store, second)
    store.remove(first.digest)
    assert gone.exists()
    assert store.gc().files == 1
    assert not gone.exists()
    assert kept.exists()
    assert store.verify() == []
    with pytest.raises(NotFoundError):
        store.remove(first.digest)


def test_what_is_added_again_during_a_removal_stays(store: Store, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process adds it after its row is gone and before its manifest is, and finds the manifest there."""
    content = make()
    store.add(content)
    writing, ended = store._index.writing, 0

    @contextlib.contextmanager
    def then_added() -> Iterator[None]:
        nonlocal ended
        with writing():
            yield
        ended += 1
        if ended == 1:
            with Store.open(store.folder) as other:
                assert other.add(content), "the row is gone, so it is new"

    monkeypatch.setattr(store._index, "writing", then_added)
    store.remove(content.digest)
    assert ended == 2
    monkeypatch.undo()
    assert store.has(content.digest)
    assert store.content(content.digest).manifest == content.manifest
    assert store.verify() == []


def test_a_manifest_is_removed_while_nobody_can_add_it(
    store: Store, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = make()
    store.add(content)
    unlink, tried = Path.unlink, []

    def unlink_(path: Path, missing_ok: bool = False) -> None:
        if path.parent.parent.name == "manifests":
            other = sqlite3.connect(store.folder / index.FILE, timeout=0)
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
            other.close()
            tried.append(path)
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink_)
    store.remove(content.digest)
    assert len(tried) == 1
    assert not tried[0].exists()


def test_a_file_that_two_bundles_have_is_kept_for_the_other(store: Store, make: Make) -> None:
    first = make()
    bundle = first.bundle.model_copy(update={"release": "2.0"})
    second = Content(bundle, bundle.to_bytes(), first.files)
    store.add(first)
    store.add(second)
    store.remove(first.digest)
    assert store.gc().files == 0
    assert store.verify() == []


@pytest.mark.parametrize("data", [b"", b"other bytes", None])
def test_a_damaged_library_is_not_given_out(store: Store, make: Make, data: bytes | None) -> None:
    content = make()
    store.add(content)
    path = blob(store, content)
    path.unlink() if data is None else damage(path, data)
    with pytest.raises(CheckFailed):
        blob(store, content)
    assert [one.digest for one in store.verify()] == [content.digest]
    store.add(content)
    assert store.verify() == [], "adding it again fixes it"


def test_a_damaged_manifest_is_not_given_out(store: Store, make: Make) -> None:
    content = make()
    store.add(content)
    (path,) = (store.folder / "manifests").glob("*/*")
    damage(path, content.manifest.replace(b"acme", b"evil"))
    with pytest.raises(CheckFailed, match="was changed"):
        store.bundle(content.digest)
    assert store.verify()
    store.add(content)
    assert store.verify() == []


@pytest.mark.parametrize("of_folder", [False, True])
def test_links_are_not_followed(store: Store, make: Make, tmp_path: Path, *, of_folder: bool) -> None:
    content = make()
    store.add(content)
    path = blob(store, content)
    path = path.parent if of_folder else path
    path.rename(tmp_path / "outside")
    path.symlink_to(tmp_path / "outside")
    with pytest.raises(CheckFailed):
        blob(store, content)


def test_a_manifest_that_lies_about_its_file(store: Store, make: Make) -> None:
    for facts in ({"machine": "aarch64"}, {"target": "gpu"}, {"floors": {"GLIBC": "2.0"}}, {"needed": ("libx.so",)}):
        with pytest.raises(CheckFailed, match=f"(?s)lies about.*{next(iter(facts))}"):
            store.add(make(**facts))
    assert store.entries() == []


def test_a_file_that_changed_after_packing(store: Store, make: Make) -> None:
    content = make()
    (path,) = content.files.values()
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(CheckFailed):
        store.add(content)
    assert store.entries() == []


def test_a_lost_index_is_made_anew(store: Store, make: Make) -> None:
    contents = [make(release=f"1.{number}") for number in range(3)]
    for content in contents:
        store.add(content)
    store.close()
    (store.folder / index.FILE).unlink()
    with Store.open(store.folder) as again:
        assert {one.digest for one in again.entries()} == {one.digest for one in contents}
        assert again.verify() == []


@pytest.mark.parametrize("data", [b"no database at all, but long enough to be looked at" * 100, b""])
def test_a_damaged_index_is_made_anew(store: Store, make: Make, data: bytes) -> None:
    content = make()
    store.add(content)
    store.close()
    (store.folder / index.FILE).write_bytes(data)
    with Store.open(store.folder) as again:
        assert [one.digest for one in again.entries()] == [content.digest]
    assert (store.folder / f"{index.FILE}.damaged").exists() == bool(data)


def test_an_index_that_is_damaged_inside(store: Store, make: Make) -> None:
    for number in range(20):
        store.add(make(release=f"1.{number}"))
    store.close()
    path = store.folder / index.FILE
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)
    with Store.open(store.folder) as again:
        with pytest.raises(CheckFailed, match="--repair"):
            again.entries()
        assert again.verify()[0].text.startswith("the index is damaged")
        assert again.rebuild() == 20
        assert len(again.entries()) == 20


def test_what_a_later_pluginkit_wrote_is_refused(store: Store) -> None:
    store.close()
    db = sqlite3.connect(store.folder / index.FILE)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(UsageError, match="schema version 99"):
        Store.open(store.folder)
    (store.folder / "store.json").write_text(json.dumps({"kind": "pluginkit.store", "schema": 7}))
    with pytest.raises(UsageError, match="schema version 7"):
        Store.open(store.folder)


def test_an_index_of_an_earlier_version_is_migrated(store: Store, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    content = make()
    store.add(content)
    store.close()
    monkeypatch.setattr(index, "_MIGRATIONS", (*index._MIGRATIONS, "ALTER TABLE bundles ADD COLUMN more TEXT"))
    with Store.open(store.folder) as again:
        assert [one.digest for one in again.entries()] == [content.digest]
    with sqlite3.connect(store.folder / index.FILE) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
        assert db.execute("SELECT more FROM bundles").fetchall() == [(None,)]
    db.close()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"kind": "other", "schema": 1}', "\x00"])
def test_a_folder_that_is_no_store(tmp_path: Path, text: str) -> None:
    (tmp_path / "store.json").write_text(text)
    with pytest.raises(UsageError):
        Store.open(tmp_path)
    with pytest.raises(UsageError, match="no store"):
        Store.open(tmp_path / "other", create=False)


def test_a_read_only_store_is_read(store: Store, make: Make) -> None:
    """As another user, since root may write everywhere."""
    content = make()
    store.add(content)
    store.close()
    for path in (store.folder, *store.folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for path in store.folder.parents:
        if path.stat().st_uid == os.getuid() and path != Path("/tmp"):
            path.chmod(path.stat().st_mode | 0o055)

    def look() -> None:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        with Store.open(store.folder) as again:
            assert not again.writable
            assert [one.digest for one in again.entries()] == [content.digest]
            assert again.verify() == []
            with pytest.raises(UsageError, match="only be read"):
                again.add(content)
        with pytest.raises(UsageError, match="No store can be written"), stores.writable([store.folder]):
            pass

    assert in_child(look) == 0


def test_a_read_only_store_without_an_index_is_read(store: Store, make: Make) -> None:
    content = make()
    store.add(content)
    store.close()
    (store.folder / index.FILE).unlink()
    with Store.open(store.folder, write=False) as again:
        assert [one.digest for one in again.entries()] == [content.digest]
    assert not (store.folder / index.FILE).exists()


@pytest.mark.parametrize("limit", [0, 5000, 20_000, 40_000])
def test_a_full_disk_leaves_nothing_visible(store: Store, make: Make, limit: int) -> None:
    """Files can't grow beyond a limit: the library, the manifest or the index is what fails."""
    before = make(name="before")
    store.add(before)
    content = make(salt="x" * 30_000)
    store.close()

    def add() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            with Store.open(store.folder) as again:
                again.add(content)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert in_child(add) == UsageError.exit_code
    with Store.open(store.folder) as again:
        assert [one.digest for one in again.entries()] == [before.digest]
        assert again.verify() == []
        assert again.add(content)
        assert again.verify() == []


def test_no_clock_takes_part_in_the_order(store: Store, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = make(salt="a"), make(salt="b")
    store.add(first)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    store.add(second)
    for path in (store.folder / "blobs").glob("*/*"):
        os.utime(path, (2**33, 2**33))
    assert store.find("scale").digest == second.digest, "of one release the one that was added last"
    assert store.gc().files == 0


def test_what_killed_processes_left_is_removed(store: Store) -> None:
    child = os.fork()
    if not child:
        with store.temporary() as left:
            left.write_bytes(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    mine = store.temporary()
    with mine as mine_path:
        assert store.gc().files == 1
        assert mine_path.exists(), "this process is alive"


def killed_after(seconds: float, what: Callable[[], None]) -> None:
    child = os.fork()
    if not child:
        try:
            what()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@pytest.mark.parametrize("points", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_kills_at_any_moment(tmp_path: Path, make: Make, points: int) -> None:
    """The moments are spread over what adds, removals and collections take."""
    folder = tmp_path / "store"
    contents = [make(release=f"1.{number}") for number in range(6)]

    def work() -> None:
        with Store.open(folder) as store:
            for content in contents:
                store.add(content)
                store.remove(contents[0].digest) if store.has(contents[0].digest) else None
                store.gc()

    begun = time.monotonic()
    in_child(work)
    whole = time.monotonic() - begun
    acknowledged = {one.digest for one in contents[1:]}
    for number in range(points):
        killed_after(whole * number / points, work)
        with Store.open(folder) as store:
            assert store.verify() == []
            assert {one.digest for one in store.entries()} >= acknowledged, "what was added stays"


def test_many_at_once(tmp_path: Path, make: Make) -> None:
    """Eight processes add the same and others, read, and collect."""
    folder = tmp_path / "store"
    shared = make(name="shared")
    own = [[make(name=f"own{number}", release=f"1.{count}") for count in range(3)] for number in range(8)]

    def work(number: int) -> None:
        with Store.open(folder) as store:
            for content in own[number]:
                store.add(shared)
                store.add(content)
                store.gc()
                assert store.verify(content.digest) == []
                assert store.has(shared.digest)

    children = []
    for number in range(8):
        child = os.fork()
        if not child:
            os._exit(in_child(lambda number=number: work(number)))
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 8
    with Store.open(folder) as store:
        assert len(store.entries()) == 1 + 8 * 3
        assert store.verify() == []


def test_a_collection_between_writing_and_the_row(store: Store, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a collection takes before a row names it is written again."""
    content = make()
    other = Store.open(store.folder)
    write, times = Store._write, []

    def written(self: Store, path: Path, source: Path | bytes) -> None:
        write(self, path, source)
        if isinstance(source, bytes) and not times:
            times.append(other.gc().files)

    monkeypatch.setattr(Store, "_write", written)
    assert store.add(content)
    assert times == [2]
    assert store.verify() == []


def test_stores_in_order(tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    team, mine = tmp_path / "team", tmp_path / "mine"
    both, newer = make(), make(release="2.0")
    with Store.open(team) as store:
        store.add(both)
        store.add(newer)
    with Store.open(mine) as store:
        store.add(both)
    monkeypatch.setenv(stores.VARIABLE, f"{team}:{mine}")
    with stores.opened() as opened:
        assert [one.folder for one in opened.stores] == [team, mine]
        assert [(sources[0].place, one.release) for sources, one in opened.having("Scale", "1", "acme")] == [
            (str(team), "2.0"),
            (str(team), "1.0"),
        ]
        assert opened.find("scale")[0].folder == team
        with pytest.raises(NotFoundError):
            opened.find("none")
    with stores.opened([mine]) as opened:
        assert [one.folder for one in opened.stores] == [mine]
    monkeypatch.delenv(stores.VARIABLE)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert stores.folders() == (tmp_path / "data" / "pluginkit" / "store",)
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert stores.folders() == (Path.home() / ".local" / "share" / "pluginkit" / "store",)


def test_a_store_in_an_installed_package(tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point says where it is; nothing is ever written there."""
    package = tmp_path / "site" / "acme_scale"
    with Store.open(package / "store") as store:
        store.add(make())
    (package / "store" / index.FILE).unlink()
    (package / "__init__.py").write_text("from pathlib import Path\nSTORE = Path(__file__).parent / 'store'\n")
    info = tmp_path / "site" / "acme_scale-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-scale\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pluginkit.plugins]\nscale = acme_scale:STORE\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv(stores.VARIABLE, str(tmp_path / "none"))
    with stores.opened() as opened:
        assert [one.folder for one in opened.stores] == [package / "store"]
        assert not opened.stores[0].writable
        assert opened.find("scale")[1].release == "1.0"
    assert not (package / "store" / index.FILE).exists()
    (info / "entry_points.txt").write_text("[pluginkit.plugins]\nscale = acme_scale:NOTHING\n")
    with pytest.raises(UsageError, match="entry point scale"), stores.opened():
        pass
    sys.modules.pop("acme_scale", None)


def test_a_store_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be made"):
        Store.open(tmp_path / "file" / "store")
    assert store_module.SCHEMA == 1
