"""Whose bundles are taken: keys, signatures, trust.toml; and that nothing else is, by any way in."""

from __future__ import annotations

import base64
import json
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as elliptic
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from hypothesis import given
from hypothesis import strategies as st

import pluginkit
from pluginkit import cli
from pluginkit.errors import CheckFailed, ToolMissing, UsageError
from pluginkit.registry import wheels
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.bundles.systems import described
from pluginkit.registry.resolving import Resolver
from pluginkit.registry.storage.store import Store
from pluginkit.registry.storage.stores import Stores
from pluginkit.registry.trust import envelope, keys, policy
from pluginkit.registry.trust.policy import Policy, TrustedKey, TrustFile

from .conftest import Make

ACME, OTHER = (Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (1, 2))
TODAY = date(2027, 1, 1)


def run(*args: str | Path) -> int:
    return cli.run([str(one) for one in args])


def written(key: Ed25519PrivateKey) -> str:
    return keys.written(keys.raw(key))


def trusting(*given: TrustedKey, **more: object) -> Policy:
    plain = {"unsigned": False, **more}
    unsigned = bool(plain.pop("unsigned"))
    return Policy(TrustFile(keys=given, **plain), Path("trust.toml"), unsigned, TODAY)  # type: ignore[arg-type]


def key(private: Ed25519PrivateKey = ACME, *namespaces: str, **more: object) -> TrustedKey:
    return TrustedKey(name="Acme", key=written(private), namespaces=namespaces or ("acme",), **more)  # type: ignore[arg-type]


def signed(content: Content, private: Ed25519PrivateKey = ACME) -> bytes:
    return envelope.sign(content.bundle, content.digest, private)


def refused(content: Content, by: Policy, *signatures: bytes, remote: bool = False) -> str:
    return by.refusal(content.bundle, content.digest, signatures, remote=remote)


def test_the_encoding_is_dsse_s() -> None:
    """The vector of DSSE's specification (protocol.md)."""
    assert envelope.encoded("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_an_envelope_is_what_others_read(make: Make) -> None:
    content = make()
    plain = json.loads(signed(content))
    assert plain["payloadType"] == "application/vnd.in-toto+json"
    statement = json.loads(base64.b64decode(plain["payload"]))
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["subject"] == [{"name": "scale 1.0", "digest": {"sha256": content.digest[7:]}}]
    assert signed(content) == signed(content), "Ed25519 draws nothing"


def test_a_signature_is_its_key_s(make: Make) -> None:
    content, both = make(), [keys.raw(ACME), keys.raw(OTHER)]
    assert envelope.signers(signed(content), content.digest, both) == both[:1]
    assert envelope.signers(signed(content), make(salt="x").digest, both) == [], "of another bundle"
    assert envelope.signers(signed(content), content.digest, both[1:]) == []


CHANGES: dict[str, Callable[[dict], object]] = {
    "payload": lambda plain: plain.update(payload=base64.b64encode(
        base64.b64decode(plain["payload"]).replace(b"scale", b"other")).decode()),
    "type": lambda plain: plain.update(payloadType="text/plain"),
    "signature": lambda plain: plain["signatures"][0].update(sig=base64.b64encode(b"x" * 64).decode()),
    "short signature": lambda plain: plain["signatures"][0].update(sig="eA=="),
    "no base64": lambda plain: plain["signatures"][0].update(sig="%"),
    "no signatures": lambda plain: plain.update(signatures=[]),
    "signatures none": lambda plain: plain.update(signatures=7),
    "sig none": lambda plain: plain["signatures"][0].update(sig=7),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_an_envelope_that_was_changed(make: Make, change: str) -> None:
    content = make()
    plain = json.loads(signed(content))
    CHANGES[change](plain)
    assert envelope.signers(json.dumps(plain).encode(), content.digest, [keys.raw(ACME)]) == []


@pytest.mark.parametrize("statement", [
    {}, [], {"_type": envelope.STATEMENT}, {"predicateType": "https://slsa.dev/provenance/v1"}, {"subject": []},
    {"subject": [{}]}, {"subject": [{"digest": {"sha512": "x"}}]}, {"_type": "https://in-toto.io/Statement/v0.1"},
])  # fmt: skip
def test_a_right_signature_of_something_else(make: Make, statement: object) -> None:
    """The key has signed it, but not that this digest is a bundle's."""
    content = make()
    right = json.loads(base64.b64decode(json.loads(signed(content))["payload"]))
    payload = json.dumps({**right, **statement} if statement and isinstance(statement, dict) else statement).encode()
    signature = ACME.sign(envelope.encoded(envelope.PAYLOAD, payload))
    made = {"payloadType": envelope.PAYLOAD, "payload": base64.b64encode(payload).decode(),
            "signatures": [{"sig": base64.b64encode(signature).decode()}]}  # fmt: skip
    wanted = [keys.raw(ACME)] if statement == {"_type": envelope.STATEMENT} else []
    assert envelope.signers(json.dumps(made).encode(), content.digest, [keys.raw(ACME)]) == wanted


@given(st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode)))
def test_any_bytes_as_an_envelope(data: bytes) -> None:
    assert envelope.signers(data, "sha256:" + "0" * 64, [keys.raw(ACME)]) == []


def test_who_may_publish_what(make: Make) -> None:
    content = make(plugins=(("A", "1", "acme"), ("B", "1", "acme.more")))
    mine = signed(content)
    assert "not signed" in refused(content, trusting(key()))
    assert "none of its signatures" in refused(content, trusting(key()), signed(content, OTHER))
    assert "may not publish the namespace 'acme.more'" in refused(content, trusting(key()), mine)
    assert refused(content, trusting(key(ACME, "acme", "acme.*")), mine) == ""
    assert refused(content, trusting(key(ACME, "*")), mine) == ""
    assert "may not publish" in refused(content, trusting(key(ACME, "acm?")), mine)
    for pattern, fits in (("acm*", True), ("*", True), ("acme*", True), ("*cme", True), ("a*e", True), ("acme", True),
                          ("acm?", False), ("acm[e]", False), ("acme?", False), ("cme", False), ("acme.*", False),
                          ("ACME", False)):  # fmt: skip
        assert (refused(make(), trusting(key(ACME, pattern)), signed(make())) == "") == fits, pattern
    two = trusting(key(ACME, "acme"), key(OTHER, "acme.more"))
    assert refused(content, two, mine, signed(content, OTHER)) == "", "two keys together"
    assert "acme.more" in (reason := refused(content, two, mine))
    assert "add the namespace to his `namespaces`" in two.hint(reason), "he is in trust.toml already"
    assert "Put the publisher into" in two.hint(refused(content, two))
    assert refused(content, trusting()) == "it is not signed", "a file without keys trusts nobody"


def test_namespaces_that_need_no_signature(make: Make) -> None:
    content, free = make(), Policy(TrustFile(unsigned=("acme",)), Path("trust.toml"))
    assert refused(content, free) == ""
    assert refused(content, free, remote=True) == ""
    assert refused(make(plugins=(("A", "1", ""),)), free) == "it is not signed"
    assert refused(make(plugins=(("A", "1", ""),)), trusting(key(ACME, "acme")), signed(make())) != ""


def test_keys_that_expire(make: Make) -> None:
    content = make()
    assert refused(content, trusting(key(expires=TODAY)), signed(content)) == "", "up to that day"
    words = refused(content, trusting(key(expires=date(2026, 12, 31))), signed(content))
    assert words == "the key 'Acme' has expired on 2026-12-31"
    both = trusting(key(expires=date(2020, 1, 1)), key(OTHER))
    assert refused(content, both, signed(content), signed(content, OTHER)) == ""


def test_what_is_revoked_is_never_taken(make: Make) -> None:
    content = make()
    by = Policy(TrustFile(revoked=(content.digest,), keys=(key(),)), Path("trust.toml"), unsigned=True)
    assert "revoked" in refused(content, by, signed(content))
    with pytest.raises(CheckFailed, match="is refused"):
        by.check(content.bundle, content.digest, [], remote=False)


def test_without_a_trust_file(make: Make) -> None:
    """What the user has put into a store is taken; of registries nothing, unless it is allowed."""
    content, none = make(), Policy(None, Path("trust.toml"))
    assert refused(content, none) == ""
    assert "there is no trust.toml" in refused(content, none, remote=True)
    assert "there is no trust.toml" in refused(content, none, signed(content), remote=True)
    assert refused(content, Policy(None, Path("trust.toml"), unsigned=True), remote=True) == ""


def test_a_trust_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Policy.find().file is None
    assert Policy.find().path == tmp_path / "config" / "pluginkit" / "trust.toml"
    Policy.find().path.parent.mkdir(parents=True)
    Policy.find().path.write_text(f'[[keys]]\nname = "A"\nkey = "{written(ACME)} me@here"\nnamespaces = ["a"]\n')
    assert Policy.find().file is not None
    other = tmp_path / "other.toml"
    monkeypatch.setenv("PLUGINKIT_TRUST", str(other))
    with pytest.raises(UsageError, match="There is no"):
        Policy.find()
    other.write_text("expires = 1\n")
    with pytest.raises(UsageError, match="expires"):
        Policy.find()


def test_a_trust_file_that_can_not_be_followed_is_not_absent(tmp_path: Path) -> None:
    """Else an unmounted disk would have everything in a store taken."""
    path = tmp_path / "config" / "pluginkit" / "trust.toml"
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "disk" / "trust.toml")
    with pytest.raises(UsageError, match="is a link that leads nowhere"):
        Policy.find()
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(UsageError, match="cannot be read"):
        Policy.find()
    path.unlink()
    path.parent.rmdir()
    path.parent.symlink_to(tmp_path / "disk")
    with pytest.raises(UsageError, match="There is no"):
        Policy.find()
    path.parent.unlink()
    path.parent.write_text("a file where the folder would be")
    assert Policy.find().file is None


@pytest.mark.parametrize(("text", "words"), [
    ("[", "not valid TOML"), ("version = 2", "version"), ('revoked = ["sha256:12"]', "revoked"),
    ('[[keys]]\nname = "A"\nkey = "ssh-rsa AAAA"\nnamespaces = ["a"]', "no public key"),
    ('[[keys]]\nname = "A"\nkey = "ssh-ed25519 AAAA"\nnamespaces = ["a"]', "no public key"),
    ('[[keys]]\nname = "A"\nkey = "KEY"\nnamespaces = []', "namespaces"),
    ('[[keys]]\nname = "A"\nkey = "KEY"', "namespaces"),
    ('[[keys]]\nname = "A"\nkey = "KEY"\nnamespaces = ["a"]\nexpires = "soon"', "expires"),
    ('[[keys]]\nname = "A"\nkey = "KEY"\nnamespace = ["a"]', "namespace"),
])  # fmt: skip
def test_a_trust_file_that_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "trust.toml"
    path.write_text(text.replace("KEY", written(ACME)))
    with pytest.raises(UsageError, match=words):
        policy.read(path)


def test_private_keys(tmp_path: Path) -> None:
    formats = {"pkcs8": (PrivateFormat.PKCS8, NoEncryption()), "ssh": (PrivateFormat.OpenSSH, NoEncryption()),
               "locked": (PrivateFormat.PKCS8, BestAvailableEncryption(b"word"))}  # fmt: skip
    for name, (kind, secret) in formats.items():
        path = tmp_path / name
        path.write_bytes(ACME.private_bytes(Encoding.PEM, kind, secret))
        path.chmod(0o640)
        with pytest.raises(UsageError, match="may be used by others"):
            keys.private(path, lambda: "word")
        path.chmod(0o600)
        assert keys.raw(keys.private(path, lambda: "word")) == keys.raw(ACME)
    with pytest.raises(UsageError, match="password is wrong"):
        keys.private(tmp_path / "locked", lambda: "other")
    foreign = elliptic(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for data, words in ((b"nothing", "not a private key"), (b"", "not a private key"), (foreign, "another kind")):
        (tmp_path / "other").write_bytes(data)
        (tmp_path / "other").chmod(0o600)
        with pytest.raises(UsageError, match=words):
            keys.private(tmp_path / "other", str)
    with pytest.raises(UsageError, match="cannot be read"):
        keys.private(tmp_path / "none", str)


def test_public_keys_are_openssh_s() -> None:
    text = written(ACME)
    assert text.startswith("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"), "as every such key begins"
    assert keys.parse(f"{text} someone@somewhere") == keys.raw(ACME)


def test_without_cryptography(tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    content = make()
    made = signed(content)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ToolMissing, match="cryptography") as caught:
        refused(content, trusting(key()), made)
    assert "-m pip install 'cryptography>=" in caught.value.hint
    assert "not signed" in refused(content, trusting(key())), "what needs no key needs no package"


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "acme"
    path.write_bytes(ACME.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    path.chmod(0o600)
    return path


def trust(tmp_path: Path, text: str = "") -> Path:
    path = tmp_path / "config" / "pluginkit" / "trust.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or f'[[keys]]\nname = "Acme"\nkey = "{written(ACME)}"\nnamespaces = ["acme"]\n')
    return path


def test_sign_and_verify(tmp_path: Path, make: Make, key_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, where = make(), ("--store", tmp_path / "store")
    with Store.open(tmp_path / "store") as store:
        store.add(content)
    assert run("registry", "verify", "scale", *where) == 0
    assert "scale 1.0: not signed" in capsys.readouterr().out
    trust(tmp_path)
    for command in (("verify", "scale"), ("verify",)):
        assert run("registry", *command, *where) == 1
        assert "it is not signed" in capsys.readouterr().out
    assert run("registry", "verify", "scale", "--unsigned", *where) == 0
    assert run("registry", "sign", "scale", "--key", key_file, *where) == 0
    output = capsys.readouterr().out
    assert f'key = "{written(ACME)}"' in output
    assert 'namespaces = ["acme"]' in output
    assert run("registry", "verify", "scale", *where) == 0
    assert "scale 1.0: signed by 'Acme'" in capsys.readouterr().out
    with Store.open(tmp_path / "store") as store:
        assert len(store.signatures(content.digest)) == 1
        store.remove(content.digest)
        store.gc()
        assert store.signatures(content.digest) == []
        assert not list((store.folder / "signatures").rglob("*.*"))


def test_what_is_not_trusted_is_not_resolved_and_not_loaded(
    tmp_path: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    """An older release that is signed implements in place of a newer one that isn't."""
    old, new = make(release="1.0"), make(release="2.0")
    with Store.open(tmp_path / "store") as store:
        store.add(old)
        store.add(new)
        store.add_signatures(old.digest, [signed(old)])
        system = described("tensorrt=10.13,sm=none")
        for by, wanted in ((None, "2.0"), (trusting(key()), "1.0"), (trusting(key(), unsigned=True), "2.0")):
            answer = Resolver(Stores([store]), system, policy=by).plugin(("Scale", "1", "acme"))
            assert answer.chosen is not None
            assert answer.chosen.bundle.release == wanted
        answer = Resolver(Stores([store]), system, policy=trusting(key(OTHER))).plugin(("Scale", "1", "acme"))
        assert answer.chosen is None
        assert [one.reasons for one in answer.rejected] == [
            ("refused: it is not signed",), ("refused: none of its signatures is of a key in trust.toml",),
        ]  # fmt: skip
    trust(tmp_path, "version = 1\n")
    for command in (("registry", "env", "acme::Scale", "--for", "rtx=1.7,sm=none"),):
        assert run(*command, "--store", tmp_path / "store") == 1
        assert "refused: it is not signed" in capsys.readouterr().err
        assert run(*command, "--unsigned", "--store", tmp_path / "store") == 0


def test_a_wheel_has_the_signatures_of_its_bundle(tmp_path: Path, make: Make) -> None:
    """Its store is asked for them as any other: what nobody has signed is refused."""
    content = make()
    system = described("tensorrt=10.13,sm=none")
    for name, those, found in (("signed", (signed(content),), True), ("unsigned", (), False)):
        part = wheels._of_machine(replace(content, signatures=those), content.bundle.variants[0].machine)
        tree = tmp_path / name
        (tree / "acme_scale").mkdir(parents=True)
        wheels._Wheel(part, "acme-scale", part.bundle.variants[0].machine, None)._fill(tree)
        with Store.open(tree / "acme_scale" / "store", write=False) as store:
            answer = Resolver(Stores([store]), system, policy=trusting(key())).plugin(("Scale", "1", "acme"))
            assert (answer.chosen is not None) == found
            assert found or answer.rejected[0].reasons == ("refused: it is not signed",)


def test_load_refuses_too(tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before NVIDIA's module is asked for its registry, which this one doesn't have."""
    content = make()
    with Store.open(tmp_path / "store") as store:
        store.add(content)
    monkeypatch.setenv("PLUGINKIT_STORE", str(tmp_path / "store"))
    trust(tmp_path)
    module = types.ModuleType("tensorrt_rtx")
    module.__version__ = "1.7.1"  # type: ignore[attr-defined]
    with pytest.raises(CheckFailed, match="refused: it is not signed") as caught:
        pluginkit.load("acme::Scale", tensorrt=module)
    assert "--unsigned" in caught.value.hint
    with pytest.raises(AttributeError, match="get_plugin_registry"):
        pluginkit.load("acme::Scale", unsigned=True, tensorrt=module)
    with Store.open(tmp_path / "store") as store:
        store.add_signatures(content.digest, [signed(content)])
    with pytest.raises(AttributeError, match="get_plugin_registry"):
        pluginkit.load("acme::Scale", tensorrt=module)


def test_what_lies_among_signatures(tmp_path: Path) -> None:
    """Links are not followed, and what is not a file is passed over."""
    digest = "sha256:" + "a" * 64
    with Store.open(tmp_path / "store") as store:
        assert store.signatures(digest) == []
        store.add_signatures(digest, [b"x"])
        folder = tmp_path / "store" / "signatures" / ("a" * 64)
        (folder / "folder").mkdir()
        (tmp_path / "elsewhere").write_bytes(b"y")
        (folder / "link").symlink_to(tmp_path / "elsewhere")
        assert store.signatures(digest) == [b"x"]
