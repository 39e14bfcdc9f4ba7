"""Bundles from a registry into a store: those of their variants that are wanted, everything verified.

The tag is looked up once; all else is asked for by digest, so a tag that moves meanwhile changes nothing.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pluginkit.errors import CheckFailed, NothingSelected
from pluginkit.registry.bundles import archive, digests
from pluginkit.registry.bundles import bundle as bundle_
from pluginkit.registry.bundles.archive import LARGEST, Content
from pluginkit.registry.bundles.bundle import Bundle, File, Variant
from pluginkit.registry.oci import artifacts, blobs, documents
from pluginkit.registry.oci.documents import Descriptor, ImageManifest
from pluginkit.registry.oci.progress import ByteCounter, Progress, nothing
from pluginkit.registry.oci.repository import RawManifest, Repository
from pluginkit.registry.oci.transport import NotInRegistry
from pluginkit.registry.storage.store import Store

Accept = Callable[[Bundle, str, Sequence[bytes]], None]
"""Given a bundle, its digest and its signatures; raises to refuse it."""
_LIES = "Don't use it; have it pushed again by pluginkit registry push."


@dataclass(frozen=True)
class RemoteBundle:
    """A bundle in a registry: nothing of it is here but its manifest.

    Attributes:
        where: for people, with the tag.
        index: of the registry.
        bundle, manifest: the bundle's own manifest, and its bytes.
        listed: the manifests of its variants, by the libraries' digests.
    """

    where: str
    index: RawManifest
    bundle: Bundle
    manifest: bytes
    listed: dict[str, Descriptor]

    @property
    def digest(self) -> str:
        """The bundle's."""
        return digests.of_bytes(self.manifest)


@dataclass(frozen=True)
class Pulled:
    """A bundle that came from a registry.

    Attributes:
        where: the reference.
        label, digest: the bundle's.
        new: whether something of it wasn't there.
        files: names of the libraries that are in the store now.
        others: names of those that are not.
        without: names of reports that the registry doesn't have.
        signatures: how many came.
    """

    where: str
    label: str
    digest: str
    new: bool
    files: tuple[str, ...]
    others: tuple[str, ...]
    without: tuple[str, ...]
    signatures: int


def look(repository: Repository, name: str) -> RemoteBundle:
    """A bundle by a tag, or by the digest of its index.

    Raises:
        NotInRegistry: there is none.
        UsageError: it is not a bundle.
        CheckFailed: its index, its manifests and the bundle's own manifest don't agree, or are not what was asked for.
    """
    raw = repository.manifest(name)
    where = str(repository.reference.at(name))
    index, summary = artifacts.read_index(raw, where)
    listed = artifacts.manifests_of(index, where)
    first = next(iter(listed.values()), None)
    if first is None:
        raise CheckFailed(f"{where}: its index lists no variant.", hint=_LIES)
    config = _variant(repository, first, where).config
    if config.digest != summary.digest or config.media_type != artifacts.CONFIG:
        raise CheckFailed(f"{where}: its index says it is {digests.short(summary.digest)}, its manifest "
                          f"{digests.short(config.digest)}.", hint=_LIES)  # fmt: skip
    data = small_blob(repository, config.digest, config.size, bundle_.LONGEST, f"{where}: the bundle's manifest")
    bundle = bundle_.parse(data, f"{where}: the bundle's manifest")
    identities = tuple((one.name, one.version, one.namespace) for one in bundle.plugins)
    if (summary.name, summary.release, summary.plugins) != (bundle.name, bundle.release, identities):
        raise CheckFailed(f"{where}: its index says it is {summary.name} {summary.release}, with other plugins than "
                          f"the bundle, {bundle.label}, has.", hint=_LIES)  # fmt: skip
    if listed.keys() != {one.digest for one in bundle.variants}:
        raise CheckFailed(f"{where}: its index lists other libraries than its bundle has.", hint=_LIES)
    return RemoteBundle(where, raw, bundle, data, listed)


def pull(
    repository: Repository,
    name: str,
    store: Store,
    *,
    choose: Callable[[Bundle], Collection[Variant]],
    accept: Accept,
    expected: str = "",
    largest: int = LARGEST,
    progress: Progress = nothing,
) -> Pulled:
    """Bring a bundle into a store: its libraries that are wanted, the reports about these, its signatures.

    Args:
        repository: where it is.
        name: a tag, or an index's digest.
        store: where to.
        choose: the variants of a bundle that are wanted.
        accept: given a bundle, its digest and its signatures before any library is loaded; raises to refuse it.
        expected: the bundle's digest, if it is known.
        largest: bytes that all files together may have.
        progress: called with what is being loaded.

    Raises:
        NotInRegistry, UsageError, CheckFailed: as `look`; a file isn't what the bundle's manifest says; or `accept`
            refuses it. Nothing of it is in the store then, but for files that gc removes.
        NothingSelected: none of its variants is wanted.
        RegistryUnavailable: the registry doesn't answer.
    """
    found = look(repository, name)
    bundle, where = found.bundle, found.where
    if expected and found.digest != expected:
        raise CheckFailed(
            f"{where} is {bundle.label} ({digests.short(found.digest)}) now, not {digests.short(expected)}.",
            hint="Its tag was moved: resolve and lock again, if that is right.",
        )
    chosen = choose(bundle)
    wanted = [one for one in bundle.variants if one in chosen]
    if not wanted:
        raise NothingSelected(f"No variant of {bundle.label} in {where} is wanted.", hint="--all takes all of them.")
    signatures = signatures_of(repository, found.index.digest)
    accept(bundle, found.digest, signatures)
    files = _wanted(repository, found, wanted)
    if sum(one.size for one in files.values()) > largest:
        raise CheckFailed(
            f"{where} has more than {largest / 2**30:.1f} GiB of files.", hint="--largest GIB allows more."
        )
    here = store.here(found.digest)
    missing = {label: one for label, one in files.items() if one.digest not in here}
    store.add_signatures(found.digest, signatures)
    without = _load(repository, found, missing, store, ByteCounter(progress, sum(one.size for one in missing.values())))
    now = store.here(found.digest)
    return Pulled(
        where,
        bundle.label,
        found.digest,
        bool(missing),
        tuple(one.file for one in bundle.variants if one.digest in now),
        tuple(one.file for one in bundle.variants if one.digest not in now),
        without,
        len(signatures),
    )


def _wanted(repository: Repository, found: RemoteBundle, variants: Sequence[Variant]) -> dict[str, File]:
    """The files to be loaded by their names for people: libraries, each as its own manifest has it, and their reports.

    Raises:
        CheckFailed: a manifest lies.
    """
    files: dict[str, File] = {}
    for variant in variants:
        layer = _variant(repository, found.listed[variant.digest], found.where, found.digest).layers[0]
        if (layer.digest, layer.size) != (variant.digest, variant.size):
            raise CheckFailed(f"{found.where}: the manifest of {variant.file} has another library.", hint=_LIES)
        files[f"{variant.file} ({digests.short(variant.digest)})"] = variant
    libraries = {one.digest for one in variants}
    for one in found.bundle.evidence:
        if one.library in libraries:
            files[f"the {one.kind} report {digests.short(one.digest)}"] = one
    return files


def _load(
    repository: Repository, found: RemoteBundle, missing: dict[str, File], store: Store, count: ByteCounter
) -> tuple[str, ...]:
    """Bring files into the store, and then the bundle; the names of the reports that the registry doesn't have."""
    files: dict[str, Path] = {}
    without: list[str] = []
    with ExitStack() as stack:
        # In one order, whatever the bundle: each waits for those who load the same file.
        for label, one in sorted(missing.items(), key=lambda item: item[1].digest):
            count.what = f"pulling {label.partition(' (')[0]}"
            path = store.download_path(one.digest)
            file = stack.enter_context(store.downloading(path))
            if (known := _known(store, one.digest)) is not None:
                files[one.digest] = known
                count(one.size)
                continue
            try:
                blobs.download(repository, one.digest, one.size, file, count, about=f"{found.where}: {label}")
            except NotInRegistry:
                if isinstance(one, Variant):
                    raise
                without.append(label)
                continue
            file.flush()
            files[one.digest] = path
        if files:
            store.add(Content(found.bundle, found.manifest, files))
        for one in missing.values():
            store.download_path(one.digest).unlink(missing_ok=True)
    return tuple(without)


def signatures_of(repository: Repository, index: str) -> list[bytes]:
    """The signatures that a registry has of the bundle of an index, in no order that says anything.

    Raises:
        CheckFailed: one isn't what its digest or its manifest says.
    """
    found = []
    listed = [one for one in repository.referrers(index) if artifacts.is_signature(one.artifact_type)]
    for one in listed[: archive.MOST_SIGNATURES]:
        raw = repository.manifest(one.digest, one.size)
        manifest = documents.parse(ImageManifest, raw.data, f"the signature {digests.short(one.digest)}")
        if manifest.subject is None or manifest.subject.digest != index or len(manifest.layers) != 1:
            continue  # of another index: the list of a tag can be written by anyone who may push
        layer = manifest.layers[0]
        about = f"the signature {digests.short(layer.digest)}"
        found.append(small_blob(repository, layer.digest, layer.size, archive.LONGEST_SIGNATURE, about))
    return found


def small_blob(repository: Repository, digest: str, size: int, longest: int, about: str) -> bytes:
    """A blob that is kept in memory.

    Raises:
        CheckFailed: it is too long, or not what it should be.
        NotInRegistry, UsageError, RegistryUnavailable: as `blobs.download`.
    """
    if size > longest:
        raise CheckFailed(f"{about} is said to have {size} bytes; at most {longest} are taken.", hint=_LIES)
    file = io.BytesIO()
    blobs.download(repository, digest, size, file, about=about)
    return file.getvalue()


def _known(store: Store, digest: str) -> Path | None:
    """The file in the store, where another bundle has brought it."""
    try:
        return store.file(digest)
    except CheckFailed:
        return None


def _variant(repository: Repository, one: Descriptor, where: str, bundle: str = "") -> ImageManifest:
    raw = repository.manifest(one.digest, one.size)
    found = documents.parse(ImageManifest, raw.data, f"{where}: the manifest {digests.short(one.digest)}")
    if len(found.layers) != 1 or (bundle and found.config.digest != bundle):
        raise CheckFailed(f"{where}: a variant's manifest isn't one of this bundle.", hint=_LIES)
    return found
