"""References, challenges and docker's configuration: what is read, and what is refused."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.errors import ToolMissing, UsageError
from pluginkit.registry.oci import challenges, credentials, reference
from pluginkit.registry.oci.challenges import Challenge
from pluginkit.registry.oci.credentials import Credentials
from pluginkit.registry.oci.reference import RegistryReference

DIGEST = "sha256:" + "ab" * 32


@pytest.mark.parametrize(("text", "wanted"), [
    ("ghcr.io/acme/plugins:1.0", RegistryReference("https", "ghcr.io", "acme/plugins", "1.0")),
    ("oci://ghcr.io/acme/plugins", RegistryReference("https", "ghcr.io", "acme/plugins")),
    ("localhost:5000/x", RegistryReference("http", "localhost:5000", "x")),
    ("localhost/x", RegistryReference("http", "localhost", "x")),
    ("127.0.0.1:5000/x", RegistryReference("http", "127.0.0.1:5000", "x")),
    ("[::1]:5000/x:y", RegistryReference("http", "[::1]:5000", "x", "y")),
    ("https://localhost:5000/x", RegistryReference("https", "localhost:5000", "x")),
    ("http://registry.lan:5000/x", RegistryReference("http", "registry.lan:5000", "x")),
    ("r.lan:5000/a-b/c__d/e.f:v_1@" + DIGEST, RegistryReference("https", "r.lan:5000", "a-b/c__d/e.f", "v_1", DIGEST)),
    ("127.0.0.1.example.com/x", RegistryReference("https", "127.0.0.1.example.com", "x")),
    ("localhost.example.com/x", RegistryReference("https", "localhost.example.com", "x")),
])  # fmt: skip
def test_references(text: str, wanted: RegistryReference) -> None:
    assert reference.parse(text) == wanted
    assert reference.parse(str(wanted)) == wanted, "it is written so that it can be read again"


@pytest.mark.parametrize("text", [
    "", "x", "ghcr.io", "ghcr.io/", "acme/plugins", "ftp://ghcr.io/x", "ghcr.io/Upper", "ghcr.io/x:", "ghcr.io/x:-a",
    "ghcr.io/x:" + "a" * 129, "ghcr.io/x@sha256:12", "ghcr.io/x@", "ghcr.io/../x", "ghcr.io/x/../y", "gh cr.io/x",
    "user:secret@ghcr.io/x", "ghcr.io/x@md5:" + "0" * 32, "ghcr.io/x?y=1", "ghcr.io/a//b", "-x.y/z", "ghcr.io:/x",
    "localhost:99999/x", "ghcr.io:65536/x", "[::1]:0/x",
])  # fmt: skip
def test_what_is_no_reference(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        reference.parse(text)
    assert caught.value.hint


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    try:
        found = reference.parse(text)
    except UsageError:
        return
    assert reference.parse(str(found)) == found


def test_challenges() -> None:
    assert challenges.parse('Bearer realm="https://a/t",service="x y",scope="repository:a:pull,push"') == [
        Challenge("bearer", {"realm": "https://a/t", "service": "x y", "scope": "repository:a:pull,push"})
    ]
    assert challenges.parse('Basic realm="a \\"b\\""') == [Challenge("basic", {"realm": 'a "b"'})]
    assert [one.scheme for one in challenges.parse('Negotiate, Basic realm=x, Bearer realm="y"')] == [
        "negotiate", "basic", "bearer",
    ]  # fmt: skip
    assert challenges.parse("") == []


@given(st.text(max_size=80))
def test_any_challenge(text: str) -> None:
    challenges.parse(text)


def config(tmp_path: Path, **plain: object) -> None:
    (tmp_path / "docker").mkdir(exist_ok=True)
    (tmp_path / "docker" / "config.json").write_text(json.dumps(plain))


def coded(text: str) -> dict[str, str]:
    return {"auth": base64.b64encode(text.encode()).decode()}


def test_docker_s_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert credentials.find("ghcr.io") is None
    config(tmp_path, auths={"ghcr.io": coded("me:se:cret"), "https://old.io/v1/": coded("a:b"), "empty.io": {}})
    assert credentials.find("ghcr.io") == Credentials("me", "se:cret")
    assert credentials.find("old.io") == Credentials("a", "b")
    assert credentials.find("empty.io") is None
    assert credentials.find("ghcr.io:443") is None
    config(tmp_path, auths={"https://index.docker.io/v1/": coded("hub:pw")})
    assert credentials.find("docker.io") == Credentials("hub", "pw"), "as docker login writes it"
    config(tmp_path, auths={"quay.io": coded("me:1"), "quay.io/other": coded("you:2"), "a.io/team": coded("a:3")})
    assert credentials.find("quay.io") == Credentials("me", "1"), "podman's keys of namespaces"
    assert credentials.find("a.io") == Credentials("a", "3")
    config(tmp_path, auths={"ghcr.io": coded("me:se:cret")})
    podman = tmp_path / "auth.json"
    podman.write_text(json.dumps({"auths": {"quay.io": coded("p:q"), "ghcr.io": coded("x:y")}}))
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(podman))
    assert credentials.find("quay.io") == Credentials("p", "q")
    assert credentials.find("ghcr.io") == Credentials("me", "se:cret"), "docker's comes first"
    assert "se:cret" not in repr(credentials.find("ghcr.io"))


def helper(tmp_path: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bin" / f"docker-credential-{name}"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\nread host\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")


def test_helpers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper(tmp_path, "one", 'echo "{\\"Username\\": \\"$host\\", \\"Secret\\": \\"s\\"}"', monkeypatch)
    helper(tmp_path, "two", 'echo \'{"Username": "<token>", "Secret": "t"}\'', monkeypatch)
    helper(tmp_path, "none", "echo credentials not found in native keychain; exit 1", monkeypatch)
    helper(tmp_path, "bad", "echo no keyring >&2; exit 3", monkeypatch)
    helper(tmp_path, "odd", "echo 7", monkeypatch)
    kinds = {"b.io": "two", "c.io": "none", "d.io": "bad", "e.io": "odd", "f.io": "gone", "g.io": "../x"}
    config(tmp_path, credsStore="one", credHelpers=kinds, auths={"h.io": coded("in:file"), "a.io": {}})
    assert credentials.find("a.io") == Credentials("a.io", "s")
    assert credentials.find("docker.io") == Credentials("https://index.docker.io/v1/", "s"), "what docker asks it for"
    assert credentials.find("b.io") == Credentials(identity_token="t")
    assert credentials.find("c.io") is None
    assert credentials.find("h.io") == Credentials("in", "file")
    for host, error, words in (
        ("d.io", UsageError, "no keyring"), ("e.io", UsageError, "no Username"), ("f.io", ToolMissing, "not installed"),
        ("g.io", UsageError, "not a program's name"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            credentials.find(host)


@pytest.mark.parametrize("text", ["", "[]", "{", "7"])
def test_a_configuration_that_is_none(tmp_path: Path, text: str) -> None:
    config(tmp_path)
    (tmp_path / "docker" / "config.json").write_text(text)
    with pytest.raises(UsageError) as caught:
        credentials.find("ghcr.io")
    assert caught.value.hint


def test_an_entry_that_is_no_base64(tmp_path: Path) -> None:
    config(tmp_path, auths={"ghcr.io": {"auth": "%%%"}, "a.io": 7})
    with pytest.raises(UsageError, match="not base64"):
        credentials.find("ghcr.io")
    assert credentials.find("a.io") is None
