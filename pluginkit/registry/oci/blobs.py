"""Blobs of a repository: downloads that go on where they were cut, uploads in chunks, each held against its digest."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import requests

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.registry.bundles import digests
from pluginkit.registry.oci.repository import Repository
from pluginkit.registry.oci.transport import ATTEMPTS, BROKEN, NotInRegistry, RegistryUnavailable, number

CHUNK = 16 << 20
"""Bytes that are sent at a time."""
_PIECE = 1 << 16
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_BYTES = {"Content-Type": "application/octet-stream"}
Moved = Callable[[int], None]
"""Called with how many bytes more have been moved; fewer than none where a download begins again."""


def nothing(_count: int) -> None:
    """Shows no progress."""


def download(
    repository: Repository, digest: str, size: int, file: BinaryIO, moved: Moved = nothing, *, about: str = ""
) -> None:
    """Bring a blob into an open file, after what the file has of it already.

    Args:
        repository: where it is.
        digest, size: of the blob.
        file: open to be read and written; at the end it holds the blob and nothing else.
        moved: called with the progress.
        about: what it is, in errors.

    Raises:
        NotInRegistry: it isn't there.
        CheckFailed: its bytes are others, fewer or more than they should be.
        UsageError, RegistryUnavailable: as `Transport.send`, or it breaks again and again without getting further.
    """
    about = about or digests.short(digest)
    kept = file.seek(0, os.SEEK_END)
    if kept > size:
        kept = file.truncate(0)
    moved(kept)
    resumed = kept > 0
    while True:
        resumed = _completed(repository, digest, size, file, moved, about) or resumed
        file.seek(0)
        found, _ = digests.copy(file, None)
        if found == digest:
            return
        moved(-file.seek(0))
        moved(-size)
        file.truncate(0)
        if not resumed:
            raise CheckFailed(
                f"{about}: the registry gives other bytes: {digests.short(found)}, not {digests.short(digest)}.",
                hint="Don't use it: the registry, or something on the way, has changed it. Have it pushed again.",
            )
        # What an earlier attempt has left, or two answers together, need not be of one file: once more, in one piece.
        resumed = False


def _completed(repository: Repository, digest: str, size: int, file: BinaryIO, moved: Moved, about: str) -> bool:
    """Load until the file has all bytes; whether it is of more than one piece."""
    transport, failures, pieces = repository.transport, 0, 0
    while (have := file.seek(0, os.SEEK_END)) < size or (size == 0 and not pieces):
        headers = {"Range": f"bytes={have}-"} if have else {}
        broken: Exception | None = None
        with transport.send(
            "GET", repository.url("blobs", digest), {200, 206, 416}, headers=headers, about=about
        ) as response:
            if response.status_code == 416 or not _fits(response, have, size):
                raise CheckFailed(
                    f"{about}: the registry's blob has not the {size} bytes that its manifest says.",
                    hint="Don't use it: have it pushed again.",
                )
            if response.status_code == 200 and have:
                moved(-have)
                have = file.seek(0)
                file.truncate(0)
            pieces += 1
            try:
                for piece in response.raw.stream(_PIECE, decode_content=False):
                    have += len(piece)
                    if have > size:
                        moved(len(piece) - have)
                        raise CheckFailed(
                            f"{about}: the registry gives more than the {size} bytes that its manifest says.",
                            hint="Don't use it: have it pushed again.",
                        )
                    _keep(file, piece, about)
                    moved(len(piece))
                    failures = 0
            except BROKEN as error:
                broken = error
        if have < size:
            failures += 1
            if failures >= ATTEMPTS:
                if broken is not None:
                    raise transport.lost(broken)
                raise CheckFailed(
                    f"{about}: the registry gives {have} of its {size} bytes and no more.", hint="Have it pushed again."
                )
            transport.pause(failures - 1)
    return pieces > 1


def _keep(file: BinaryIO, piece: bytes, about: str) -> None:
    try:
        file.write(piece)
    except OSError as error:  # which is not the connection's fault
        raise UsageError(f"{about} cannot be written: {error.strerror}.", hint="Is the disk full?") from None


def _fits(response: requests.Response, have: int, size: int) -> bool:
    """Whether an answer's headers agree with what was asked for; a registry may leave them out."""
    if response.status_code == 206:
        found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        return found is not None and number(found[1]) == have and found[3] in {"*", str(size)}
    length = number(response.headers.get("Content-Length", ""))
    return length is None or length <= size


def size_of(repository: Repository, digest: str) -> int | None:
    """The bytes of a blob that is there; None if it isn't."""
    try:
        with repository.transport.send("HEAD", repository.url("blobs", digest), {200}) as response:
            length = number(response.headers.get("Content-Length", ""))
            return -1 if length is None else length
    except NotInRegistry:
        return None


def upload(repository: Repository, digest: str, source: Path | bytes, moved: Moved = nothing) -> bool:
    """Store a blob; whether it wasn't there.

    Raises:
        CheckFailed: the file was changed meanwhile, or the registry has stored something else.
        UsageError, RegistryUnavailable: as `Transport.send`.
    """
    size = len(source) if isinstance(source, bytes) else source.stat().st_size
    if size_of(repository, digest) == size:
        moved(size)
        return False
    for attempt in range(ATTEMPTS):
        sent = 0

        def also(count: int) -> None:
            nonlocal sent
            sent += count
            moved(count)

        try:
            _send(repository, digest, source, also)
        except (NotInRegistry, RegistryUnavailable):
            # The registry has dropped the upload, or it ended inside a part: once more, from its beginning.
            if attempt == ATTEMPTS - 1:
                raise
            moved(-sent)
            repository.transport.pause(attempt)
            continue
        break
    there = size_of(repository, digest)
    if there not in {size, -1}:
        raise CheckFailed(
            f"{repository.reference.host} has {'nothing' if there is None else f'{there} bytes'} of "
            f"{digests.short(digest)} after the upload of {size} bytes.",
            hint="Push it again.",
        )
    return True


def _send(repository: Repository, digest: str, source: Path | bytes, moved: Moved) -> None:
    """One upload from its beginning to its end: in one piece, or in chunks.

    Raises:
        NotInRegistry: the registry no longer knows it.
    """
    transport, about = repository.transport, f"{digests.short(digest)} to {repository.reference.place}"
    with transport.send(
        "POST", repository.url("blobs", "uploads") + "/", {202}, actions="pull,push", about=about
    ) as response:
        place = transport.location(response)
        least = number(response.headers.get("OCI-Chunk-Min-Length", "")) or 0
    found, start = hashlib.sha256(), 0
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        chunk = max(CHUNK, min(least, file.seek(0, os.SEEK_END)))
        file.seek(0)
        data = file.read(chunk)
        found.update(data)
        while following := file.read(chunk):
            place = _chunk(repository, place, data, start)
            moved(len(data))
            start, data = start + len(data), following
            found.update(data)
    if f"{digests.ALGORITHM}:{found.hexdigest()}" != digest:
        raise CheckFailed(f"{digests.short(digest)} changed while it was read.", hint="pluginkit registry verify")
    last = data
    if start:
        place, last = _chunk(repository, place, data, start), b""
        moved(len(data))
    end = f"{place}{'&' if urlsplit(place).query else '?'}digest={digest}"
    with transport.send(
        "PUT", end, {201, 204}, headers=_BYTES, body=last, actions="pull,push", repeatable=not last, about=about
    ):
        moved(len(last))


def _chunk(repository: Repository, place: str, data: bytes, start: int) -> str:
    """Send a chunk; where the next one goes. After one that was cut, the registry is asked whether it has it.

    Raises:
        NotInRegistry: the registry no longer knows the upload.
        RegistryUnavailable: it has a part of the chunk, or doesn't answer.
    """
    transport = repository.transport
    headers = {**_BYTES, "Content-Range": f"{start}-{start + len(data) - 1}"}
    for attempt in range(ATTEMPTS):
        try:
            with transport.send(
                "PATCH", place, {202}, headers=headers, body=data, actions="pull,push", repeatable=False
            ) as done:
                return transport.location(done, place)
        except RegistryUnavailable:
            if attempt == ATTEMPTS - 1:
                raise
        transport.pause(attempt)
        with transport.send("GET", place, {204}, actions="pull,push") as status:
            place = transport.location(status, place)
            last = re.fullmatch(r"(?:bytes=)?0-(\d+)", status.headers.get("Range", ""))
        if last is not None and number(last[1]) == start + len(data) - 1:
            return place
    raise AssertionError  # every way out is above
