"""Signatures over a bundle's digest: a DSSE envelope (github.com/secure-systems-lab/dsse) with an in-toto statement
(github.com/in-toto/attestation, Statement v1)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.bundle import Bundle
from pluginkit.registry.trust import keys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PAYLOAD = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:pluginkit:bundle:v1"


def sign(bundle: Bundle, digest: str, key: Ed25519PrivateKey) -> bytes:
    """An envelope that says: this digest is that bundle's. The same key and bundle give the same bytes."""
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": bundle.label, "digest": {digests.ALGORITHM: digest.partition(":")[2]}}],
        "predicateType": PREDICATE,
        "predicate": {"name": bundle.name, "release": bundle.release,
                      "namespaces": sorted({one.namespace for one in bundle.plugins})},
    }  # fmt: skip
    payload = _json(statement)
    signature = key.sign(encoded(PAYLOAD, payload))
    return _json(
        {
            "payloadType": PAYLOAD,
            "payload": base64.b64encode(payload).decode(),
            "signatures": [{"keyid": keys.identifier(keys.raw(key)), "sig": base64.b64encode(signature).decode()}],
        }
    )


def encoded(kind: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: what is signed."""
    return b"DSSEv1 %d %s %d %s" % (len(kind.encode()), kind.encode(), len(payload), payload)


def signers(envelope: bytes, digest: str, public: Iterable[bytes]) -> list[bytes]:
    """The keys, of some, that have signed that a digest is a bundle's; none for an envelope that can't be read.

    The payload is read only after a signature over it was seen to be right.
    """
    try:
        plain = json.loads(envelope)
        kind, payload = plain["payloadType"], _decoded(plain["payload"])
        signatures = [_decoded(one["sig"]) for one in plain["signatures"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    if kind != PAYLOAD:
        return []
    data = encoded(kind, payload)
    found = [one for one in public if any(keys.check(one, signature, data) for signature in signatures)]
    return found if found and _is_about(payload, digest) else []


def _is_about(payload: bytes, digest: str) -> bool:
    try:
        statement = json.loads(payload)
        subjects = [one["digest"].get(digests.ALGORITHM) for one in statement["subject"]]
        return (
            statement["_type"] == STATEMENT
            and statement["predicateType"] == PREDICATE
            and digest.partition(":")[2] in subjects
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _decoded(text: str) -> bytes:
    """Base64 of either alphabet, as DSSE allows it."""
    try:
        return base64.b64decode(text.translate(str.maketrans("-_", "+/")), validate=True)
    except (binascii.Error, AttributeError):
        raise ValueError("no base64") from None


def _json(plain: Any) -> bytes:
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
