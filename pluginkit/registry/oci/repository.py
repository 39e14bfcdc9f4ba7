"""A repository in a registry: manifests, blobs, tags and referrers, by OCI's distribution specification 1.1.

Nothing is believed: a manifest's and a blob's bytes are held against the digest and size that were asked for.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import requests

from pluginkit.errors import CheckFailed
from pluginkit.registry.bundles import digests
from pluginkit.registry.oci import addresses, documents
from pluginkit.registry.oci.documents import INDEX, LONGEST, MANIFEST, Descriptor, ImageIndex
from pluginkit.registry.oci.reference import RegistryReference
from pluginkit.registry.oci.transport import ATTEMPTS, BROKEN, NotInRegistry, Transport, printable, read

PAGE = 1000
"""Tags that are asked for at a time."""
_LONGEST_PAGE = 16 << 20
_PAGES = 10_000
_MANIFESTS = f"{INDEX}, {MANIFEST}"
"""What is accepted: without it, a registry answers that there is no index."""
_LINK = re.compile(r"<([^>]*)>\s*;\s*rel=\"?next\"?")
_TURNS = 5
"""How often the tag of referrers is written again, when another client has written it meanwhile."""


@dataclass(frozen=True)
class RawManifest:
    """A manifest or index as it came: its bytes, their digest, its media type."""

    data: bytes
    digest: str
    media_type: str


class Repository:
    """A repository.

    Attributes:
        transport: the connections to its registry.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self._path = f"/v2/{transport.reference.repository}"

    @property
    def reference(self) -> RegistryReference:
        """Where it is."""
        return self.transport.reference

    def url(self, *parts: str) -> str:
        """A path of the repository's, as `blobs`, a digest."""
        return "/".join((self._path, *(quote(one, safe=":") for one in parts)))

    # Manifests

    def manifest(self, name: str, size: int | None = None) -> RawManifest:
        """A manifest by tag or digest.

        Args:
            name: the tag or digest.
            size: its bytes, where a descriptor has said so.

        Raises:
            NotInRegistry: there is none.
            CheckFailed: it isn't what was asked for, by digest, size, or the registry's own word.
            UsageError, RegistryUnavailable: as `Transport.send`.
        """
        about = str(self.reference.at(name))
        data, response = self._get(self.url("manifests", name), {"Accept": _MANIFESTS}, LONGEST, about)
        digest = digests.of_bytes(data)
        wanted = name if name.startswith(f"{digests.ALGORITHM}:") else ""
        stated = response.headers.get("Docker-Content-Digest", "")
        if stated.startswith(f"{digests.ALGORITHM}:") and not wanted:
            wanted = stated
        if wanted and digest != wanted:
            raise CheckFailed(
                f"{about}: the registry gives another manifest, {digests.short(digest)}, than {digests.short(wanted)}.",
                hint="Don't use it: the registry, or something on the way, has changed it.",
            )
        if size is not None and len(data) != size:
            raise CheckFailed(f"{about} has {len(data)} bytes; its index says {size}.", hint=_LIES)
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip()
        return RawManifest(data, digest, kind)

    def has_manifest(self, name: str) -> str:
        """The digest of a manifest by tag or digest; empty if there is none."""
        try:
            return self.manifest(name).digest
        except NotInRegistry:
            return ""

    def put_manifest(self, name: str, data: bytes, media_type: str) -> requests.Response:
        """Store a manifest under a tag or its digest.

        Raises:
            CheckFailed: the registry has stored something else.
            UsageError, RegistryUnavailable: as `Transport.send`.
        """
        about = str(self.reference.at(name))
        for attempt in range(ATTEMPTS):
            # docker-registry 2.8 answers 400 (DIGEST_INVALID) where two clients write one tag at once: once more, then.
            busy = {400} if attempt < ATTEMPTS - 1 else set[int]()
            response = self.transport.send(
                "PUT", self.url("manifests", name), {201, 202, *busy}, headers={"Content-Type": media_type}, body=data,
                actions="pull,push", about=about,
            )  # fmt: skip
            response.close()
            if response.status_code not in busy:
                break
            self.transport.pause(attempt)
        stated = response.headers.get("Docker-Content-Digest", "")
        if stated.startswith(f"{digests.ALGORITHM}:") and stated != digests.of_bytes(data):
            raise CheckFailed(
                f"{about}: the registry has stored {digests.short(stated)}, not what was sent.", hint="Push it again."
            )
        return response

    # Tags

    def tags(self) -> Iterator[str]:
        """All tags, page by page.

        Raises:
            NotInRegistry: there is no such repository.
            CheckFailed: what comes is not a list of tags, or its pages don't end.
            UsageError, RegistryUnavailable: as `Transport.send`.
        """
        about = self.reference.place
        for plain in self._pages(f"{self.url('tags', 'list')}?n={PAGE}", about):
            tags = plain.get("tags") if isinstance(plain, dict) else None
            if tags is not None and not (isinstance(tags, list) and all(isinstance(one, str) for one in tags)):
                raise CheckFailed(f"{about}: the registry's list of tags is none.", hint=_NO_REGISTRY)
            yield from (one for one in tags or () if one.isprintable())

    # Referrers

    def referrers(self, subject: str, artifact_type: str = "") -> list[Descriptor]:
        """The manifests whose subject is a manifest, by the registry's interface or, where it has none, by the tag
        that the specification has for this.

        Raises:
            CheckFailed: what comes is not an index.
            UsageError, RegistryUnavailable: as `Transport.send`.
        """
        query = f"?artifactType={quote(artifact_type, safe='')}" if artifact_type else ""
        found: list[Descriptor] = []
        about = f"what refers to {digests.short(subject)}"
        try:
            for plain in self._pages(self.url("referrers", subject) + query, about):
                found += documents.parse(ImageIndex, json.dumps(plain).encode(), about).manifests
        except NotInRegistry:
            found = list(self._tagged_referrers(subject).manifests)
        return [one for one in _unique(found) if artifact_type in {"", one.artifact_type}]

    def add_referrer(self, subject: str, data: bytes, artifact_type: str, annotations: dict[str, str]) -> None:
        """Store a manifest that has a subject; where the registry doesn't list it by itself, by the subject's tag.

        Raises:
            CheckFailed: other clients write that tag without an end.
            UsageError, RegistryUnavailable: as `Transport.send`.
        """
        digest = digests.of_bytes(data)
        response = self.put_manifest(digest, data, MANIFEST)
        if response.headers.get("OCI-Subject"):
            return
        mine = Descriptor(
            media_type=MANIFEST, digest=digest, size=len(data), artifact_type=artifact_type, annotations=annotations
        )
        for _ in range(_TURNS):
            before = self._tagged_referrers(subject)
            if digest in {one.digest for one in before.manifests}:
                return
            after = before.model_copy(update={"manifests": (*before.manifests, mine)})
            self.put_manifest(_referrers_tag(subject), after.to_bytes(), INDEX)
        raise CheckFailed(
            f"{self.reference.place}: the list of what refers to {digests.short(subject)} is being changed by others.",
            hint="Push it again.",
        )

    def _tagged_referrers(self, subject: str) -> ImageIndex:
        tag = _referrers_tag(subject)
        try:
            return documents.parse(ImageIndex, self.manifest(tag).data, str(self.reference.at(tag)))
        except NotInRegistry:
            return ImageIndex(manifests=())

    # Requests

    def _pages(self, url: str, about: str) -> Iterator[Any]:
        seen: set[str] = set()
        while url and url not in seen and len(seen) < _PAGES:
            seen.add(url)
            data, response = self._get(url, {}, _LONGEST_PAGE, about)
            try:
                yield json.loads(data)
            except (ValueError, RecursionError):
                raise CheckFailed(f"{about}: the registry's answer is not JSON.", hint=_NO_REGISTRY) from None
            following = _LINK.search(response.headers.get("Link", ""))
            url = addresses.following(urljoin(self.transport.base, url), following[1]) if following else ""
            if following and urlsplit(url)[:2] != urlsplit(self.transport.base)[:2]:
                raise CheckFailed(
                    f"{about}: the next page is said to be at {printable(following[1])}, another registry.",
                    hint=_NO_REGISTRY,
                )
        if url:
            raise CheckFailed(f"{about}: the registry's pages don't end.", hint=_NO_REGISTRY)

    def _get(self, url: str, headers: dict[str, str], longest: int, about: str) -> tuple[bytes, requests.Response]:
        attempt = 0
        while True:
            attempt += 1
            try:
                with self.transport.send("GET", url, {200}, headers=headers, about=about) as response:
                    return read(response, longest, about), response
            except BROKEN as error:
                if attempt == ATTEMPTS:
                    raise self.transport.lost(error) from None
            self.transport.pause(attempt - 1)


@contextlib.contextmanager
def opened(reference: RegistryReference) -> Iterator[Repository]:
    """A repository, and connections to its registry that are closed at the end."""
    with Transport(reference) as transport:
        yield Repository(transport)


_LIES = "Don't use it: its index lies about it."
_NO_REGISTRY = "Is it a registry of OCI 1.0 or 1.1?"


def _referrers_tag(subject: str) -> str:
    """`sha256-…` (OCI distribution specification, 'Referrers Tag Schema')."""
    return subject.replace(":", "-")


def _unique(found: list[Descriptor]) -> list[Descriptor]:
    return list({one.digest: one for one in found}.values())
