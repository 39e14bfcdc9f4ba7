"""`trust.toml`: whose bundles are taken.

version = 1
unsigned = ["experiments"]         # namespaces whose plugins need no signature
revoked = ["sha256:..."]           # bundles that are never taken

[[keys]]
name = "Acme's releases"
key = "ssh-ed25519 AAAA..."
namespaces = ["acme", "acme.*"]    # what it may publish
expires = 2027-12-31               # optional: its signatures are taken up to this day

[[identities]]                     # who signs without a key, by sigstore
name = "Acme's releases, by CI"
identity = "https://github.com/acme/plugins/.github/workflows/release.yml@refs/tags/*"
issuer = "https://token.actions.githubusercontent.com"
namespaces = ["acme"]
trusted_root = "root.json"         # optional: of another instance of sigstore than the public one
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.paths import user_folder
from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.bundle import Bundle
from pluginkit.registry.bundles.digests import Digest
from pluginkit.registry.oci import artifacts
from pluginkit.registry.trust import envelope, keyless, keys, patterns

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

VARIABLE = "PLUGINKIT_TRUST"
FILE_NAME = "trust.toml"
_NOT_HIS = "may not publish the namespace"


def _key(text: str) -> str:
    keys.parse(text)
    return text


class _TrustModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TrustedPublisher(_TrustModel):
    """Somebody, and what he may publish: namespaces, with `*` for any characters.

    Attributes:
        name: for people.
        namespaces: of plugins.
        expires: the last day on which his signatures are taken.
    """

    name: str = Field(min_length=1)
    namespaces: tuple[str, ...] = Field(min_length=1)
    expires: date | None = None


class TrustedKey(TrustedPublisher):
    """A publisher by his key, as OpenSSH writes it."""

    key: Annotated[str, AfterValidator(_key)]


class TrustedIdentity(TrustedPublisher):
    """A publisher without a key, as sigstore's certificates name him.

    Attributes:
        identity: an e-mail address or URI, with `*` for any characters.
        issuer: where he logs in.
        trusted_root: a file with sigstore's trusted root, from trust.toml's folder; None: the public instance's.
    """

    identity: str = Field(min_length=1)
    issuer: str = Field(min_length=1)
    trusted_root: Path | None = None


class TrustFile(_TrustModel):
    """The content of `trust.toml`."""

    version: Literal[1] = 1
    unsigned: tuple[str, ...] = ()
    revoked: tuple[Digest, ...] = ()
    keys: tuple[TrustedKey, ...] = ()
    identities: tuple[TrustedIdentity, ...] = ()


@dataclass(frozen=True)
class Policy:
    """Whose bundles are taken, here and now.

    Attributes:
        file: what trust.toml says; None: there is none. Then what is in a store on this machine is taken, since its
            user has put it there, and of registries nothing.
        path: where it is, or would be.
        unsigned: whether the user has allowed what is unsigned or foreign; never what is revoked.
        today: for keys that expire.
    """

    file: TrustFile | None
    path: Path
    unsigned: bool = False
    today: date = field(default_factory=date.today)

    @classmethod
    def find(cls, path: Path | None = None, *, unsigned: bool = False) -> Policy:
        """The user's: of a file, else that of PLUGINKIT_TRUST, else pluginkit/trust.toml in XDG's configuration folder.

        Raises:
            UsageError: a file that is named isn't there, or what a link leads to; or it can't be read, or isn't valid.
        """
        named = path or (Path(os.environ[VARIABLE]).expanduser() if os.environ.get(VARIABLE) else None)
        where = named or user_folder("XDG_CONFIG_HOME", ".config") / FILE_NAME
        if named is None and _is_absent(where):
            return cls(None, where, unsigned)
        return cls(read(where), where, unsigned)

    def signers(self, bundle: Bundle, digest: str, signatures: Sequence[bytes]) -> list[TrustedPublisher]:
        """The publishers of trust.toml that have signed a bundle, expired ones too.

        Raises:
            ToolMissing: cryptography is needed, or sigstore, and isn't installed.
            UsageError: a trusted root can't be read.
        """
        return [*self._keys(digest, signatures), *self._identities(bundle, digest, signatures)[0]]

    def _keys(self, digest: str, signatures: Sequence[bytes]) -> list[TrustedPublisher]:
        by_bytes = {keys.parse(one.key): one for one in self.file.keys} if self.file else {}
        found = {key for one in signatures for key in envelope.signers(one, digest, by_bytes)}
        return [one for key, one in by_bytes.items() if key in found]

    def _identities(
        self, bundle: Bundle, digest: str, signatures: Sequence[bytes]
    ) -> tuple[list[TrustedPublisher], str]:
        """The identities that have signed, and why one has not that may be meant."""
        found: list[TrustedPublisher] = []
        why = ""
        keyless_ones = [one for one in signatures if artifacts.signature_type(one) != artifacts.SIGNATURE]
        for identity in self.file.identities if self.file and keyless_ones else ():
            root = None if identity.trusted_root is None else self.path.parent / identity.trusted_root.expanduser()
            about = {digest, artifacts.index_digest(bundle)}
            answers = [keyless.refusal(one, about, identity.identity, identity.issuer, root) for one in keyless_ones]
            if "" in answers:
                found.append(identity)
            else:
                why = why or answers[0]
        return found, why

    def refusal(self, bundle: Bundle, digest: str, signatures: Sequence[bytes], *, remote: bool) -> str:
        """Why a bundle isn't taken; empty if it is.

        Args:
            bundle, digest: it.
            signatures: envelopes, whoever made them.
            remote: whether it is in a registry yet, and not in a store on this machine.
        """
        if self.file is not None and digest in self.file.revoked:
            return f"{self.path} has revoked it"
        if self.unsigned:
            return ""
        if self.file is None:
            return (
                f"it comes from a registry, and there is no {self.path} that says whose bundles are taken"
                if remote
                else ""
            )
        needed = {one.namespace for one in bundle.plugins if not _any(one.namespace, self.file.unsigned)}
        if not needed:
            return ""
        return self._unsigned(bundle, digest, signatures, needed) if signatures else "it is not signed"

    def _unsigned(self, bundle: Bundle, digest: str, signatures: Sequence[bytes], needed: set[str]) -> str:
        """Why signatures are not enough for namespaces; empty if they are."""
        signers = self._keys(digest, signatures)
        # sigstore is asked last: it takes longer, and is an extra.
        if not (reason := self._missing(needed, signers, "")):
            return ""
        found, why = self._identities(bundle, digest, signatures)
        return self._missing(needed, [*signers, *found], why) if found or why else reason

    def _missing(self, needed: set[str], signers: Sequence[TrustedPublisher], why: str) -> str:
        """What these signers leave unsigned; empty if nothing."""
        if not signers:
            of = "a key or an identity" if self.file and self.file.identities else "a key"
            return f"none of its signatures is of {of} in {self.path}" + (f": {why}" if why else "")
        valid = [one for one in signers if one.expires is None or self.today <= one.expires]
        if not valid:
            what = "key" if isinstance(signers[0], TrustedKey) else "identity"
            return f"the {what} '{signers[0].name}' has expired on {signers[0].expires}"
        left = sorted(one for one in needed if not any(_any(one, key.namespaces) for key in valid))
        names = ", ".join(f"'{one.name}'" for one in valid)
        return f"{names} {_NOT_HIS} '{left[0]}'" if left else ""

    def check(self, bundle: Bundle, digest: str, signatures: Sequence[bytes], *, remote: bool) -> None:
        """Refuse a bundle that isn't taken.

        Raises:
            CheckFailed: it isn't; it says why.
        """
        if reason := self.refusal(bundle, digest, signatures, remote=remote):
            raise CheckFailed(f"{bundle.label} ({digests.short(digest)}) is refused: {reason}.", hint=self.hint(reason))

    def check_remote(self, bundle: Bundle, digest: str, signatures: Sequence[bytes]) -> None:
        """As `check`, for a bundle in a registry."""
        self.check(bundle, digest, signatures, remote=True)

    def hint(self, reason: str = "") -> str:
        """What to do about a refusal."""
        if "revoked" in reason:
            return "Don't use it: take another release."
        if _NOT_HIS in reason:
            return (
                f"If the publisher may: add the namespace to his `namespaces` in {self.path} (docs/registry.md, "
                "'Trust'); --unsigned takes it without."
            )
        return f"Put the publisher into {self.path} (docs/registry.md, 'Trust'); --unsigned takes it without."


def read(path: Path) -> TrustFile:
    """Read a trust.toml.

    Raises:
        UsageError: there is none, it is not TOML, or isn't valid.
    """
    try:
        return TrustFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        if path.is_symlink():
            raise UsageError(
                f"{path} is a link that leads nowhere.",
                hint="Is a disk not mounted? Otherwise fix the link, or remove it.",
            ) from None
        raise UsageError(
            f"There is no {path}.", hint=f"Write it, or unset {VARIABLE}: docs/registry.md, 'Trust'."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{path}: {where}: {first['msg']}.", hint="docs/registry.md, 'Trust', has an example."
        ) from None


def _is_absent(path: Path) -> bool:
    """Whether nobody has written a file. A link that leads nowhere, as to a disk that isn't mounted, and what can't be
    looked at don't count as absent: then nothing would be asked of what is in a store."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return not any(one.is_symlink() and not one.exists() for one in path.parents)
    except OSError:
        return False
    return False


def _any(namespace: str, known: Sequence[str]) -> bool:
    return any(patterns.matches(namespace, one) for one in known)
