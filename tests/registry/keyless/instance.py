"""An instance of sigstore: an authority for certificates, its log, and the log of signatures, with keys of their own.

What it signs is what Fulcio and Rekor give (RFC 6962 for both logs; sigstore's client specification), so that the
package sigstore verifies all of it, by the trusted root that is written here. Nothing asks a network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID

NOW = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)
MINUTES = timedelta(minutes=10)
ISSUER = "https://token.actions.githubusercontent.com"
IDENTITY = "https://github.com/acme/plugins/.github/workflows/release.yml@refs/tags/v1.0"
_ISSUER_OID = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
_NAMES_OID = ExtensionOID.SUBJECT_ALTERNATIVE_NAME
_ORIGIN = "rekor.example.com - 1"


def _key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _spki(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _id(key: ec.EllipticCurvePrivateKey) -> bytes:
    return hashlib.sha256(_spki(key)).digest()


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _json(plain: object) -> bytes:
    return json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()


def _usage(*, authority: bool) -> x509.KeyUsage:
    names = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
             "key_cert_sign", "crl_sign", "encipher_only", "decipher_only")  # fmt: skip
    return x509.KeyUsage(**{one: one == ("key_cert_sign" if authority else "digital_signature") for one in names})


@dataclass
class Sigstore:
    """The keys of an instance."""

    authority: ec.EllipticCurvePrivateKey = field(default_factory=_key)
    certificates: ec.EllipticCurvePrivateKey = field(default_factory=_key)
    signatures: ec.EllipticCurvePrivateKey = field(default_factory=_key)

    def __post_init__(self) -> None:
        name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "sigstore.example.com"),
                          x509.NameAttribute(NameOID.COMMON_NAME, "authority")])  # fmt: skip
        public = self.authority.public_key()
        self.root = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(public)
            .serial_number(1)
            .not_valid_before(NOW - timedelta(days=300))
            .not_valid_after(NOW + timedelta(days=3000))
            .add_extension(x509.BasicConstraints(ca=True, path_length=1), critical=True)
            .add_extension(_usage(authority=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self.authority, SHA256())
        )

    def trusted_root(self, path: Path) -> Path:
        """Write the trusted root."""

        def log(key: ec.EllipticCurvePrivateKey) -> dict[str, object]:
            public = {"rawBytes": _b64(_spki(key)), "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                      "validFor": {"start": "2025-01-01T00:00:00Z"}}  # fmt: skip
            return {"baseUrl": "https://log.example.com", "hashAlgorithm": "SHA2_256", "publicKey": public,
                    "logId": {"keyId": _b64(_id(key))}}  # fmt: skip

        authority = {
            "subject": {"organization": "sigstore.example.com", "commonName": "authority"},
            "uri": "https://fulcio.example.com",
            "certChain": {"certificates": [{"rawBytes": _b64(self.root.public_bytes(Encoding.DER))}]},
            "validFor": {"start": "2025-01-01T00:00:00Z"},
        }
        plain = {"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
                 "tlogs": [log(self.signatures)], "certificateAuthorities": [authority],
                 "ctlogs": [log(self.certificates)], "timestampAuthorities": []}  # fmt: skip
        path.write_bytes(_json(plain))
        return path

    def certificate(
        self, key: ec.EllipticCurvePrivateKey, identity: str, issuer: str, begins: datetime
    ) -> x509.Certificate:
        """A certificate for some minutes, which the log of certificates has taken in."""
        # In DER: x509.RFC822Name takes no brackets where email.utils.parseaddr reads them as RFC 822's (Python 3.11.2).
        person = "@" in identity and ":" not in identity
        name, text = identity.encode("ascii"), issuer.encode()
        names = bytes([0x81 if person else 0x86, len(name)]) + name
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(self.root.subject)
            .public_key(key.public_key())
            .serial_number(7)
            .not_valid_before(begins)
            .not_valid_after(begins + MINUTES)
            .add_extension(_usage(authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.authority.public_key()), critical=False
            )
            .add_extension(x509.UnrecognizedExtension(_NAMES_OID, b"\x30" + bytes([len(names)]) + names), critical=True)
            .add_extension(x509.UnrecognizedExtension(_ISSUER_OID, b"\x0c" + bytes([len(text)]) + text), critical=False)
        )
        before = builder.sign(self.authority, SHA256()).tbs_certificate_bytes
        time = int(begins.timestamp() * 1000)
        entry = _id(self.authority) + len(before).to_bytes(3, "big") + before
        signature = self.certificates.sign(struct.pack("!BBQH", 0, 0, time, 1) + entry + b"\0\0", ec.ECDSA(SHA256()))
        stamp = struct.pack("!B32sQHBBH", 0, _id(self.certificates), time, 0, 4, 3, len(signature)) + signature
        listed = struct.pack("!HH", len(stamp) + 2, len(stamp)) + stamp
        octets = b"\x04" + (b"" if len(listed) < 128 else b"\x81") + bytes([len(listed)]) + listed
        oid = ExtensionOID.PRECERT_SIGNED_CERTIFICATE_TIMESTAMPS
        return builder.add_extension(x509.UnrecognizedExtension(oid, octets), critical=False).sign(
            self.authority, SHA256()
        )

    def sign(
        self,
        data: bytes = b"",
        *,
        statement: object = None,
        identity: str = IDENTITY,
        issuer: str = ISSUER,
        late: timedelta = timedelta(minutes=1),
    ) -> bytes:
        """A sigstore bundle over bytes, or around a statement.

        Args:
            data: what is signed, if there is no statement.
            statement: an in-toto statement.
            identity, issuer: who has logged in, and where.
            late: from the certificate's begin to the log's entry.
        """
        key = _key()
        certificate = self.certificate(key, identity, issuer, NOW)
        pem = _b64(certificate.public_bytes(Encoding.PEM))
        if statement is None:
            signature = key.sign(data, ec.ECDSA(SHA256()))
            digest = hashlib.sha256(data)
            content: dict[str, object] = {"messageSignature": {
                "messageDigest": {"algorithm": "SHA2_256", "digest": _b64(digest.digest())},
                "signature": _b64(signature)}}  # fmt: skip
            kind = "hashedrekord"
            spec: dict[str, object] = {
                "signature": {"content": _b64(signature), "publicKey": {"content": pem}},
                "data": {"hash": {"algorithm": "sha256", "value": digest.hexdigest()}},
            }
        else:
            payload, kind_ = _json(statement), b"application/vnd.in-toto+json"
            signature = key.sign(b"DSSEv1 %d %s %d %s" % (len(kind_), kind_, len(payload), payload), ec.ECDSA(SHA256()))
            envelope = {"payload": _b64(payload), "payloadType": kind_.decode(),
                        "signatures": [{"sig": _b64(signature)}]}  # fmt: skip
            content = {"dsseEnvelope": envelope}
            kind = "dsse"
            spec = {
                "envelopeHash": {"algorithm": "sha256", "value": hashlib.sha256(_json(envelope)).hexdigest()},
                "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()},
                "signatures": [{"signature": _b64(signature), "verifier": pem}],
            }
        body = _json({"apiVersion": "0.0.1", "kind": kind, "spec": spec})
        material = {"certificate": {"rawBytes": _b64(certificate.public_bytes(Encoding.DER))},
                    "tlogEntries": [self._entry(kind, body, int((NOW + late).timestamp()))]}  # fmt: skip
        return _json(
            {
                "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
                "verificationMaterial": material,
                **content,
            }
        )

    def _entry(self, kind: str, body: bytes, time: int) -> dict[str, object]:
        """The only entry of the log of signatures: its leaf is the root of the tree."""
        key = self.signatures
        root = hashlib.sha256(b"\0" + body).digest()
        promise = key.sign(
            _json({"body": _b64(body), "integratedTime": time, "logID": _id(key).hex(), "logIndex": 0}),
            ec.ECDSA(SHA256()),
        )
        note = f"{_ORIGIN}\n1\n{_b64(root)}\n"
        mark = _b64(_id(key)[:4] + key.sign(note.encode(), ec.ECDSA(SHA256())))
        return {
            "logIndex": "0",
            "logId": {"keyId": _b64(_id(key))},
            "kindVersion": {"kind": kind, "version": "0.0.1"},
            "integratedTime": str(time),
            "inclusionPromise": {"signedEntryTimestamp": _b64(promise)},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": _b64(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": f"{note}\n— rekor.example.com {mark}\n"},
            },
            "canonicalizedBody": _b64(body),
        }
