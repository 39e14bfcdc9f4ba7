"""Signatures by sigstore: a recorded one by its public instance, and those of an instance that is made here.

All of it without a network: a socket that is connected ends the test.
"""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pluginkit import cli
from pluginkit.errors import ToolMissing, UsageError
from pluginkit.registry.bundles import archive
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.oci import artifacts
from pluginkit.registry.storage.store import Store
from pluginkit.registry.trust import envelope, keyless
from pluginkit.registry.trust.policy import Policy, TrustedIdentity, TrustFile

from ..conftest import Make

pytest.importorskip("sigstore", reason="sigstore isn't installed (the extra sigstore)")
from .instance import IDENTITY, ISSUER, Sigstore

RECORDED = Path(__file__).with_name("rfc8785-0.1.2-py3-none-any.whl.sigstore")
WHEEL = "sha256:c4e92e9ecc828bef2aa7dba1de8ac983511f7532a0df11c770d39099a25cf201"
"""The digest of the wheel, as PyPI has it: pypi.org/project/rfc8785/0.1.2."""
WORKFLOW = "https://github.com/trailofbits/rfc8785.py/.github/workflows/release.yml@refs/tags/v0.1.2"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """sigstore keeps its trusted root in the user's cache."""

    def refuse(*_: object) -> None:
        raise AssertionError("a network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def instance() -> Sigstore:
    return Sigstore()


@pytest.fixture
def root(instance: Sigstore, tmp_path: Path) -> Path:
    return instance.trusted_root(tmp_path / "root.json")


def statement(digest: str, kind: str = "https://slsa.dev/provenance/v1", **other: object) -> dict[str, object]:
    subject = [{"name": "registry.example.com/plugins", "digest": {"sha256": digest[7:]}}]
    return {"_type": envelope.STATEMENT, "subject": subject, "predicateType": kind, "predicate": {}, **other}


def trusting(root: Path | None, identity: str = IDENTITY, issuer: str = ISSUER, **more: Any) -> Policy:
    one = TrustedIdentity(name="CI", identity=identity, issuer=issuer, namespaces=("acme",), trusted_root=root, **more)
    return Policy(TrustFile(identities=(one,)), Path("trust.toml"), today=date(2027, 1, 1))


def refused(content: Content, by: Policy, *signatures: bytes) -> str:
    return by.refusal(content.bundle, content.digest, signatures, remote=True)


def test_a_recorded_signature_of_the_public_instance() -> None:
    data = RECORDED.read_bytes()
    assert keyless.subjects(data) == {WHEEL}
    assert keyless.claim(data) == keyless.Claim((WORKFLOW,), ISSUER)
    for identity in (WORKFLOW, "https://github.com/trailofbits/rfc8785.py/.github/workflows/release.yml@refs/tags/*"):
        assert keyless.refusal(data, {WHEEL}, identity, ISSUER, None) == ""
    assert "is of something else" in keyless.refusal(data, {"sha256:" + "0" * 64}, "*", ISSUER, None)
    assert "trailofbits/rfc8785.py" in keyless.refusal(data, {WHEEL}, IDENTITY, ISSUER, None)
    assert "trailofbits/rfc8785.py" in keyless.refusal(data, {WHEEL}, WORKFLOW, "https://accounts.google.com", None)
    plain = json.loads(data)
    signature = base64.b64decode(plain["messageSignature"]["signature"])
    plain["messageSignature"]["signature"] = base64.b64encode(signature[:-1] + bytes([signature[-1] ^ 1])).decode()
    assert "sigstore refuses" in keyless.refusal(json.dumps(plain).encode(), {WHEEL}, WORKFLOW, ISSUER, None)


def test_what_is_signed_is_the_manifest_or_the_index(make: Make, instance: Sigstore, root: Path) -> None:
    """`sigstore sign manifest.json`; GitHub's attestation of it; `cosign sign` of what was pushed."""
    content, by = make(), trusting(root)
    index = artifacts.index_digest(content.bundle)
    good = [
        instance.sign(content.manifest),
        instance.sign(statement=statement(content.digest)),
        instance.sign(statement=statement(index, "https://sigstore.dev/cosign/sign/v1")),
        instance.sign(artifacts.index(content.bundle, content.manifest)[0]),
    ]
    for one in good:
        assert refused(content, by, one) == ""
        assert refused(make(salt="x"), by, one).endswith("its signature by sigstore is of something else")
    assert "not signed" in refused(content, by)


@pytest.mark.parametrize("other", [
    {"_type": "https://in-toto.io/Statement/v0.1"}, {"predicateType": "https://cosign.sigstore.dev/attestation/vuln/v1"},
    {"subject": []}, {"subject": [{"digest": {"sha512": "00"}}]}, {"subject": 7}, {"subject": [{}]},
])  # fmt: skip
def test_a_right_signature_of_another_statement(
    make: Make, instance: Sigstore, root: Path, other: dict[str, object]
) -> None:
    content = make()
    made = instance.sign(statement=statement(content.digest, **other))  # type: ignore[arg-type]
    assert "is of something else" in refused(content, trusting(root), made)


def test_who_has_signed(make: Make, instance: Sigstore, root: Path) -> None:
    content = make()
    made = instance.sign(content.manifest)
    assert refused(content, trusting(root, IDENTITY.replace("v1.0", "*")), made) == ""
    for identity, issuer in (
        (IDENTITY.replace("acme", "other"), ISSUER),
        (IDENTITY[:-1], ISSUER),
        (IDENTITY, "https://accounts.google.com"),
        (IDENTITY, ISSUER + "/acme"),
    ):
        reason = refused(content, trusting(root, identity, issuer), made)
        assert f"is by {IDENTITY} (issuer {ISSUER})" in reason
    person = instance.sign(content.manifest, identity="me@example.com", issuer="https://accounts.google.com")
    assert refused(content, trusting(root, "me@example.com", "https://accounts.google.com"), person) == ""
    assert refused(content, trusting(root), person, made) == "", "one of two"
    assert "may not publish the namespace 'acme.more'" in refused(
        make(plugins=(("A", "1", "acme.more"),)), trusting(root),
        instance.sign(make(plugins=(("A", "1", "acme.more"),)).manifest))  # fmt: skip
    assert "the identity 'CI' has expired" in refused(content, trusting(root, expires=date(2026, 12, 31)), made)


def test_an_identity_with_brackets(make: Make, instance: Sigstore, root: Path) -> None:
    """`*` alone stands for others: what `sign --sigstore` prints for a GitHub app takes its signature, and no other."""
    content, app = make(), "41898282+github-actions[bot]@users.noreply.github.com"
    made = instance.sign(content.manifest, identity=app)
    assert refused(content, trusting(root, app), made) == ""
    assert refused(content, trusting(root, app.replace("41898282", "*")), made) == ""
    other = instance.sign(content.manifest, identity=app.replace("[bot]", "b"))
    assert f"is by {app.replace('[bot]', 'b')}" in refused(content, trusting(root, app), other)


def test_a_certificate_that_had_expired(make: Make, instance: Sigstore, root: Path) -> None:
    """By the time in the log, not by today's."""
    content = make()
    for minutes, fine in ((0, True), (9, True), (11, False), (-1, False)):
        made = instance.sign(content.manifest, late=timedelta(minutes=minutes))
        reason = refused(content, trusting(root), made)
        assert (reason == "") == fine, reason
        assert fine or "not valid at validation time" in reason


def test_other_roots(make: Make, instance: Sigstore, root: Path, tmp_path: Path) -> None:
    content = make()
    other = Sigstore()
    assert "sigstore refuses" in refused(content, trusting(root), other.sign(content.manifest))
    assert "sigstore refuses" in refused(content, trusting(None), instance.sign(content.manifest)), "the public one"
    # Each key of an instance is asked: one with a foreign log is refused.
    for name in ("certificates", "signatures"):
        mixed = Sigstore(instance.authority)
        setattr(mixed, name, getattr(instance, name))
        assert "sigstore refuses" in refused(content, trusting(root), mixed.sign(content.manifest)), name
    for text in ("", "{}", "[]", "{", '{"mediaType": "x"}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(UsageError, match="trusted root"):
            refused(content, trusting(tmp_path / "bad.json"), instance.sign(content.manifest))
    with pytest.raises(UsageError, match="cannot be read"):
        refused(content, trusting(tmp_path / "none.json"), instance.sign(content.manifest))


def test_a_root_from_trust_toml_s_folder(make: Make, instance: Sigstore, root: Path) -> None:
    by = Policy(trusting(Path(root.name)).file, root.parent / "trust.toml", today=date(2027, 1, 1))
    content = make()
    assert refused(content, by, instance.sign(content.manifest)) == ""


def test_what_was_verified_decides(instance: Sigstore, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what a signature says of itself, whichever of two equal keys a reader takes."""
    made = instance.sign(statement=statement("sha256:" + "b" * 64))
    good = json.loads(made)["dsseEnvelope"]
    forged = {**good, "payload": base64.b64encode(json.dumps(statement(WHEEL)).encode()).decode()}
    rest = made.replace(
        b'"dsseEnvelope":' + json.dumps(good, sort_keys=True, separators=(",", ":")).encode() + b",", b""
    )
    for one, two in ((good, forged), (forged, good)):
        twice = f'{{"dsseEnvelope":{json.dumps(one)},"dsseEnvelope":{json.dumps(two)},'.encode() + rest[1:]
        assert twice.count(b'"dsseEnvelope"') == 2
        assert keyless.refusal(twice, {WHEEL}, IDENTITY, ISSUER, root)
    monkeypatch.setattr(keyless, "subjects", lambda _: frozenset({WHEEL}))
    for other in (made, instance.sign(b"else")):
        assert keyless.refusal(other, {WHEEL}, IDENTITY, ISSUER, root)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "no certificate": lambda plain: plain["verificationMaterial"].pop("certificate"),
    "certificate": lambda plain: plain["verificationMaterial"]["certificate"].update(rawBytes="AAAA"),
    "certificate of version 27": lambda plain: plain["verificationMaterial"]["certificate"].update(
        rawBytes=base64.b64encode(base64.b64decode(plain["verificationMaterial"]["certificate"]["rawBytes"]).replace(
            b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x1a", 1)).decode()),
    "no entry": lambda plain: plain["verificationMaterial"].update(tlogEntries=[]),
    "no proof": lambda plain: plain["verificationMaterial"]["tlogEntries"][0].pop("inclusionProof"),
    "no promise": lambda plain: plain["verificationMaterial"]["tlogEntries"][0].pop("inclusionPromise"),
    "time": lambda plain: plain["verificationMaterial"]["tlogEntries"][0].update(integratedTime="1761998500"),
    "time of no calendar": lambda plain: plain["verificationMaterial"]["tlogEntries"][0].update(
        integratedTime=str(2**63 - 1)),
    "root": lambda plain: plain["verificationMaterial"]["tlogEntries"][0]["inclusionProof"].update(
        rootHash=base64.b64encode(bytes(32)).decode()),
    "checkpoint": lambda plain: plain["verificationMaterial"]["tlogEntries"][0]["inclusionProof"].update(
        checkpoint={"envelope": "x"}),
    "body": lambda plain: plain["verificationMaterial"]["tlogEntries"][0].update(canonicalizedBody="e30="),
    "signature": lambda plain: plain["messageSignature"].update(signature="AAAA"),
    "version": lambda plain: plain.update(mediaType="application/vnd.dev.sigstore.bundle.v9+json"),
    "both": lambda plain: plain.update(dsseEnvelope={}),
    "no content": lambda plain: plain.pop("messageSignature"),
    "material": lambda plain: plain.update(verificationMaterial=7),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_signature_that_was_changed(make: Make, instance: Sigstore, root: Path, change: str) -> None:
    content = make()
    plain = json.loads(instance.sign(content.manifest))
    CHANGES[change](plain)
    reason = refused(content, trusting(root), json.dumps(plain).encode())
    assert "sigstore refuses" in reason or "is of something else" in reason
    assert "\n" not in reason
    keyless.claim(json.dumps(plain).encode())  # which raises nothing, whatever it reads


KEYS = st.sampled_from(["payload", "messageDigest", "digest", "algorithm"])


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda one: st.lists(one, max_size=2) | st.dictionaries(KEYS, one),
    )
)
def test_any_content(root: Path, content: object) -> None:
    for key in ("dsseEnvelope", "messageSignature", "verificationMaterial"):
        data = json.dumps({"mediaType": artifacts.SIGSTORE + ".v0.3+json", key: content}).encode()
        assert keyless.refusal(data, {WHEEL}, "*", ISSUER, root)
        assert keyless.claim(data) is None


def test_without_sigstore(make: Make, instance: Sigstore, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = make()
    made = instance.sign(content.manifest)
    monkeypatch.setattr(keyless.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ToolMissing, match="sigstore") as caught:
        refused(content, trusting(root), made)
    assert "sigstore>=" in caught.value.hint
    assert "not signed" in refused(content, trusting(root)), "what needs no package asks for none"
    assert "none of its signatures" in refused(content, Policy(TrustFile(), Path("trust.toml")), made)


def test_a_sigstore_of_another_release(
    make: Make, instance: Sigstore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = make()
    made = instance.sign(content.manifest)
    monkeypatch.delattr("sigstore.models.TrustedRoot")
    with pytest.raises(ToolMissing, match="another release of the package sigstore") as caught:
        refused(content, trusting(root), made)
    assert "sigstore>=" in caught.value.hint


def run(*args: str | Path) -> int:
    return cli.run([str(one) for one in args])


def test_the_commands(
    make: Make, instance: Sigstore, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """sign --sigstore adds it, verify asks it, export and import take it along."""
    content, where = make(), ("--store", tmp_path / "store")
    with Store.open(tmp_path / "store") as store:
        store.add(content)
    made, other = tmp_path / "manifest.json.sigstore.json", tmp_path / "other.sigstore.json"
    made.write_bytes(instance.sign(content.manifest))
    other.write_bytes(instance.sign(b"else"))
    for arguments, code, words in (
        ((), 2, "Give --key FILE, or --sigstore FILE"),
        (("--sigstore", tmp_path / "none"), 2, "cannot be read"),
        (("--sigstore", root), 2, "is not a bundle of sigstore"),
        (("--sigstore", other), 1, "is a signature of sha256:"),
        (("--sigstore", made, "--key", made), 2, "Give --key FILE, or --sigstore FILE"),
    ):
        assert run("registry", "sign", "scale", *arguments, *where) == code
        assert words in capsys.readouterr().err
    assert run("registry", "sign", "scale", "--sigstore", made, *where) == 0
    output = capsys.readouterr().out
    assert "Added a signature of scale 1.0" in output
    lines = output[output.index("[[identities]]") : output.index("Next")]
    trust = tmp_path / "trust.toml"
    trust.write_text(f'{lines}trusted_root = "root.json"\n')
    by = ("--trust", trust)
    assert run("registry", "verify", "scale", *by, *where) == 0
    assert f"scale 1.0: signed by '{IDENTITY}'" in capsys.readouterr().out
    assert run("registry", "export", "scale", "-o", tmp_path / "out", *where) == 0
    there = ("--store", tmp_path / "other")
    assert run("registry", "import", tmp_path / "out", *there) == 0
    assert run("registry", "verify", "scale", *by, *there) == 0
    trust.write_text(trust.read_text().replace("@refs/tags/v1.0", "@refs/heads/main"))
    capsys.readouterr()
    assert run("registry", "verify", "scale", *by, *there) == 1
    assert "its signature by sigstore is by https://github.com/acme/plugins" in " ".join(
        capsys.readouterr().out.split()
    )
    assert (tmp_path / "out" / f"scale-1.0{archive.SUFFIX}").is_file()
