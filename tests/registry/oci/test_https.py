"""Registries by https, with certificates of an authority that only some trust."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import pytest
import trustme

from pluginkit import cli
from pluginkit.errors import UsageError
from pluginkit.registry.oci import certificates

from .fake_registry import FakeRegistry, serving, status


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(autouse=True)
def no_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    """None but the user's own, whose folder the tests have anyway."""
    monkeypatch.setattr(certificates, "FOLDERS", ())
    for name in certificates.VARIABLES:
        monkeypatch.delenv(name, raising=False)


@contextmanager
def registry(certificate: trustme.LeafCert) -> Iterator[str]:
    """A registry by https: the reference of a repository in it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    with serving(FakeRegistry(), context) as fake:
        yield f"https://{fake.host}/plugins"


def trusted(where: str, authority: trustme.CA) -> Path:
    """Where docker without root has a registry's authority."""
    folder = certificates.own_folder() / where.split("/")[2]
    folder.mkdir(parents=True)
    authority.cert_pem.write_to_path(str(folder / "ca.crt"))
    return folder / "ca.crt"


def run(*args: str | Path) -> int:
    return cli.run([str(one) for one in args])


@pytest.mark.parametrize("way", ["certs.d", "REQUESTS_CA_BUNDLE"])
def test_an_authority_of_one_s_own(
    authority: trustme.CA, packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], way: str,
) -> None:  # fmt: skip
    stores = ("--store", tmp_path / "store"), ("--store", tmp_path / "other")
    assert run("registry", "add", packed, *stores[0]) == 0
    with registry(authority.issue_cert("127.0.0.1")) as where:
        assert run("registry", "push", "scale", where, *stores[0]) == 4
        error = " ".join(capsys.readouterr().err.split())
        assert "cannot be reached by https: certificate verify failed" in error
        assert f"{certificates.own_folder() / where.split('/')[2]}/ca.crt" in error
        if way == "certs.d":
            trusted(where, authority)
        else:
            authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
            monkeypatch.setenv(way, str(tmp_path / "ca.pem"))
        assert run("registry", "push", "scale", where, *stores[0]) == 0
        assert run("registry", "tags", where) == 0
        assert run("registry", "pull", f"{where}:scale-1.0", "--all", "--unsigned", *stores[1]) == 0
        assert "Pulled scale 1.0 (sha256:" in " ".join(capsys.readouterr().out.split())


def test_certificates_that_are_wrong(authority: trustme.CA, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The authority is trusted, the certificate is another host's, or has expired; or another authority is trusted."""
    past = datetime(2020, 1, 1, tzinfo=timezone.utc)
    for certificate, trust, words in (
        (authority.issue_cert("registry.example.com"), authority, "IP address mismatch"),
        (authority.issue_cert("127.0.0.1", not_before=past, not_after=past.replace(month=2)), authority, "has expired"),
        (authority.issue_cert("127.0.0.1"), trustme.CA(), "certificate verify failed"),
    ):
        with registry(certificate) as where:
            trusted(where, trust)
            assert run("registry", "tags", where) == 4
            assert words in capsys.readouterr().err


def test_a_certificate_of_where_a_registry_sends(authority: trustme.CA, capsys: pytest.CaptureFixture[str]) -> None:
    """A redirect, or a server of tokens: the error names that host, and where its authority would be."""
    with registry(authority.issue_cert("127.0.0.1")) as other, serving(FakeRegistry()) as fake:
        host = other.split("/")[2]
        for fault in (
            status(302, Location=f"https://{host}/x"),
            status(401, **{"WWW-Authenticate": f'Bearer realm="https://me@{host}/token"'}),
        ):
            fake.fault = fault
            assert run("registry", "tags", f"http://{fake.host}/plugins") == 4
            error = " ".join(capsys.readouterr().err.split())
            assert f" {host} cannot be reached by https: certificate verify failed" in error
            assert f"{certificates.own_folder() / host}/ca.crt" in error


def test_files_that_are_no_authority(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with registry(authority.issue_cert("127.0.0.1")) as where:
        trusted(where, authority).write_text("nothing")
        assert run("registry", "tags", where) == 4
        assert "cannot be reached by https" in capsys.readouterr().err
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "none"))
        assert run("registry", "tags", where) == 2
        assert f"REQUESTS_CA_BUNDLE is {tmp_path / 'none'}, which is not there" in capsys.readouterr().err


def test_a_registry_without_https(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(FakeRegistry()) as fake:
        assert run("registry", "tags", f"https://{fake.host}/plugins") == 4
    assert "by https" in capsys.readouterr().err


def test_whose_authority_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the host with its port, by https alone; another host, as that of a redirect, is trusted as usual."""
    folder = tmp_path / "certs.d"
    monkeypatch.setattr(certificates, "FOLDERS", (folder,))
    (folder / "a.example.com:5000").mkdir(parents=True)
    (folder / "a.example.com:5000" / "ca.crt").touch()
    for url, found in (
        ("https://a.example.com:5000/v2/", True),
        ("https://a.example.com/v2/", False),
        ("https://b.example.com:5000/v2/", False),
        ("http://a.example.com:5000/v2/", False),
    ):
        assert (certificates.authority(url) is not None) == found
    monkeypatch.setenv("CURL_CA_BUNDLE", str(folder))
    assert certificates.authority("https://a.example.com:5000/v2/") is None
    monkeypatch.setenv("CURL_CA_BUNDLE", "/nowhere")
    assert certificates.authority("http://a.example.com/v2/") is None
    with pytest.raises(UsageError, match="CURL_CA_BUNDLE"):
        certificates.authority("https://a.example.com/v2/")
