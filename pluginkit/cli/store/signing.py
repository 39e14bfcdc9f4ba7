"""`pluginkit registry sign`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
from rich.text import Text

from pluginkit.cli import terminal
from pluginkit.cli.store.options import store_option
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.registry.bundles import archive, digests
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.oci import artifacts
from pluginkit.registry.storage import stores
from pluginkit.registry.trust import envelope, keyless, keys

PASSWORD = "PLUGINKIT_KEY_PASSWORD"


@click.command("sign")
@click.argument("bundle", metavar="NAME[@RELEASE]|DIGEST")
@click.option(
    "--key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Private Ed25519 key: ssh-keygen -t ed25519 -f FILE, or openssl genpkey -algorithm ed25519 -out FILE. Its "
    f"password is taken from {PASSWORD} or asked for.",
)
@click.option(
    "--sigstore",
    "made",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keyless signature of the bundle's manifest.json, made by sigstore, cosign or GitHub.",
)
@store_option
def sign(bundle: str, key: Path | None, made: Path | None, named: tuple[Path, ...]) -> int:
    """Sign the digest of a bundle in the store. `push` uploads the signature with the bundle."""
    if (key is None) == (made is None):
        raise UsageError("Give --key FILE, or --sigstore FILE.", hint="docs/registry.md, 'Trust', explains both.")
    console = terminal.console()
    private = keys.private(key, lambda: _password(key)) if key else None
    with stores.writable(named) as store:
        entry = store.find(bundle)
        content = store.content(entry.digest)
        if private:
            signature = envelope.sign(content.bundle, entry.digest, private)
            lines = f'[[keys]]\n  name = "{key.name if key else ""}"\n  key = "{keys.written(keys.raw(private))}"'
        else:
            assert made is not None
            signature = _sigstore_signature(made, content)
            lines = _identity(signature, made)
        store.add_signatures(entry.digest, [signature])
    namespaces = ", ".join(f'"{one}"' for one in sorted({one.namespace for one in content.bundle.plugins}))
    what = "Signed " if private else "Added a signature of "
    console.print(Text.assemble(what, (entry.label, "bold"), f" ({digests.short(entry.digest)})"))
    console.print(Text("Who is to take it has in trust.toml (docs/registry.md, 'Trust'):"))
    console.print(Text(f"  {lines}\n  namespaces = [{namespaces}]"))
    console.print(
        Text.assemble("Next: ", (f"pluginkit registry push {entry.name}@{entry.release} HOST/REPOSITORY", "bold"))
    )
    return 0


def _sigstore_signature(path: Path, content: Content) -> bytes:
    """What sigstore has made, if it says that it is of a bundle; whose it is, and whether it holds, is asked by whom it
    is to convince.

    Raises:
        UsageError: it can't be read, or is something else.
        CheckFailed: it is of something else.
    """
    try:
        with path.open("rb") as file:
            data = file.read(archive.LONGEST_SIGNATURE + 1)
    except OSError as error:
        raise UsageError(f"The signature {path} cannot be read: {error.strerror}.") from None
    if len(data) > archive.LONGEST_SIGNATURE or artifacts.signature_type(data) == artifacts.SIGNATURE:
        raise UsageError(
            f"{path} is not a bundle of sigstore: no JSON with such a mediaType.",
            hint="sigstore sign manifest.json writes manifest.json.sigstore.json.",
        )
    signed = keyless.subjects(data)
    if not signed & {content.digest, artifacts.index_digest(content.bundle)}:
        there = ", ".join(map(digests.short, sorted(signed))) or "nothing that can be read"
        raise CheckFailed(
            f"{path} is a signature of {there}, not of {content.bundle.label} ({digests.short(content.digest)}).",
            hint=f"What is to be signed: tar -xzf {archive.file_name(content.bundle)} {archive.MANIFEST}",
        )
    return data


def _identity(signature: bytes, path: Path) -> str:
    """The lines of trust.toml for whom a signature says that it is of.

    Raises:
        UsageError: its certificate can't be read.
    """
    claim = keyless.claim(signature)
    if claim is None or not claim.identities:
        raise UsageError(f"{path}: its certificate has no name, or is missing.", hint="Have it signed again.")
    name = json.dumps(claim.identities[0])
    return f"[[identities]]\n  name = {name}\n  identity = {name}\n  issuer = {json.dumps(claim.issuer)}"


def _password(key: Path) -> str:
    return os.environ.get(PASSWORD) or str(click.prompt(f"Password of {key}", hide_input=True, err=True))
