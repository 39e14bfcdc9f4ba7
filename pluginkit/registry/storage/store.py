"""A store: bundles by their content, on this machine.

    store.json           the store's schema version
    manifests/ab/ab12…   manifests by digest
    blobs/ab/ab12…       libraries and reports by digest
    signatures/ab12…/    signatures of a bundle, by their own digests
    index.sqlite         the manifests' content
    tmp/                 files that are being written

A file is written into `tmp`, synchronised and renamed; the index's row comes last, and only while the store's lock is
held and all files are seen to be there. So a process that is killed leaves a file that no manifest names, which `gc`
removes, and never a row without its files. Nothing is given out whose digest doesn't match.

Of a bundle that was pulled from a registry, some libraries may not be here: the index has the files that are.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import platform
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from typing_extensions import Self

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.registry.bundles import bundle as bundle_
from pluginkit.registry.bundles import digests, variants
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.bundles.bundle import Bundle
from pluginkit.registry.storage.index import FILE, Entry, Index

SCHEMA = 1
_MARK = "store.json"
_MANIFESTS, _BLOBS, _SIGNATURES, _TMP = "manifests", "blobs", "signatures", "tmp"
_OLD = 24 * 3600
"""Seconds after which another machine's temporary file is taken for abandoned."""


class NotFoundError(UsageError):
    """A bundle that is in no store."""


@dataclass(frozen=True)
class Damage:
    """Something in a store that is not as it should be: what, and about which bundle or file."""

    digest: str
    text: str


@dataclass(frozen=True)
class Freed:
    """What `gc` removed: files, and their bytes."""

    files: int
    size: int


class Store:
    """A store in a folder. Use it as a context, or close it.

    Attributes:
        folder: where it lies.
        writable: whether bundles can be added.
    """

    remote = False

    def __init__(self, folder: Path, index: Index, *, writable: bool) -> None:
        self.folder = folder
        self.writable = writable
        self._index = index

    @classmethod
    def open(cls, folder: Path, *, create: bool = True, write: bool = True) -> Store:
        """Open a store; where the folder can't be written, or `write` is False, to read it.

        Raises:
            UsageError: it isn't there and `create` is False, it can't be made, it is not a store, or a later pluginkit
                has written it.
        """
        if not cls.exists(folder):
            if not create:
                raise UsageError(f"There is no store in {folder}.", hint="pluginkit registry add makes it.")
            _make(folder)
        _check_mark(folder)
        writable = write and os.access(folder, os.W_OK) and os.access(folder / _MANIFESTS, os.W_OK)
        return cls(folder, _open_index(folder, writable=writable), writable=writable)

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether there is a store in a folder."""
        return (folder / _MARK).exists()

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return str(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the index."""
        self._index.close()

    # Reading

    def entries(self, text: str = "") -> list[Entry]:
        """The bundles in the order in which they were added; with `text`, those whose names or descriptions have it."""
        return self._index.entries(text=text)

    def having(self, name: str, version: str, namespace: str) -> list[Entry]:
        """The bundles with a plugin of that very identity."""
        return self._index.entries(identity=(name, version, namespace))

    def identities(self, name: str) -> list[tuple[str, str, str]]:
        """Every (name, version, namespace) of plugins of that name."""
        return self._index.identities(name)

    def has(self, digest: str) -> bool:
        """Whether a bundle is here."""
        return any(one.digest == digest for one in self._index.entries(digest=digest))

    def find(self, text: str) -> Entry:
        """The one bundle that the user means.

        Args:
            text: a digest or the beginning of one (with or without `sha256:`), `name`, or `name@release`. Of a name
                alone the newest release is meant.

        Raises:
            NotFoundError: there is none.
            UsageError: more than one digest begins so.
        """
        name, _, release = text.partition("@")
        found = [one for one in self._index.entries(text=name) if one.name == name and release in {"", one.release}]
        if found:
            return max(found, key=newness)
        hexadecimal = text.removeprefix(f"{digests.ALGORITHM}:")
        if len(hexadecimal) >= 4 and set(hexadecimal) <= set("0123456789abcdef"):
            found = self._index.entries(digest=f"{digests.ALGORITHM}:{hexadecimal}")
        if len(found) > 1:
            raise UsageError(f"{len(found)} bundles' digests begin with {text}.", hint="Give more digits.")
        if not found:
            raise NotFoundError(
                f"No bundle {text} is in {self.folder}.", hint="pluginkit registry list shows what there is."
            )
        return found[0]

    def here(self, digest: str) -> frozenset[str]:
        """The digests of the files of a bundle that are here; of one that was pulled, some may not be."""
        return self._index.files_of(digest)

    def bundle(self, digest: str) -> Bundle:
        """A bundle's manifest.

        Raises:
            CheckFailed: it isn't here, or its bytes are not those of its digest.
        """
        return bundle_.parse(self._bytes(_MANIFESTS, digest), f"the manifest {digests.short(digest)}")

    def file(self, digest: str) -> Path:
        """A library or report, whose bytes were just seen to be those of its digest.

        Raises:
            CheckFailed: it isn't here, or its bytes are others.
        """
        path = self._path(_BLOBS, digest)
        try:
            with _open(path) as file:
                found, _ = digests.copy(file, None)
        except OSError as error:
            raise CheckFailed(
                f"{digests.short(digest)} is not in {self.folder}: {error.strerror}.", hint=_REPAIR
            ) from None
        if found != digest:
            raise CheckFailed(f"{path} was changed: its digest is {digests.short(found)} now.", hint=_REPAIR)
        return path

    def library(self, bundle: str, variant: str) -> Path:
        """A library of a bundle: `file`."""
        del bundle
        return self.file(variant)

    def content(self, digest: str) -> Content:
        """A bundle with its signatures, and all of its files that are here, each verified.

        Raises:
            CheckFailed: one isn't here, or its bytes are others.
        """
        manifest = self._bytes(_MANIFESTS, digest)
        found = bundle_.parse(manifest, f"the manifest {digests.short(digest)}")
        here = self.here(digest)
        files = {one: self.file(one) for one in found.files() if one in here}
        return Content(found, manifest, files, tuple(self.signatures(digest)))

    def verify(
        self, digest: str | None = None, progress: Callable[[int, int], None] = lambda _done, _total: None
    ) -> list[Damage]:
        """Read a bundle, or all of them, and the index: what is not as it should be.

        Args:
            digest: the bundle's; None: all.
            progress: called with how many bundles are done, and of how many.

        A damaged index is the only finding: which bundles there are is known again when it was made again.
        """
        if not digest and (problems := self._index.check()):
            return [Damage("", f"the index is damaged: {problems}")]
        asked = [digest] if digest else [one.digest for one in self._index.entries()]
        found = []
        for number, one in enumerate(asked):
            progress(number, len(asked))
            try:
                content = self.content(one)
                _check_libraries(content)
            except CheckFailed as error:
                found.append(Damage(one, error.message))
        return found

    # Writing

    def add(self, content: Content) -> bool:
        """Put a bundle and its signatures into the store; whether it is new. Equal files are stored once.

        Files that `content` doesn't have are left out; of a bundle that is here already, those come in that weren't.

        Raises:
            CheckFailed: a file isn't the one that the manifest has.
            UsageError: the store can't be written, or the disk is full; nothing of the bundle is visible then.
        """
        self._check_writable()
        _check_libraries(content)
        for report in content.bundle.evidence:
            path = content.files.get(report.digest)
            if path is not None and digests.of_file(path) != report.digest:
                raise CheckFailed(
                    f"The {report.kind} report of {content.bundle.label} was changed.", hint="Pack it again."
                )
        try:
            return self._add(content)
        except OSError as error:
            raise UsageError(f"{self.folder} cannot be written: {error.strerror}.", hint="Is the disk full?") from None
        except sqlite3.OperationalError as error:
            raise UsageError(
                f"The index in {self.folder} cannot be written: {error}.", hint="Is the disk full?"
            ) from None

    def _add(self, content: Content) -> bool:
        self._write_all(content)
        with self._index.writing():
            # A collection may have taken a file that no row named yet. It needs the lock, so now it can't.
            self._write_all(content)
            new = not self.has(content.digest)
            self._index.insert(content.digest, content.bundle, content.files)
            return new

    def _write_all(self, content: Content) -> None:
        for digest, source in content.files.items():
            self._write(self._path(_BLOBS, digest), source)
        self._write(self._path(_MANIFESTS, content.digest), content.manifest)
        self.add_signatures(content.digest, content.signatures)

    def remove(self, digest: str) -> None:
        """Take a bundle out; `gc` removes the files that no other has.

        Raises:
            NotFoundError: it isn't here.
            UsageError: the store can't be written.
        """
        self._check_writable()
        with self._index.writing():
            gone = self._index.delete(digest)
        if not gone:
            raise NotFoundError(f"No bundle {digests.short(digest)} is in {self.folder}.")
        with self._index.writing():
            # After the row, so that a kill leaves no row without its file; unless another process has added it again.
            if not self.has(digest):
                self._path(_MANIFESTS, digest).unlink(missing_ok=True)

    def gc(self) -> Freed:
        """Remove the files that no bundle has, and what killed processes left in `tmp`.

        Raises:
            UsageError: the store can't be written.
        """
        self._check_writable()
        files = size = 0
        with self._index.writing():
            kept = {
                _MANIFESTS: {one.digest for one in self._index.entries()},
                _BLOBS: self._index.files(),
            }
            for kind, digests_ in kept.items():
                for path in _stored(self.folder / kind):
                    if f"{digests.ALGORITHM}:{path.name}" not in digests_:
                        files, size = files + 1, size + path.stat().st_size
                        path.unlink()
            bundles = kept[_MANIFESTS]
            for path in (self.folder / _SIGNATURES).glob("*/*"):
                if f"{digests.ALGORITHM}:{path.parent.name}" not in bundles:
                    files, size = files + 1, size + path.stat().st_size
                    path.unlink()
            for path in (self.folder / _TMP).iterdir():
                if _abandoned(path):
                    files, size = files + 1, size + path.stat().st_size
                    path.unlink(missing_ok=True)
        return Freed(files, size)

    def rebuild(self) -> int:
        """Rebuild the index from the manifests in the store; how many bundles there are.

        A manifest whose bytes are not those of its name, and one of whose libraries none is there, is left out.

        Raises:
            UsageError: the store can't be written.
        """
        self._check_writable()
        try:
            return self._index.replace(lambda: _readable(self.folder))
        except sqlite3.DatabaseError:
            self._index.close()
            _put_aside(self.folder)
            self._index = Index.open(self.folder, lambda: _readable(self.folder))
            return len(self._index.entries())

    def add_signatures(self, digest: str, signatures: Iterable[bytes]) -> None:
        """Keep signatures of a bundle. What they are worth is asked when the bundle is.

        Raises:
            UsageError: the store can't be written.
        """
        self._check_writable()
        for one in signatures:
            folder = self.folder / _SIGNATURES / digests.check(digest).partition(":")[2]
            folder.mkdir(parents=True, exist_ok=True)
            self._write(folder / digests.of_bytes(one).partition(":")[2], one)

    def signatures(self, digest: str) -> list[bytes]:
        """The signatures of a bundle that are kept here, whoever made them."""
        folder = self.folder / _SIGNATURES / digests.check(digest).partition(":")[2]
        found = []
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            # What can't be read has signed nothing.
            with contextlib.suppress(OSError), _open(path) as file:
                found.append(file.read(bundle_.LONGEST))
        return found

    def download_path(self, digest: str) -> Path:
        """Where a file that comes over a network is kept until all of it is there; after a day without news gc
        removes it."""
        return self.folder / _TMP / f"download-{digests.check(digest).partition(':')[2]}"

    @contextlib.contextmanager
    def downloading(self, path: Path) -> Iterator[BinaryIO]:
        """A file of `download_path`, open to go on with it. It stays, whatever happens; one process at a time has it.

        Raises:
            UsageError: the store can't be written.
        """
        self._check_writable()
        while True:
            with _opened_for_update(path) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                # The process that had it may have put it into the store, and removed it.
                if not (path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())):
                    continue
                yield file
                file.flush()
                return

    def temporary(self) -> contextlib.AbstractContextManager[Path]:
        """A file in `tmp` that is removed at the end, if it is still there."""
        return _temporary(self.folder / _TMP)

    def _write(self, path: Path, source: Path | bytes) -> None:
        """Put a file in its place; nothing happens if it is there whole."""
        digest = f"{digests.ALGORITHM}:{path.name}"
        if path.exists() and digests.of_file(path) == digest:
            return
        with self.temporary() as temporary:
            with temporary.open("wb") as out:
                if isinstance(source, bytes):
                    out.write(source)
                else:
                    with source.open("rb") as file:
                        shutil.copyfileobj(file, out)
                out.flush()
                os.fsync(out.fileno())
            if digests.of_file(temporary) != digest:
                raise CheckFailed(f"{source if isinstance(source, Path) else path} changed while it was read.")
            temporary.chmod(0o444)
            path.parent.mkdir(exist_ok=True)
            temporary.replace(path)
            for folder in (path.parent, path.parent.parent):
                _sync(folder)

    def _bytes(self, kind: str, digest: str) -> bytes:
        path = self._path(kind, digest)
        try:
            with _open(path) as file:
                data = file.read(bundle_.LONGEST + 1)
        except OSError as error:
            raise CheckFailed(
                f"{digests.short(digest)} is not in {self.folder}: {error.strerror}.", hint=_REPAIR
            ) from None
        if digests.of_bytes(data) != digest:
            raise CheckFailed(f"{path} was changed: its digest is another now.", hint=_REPAIR)
        return data

    def _path(self, kind: str, digest: str) -> Path:
        return _path(self.folder / kind, digest)

    def _check_writable(self) -> None:
        if not self.writable:
            raise UsageError(
                f"The store {self.folder} can only be read.", hint="--store or PLUGINKIT_STORE names another."
            )


_REPAIR = "pluginkit registry verify shows what else is damaged; add the bundle again to fix it."


def newness(entry: Entry) -> tuple[object, int]:
    """What bundles are ordered by: the release, then the order of adding. No clock takes part."""
    from packaging.version import Version

    return Version(entry.release), entry.id


def _make(folder: Path) -> None:
    try:
        for name in (_MANIFESTS, _BLOBS, _TMP):
            (folder / name).mkdir(parents=True, exist_ok=True)
        with _temporary(folder / _TMP) as temporary:
            temporary.write_text(json.dumps({"kind": "pluginkit.store", "schema": SCHEMA}))
            temporary.replace(folder / _MARK)
        _sync(folder)
    except OSError as error:
        raise UsageError(
            f"A store cannot be made in {folder}: {error.strerror}.",
            hint="--store or PLUGINKIT_STORE names another folder.",
        ) from None


def _check_mark(folder: Path) -> None:
    try:
        mark = json.loads((folder / _MARK).read_text(encoding="utf-8"))
        kind, schema = mark["kind"], mark["schema"]
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(f"{folder / _MARK} cannot be read: {folder} is not a store of pluginkit's.") from None
    if kind != "pluginkit.store" or schema != SCHEMA:
        raise UsageError(
            f"The store {folder} is of schema version {schema!r}; this pluginkit knows version {SCHEMA}.",
            hint="Update pluginkit: a later one has written it.",
        )


def _open_index(folder: Path, *, writable: bool) -> Index:
    """The index; rebuilt from the content where it is lost or damaged."""

    def readable() -> Iterator[tuple[str, Bundle, frozenset[str]]]:
        return _readable(folder)

    try:
        return Index.open(folder, readable) if writable else Index.read_only(folder)
    except sqlite3.OperationalError as error:
        if writable:
            raise UsageError(f"The index of the store {folder} cannot be opened: {error}.") from None
    except sqlite3.DatabaseError:
        if writable:
            _put_aside(folder)
            return Index.open(folder, readable)
    return Index.in_memory(readable)


def _put_aside(folder: Path) -> None:
    """Keep a damaged index for the user to look at."""
    (folder / FILE).replace(folder / f"{FILE}.damaged")
    (folder / f"{FILE}-journal").unlink(missing_ok=True)


def _check_libraries(content: Content) -> None:
    for variant in content.bundle.variants:
        if variant.digest in content.files:
            variants.check(variant, content.files[variant.digest])


def _readable(folder: Path) -> Iterator[tuple[str, Bundle, frozenset[str]]]:
    """The bundles whose manifests are whole, with those of their files that are there, if a library is among them; the
    oldest first."""
    for path in sorted(_stored(folder / _MANIFESTS), key=lambda one: (one.stat().st_mtime_ns, one.name)):
        digest = f"{digests.ALGORITHM}:{path.name}"
        with contextlib.suppress(CheckFailed, OSError):
            data = path.read_bytes()
            bundle = bundle_.parse(data, path.name)
            files = frozenset(one for one in bundle.files() if _path(folder / _BLOBS, one).exists())
            if digests.of_bytes(data) == digest and files & {one.digest for one in bundle.variants}:
                yield digest, bundle, files


def _open(path: Path) -> BinaryIO:
    """A stored file. A link would lead to what others can change."""
    if path.parent.is_symlink():
        raise OSError(errno.ELOOP, "its folder is a symbolic link")
    return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")  # noqa: PTH123 - of a descriptor


def _opened_for_update(path: Path) -> BinaryIO:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    return open(os.open(path, flags, 0o600), "r+b")  # noqa: PTH123 - of a descriptor


def _path(folder: Path, digest: str) -> Path:
    name = digests.check(digest).partition(":")[2]
    return folder / name[:2] / name


def _stored(folder: Path) -> Iterator[Path]:
    for inner in folder.iterdir():
        if inner.is_dir() and not inner.is_symlink():
            yield from (path for path in inner.iterdir() if path.name.startswith(inner.name))


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    handle, name = tempfile.mkstemp(prefix=f"{platform.node()}-{os.getpid()}-", dir=folder)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _abandoned(path: Path) -> bool:
    """Whether the process that a temporary file is called after is gone; of another machine's, whether it is old."""
    machine, number, *_ = [*path.name.rsplit("-", 2), ""]
    if machine == platform.node() and number.isdigit():
        return not Path(f"/proc/{number}").exists()
    return time.time() - path.stat().st_mtime > _OLD


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
