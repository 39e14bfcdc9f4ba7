"""resolve, lock, fetch, search and load over stores and a registry together."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path

import onnx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from onnx import TensorProto, helper

import pluginkit
from pluginkit import cli
from pluginkit.errors import CheckFailed
from pluginkit.registry import lock
from pluginkit.registry.oci import artifacts, reference, repository
from pluginkit.registry.storage.store import Store
from pluginkit.registry.trust import keys

from .conftest import Two
from .fake_registry import FakeRegistry, digest_of, serving

TEN, RTX = "tensorrt=10.13,sm=none", "rtx=1.7,sm=none"
ACME = Ed25519PrivateKey.from_private_bytes(b"1" * 32)


def run(*args: str | Path) -> int:
    return cli.run([str(one) for one in args])


@pytest.fixture
def model(tmp_path: Path) -> Path:
    made = helper.make_node("Scale", ["x"], ["y"], name="scale", domain="acme", plugin_namespace="acme")
    x, y = (helper.make_tensor_value_info(one, TensorProto.FLOAT, [2, 3]) for one in "xy")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    path = tmp_path / "model" / "model.onnx"
    path.parent.mkdir()
    onnx.save(helper.make_model(helper.make_graph([made], "g", [x], [y]), opset_imports=opsets), path)
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(ACME.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    path.chmod(0o600)
    return path


@pytest.fixture
def trusted(tmp_path: Path) -> Path:
    path = tmp_path / "config" / "pluginkit" / "trust.toml"
    path.parent.mkdir(parents=True)
    path.write_text(f'[[keys]]\nname = "Acme"\nkey = "{keys.written(keys.raw(ACME))}"\nnamespaces = ["acme"]\n')
    return path


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """All that was printed, however it was broken into lines."""
    output = capsys.readouterr()
    return " ".join((output.out + output.err).split())


def published(two: Two, store: Store, key: Path, place: str, *releases: str) -> None:
    for release in releases:
        store.add(two(release))
        assert run("registry", "sign", f"scale@{release}", "--key", key, "--store", store.folder) == 0
        assert run("registry", "push", f"scale@{release}", place, "--store", store.folder) == 0


def test_resolve_lock_and_fetch(
    registry: str, two: Two, store: Store, key: Path, trusted: Path, model: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    place, mine = f"{registry}/across/lock", ("--store", tmp_path / "mine")
    published(two, store, key, place, "1.0", "1.1")
    asked = ("--registry", place, "--for", TEN, *mine)
    assert run("resolve", model, *asked, "--lock") == 0
    output = capsys.readouterr().out
    assert "scale 1.1" in output
    assert f"of {place}" in output
    assert not Store.exists(tmp_path / "mine"), "resolving loads no library"
    # A newer one by the same tag, and the lock still has its own.
    with repository.opened(reference.parse(place)) as remote:
        raw = remote.manifest("scale-1.0")
        remote.put_manifest("scale-1.1", raw.data, raw.media_type)
    monkeypatch.chdir(model.parent)
    assert run("fetch", "--locked", *mine) == 1
    assert run("fetch", "--locked", *mine, "--registry", place) == 0
    assert "scale 1.1" in capsys.readouterr().out
    locked = lock.read(lock.path_for(model)).systems[0].bundles[0]
    with Store.open(tmp_path / "mine") as found:
        assert locked.variant in found.here(locked.bundle)
        assert len(found.here(locked.bundle)) == 2, "the library for TensorRT 10, and its report"
        assert len(found.signatures(locked.bundle)) == 1
        assert found.verify() == []
    assert run("resolve", model, "--locked", "--for", TEN, *mine) == 0
    assert run("registry", "verify", *mine) == 0
    # Of the bundle that is there in part, the registry has the other variant.
    assert run("resolve", model, "--for", RTX, *mine) == 1
    assert "was not pulled" in capsys.readouterr().out
    assert run("fetch", model, "--for", RTX, *mine, "--registry", place) == 0
    assert run("resolve", model, "--for", RTX, *mine) == 0


def test_from_one_store_to_another_with_signatures(
    two: Two, store: Store, key: Path, trusted: Path, model: Path, tmp_path: Path
) -> None:
    store.add(two())
    assert run("registry", "sign", "scale", "--key", key, "--store", store.folder) == 0
    fresh = ("--store", tmp_path / "fresh")
    assert run("fetch", model, "--for", TEN, "--from", store.folder, *fresh) == 0
    assert run("resolve", model, "--for", TEN, *fresh) == 0


def test_what_is_not_signed_does_not_come(
    registry: str, two: Two, store: Store, key: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, mine = f"{registry}/across/unsigned", ("--store", tmp_path / "mine")
    store.add(two())
    assert run("registry", "push", "scale", place, "--store", store.folder) == 0
    ways = (("resolve", model, "--registry", place), ("fetch", model, "--registry", place), ("registry", "pull", place))
    for way in ways:
        assert run(*way, "--for", TEN, *mine) != 0
        output = printed(capsys)
        assert "says whose bundles are taken" in output
        assert "--unsigned" in output
    path = tmp_path / "trust.toml"
    path.write_text(f'[[keys]]\nname = "Acme"\nkey = "{keys.written(keys.raw(ACME))}"\nnamespaces = ["acme"]\n')
    for way in ways:
        assert run(*way, "--for", TEN, "--trust", path, *mine) != 0
        assert "is not signed" in printed(capsys)
    with Store.open(tmp_path / "mine") as found:
        assert found.entries() == []
        assert not list((found.folder / "blobs").glob("*/*")), "no library was loaded"
    # Signed and pushed again, it comes; so it does if that is allowed.
    assert run("registry", "pull", place, "--for", TEN, "--unsigned", "--store", tmp_path / "other") == 0
    assert run("registry", "sign", "scale", "--key", key, "--store", store.folder) == 0
    assert run("registry", "push", "scale", place, "--store", store.folder) == 0
    assert run("registry", "pull", place, "--for", TEN, "--trust", path, *mine) == 0


def test_search(
    registry: str, two: Two, store: Store, key: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    place, mine = f"{registry}/across/search", ("--store", tmp_path / "mine")
    published(two, store, key, place, "1.0", "1.10", "1.9")
    capsys.readouterr()
    monkeypatch.setenv("PLUGINKIT_REGISTRY", f"{place}")
    assert run("registry", "search", "SCAL", *mine, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["release"], one["store"]) for one in found] == [("1.10", place), ("1.9", place), ("1.0", place)]
    assert run("registry", "search", "nothing", *mine) == 0
    assert f"Nothing with 'nothing' in {place}" in capsys.readouterr().out


def test_a_damaged_tag_is_passed_over(
    two: Two, store: Store, key: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(FakeRegistry()) as fake:
        place = f"{fake.host}/x"
        published(two, store, key, place, "1.0")
        kind, data = fake.manifests["scale-1.0"]
        for tag, text in (("bad", data.replace(b"vnd.pluginkit.bundle.digest", b"x")), ("image", b"{}"),
                          ("evil", data.replace(b'bundle.targets":"', b'bundle.targets":"\\u001b[2J'))):  # fmt: skip
            fake.manifests[tag] = fake.manifests[digest_of(text)] = kind, text
        capsys.readouterr()
        assert run("registry", "search", "", "--registry", place, "--store", tmp_path / "mine", "--json") == 0
        output = capsys.readouterr()
        assert [one["release"] for one in json.loads(output.out)] == ["1.0"]
        assert f"passed over {place}:bad" in output.err
        assert f"passed over {place}:evil" in output.err
        assert "image" not in output.err, "other things may be there"


def test_load_brings_the_one_library(
    registry: str, two: Two, store: Store, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only if it is trusted. NVIDIA's module, which this one isn't, would be asked for its registry next."""
    place = f"{registry}/across/load"
    published(two, store, key, place, "1.0")
    monkeypatch.setenv("PLUGINKIT_STORE", str(tmp_path / "mine"))
    module = types.ModuleType("tensorrt_rtx")
    module.__version__ = "1.7.1"  # type: ignore[attr-defined]
    with pytest.raises(CheckFailed, match="says whose bundles are taken"):
        pluginkit.load("acme::Scale", tensorrt=module, registries=[place])
    assert not Store.exists(tmp_path / "mine")
    with pytest.raises(AttributeError, match="get_plugin_registry"):
        pluginkit.load("acme::Scale", tensorrt=module, registries=[place], unsigned=True)
    with Store.open(tmp_path / "mine") as found:
        ((digest, here),) = [(one.digest, found.here(one.digest)) for one in found.entries()]
        assert [one.file for one in found.bundle(digest).variants if one.digest in here] == ["librtx.so"]


def test_a_bundle_is_found_by_its_digest_alone(registry: str, two: Two, store: Store, key: Path) -> None:
    place = f"{registry}/across/digest"
    published(two, store, key, place, "1.0")
    with repository.opened(reference.parse(place)) as remote:
        tag = artifacts.digest_tag(two("1.0").digest)
        assert artifacts.read_index(remote.manifest(tag), "")[1].release == "1.0"
        assert tag in list(remote.tags())


def test_requests_is_not_imported_where_no_registry_is_asked() -> None:
    """By pluginkit.load and by pack."""
    code = "import sys, pluginkit; pluginkit.load; import pluginkit.registry.bundles.packing; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"requests", "urllib3", "cryptography", "sigstore"} & set(done.stdout.split())
