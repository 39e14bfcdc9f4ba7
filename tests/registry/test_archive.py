"""Archives: equal content gives equal bytes; nothing in an archive is trusted."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pluginkit.errors import CheckFailed, PluginkitError, UsageError
from pluginkit.registry.bundles import archive, digests
from pluginkit.registry.bundles.archive import BLOBS, MANIFEST
from pluginkit.registry.storage.store import Store

from .conftest import Make

Member = tuple[tarfile.TarInfo, bytes]


def members(path: Path) -> list[Member]:
    with tarfile.open(path) as tar:
        return [(one, file.read() if (file := tar.extractfile(one)) else b"") for one in tar]


def rewrite(path: Path, found: list[Member]) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for member, data in found:
            if member.isreg():
                member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def test_equal_content_gives_equal_bytes(make: Make, tmp_path: Path) -> None:
    content = make()
    archive.write(content, tmp_path / "a")
    archive.write(content, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert make().digest == content.digest
    assert make(release="1.1").digest != content.digest


def test_what_is_written_is_read(make: Make, packed: Path) -> None:
    with archive.opened(packed) as content:
        assert content.bundle == make().bundle
        ((digest, file),) = content.files.items()
        assert file.stat().st_size == content.bundle.files()[digest]
    assert not file.exists(), "temporary files go with the context"


def link(kind: bytes) -> Callable[[list[Member]], list[Member]]:
    def changed(found: list[Member]) -> list[Member]:
        member = tarfile.TarInfo(found[1][0].name)
        member.type, member.linkname = kind, "/etc/passwd"
        return [found[0], (member, b"")]

    return changed


def renamed(name: str) -> Callable[[list[Member]], list[Member]]:
    def changed(found: list[Member]) -> list[Member]:
        found[1][0].name = name
        return found

    return changed


@pytest.mark.parametrize(
    "change",
    [
        renamed("../../escaped"),
        renamed("/tmp/escaped"),
        renamed(BLOBS + "../../escaped"),
        renamed(BLOBS + "0" * 64),
        renamed("manifest.json"),
        link(tarfile.SYMTYPE),
        link(tarfile.LNKTYPE),
        link(tarfile.CHRTYPE),
        link(tarfile.DIRTYPE),
        lambda found: found[:1],
        lambda found: found[1:],
        lambda found: [found[1], found[0]],
        lambda found: [found[0], (found[1][0], found[1][1] + b"x")],
        lambda found: [found[0], (found[1][0], found[1][1][:-1])],
        lambda found: [found[0], (found[1][0], b"x" * len(found[1][1]))],
        lambda found: [(found[0][0], b"{}"), found[1]],
        lambda found: [(found[0][0], found[0][1] + b" "), found[1]],
        lambda found: [(found[0][0], b"[" * 100_000), found[1]],
        lambda found: [],
    ],
)
def test_a_changed_archive_is_refused(
    packed: Path, tmp_path: Path, change: Callable[[list[Member]], list[Member]]
) -> None:
    before = set(tmp_path.rglob("*"))
    rewrite(packed, change(members(packed)))
    with pytest.raises(CheckFailed), archive.opened(packed):
        pass
    assert set(tmp_path.rglob("*")) == before, "nothing is left behind"


def signature(data: bytes, name: str = "", kind: bytes = tarfile.REGTYPE) -> Member:
    member = tarfile.TarInfo(archive.SIGNATURES + (name or digests.of_bytes(data)[7:]))
    member.type, member.linkname = kind, "/etc/passwd"
    return member, data


def test_signatures_come_along(make: Make, tmp_path: Path) -> None:
    """They are not part of the bundle's digest."""
    content = replace(make(), signatures=(b"one", b"two", b"one"))
    archive.write(content, tmp_path / "a")
    with archive.opened(tmp_path / "a") as found:
        assert sorted(found.signatures) == [b"one", b"two"]
        assert found.digest == content.digest
        with Store.open(tmp_path / "store") as store:
            store.add(found)
            assert sorted(store.content(found.digest).signatures) == [b"one", b"two"]
    many = replace(content, signatures=tuple(b"%d" % one for one in range(archive.MOST_SIGNATURES + 1)))
    archive.write(many, tmp_path / "b")
    with archive.opened(tmp_path / "b") as found:
        assert len(found.signatures) == archive.MOST_SIGNATURES


@pytest.mark.parametrize(
    "bad",
    [
        [signature(b"x", "0" * 64)],
        [signature(b"x", "../../escaped")],
        [signature(b"", digests.of_bytes(b"")[7:], tarfile.SYMTYPE)],
        [signature(bytes(archive.LONGEST_SIGNATURE + 1))],
        [signature(b"%d" % one) for one in range(archive.MOST_SIGNATURES + 1)],
    ],
    ids=["another", "a path", "a link", "too long", "too many"],
)
def test_signatures_that_are_refused(packed: Path, bad: list[Member]) -> None:
    rewrite(packed, [*members(packed), *bad])
    with pytest.raises(CheckFailed), archive.opened(packed):
        pass


@pytest.mark.parametrize("length", [3, 40, 200, -600])
def test_a_cut_archive_is_refused(packed: Path, length: int) -> None:
    packed.write_bytes(packed.read_bytes()[:length])
    with pytest.raises(PluginkitError), archive.opened(packed):
        pass


@pytest.mark.parametrize("data", [b"", b"x", b"PK\x03\x04 a zip", gzip.compress(b"no tar", mtime=0)])
def test_no_archive(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.bundle.tar.gz").write_bytes(data)
    with pytest.raises(PluginkitError), archive.opened(tmp_path / "x.bundle.tar.gz"):
        pass


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(UsageError), archive.opened(path):
            pass


def test_what_unpacks_to_gigabytes_is_refused_before_it_is_unpacked(packed: Path, tmp_path: Path) -> None:
    found = members(packed)
    manifest = json.loads(found[0][1])
    manifest["variants"][0]["size"] = 1 << 40
    data = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    rewrite(packed, [(found[0][0], data), found[1]])
    with pytest.raises(CheckFailed, match=r"unpacks to 1024\.0 GiB"), archive.opened(packed):
        pass
    # More bytes than are declared are no more read than that.
    small = json.loads(found[0][1])
    small["variants"][0]["size"] = 10
    data = json.dumps(small, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    rewrite(packed, [(found[0][0], data), (found[1][0], bytes(50 << 20))])
    with pytest.raises(CheckFailed, match="more than the 10 bytes"), archive.opened(packed):
        pass
    assert found[0][0].name == MANIFEST


def test_the_limit_can_be_given(packed: Path) -> None:
    with pytest.raises(CheckFailed, match="--largest"), archive.opened(packed, largest=100):
        pass
