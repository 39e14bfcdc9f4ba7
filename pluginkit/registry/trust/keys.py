"""Ed25519 keys as files: those of `ssh-keygen -t ed25519` and of `openssl genpkey -algorithm ed25519`."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pluginkit import installation
from pluginkit.errors import ToolMissing, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_KIND = b"ssh-ed25519"
_LARGEST = 1 << 16
_MAKE = "ssh-keygen -t ed25519 -f FILE makes one."


def private(path: Path, password: Callable[[], str]) -> Ed25519PrivateKey:
    """Read a private key.

    Args:
        path: the file; nobody but its owner may have a right to it.
        password: asked where the key is encrypted.

    Raises:
        UsageError: there is none, it is of another kind, others may read it, or the password is wrong.
        ToolMissing: cryptography isn't installed.
    """
    _needs_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(_LARGEST)
    except OSError as error:
        raise UsageError(f"The key {path} cannot be read: {error.strerror}.", hint=_MAKE) from None
    if mode & 0o077:
        raise UsageError(
            f"The key {path} may be used by others ({stat.filemode(mode)}).",
            hint=f"chmod 600 {path}; is it still a secret?",
        )
    try:
        found = _loaded(data, None)
        if found is None:
            found = _loaded(data, password().encode())
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UsageError(
            f"{path} is not a private key that can be read, or the password is wrong: {error}", hint=_MAKE
        ) from None
    if not isinstance(found, Ed25519PrivateKey):
        raise UsageError(f"{path} is a key of another kind than Ed25519.", hint=_MAKE)
    return found


def _loaded(data: bytes, password: bytes | None) -> object:
    """The key; None if it is encrypted and there is no password."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    load = load_ssh_private_key if b"OPENSSH PRIVATE KEY" in data else load_pem_private_key
    try:
        return load(data, password)
    except (TypeError, ValueError) as error:
        # What both raise for an encrypted key: a TypeError by now, a ValueError with these words in older releases.
        if password is None and ("encrypted" in str(error) or "password" in str(error).lower()):
            return None
        raise


def raw(key: Ed25519PrivateKey) -> bytes:
    """The 32 bytes of a private key's public half."""
    return key.public_key().public_bytes_raw()


def written(public: bytes) -> str:
    """A public key as OpenSSH writes it (RFC 8709): `ssh-ed25519 AAAA...`."""
    blob = b"".join(len(part).to_bytes(4, "big") + part for part in (_KIND, public))
    return f"{_KIND.decode()} {base64.b64encode(blob).decode()}"


def parse(text: str) -> bytes:
    """The 32 bytes of a public key as OpenSSH writes it; a comment may follow.

    Raises:
        ValueError: it is none.
    """
    kind, _, rest = text.strip().partition(" ")
    try:
        blob = base64.b64decode(rest.split(" ")[0], validate=True)
    except binascii.Error:
        blob = b""
    head = len(_KIND).to_bytes(4, "big") + _KIND + (32).to_bytes(4, "big")
    if kind != _KIND.decode() or len(blob) != len(head) + 32 or not blob.startswith(head):
        raise ValueError("no public key as ssh-keygen -t ed25519 writes it: ssh-ed25519 AAAA...")
    return blob[-32:]


def identifier(public: bytes) -> str:
    """What a signature names its key by; a hint, and never a proof."""
    return hashlib.sha256(public).hexdigest()


def _needs_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ModuleNotFoundError:
        raise ToolMissing(
            "Signatures need the package cryptography, which is not installed.", hint=installation.extra("trust")
        ) from None


def check(public: bytes, signature: bytes, data: bytes) -> bool:
    """Whether a signature is that key's, over these bytes.

    Raises:
        ToolMissing: cryptography isn't installed.
    """
    _needs_cryptography()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True
