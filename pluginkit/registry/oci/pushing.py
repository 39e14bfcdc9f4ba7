"""Bundles from a store into a registry.

Blobs first, then the manifests that name them, then reports and signatures, the tag last: what a killed push leaves is
not seen by anyone who asks for a tag, and the next push takes up what is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.oci import artifacts, blobs
from pluginkit.registry.oci.documents import EMPTY_DATA, INDEX, MANIFEST
from pluginkit.registry.oci.progress import ByteCounter, Progress, nothing
from pluginkit.registry.oci.reference import RegistryReference
from pluginkit.registry.oci.repository import Repository
from pluginkit.registry.oci.transport import NotInRegistry


@dataclass(frozen=True)
class Pushed:
    """What a push has done: the reference by tag, the index's digest, the blobs that weren't there and that were."""

    reference: RegistryReference
    index: str
    sent: int
    there: int


def push(
    content: Content,
    repository: Repository,
    *,
    tag: str = "",
    signatures: Sequence[bytes] = (),
    overwrite: bool = False,
    progress: Progress = nothing,
) -> Pushed:
    """Put a bundle into a repository, under its tag.

    Args:
        content: the bundle; files that the registry has already need not be here.
        repository: where to.
        tag: under which it is found; empty: `NAME-RELEASE`.
        signatures: envelopes over its digest.
        overwrite: whether the tag may name another bundle now.
        progress: called with what is being sent.

    Raises:
        UsageError: the tag names another bundle, a file is neither here nor there, or the registry refuses.
        CheckFailed: the registry has stored something else.
        RegistryUnavailable: it doesn't answer.
    """
    bundle, place = content.bundle, repository.reference
    tag = tag or artifacts.default_tag(bundle)
    data, manifests = artifacts.index(bundle, content.manifest)
    digest = digests.of_bytes(data)
    _check_tag(repository, tag, content.digest, digest, overwrite=overwrite)
    moved = ByteCounter(progress, sum(bundle.files().values()) + len(content.manifest))
    sent = there = 0
    for name, file, size in _files(content):
        moved.what = f"pushing {name}"
        source = content.manifest if file == content.digest else content.files.get(file)
        if source is None:
            if blobs.size_of(repository, file) != size:
                raise UsageError(
                    f"{name} of {bundle.label} is neither in the store nor in {place.place}: only some variants were "
                    "pulled.",
                    hint="pluginkit registry pull --all brings the others.",
                )
            moved(size)
            new = False
        else:
            new = blobs.upload(repository, file, source, moved)
        sent, there = sent + new, there + (not new)
    for manifest in manifests:
        repository.put_manifest(digests.of_bytes(manifest), manifest, MANIFEST)
    repository.put_manifest(artifacts.digest_tag(content.digest), data, INDEX)
    subject = artifacts.subject_of(data)
    if bundle.evidence or signatures:
        blobs.upload(repository, digests.of_bytes(EMPTY_DATA), EMPTY_DATA)
    for report in bundle.evidence:
        manifest = artifacts.report_manifest(report, subject)
        repository.add_referrer(digest, manifest, artifacts.REPORT[report.kind], {})
    add_signatures(repository, data, signatures)
    repository.put_manifest(tag, data, INDEX)
    if repository.has_manifest(digest) != digest:
        raise CheckFailed(f"{place.place} has lost what was pushed: {digests.short(digest)}.", hint="Push it again.")
    return Pushed(place.at(tag), digest, sent, there)


def add_signatures(repository: Repository, index: bytes, signatures: Sequence[bytes]) -> None:
    """Store signatures of the bundle that an index is of.

    Raises:
        UsageError, CheckFailed, RegistryUnavailable: as `push`.
    """
    subject = artifacts.subject_of(index)
    for one in signatures:
        kind = artifacts.signature_type(one)
        blobs.upload(repository, digests.of_bytes(one), one)
        repository.add_referrer(subject.digest, artifacts.signature_manifest(one, subject), kind, {})


def _check_tag(repository: Repository, tag: str, bundle: str, index: str, *, overwrite: bool) -> None:
    try:
        raw = repository.manifest(tag)
    except NotInRegistry:
        return
    where = str(repository.reference.at(tag))
    if overwrite or raw.digest == index:
        return
    try:
        there = artifacts.read_index(raw, where)[1]
    except (UsageError, CheckFailed):
        what = "something that is not a bundle"
    else:
        if there.digest == bundle:
            return
        what = f"{there.name} {there.release} ({digests.short(there.digest)})"
    raise UsageError(
        f"{where} is {what} already.", hint="Pack under a new --release; --overwrite lets the tag name this bundle."
    )


def _files(content: Content) -> list[tuple[str, str, int]]:
    """Each blob: its name for people, its digest and its size."""
    found = [("manifest.json", content.digest, len(content.manifest))]
    found += [(one.file, one.digest, one.size) for one in content.bundle.variants]
    found += [(f"the {one.kind} report", one.digest, one.size) for one in content.bundle.evidence]
    return list({one[1]: one for one in found}.values())
