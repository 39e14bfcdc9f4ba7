"""What travels between a run and its workers: the run's work without its arrays, items with theirs, libraries."""

from __future__ import annotations

import gzip
import hashlib
import io
import pickle
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pluginkit.judges.protocol import Build
from pluginkit.library import build_record
from pluginkit.manifest import FILE_NAME

FEW = 64
"""Elements that an array has at most to travel in an outline: shape tensors' values are fewer, and builders want them
(`nvinfer1::Dims::MAX_DIMS` is 8)."""


def outline(value: object) -> bytes:
    """A pickle in which every array of more than `FEW` elements has its shape and its type, and zeros for values.

    Builders ask a plan's cases for nothing else, and all arrays of a plan are some hundred megabytes.
    """
    file = io.BytesIO()
    _OutlinePickler(file, protocol=5).dump(value)
    return file.getvalue()


class _OutlinePickler(pickle.Pickler):
    def reducer_override(self, obj: object) -> Any:
        if isinstance(obj, np.ndarray) and obj.size > FEW:
            return _zeros, (obj.shape, obj.dtype)
        return NotImplemented


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Zeros that take no memory."""
    return np.broadcast_to(np.zeros((), dtype), shape)


@dataclass(frozen=True)
class LibraryParcel:
    """A library as it travels.

    Attributes:
        builds: what it stands for: its target, and each GPU and tool that it runs on or under.
        name: the file's name.
        sha256: of the file.
        data: the file.
        record: the build's record beside it, if there is one.
    """

    builds: tuple[Build, ...]
    name: str
    sha256: str
    data: bytes
    record: tuple[str, bytes] | None = None

    @classmethod
    def read(cls, builds: Sequence[Build], path: Path) -> LibraryParcel:
        """From a file.

        Raises:
            OSError: it can't be read.
        """
        data = path.read_bytes()
        beside = build_record.path(path)
        record = (beside.name, beside.read_bytes()) if beside.is_file() else None
        return cls(tuple(builds), path.name, hashlib.sha256(data).hexdigest(), data, record)

    def put(self, folder: Path) -> Path:
        """Writes it into a folder that its digest names, and gives the file.

        Raises:
            ValueError: it isn't what its digest says.
        """
        if hashlib.sha256(self.data).hexdigest() != self.sha256:
            raise ValueError(f"{self.name} arrived with another digest than {self.sha256}")
        place = folder / self.sha256
        place.mkdir(parents=True, exist_ok=True)
        for name, data in ((self.name, self.data), *([self.record] if self.record else [])):
            # Another thread of this worker may do the same.
            part = place / f".{name}.{id(self)}"
            part.write_bytes(data)
            part.rename(place / name)
        return place / self.name


@dataclass(frozen=True)
class SourceParcel:
    """A project's sources as they travel to a worker that builds them.

    Attributes:
        sha256: of the archive.
        data: a gzipped tar archive of the project's folder without what builds, version control and Python make.
    """

    sha256: str
    data: bytes

    @classmethod
    def read(cls, project: Path) -> SourceParcel:
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
        return cls(hashlib.sha256(raw.getvalue()).hexdigest(), raw.getvalue())

    def put(self, folder: Path) -> Path:
        """Unpacks it into a folder that its digest names, and gives that.

        Raises:
            ValueError: it isn't what its digest says, or would write elsewhere.
        """
        if hashlib.sha256(self.data).hexdigest() != self.sha256:
            raise ValueError(f"the project's sources arrived with another digest than {self.sha256}")
        place = folder / f"sources-{self.sha256}"
        with tarfile.open(fileobj=io.BytesIO(self.data)) as tar:
            # Not by extractall, whose filters the first releases of Python 3.10 and 3.11 lack.
            for member in tar:
                path = place / member.name
                if ".." in path.parts or not path.is_relative_to(place) or not (member.isfile() or member.isdir()):
                    raise ValueError(f"the project's sources hold {member.name}, which is no file in their folder")
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


def pack(value: object) -> bytes:
    """A pickle of plain data of pluginkit's: only pluginkit of the same version reads it."""
    return pickle.dumps(value, protocol=5)
