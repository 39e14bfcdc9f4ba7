"""Digests as `sha256:<64 hexadecimal digits>`: the names of what is stored."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Annotated, BinaryIO

from pydantic import AfterValidator

from pluginkit.errors import CheckFailed, UsageError

ALGORITHM = "sha256"
_SYNTAX = re.compile(r"sha256:[0-9a-f]{64}")
_CHUNK = 1 << 20


def check(digest: str) -> str:
    """The digest itself. Nothing else may become a part of a path.

    Raises:
        ValueError: it is none, as `sha256:../../x` or one of another algorithm.
    """
    if not _SYNTAX.fullmatch(digest):
        raise ValueError(f"'{digest[:80]}' is not a digest: sha256: and 64 hexadecimal digits are expected")
    return digest


Digest = Annotated[str, AfterValidator(check)]


def of_bytes(data: bytes) -> str:
    """The digest of bytes."""
    return f"{ALGORITHM}:{hashlib.sha256(data).hexdigest()}"


def of_file(path: Path) -> str:
    """The digest of a file.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return copy(file, None)[0]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None


def copy(source: BinaryIO, to: BinaryIO | None, *, limit: int | None = None) -> tuple[str, int]:
    """Read all of `source`, into `to` if it is given: its digest and its size in bytes.

    Raises:
        CheckFailed: it is longer than `limit` bytes; no more than that was written.
    """
    found, size = hashlib.sha256(), 0
    while chunk := source.read(_CHUNK if limit is None else min(_CHUNK, limit - size + 1)):
        size += len(chunk)
        if limit is not None and size > limit:
            raise CheckFailed(f"There is more than the {limit} bytes that are expected.")
        found.update(chunk)
        if to is not None:
            to.write(chunk)
    return f"{ALGORITHM}:{found.hexdigest()}", size


def short(digest: str) -> str:
    """What the user is shown: `sha256:` and twelve digits."""
    return digest[: len(ALGORITHM) + 13]
