"""A bundle as one file: a tar archive, gzipped, with `manifest.json` first and every other file by its digest; then the
signatures, which are not part of the bundle.

Nothing in an archive is trusted: names, kinds, sizes and digests are checked while it is read, before a byte
lies anywhere but in a folder for temporary files.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.process import files
from pluginkit.registry.bundles import bundle as bundle_
from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.bundle import Bundle

SUFFIX = ".bundle.tar.gz"
MANIFEST = "manifest.json"
BLOBS = "blobs/sha256/"
SIGNATURES = "signatures/sha256/"
LONGEST_SIGNATURE = 1 << 20
MOST_SIGNATURES = 64
"""What is read of a bundle's signatures: anyone can add some."""
LARGEST = 4 << 30
"""Bytes that the files of a bundle may have together, unless more is allowed."""
_PACK_AGAIN = "Copy or pack the bundle again."


@dataclass(frozen=True)
class Content:
    """A bundle, and where its files lie.

    Attributes:
        bundle: its manifest.
        manifest: the manifest's bytes.
        files: digest -> path, of each file that the manifest names; of a bundle that was pulled from a registry, of
            those that are here.
        signatures: of the bundle, whoever made them.
    """

    bundle: Bundle
    manifest: bytes
    files: dict[str, Path]
    signatures: tuple[bytes, ...] = ()

    @property
    def digest(self) -> str:
        """The bundle's."""
        return digests.of_bytes(self.manifest)


def file_name(bundle: Bundle) -> str:
    """What a bundle's archive is called: `scale-1.2.0.bundle.tar.gz`."""
    return f"{bundle.name}-{bundle.release}{SUFFIX}"


def write(content: Content, path: Path) -> None:
    """Write an archive; `path` is there whole, or not at all.

    Raises:
        CheckFailed: not all of the bundle's files are here.
        UsageError: it cannot be written.
    """
    if missing := content.bundle.files().keys() - content.files.keys():
        raise CheckFailed(
            f"{len(missing)} of the {len(content.bundle.files())} files of {content.bundle.label} are not here: only "
            "some variants were pulled.",
            hint="pluginkit registry pull --all brings the others.",
        )
    # No name and no time in gzip's header, so that equal content gives equal bytes.
    with (
        files.replacing(path) as temporary,
        temporary.open("wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        tar.addfile(_member(MANIFEST, len(content.manifest)), io.BytesIO(content.manifest))
        for digest, source in sorted(content.files.items()):
            with source.open("rb") as file:
                tar.addfile(_member(BLOBS + digest.partition(":")[2], content.bundle.files()[digest]), file)
        for digest, data in sorted({digests.of_bytes(one): one for one in content.signatures}.items())[
            :MOST_SIGNATURES
        ]:
            tar.addfile(_member(SIGNATURES + digest.partition(":")[2], len(data)), io.BytesIO(data))


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    return member


@contextmanager
def opened(path: Path, *, largest: int = LARGEST, folder: Path | None = None) -> Iterator[Content]:
    """An archive's content, its files in a temporary folder that goes with the context.

    Args:
        path: the archive.
        largest: bytes that all files together may have.
        folder: where the temporary folder is made.

    Raises:
        UsageError: there is no such file, or it is not an archive.
        CheckFailed: it is damaged, holds what a bundle doesn't have, lacks a file, or a digest doesn't match.
    """
    try:
        raw = path.open("rb")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    with raw, tempfile.TemporaryDirectory(prefix="bundle-", dir=folder) as temporary:
        if raw.read(2) != b"\x1f\x8b":
            raise UsageError(f"{path} is not a bundle: it is not gzipped.", hint=f"A bundle ends in {SUFFIX}.")
        raw.seek(0)
        try:
            with gzip.GzipFile(fileobj=raw) as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as tar:
                content = _read(tar, path, Path(temporary), largest)
        except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
            raise CheckFailed(f"{path} is a damaged archive: {error}.", hint=_PACK_AGAIN) from None
        yield content


def _read(tar: tarfile.TarFile, path: Path, folder: Path, largest: int) -> Content:
    members = iter(tar)
    first = next(members, None)
    if first is None or first.name != MANIFEST or not first.isreg() or first.size > bundle_.LONGEST:
        raise CheckFailed(f"{path} is not a bundle: {MANIFEST} is not its first file.", hint=_PACK_AGAIN)
    manifest = _file(tar, first).read(bundle_.LONGEST)
    found = bundle_.parse(manifest, f"{MANIFEST} of {path}")
    sizes = found.files()
    if sum(sizes.values()) > largest:
        raise CheckFailed(
            f"{path} unpacks to {sum(sizes.values()) / 2**30:.1f} GiB; at most {largest / 2**30:.1f} GiB are taken.",
            hint="--largest GIB allows more.",
        )
    found_files: dict[str, Path] = {}
    signatures: list[bytes] = []
    for member in members:
        if member.isreg() and member.name.startswith(SIGNATURES):
            signatures.append(_signature(tar, member, path))
            if len(signatures) > MOST_SIGNATURES:
                raise CheckFailed(f"{path} has more than {MOST_SIGNATURES} signatures.", hint=_PACK_AGAIN)
            continue
        digest = f"{digests.ALGORITHM}:{member.name.removeprefix(BLOBS)}"
        if not member.isreg() or digest not in sizes or member.name != BLOBS + digest.partition(":")[2]:
            raise CheckFailed(f"{path} holds {member.name[:80]!r}, which its manifest does not name.", hint=_PACK_AGAIN)
        target = folder / digest.partition(":")[2]
        with target.open("wb") as out:
            got, size = digests.copy(cast("BinaryIO", _file(tar, member)), out, limit=sizes[digest])
        if (got, size) != (digest, sizes[digest]):
            raise CheckFailed(
                f"{path}: {member.name} is not what its name says: {digests.short(got)}.", hint=_PACK_AGAIN
            )
        found_files[digest] = target
    if missing := sorted(sizes.keys() - found_files.keys()):
        raise CheckFailed(f"{path} lacks {digests.short(missing[0])}, which its manifest names.", hint=_PACK_AGAIN)
    return Content(found, manifest, found_files, tuple(signatures))


def _signature(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> bytes:
    """A signature; whose it is, and whether it holds, is asked when the bundle is."""
    data = _file(tar, member).read(LONGEST_SIGNATURE + 1)
    if len(data) > LONGEST_SIGNATURE or member.name != SIGNATURES + digests.of_bytes(data).partition(":")[2]:
        raise CheckFailed(
            f"{path}: {member.name[:80]!r} is not what its name says, or longer than any signature.", hint=_PACK_AGAIN
        )
    return data


def _file(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    file = tar.extractfile(member)
    assert file is not None  # of a regular file
    return file
