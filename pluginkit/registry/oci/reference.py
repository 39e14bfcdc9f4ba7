"""`HOST[:PORT]/REPOSITORY[:TAG][@DIGEST]`: where a bundle is in a registry, written as for docker and oras."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pluginkit.errors import UsageError
from pluginkit.registry.bundles import digests

_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?")
_LOOPBACK = re.compile(r"::1|(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]*)?")
_REPOSITORY = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_EXAMPLE = "As registry.example.com/team/plugins:1.2.0, or localhost:5000/plugins."


@dataclass(frozen=True)
class RegistryReference:
    """A repository, and a tag or digest in it.

    Attributes:
        scheme: `https`, or `http`: for this machine, or where the user has written `http://`.
        host: with its port, if one is given.
        repository: as `team/plugins`.
        tag: empty if none is given.
        digest: of a manifest in the registry; empty if none is given.
    """

    scheme: str
    host: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def place(self) -> str:
        """The repository, as the user writes it."""
        plain = "http" if is_loopback(self.host) else "https"
        return f"{'' if self.scheme == plain else f'{self.scheme}://'}{self.host}/{self.repository}"

    @property
    def name(self) -> str:
        """What the registry's interface calls the manifest: the digest, else the tag."""
        return self.digest or self.tag

    def __str__(self) -> str:
        return self.place + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")

    def at(self, name: str) -> RegistryReference:
        """Another tag or digest in the repository."""
        if name.startswith(f"{digests.ALGORITHM}:"):
            return replace(self, tag="", digest=name)
        return replace(self, tag=name, digest="")


def parse(text: str) -> RegistryReference:
    """Read a reference; the schemes `oci://`, `https://` and `http://` may stand before it.

    Without a scheme, http is used for this machine's own addresses (localhost, 127.0.0.0/8, ::1), else https.

    Raises:
        UsageError: it is none; it says why.
    """
    given, separator, rest = text.strip().partition("://")
    if not separator:
        given, rest = "", text.strip()
    if given not in {"", "oci", "https", "http"}:
        raise UsageError(f"{text}: a registry is accessed by https, not by {given}.", hint=_EXAMPLE)
    rest, _, digest = rest.partition("@")
    host, _, path = rest.partition("/")
    repository, _, tag = path.partition(":")
    named = _HOST.fullmatch(host)
    if not named or not path or int(named[1] or 1) not in range(1, 1 << 16):
        raise UsageError(f"{text!r} names no registry and repository.", hint=_EXAMPLE)
    if not (separator or "." in host or ":" in host or host == "localhost"):
        raise UsageError(f"{text!r}: '{host}' is not a registry's host: it has no dot and no port.", hint=_EXAMPLE)
    if not _REPOSITORY.fullmatch(repository) or len(repository) > 255:
        raise UsageError(
            f"{text!r}: '{repository}' is not a repository: lower-case letters, digits, and . _ - / between them.",
            hint=_EXAMPLE,
        )
    if (":" in path or tag) and not _TAG.fullmatch(tag):
        raise UsageError(f"{text!r}: {check_tag(tag)}", hint=_EXAMPLE)
    if digest or "@" in text:
        try:
            digests.check(digest)
        except ValueError as error:
            raise UsageError(f"{text!r}: {error}.", hint=_EXAMPLE) from None
    scheme = given if given in {"https", "http"} else "http" if is_loopback(host) else "https"
    return RegistryReference(scheme, host, repository, tag, digest)


def check_tag(tag: str) -> str:
    """Why a text is not a tag; empty if it is one."""
    if _TAG.fullmatch(tag):
        return ""
    return f"'{tag[:140]}' is not a tag: up to 128 letters, digits and . _ -, a letter, digit or _ first."


def is_loopback(host: str) -> bool:
    """Whether a host, with or without a port, is this machine by its own address: nobody can listen in between."""
    return _LOOPBACK.fullmatch(host) is not None
