"""What a bundle is in a registry.

An index, by a tag, lists a manifest for each variant. Such a manifest's configuration is the bundle's own manifest, the
same one in all, and its only layer is the library. So a bundle keeps its digest, and each variant can be loaded alone.
Reports and signatures are manifests whose subject is the index.
"""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.bundle import Bundle, Evidence, Variant
from pluginkit.registry.oci import documents
from pluginkit.registry.oci.documents import (
    EMPTY,
    EMPTY_DATA,
    INDEX,
    MANIFEST,
    Descriptor,
    ImageIndex,
    ImageManifest,
    Platform,
)
from pluginkit.registry.oci.reference import check_tag

if TYPE_CHECKING:
    from pluginkit.registry.oci.repository import RawManifest  # which brings requests; trust.toml does without

BUNDLE = "application/vnd.pluginkit.bundle.v1"
CONFIG = "application/vnd.pluginkit.bundle.v1+json"
LIBRARY = "application/vnd.pluginkit.library.v1"
VARIANT = "application/vnd.pluginkit.variant.v1"
REPORT = {
    "test": "application/vnd.pluginkit.test-report.v1+json",
    "bench": "application/vnd.pluginkit.bench-report.v1+json",
}
SIGNATURE = "application/vnd.dsse.envelope.v1+json"
SIGSTORE = "application/vnd.dev.sigstore.bundle"
"""Media and artifact types. DSSE's own is the one that its specification registers; those of sigstore's bundles begin
so, and end in their version."""

DIGEST = "vnd.pluginkit.bundle.digest"
PLUGINS = "vnd.pluginkit.bundle.plugins"
TARGETS = "vnd.pluginkit.bundle.targets"
SIZE = "vnd.pluginkit.bundle.size"
LIBRARY_DIGEST = "vnd.pluginkit.library.digest"
TITLE = "org.opencontainers.image.title"
VERSION = "org.opencontainers.image.version"
LICENSES = "org.opencontainers.image.licenses"
REVISION = "org.opencontainers.image.revision"
DESCRIPTION = "org.opencontainers.image.description"
_PREFIX = "pluginkit-"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""Go's names, which OCI's platforms have."""


@dataclass(frozen=True)
class Summary:
    """What an index says of its bundle; the bundle's own manifest is the one to be believed.

    Attributes:
        digest, name, release, license: the bundle's.
        targets: of its variants, as `cpu, gpu sm_80`.
        size: bytes of its files.
        plugins: (name, version, namespace) of each.
    """

    digest: str
    name: str
    release: str
    license: str
    targets: str
    size: int
    plugins: tuple[tuple[str, str, str], ...]


def default_tag(bundle: Bundle) -> str:
    """`NAME-RELEASE`, with `_` for what no tag may have.

    Raises:
        UsageError: it is too long.
    """
    found = f"{bundle.name}-{bundle.release}".replace("+", "_").replace("!", "_")
    if problem := check_tag(found):
        raise UsageError(f"{bundle.label}: {problem}", hint="Give a tag: HOST/REPOSITORY:TAG.")
    return found


def digest_tag(bundle_digest: str) -> str:
    """The tag by which a bundle is found by its digest, wherever its other tags have moved."""
    return _PREFIX + bundle_digest.partition(":")[2]


def is_own_tag(tag: str) -> bool:
    """Whether a tag is not one of the user's: one of `digest_tag`, or the specification's for referrers."""
    return tag.startswith((_PREFIX, f"{digests.ALGORITHM}-"))


def variant_manifest(bundle: Bundle, data: bytes, variant: Variant) -> bytes:
    """The manifest of a variant: the bundle's own as its configuration, the library as its layer."""
    library = Descriptor(
        media_type=LIBRARY, digest=variant.digest, size=variant.size, annotations={TITLE: variant.file}
    )
    config = Descriptor(media_type=CONFIG, digest=digests.of_bytes(data), size=len(data))
    return ImageManifest(
        artifact_type=VARIANT,
        config=config,
        layers=(library,),
        annotations={TITLE: bundle.name, VERSION: bundle.release},
    ).to_bytes()


def index(bundle: Bundle, data: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    """The index of a bundle, and the manifests that it lists. Equal bundles give equal bytes.

    Args:
        bundle, data: its manifest, and the bytes of it.
    """
    manifests = tuple(variant_manifest(bundle, data, one) for one in bundle.variants)
    listed = tuple(
        Descriptor(
            media_type=MANIFEST,
            digest=digests.of_bytes(manifest),
            size=len(manifest),
            artifact_type=VARIANT,
            platform=Platform(os=one.os, architecture=_ARCHITECTURES.get(one.machine, one.machine)),
            annotations={LIBRARY_DIGEST: one.digest, TITLE: one.file},
        )
        for one, manifest in zip(bundle.variants, manifests, strict=True)
    )
    description = next((one.description for one in bundle.plugins if one.description), "")
    plugins = [[one.name, one.version, one.namespace] for one in bundle.plugins]
    annotations = {
        DIGEST: digests.of_bytes(data),
        PLUGINS: json.dumps(plugins, separators=(",", ":"), ensure_ascii=False),
        TARGETS: bundle.targets,
        SIZE: str(sum(bundle.files().values())),
        TITLE: bundle.name,
        VERSION: bundle.release,
        LICENSES: bundle.license,
        REVISION: bundle.source.revision,
        DESCRIPTION: description,
    }
    return ImageIndex(artifact_type=BUNDLE, manifests=listed, annotations=annotations).to_bytes(), manifests


def index_digest(bundle: Bundle) -> str:
    """The digest of a bundle's index, which is what other tools sign that know nothing of bundles."""
    return digests.of_bytes(index(bundle, bundle.to_bytes())[0])


def report_manifest(report: Evidence, subject: Descriptor) -> bytes:
    """The manifest of a report about an index's bundle."""
    layer = Descriptor(
        media_type=REPORT[report.kind],
        digest=report.digest,
        size=report.size,
        annotations={TITLE: f"{report.kind}.json"},
    )
    return _referrer(REPORT[report.kind], layer, subject, {LIBRARY_DIGEST: report.library})


def signature_type(signature: bytes) -> str:
    """The media type of a signature: that which sigstore's have in themselves, else the one of DSSE's envelopes."""
    try:
        kind = json.loads(signature)["mediaType"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return SIGNATURE
    return kind if isinstance(kind, str) and kind.startswith(SIGSTORE) else SIGNATURE


def signature_manifest(signature: bytes, subject: Descriptor) -> bytes:
    """The manifest of a signature of an index's bundle."""
    kind = signature_type(signature)
    layer = Descriptor(
        media_type=kind,
        digest=digests.of_bytes(signature),
        size=len(signature),
        annotations={TITLE: "signature.json"},
    )
    return _referrer(kind, layer, subject, {})


def is_signature(artifact_type: str) -> bool:
    """Whether referrers of that type are signatures: pluginkit's, or what sigstore's tools store (cosign, GitHub's
    attestations)."""
    return artifact_type == SIGNATURE or artifact_type.startswith(SIGSTORE)


def _referrer(kind: str, layer: Descriptor, subject: Descriptor, annotations: dict[str, str]) -> bytes:
    empty = Descriptor(media_type=EMPTY, digest=digests.of_bytes(EMPTY_DATA), size=len(EMPTY_DATA))
    return ImageManifest(
        artifact_type=kind, config=empty, layers=(layer,), subject=subject, annotations=annotations
    ).to_bytes()


def subject_of(data: bytes) -> Descriptor:
    """The descriptor of an index, as a referrer names it."""
    return Descriptor(media_type=INDEX, digest=digests.of_bytes(data), size=len(data))


def read_index(raw: RawManifest, where: str) -> tuple[ImageIndex, Summary]:
    """Read an index, and what it says of its bundle.

    Raises:
        UsageError: it is something else, as a container's image.
        CheckFailed: it isn't what an index of a bundle is.
    """
    try:
        plain = json.loads(raw.data)
    except (ValueError, RecursionError):
        plain = None
    kind = plain.get("artifactType") if isinstance(plain, dict) else None
    if kind != BUNDLE:
        there = str(kind or raw.media_type or "not given")[:80]
        raise UsageError(
            f"{where} is not a bundle: its artifact type is {there!r}, not {BUNDLE}.",
            hint="pluginkit registry push puts bundles into a registry.",
        )
    found = documents.parse(ImageIndex, raw.data, where)
    said = found.annotations
    try:
        plugins = tuple((str(a), str(b), str(c)) for a, b, c in json.loads(said[PLUGINS]))
        Version(said[VERSION])
        summary = Summary(digests.check(said[DIGEST]), said[TITLE], said[VERSION], said.get(LICENSES, ""),
                          said.get(TARGETS, ""), int(said[SIZE]), plugins)  # fmt: skip
        _check_shown(summary)
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise CheckFailed(
            f"{where}: the annotations of its index say nothing about a bundle ({error}).",
            hint="It was not pushed by pluginkit, or it was changed.",
        ) from None
    return found, summary


def _check_shown(found: Summary) -> None:
    """Lists print it before anyone has let the bundle in: no control characters, no size that isn't one."""
    texts = (found.name, found.release, found.targets, *(text for plugin in found.plugins for text in plugin))
    if any(unicodedata.category(one) in {"Cc", "Cs"} for text in texts for one in text):
        raise ValueError("control characters")
    if not 0 <= found.size < 1 << 63:
        raise ValueError("its size is none")


def manifests_of(found: ImageIndex, where: str) -> dict[str, Descriptor]:
    """The descriptors of the variants' manifests, by the digests of the libraries.

    Raises:
        CheckFailed: a descriptor doesn't say which library it is of, or two say the same.
    """
    by_library: dict[str, Descriptor] = {}
    for one in found.manifests:
        library = one.annotations.get(LIBRARY_DIGEST, "")
        if one.artifact_type != VARIANT or not library or library in by_library:
            raise CheckFailed(
                f"{where}: its index lists a manifest that is of no library, or of one twice.", hint="Push it again."
            )
        by_library[library] = one
    return by_library
