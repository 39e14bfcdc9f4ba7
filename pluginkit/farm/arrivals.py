"""What a worker has been sent, by digest: it stays in the worker's folder for later batches and runs."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pluginkit.farm.arrays import digest

LIMIT = 4 << 30
"""Bytes that a worker keeps when a run ends. What was used longest ago goes first."""


class Lacking(Exception):
    """A worker was asked for what it hasn't got any more: it must be sent again."""


class Arrivals:
    """A folder with what has arrived: a folder for each digest, in it a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, found: Mapping[str, bytes]) -> None:
        """Keeps arrays.

        Raises:
            ValueError: one isn't what its digest says.
        """
        for name, data in found.items():
            self.put_file(name, "array", data)

    def put_file(self, name: str, file: str, data: bytes) -> Path:
        """Keeps a file of that digest, and gives its path.

        Raises:
            ValueError: it isn't what its digest says.
            Lacking: it was removed meanwhile.
        """
        if digest(data) != name:
            raise ValueError(f"{file} arrived with another digest than {name}")
        return self._write(name, file, data)

    def lay(self, file: str, found: Mapping[str, bytes]) -> None:
        """Files of that name by their digests, laid here by who has just taken these: what is there stays.

        Raises:
            Lacking: one was removed meanwhile.
        """
        for name, data in found.items():
            if not self._has(name, file):
                self._write(name, file, data)

    def _write(self, name: str, file: str, data: bytes) -> Path:
        path = self._folder / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        return self.put_beside(path, file, data)

    def put_beside(self, path: Path, file: str, data: bytes) -> Path:
        """Writes a file into the folder of one that has arrived.

        Raises:
            Lacking: that was removed meanwhile.
        """
        # Another thread may do the same, or another worker of this folder; or they end another run, and prune.
        part = path.with_name(f".{file}.{os.getpid()}.{threading.get_ident()}")
        try:
            part.write_bytes(data)
            return part.rename(path.with_name(file))
        except FileNotFoundError:
            raise Lacking(path.parent.name) from None

    def file(self, name: str, file: str = "array") -> Path:
        """A file that has arrived.

        Raises:
            Lacking: it hasn't, or is gone again.
        """
        if not self._has(name, file):
            raise Lacking(name)
        return self._folder / name / file

    def _has(self, name: str, file: str) -> bool:
        """Whether it is there; it counts as used."""
        path = self._folder / name / file
        with suppress(OSError):
            os.utime(path.parent)
            return path.is_file()
        return False

    def array(self, name: str) -> bytes:
        """An array's bytes.

        Raises:
            Lacking: as of `file`.
        """
        try:
            return self.file(name).read_bytes()
        except OSError:
            raise Lacking(name) from None

    def held(self) -> frozenset[str]:
        """All digests."""
        return frozenset(one.name for one in self._places())

    def prune(self, keep: Sequence[str] = (), limit: int = LIMIT) -> None:
        """Removes what was used longest ago, until no more than `limit` bytes are left; never those to `keep`."""
        found = []
        for one in self._places():
            # Another thread of this worker may prune too, and so may the others where a fleet has one folder.
            with suppress(OSError):
                size = sum(file.stat().st_size for file in one.iterdir())
                found.append((one.stat().st_mtime, size, one))
        total = sum(size for _, size, _ in found)
        for _, size, one in sorted(found):
            if total <= limit:
                return
            if one.name not in keep:
                shutil.rmtree(one, ignore_errors=True)
                total -= size

    def _places(self) -> Iterator[Path]:
        if self._folder.is_dir():
            yield from (one for one in self._folder.iterdir() if len(one.name) == 64)
