"""What travels between a run and its workers besides its data: libraries, and sources to build them from."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pluginkit.evaluators.protocol import Build
from pluginkit.farm.arrays import digest
from pluginkit.farm.arrivals import Arrivals
from pluginkit.library import build_record
from pluginkit.manifest import FILE_NAME


@dataclass(frozen=True)
class LibraryPayload:
    """A library as it travels.

    Attributes:
        builds: what it stands for: its target, and each GPU and tool that it runs on or under.
        name: the file's name.
        sha256: of the file.
        data: the file; None where it is there already.
        record: the build's record beside it, if there is one.
    """

    builds: tuple[Build, ...]
    name: str
    sha256: str
    data: bytes | None
    record: tuple[str, bytes] | None = None

    @classmethod
    def read(cls, builds: Sequence[Build], path: Path) -> LibraryPayload:
        """From a file.

        Raises:
            OSError: it can't be read.
        """
        data = path.read_bytes()
        beside = build_record.path(path)
        record = (beside.name, beside.read_bytes()) if beside.is_file() else None
        return cls(tuple(builds), path.name, digest(data), data, record)

    def without(self, there: Collection[str]) -> LibraryPayload:
        """Without the file where it is there already."""
        return replace(self, data=None) if self.sha256 in there else self

    def put(self, store: Arrivals) -> Path:
        """Keeps it with this record and no other, and gives the file.

        Raises:
            ValueError: it isn't what its digest says.
            Lacking: it came without the file, which isn't there.
        """
        if self.data is None:
            path = store.file(self.sha256, self.name)
        else:
            path = store.put_file(self.sha256, self.name, self.data)
        if self.record:
            store.put_beside(path, *self.record)
        else:
            build_record.path(path).unlink(missing_ok=True)
        return path


@dataclass(frozen=True)
class SourcePayload:
    """A project's sources as they travel to a worker that builds them.

    Attributes:
        sha256: of the archive.
        data: a gzipped tar archive of the project's folder without what builds, version control and Python make.
    """

    sha256: str
    data: bytes

    @classmethod
    def read(cls, project: Path) -> SourcePayload:
        """From a project's folder.

        Raises:
            OSError: a file can't be read.
        """

        def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
            # Equal sources give equal bytes, whenever and by whoever they were written.
            member.mtime = member.uid = member.gid = 0
            member.uname = member.gname = ""
            return member

        raw = io.BytesIO()
        with (
            gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", dereference=True) as tar,
        ):
            for path in _sources(project):
                tar.add(path, str(path.relative_to(project)), recursive=False, filter=anonymous)
        return cls(digest(raw.getvalue()), raw.getvalue())

    def put(self, folder: Path) -> Path:
        """Unpacks it into a folder that its digest names, and gives that.

        Raises:
            ValueError: it isn't what its digest says, or would write elsewhere.
        """
        if digest(self.data) != self.sha256:
            raise ValueError(f"the project's sources arrived with another digest than {self.sha256}")
        place = folder / f"sources-{self.sha256}"
        with tarfile.open(fileobj=io.BytesIO(self.data)) as tar:
            # Not by extractall, whose filters the first releases of Python 3.10 and 3.11 lack.
            for member in tar:
                path = place / member.name
                if ".." in path.parts or not path.is_relative_to(place) or not (member.isfile() or member.isdir()):
                    raise ValueError(f"the project's sources hold {member.name}, which is not a file in their folder")
                (path if member.isdir() else path.parent).mkdir(parents=True, exist_ok=True)
                if found := tar.extractfile(member):
                    path.write_bytes(found.read())
                    # Where the same sources come again, a file that nobody may write would be in the way.
                    path.chmod(member.mode & 0o777 | 0o600)
        return place


_MADE = frozenset({".git", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
_BUILT = frozenset({"build", "dist"})
"""Folders that pluginkit and Python's build tools make beside a pluginkit.toml; elsewhere they may hold sources."""


def _sources(folder: Path, above: Sequence[Path] = ()) -> Iterator[Path]:
    """The folders and files of a project, without what is made of them, pipes, sockets and links that lead nowhere."""
    real = folder.resolve()
    if real in above:
        return  # a link to a folder that it lies in
    yield folder
    made = _MADE | _BUILT if (folder / FILE_NAME).is_file() else _MADE
    for path in sorted(folder.iterdir()):
        if path.is_dir() and path.name not in made:
            yield from _sources(path, (*above, real))
        elif path.is_file() and path.name not in _MADE:
            yield path
