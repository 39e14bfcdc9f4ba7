"""Bundles into a real registry and out of it."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

from pluginkit import cli
from pluginkit.errors import CheckFailed
from pluginkit.registry.bundles import archive
from pluginkit.registry.oci import artifacts, reference, repository
from pluginkit.registry.storage.store import Store

from .conftest import Two
from .docker_registry import running

TEN, RTX = "tensorrt=10.13,sm=none", "rtx=1.7,sm=none"


def run(*args: str | Path) -> int:
    return cli.run([str(one) for one in args])


def test_there_and_back(
    registry: str, two: Two, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, place, fresh = two(), f"{registry}/team/there", tmp_path / "fresh"
    store.add(content)
    assert run("registry", "push", "scale", place, "--store", store.folder) == 0
    output = capsys.readouterr().out
    assert f"{place}:scale-1.0" in output
    assert "4 blobs sent" in output, "the manifest, two libraries and a report"
    assert run("registry", "push", "scale", place, "--store", store.folder) == 0
    assert "0 blobs sent, 4 were there" in capsys.readouterr().out
    assert run("registry", "tags", place) == 0
    assert capsys.readouterr().out == "scale-1.0\n"
    # A repository with one tag needs none.
    assert run("registry", "pull", "--unsigned", place, "--for", TEN, "--store", fresh) == 0
    output = capsys.readouterr().out
    assert "here: libten.so\n" in output
    assert "not here: librtx.so" in output
    ten = content.bundle.variants[0]
    with Store.open(fresh) as found:
        assert found.here(content.digest) == {ten.digest, content.bundle.evidence[0].digest}
        assert found.bundle(content.digest) == content.bundle, "the digest is the bundle's own"
        assert found.verify() == []
        assert found.file(ten.digest).read_bytes() == content.files[ten.digest].read_bytes()
        with pytest.raises(CheckFailed, match=r"not here: only some variants were pulled"):
            archive.write(found.content(content.digest), tmp_path / "x.bundle.tar.gz")
    assert run("registry", "pull", "--unsigned", f"{place}:scale-1.0", "--all", "--store", fresh) == 0
    assert "not here" not in capsys.readouterr().out
    with Store.open(fresh) as found:
        assert found.content(content.digest).files.keys() == content.files.keys()
        assert found.verify() == []
        assert not list((fresh / "tmp").iterdir())
    assert run("registry", "pull", "--unsigned", f"{place}:scale-1.0", "--all", "--store", fresh) == 0
    assert "Is there already: scale 1.0" in capsys.readouterr().out


def test_what_another_bundle_has_brought_is_not_loaded_again(
    registry: str, two: Two, store: Store, tmp_path: Path
) -> None:
    content, place = two(), f"{registry}/team/again"
    store.add(content)
    other = content.bundle.model_copy(update={"release": "1.1", "evidence": ()})
    store.add(archive.Content(other, other.to_bytes(), content.files))
    for release in ("1.0", "1.1"):
        assert run("registry", "push", f"scale@{release}", place, "--store", store.folder) == 0
    fresh = ("--all", "--store", tmp_path / "fresh")
    assert run("registry", "pull", "--unsigned", f"{place}:scale-1.0", f"{place}:scale-1.1", *fresh) == 0
    with Store.open(tmp_path / "fresh") as found:
        assert len(found.entries()) == 2
        assert found.verify() == []


def test_what_no_variant_fits(
    registry: str, two: Two, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.add(two())
    place = f"{registry}/team/misfit:x"
    assert run("registry", "push", "scale", place, "--store", store.folder) == 0
    fresh = tmp_path / "fresh"
    assert run("registry", "pull", "--unsigned", place, "--for", "tensorrt=11", "--store", fresh) == 3
    assert "creators were listed by tensorrt-10" in capsys.readouterr().err
    with Store.open(fresh) as found:
        assert found.entries() == []


def test_a_tag_that_names_another_bundle(
    registry: str, two: Two, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = two(), two("2.0")
    store.add(first)
    store.add(second)
    place = f"{registry}/team/moved:latest"
    where = ("--store", store.folder)
    assert run("registry", "push", "scale@1.0", place, *where) == 0
    assert run("registry", "push", "scale@2.0", place, *where) == 2
    assert "is scale 1.0" in capsys.readouterr().err
    assert run("registry", "push", "scale@2.0", place, "--overwrite", *where) == 0
    with repository.opened(reference.parse(place)) as remote:
        assert artifacts.read_index(remote.manifest("latest"), "")[1].digest == second.digest
        by_digest = artifacts.digest_tag(first.digest)
        assert artifacts.read_index(remote.manifest(by_digest), "")[1].digest == first.digest, "still found by digest"


def test_the_documents_are_those_of_oci(registry: str, two: Two, store: Store) -> None:
    """As another client sees them: by tag, by referrers, by the layer of a variant."""
    content = two()
    store.add(content)
    place = f"{registry}/team/documents:v1"
    assert run("registry", "push", "scale", place, "--store", store.folder) == 0
    with repository.opened(reference.parse(place)) as remote:
        raw = remote.manifest("v1")
        index = json.loads(raw.data)
        assert raw.media_type == index["mediaType"] == "application/vnd.oci.image.index.v1+json"
        assert index["artifactType"] == "application/vnd.pluginkit.bundle.v1"
        assert index["schemaVersion"] == 2
        assert index["annotations"]["org.opencontainers.image.version"] == "1.0"
        assert [one["platform"] for one in index["manifests"]] == [{"architecture": "amd64", "os": "linux"}] * 2
        manifest = json.loads(remote.manifest(index["manifests"][0]["digest"]).data)
        assert manifest["config"]["digest"] == content.digest
        assert [one["annotations"]["org.opencontainers.image.title"] for one in manifest["layers"]] == ["libten.so"]
        (report,) = remote.referrers(raw.digest, artifacts.REPORT["test"])
        report_manifest = json.loads(remote.manifest(report.digest).data)
        assert report_manifest["subject"]["digest"] == raw.digest
        assert report_manifest["layers"][0]["digest"] == content.bundle.evidence[0].digest
        assert report_manifest["config"]["mediaType"] == "application/vnd.oci.empty.v1+json"
        assert remote.referrers(raw.digest, "application/x") == []


def test_two_pushes_at_once(registry: str, two: Two, store: Store, tmp_path: Path) -> None:
    """Of one bundle to one tag, by two processes: both end well, and what is there is whole."""
    content = two()
    store.add(content)
    place = f"{registry}/team/at-once"
    children = []
    for _ in range(2):
        child = os.fork()
        if not child:
            code = 99
            try:
                code = run("registry", "push", "scale", place, "--store", store.folder)
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
    assert run("registry", "pull", "--unsigned", place, "--all", "--store", tmp_path / "fresh") == 0
    with Store.open(tmp_path / "fresh") as found:
        assert found.verify() == []
        assert found.here(content.digest) == content.files.keys()


def test_a_registry_that_can_only_be_read(
    two: Two, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = two()
    store.add(content)
    with running(tmp_path / "registry") as host:
        assert run("registry", "push", "scale", f"{host}/x:1", "--store", store.folder) == 0
    with running(tmp_path / "registry", read_only=True) as host:
        assert run("registry", "pull", "--unsigned", f"{host}/x:1", "--all", "--store", tmp_path / "fresh") == 0
        assert run("registry", "push", "scale", f"{host}/y:1", "--store", store.folder) == 2
        assert "can only be read" in capsys.readouterr().err


def test_a_password(two: Two, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store.add(two())
    # bcrypt of `secret`, as htpasswd -B writes it.
    (tmp_path / "htpasswd").write_text("someone:$2y$05$lfFdG4vWwOtu1wjfQmeKDu7sgDZk.neCWkyOqftzOoMfgcbdhq6yu\n")
    where = ("--store", store.folder)
    with running(tmp_path / "registry", password_file=tmp_path / "htpasswd") as host:
        assert run("registry", "push", "scale", f"{host}/x:1", *where) == 2
        assert f"docker login {host}" in capsys.readouterr().err
        config = tmp_path / "docker" / "config.json"
        config.parent.mkdir()
        for password, code in (("wrong", 2), ("secret", 0)):
            auth = base64.b64encode(f"someone:{password}".encode()).decode()
            config.write_text(json.dumps({"auths": {host: {"auth": auth}}}))
            assert run("registry", "push", "scale", f"{host}/x:1", *where) == code
        assert run("registry", "pull", "--unsigned", f"{host}/x:1", "--all", "--store", tmp_path / "fresh") == 0
