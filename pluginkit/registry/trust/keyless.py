"""Signatures without a key of the publisher's: sigstore's bundles, verified without a network.

Such a bundle (docs.sigstore.dev/about/bundle) holds a certificate of minutes, in which an authority names who has
logged in where, and a log's proof that the signature was made in those minutes. The package sigstore verifies all of
it; this module asks whether the identity is the one that is trusted, and whether the signature is of the bundle's
digest.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import logging
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pluginkit import installation
from pluginkit.errors import ToolMissing, UsageError
from pluginkit.registry.bundles import digests
from pluginkit.registry.trust import envelope, patterns

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from sigstore.verify import Verifier

PREDICATES = (envelope.PREDICATE, "https://sigstore.dev/cosign/sign/v1", "https://slsa.dev/provenance/v1")
"""The statements that say that the signer publishes the subject: pluginkit's own, `cosign sign`'s, and a build's
provenance (slsa.dev). Others, as the result of a scan, are about a bundle too, but no consent to it."""


@dataclass(frozen=True)
class Claim:
    """Who says, by a certificate, that he has signed; a claim until it is verified.

    Attributes:
        identities: e-mail addresses and URIs.
        issuer: where he has logged in.
    """

    identities: tuple[str, ...]
    issuer: str

    def __str__(self) -> str:
        return f"{' or '.join(self.identities) or 'nobody'} (issuer {self.issuer or 'not given'})"


def subjects(data: bytes) -> frozenset[str]:
    """The SHA-256 digests that a sigstore bundle is about, by what it says itself; nothing of it is verified."""
    plain = _plain(data)
    try:
        if "dsseEnvelope" in plain:
            return _statement_subjects(base64.b64decode(plain["dsseEnvelope"]["payload"]))
        found = plain["messageSignature"]["messageDigest"]
        raw = base64.b64decode(found["digest"])
        return frozenset({_named(raw.hex())} if found["algorithm"] == "SHA2_256" else ())
    except (LookupError, TypeError, ValueError, AttributeError):
        return frozenset()


def refusal(data: bytes, about: Collection[str], identity: str, issuer: str, root: Path | None) -> str:
    """Why a sigstore bundle is not a signature of a digest by an identity; empty if it is.

    Args:
        data: the sigstore bundle.
        about: digests, of which one must be signed.
        identity: an e-mail address or URI, with `*` for any characters.
        issuer: where the identity has logged in, exactly.
        root: the trusted root, as JSON; None: that of sigstore's public instance which the package sigstore has.

    Raises:
        ToolMissing: sigstore isn't installed.
        UsageError: the trusted root can't be read.
    """
    verifier = _verifier(root)
    from sigstore.hashes import HashAlgorithm, Hashed
    from sigstore.models import Bundle

    signed = subjects(data) & set(about)
    if not signed:
        return "its signature by sigstore is of something else"
    policy = _IdentityPolicy(identity, issuer)
    try:
        bundle = Bundle.from_json(data)
        if "dsseEnvelope" in _plain(data):
            kind, payload = verifier.verify_dsse(bundle, policy)
            if kind != envelope.PAYLOAD or not _statement_subjects(payload) & set(about):
                return "its signature by sigstore is of something else"
        else:
            digest = bytes.fromhex(min(signed).partition(":")[2])
            verifier.verify_artifact(Hashed(algorithm=HashAlgorithm.SHA2_256, digest=digest), bundle, policy)
    except Exception as error:  # noqa: BLE001 - sigstore's, cryptography's and Python's own: anyone can add a signature
        if policy.foreign is not None:
            return f"its signature by sigstore is by {policy.foreign}"
        return f"sigstore refuses its signature: {' '.join(str(error).split())[:200]}"
    return ""


def claim(data: bytes) -> Claim | None:
    """Whose certificate a sigstore bundle has; None where none can be read. Nothing of it is verified.

    Raises:
        ToolMissing: sigstore isn't installed.
    """
    _needs_sigstore()
    from sigstore.models import Bundle

    try:
        return _claim(Bundle.from_json(data).signing_certificate)
    except Exception:  # noqa: BLE001 - as in `refusal`
        return None


class _IdentityPolicy:
    """sigstore's own takes identities by equality; a workflow's has the tag of each release in it.

    Attributes:
        foreign: whose the certificate is, if it isn't this identity's.
    """

    def __init__(self, identity: str, issuer: str) -> None:
        self.foreign: Claim | None = None
        self._identity, self._issuer = identity, issuer

    def verify(self, cert: Certificate) -> None:
        """Called by sigstore, after it has verified the certificate's chain.

        Raises:
            VerificationError: the certificate is somebody else's.
        """
        from sigstore.errors import VerificationError
        from sigstore.verify.policy import AnyOf, OIDCIssuer, OIDCIssuerV2

        self.foreign = _claim(cert)
        AnyOf([OIDCIssuer(self._issuer), OIDCIssuerV2(self._issuer)]).verify(cert)
        if not any(patterns.matches(one, self._identity) for one in self.foreign.identities):
            raise VerificationError("another identity")
        self.foreign = None


_ISSUERS = ("1.3.6.1.4.1.57264.1.1", "1.3.6.1.4.1.57264.1.8")
"""Fulcio's extensions for the issuer (github.com/sigstore/fulcio, docs/oid-info.md): text, and text in DER."""


def _claim(certificate: Certificate) -> Claim:
    from cryptography.x509 import RFC822Name, SubjectAlternativeName, UniformResourceIdentifier, UnrecognizedExtension

    names: list[str] = []
    issuers: dict[str, str] = {}
    for one in certificate.extensions:
        if isinstance(one.value, SubjectAlternativeName):
            names += one.value.get_values_for_type(RFC822Name)
            names += one.value.get_values_for_type(UniformResourceIdentifier)
        elif isinstance(one.value, UnrecognizedExtension) and one.oid.dotted_string in _ISSUERS:
            raw = one.value.value
            head = 0 if one.oid.dotted_string == _ISSUERS[0] else 2 if raw[1:2] < b"\x80" else 3
            issuers[one.oid.dotted_string] = raw[head:].decode(errors="replace")
    return Claim(tuple(names), next((issuers[one] for one in _ISSUERS if one in issuers), ""))


def _verifier(root: Path | None) -> Verifier:
    _needs_sigstore()
    from sigstore.errors import Error
    from sigstore.models import TrustedRoot
    from sigstore.verify import Verifier

    # It warns each time that nothing is asked of the network, and Python prints what no handler takes.
    logging.getLogger("sigstore").addHandler(logging.NullHandler())
    try:
        return (
            Verifier.production(offline=True)
            if root is None
            else Verifier(trusted_root=TrustedRoot.from_file(str(root)))
        )
    except (Error, OSError, ValueError, TypeError) as error:
        what = "sigstore's own trusted root" if root is None else f"The trusted root {root}"
        why = (isinstance(error, OSError) and error.strerror) or " ".join(str(error).split())[:200]
        raise UsageError(
            f"{what} cannot be read: {why}.",
            hint="trusted_root names a trusted_root.json, as `cosign trusted-root create` writes it.",
        ) from None


def _needs_sigstore() -> None:
    hint = installation.extra("sigstore")
    if importlib.util.find_spec("sigstore") is None:
        raise ToolMissing("Signatures by sigstore need the package sigstore, which is not installed.", hint=hint)
    try:
        from sigstore.models import TrustedRoot  # noqa: F401 - here since sigstore 4
    except ImportError as error:
        raise ToolMissing(
            f"Signatures by sigstore need another release of the package sigstore: {error}.", hint=hint
        ) from None


def _statement_subjects(payload: bytes) -> frozenset[str]:
    """The digests that an in-toto statement says the signer publishes."""
    plain = _plain(payload)
    if plain.get("_type") != envelope.STATEMENT or plain.get("predicateType") not in PREDICATES:
        return frozenset()
    found = (one["digest"].get(digests.ALGORITHM) for one in plain["subject"])
    return frozenset(_named(one) for one in found if one)


def _named(hexadecimal: str) -> str:
    return digests.check(f"{digests.ALGORITHM}:{hexadecimal}")


def _plain(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
