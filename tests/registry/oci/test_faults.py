"""A registry that lies or fails: nothing wrong is taken, and what can be had is had.

What oras 0.2.43 for Python accepts, or doesn't get over (docs/decisions.md, 24), and the test of it here:

    a wrong, short or long blob         test_a_blob_that_is_not_what_it_should_be, ..._a_manifest_of_a_bundle_...
    a manifest other than the digest    test_another_manifest_than_was_asked_for, test_a_tag_whose_digest_header_lies
    a layer's digest that is a path     test_layers_that_would_lie_outside
    an index (oras pulls nothing)       test_round_trip.test_there_and_back
    a dropped connection                test_a_connection_that_is_cut_goes_on
    429, 503                            test_a_registry_that_fails_for_a_while
    no or other credentials             test_round_trip.test_a_password
    a server that is silent             test_a_registry_that_is_silent
    blobs in memory, no progress        test_files_that_are_too_large, test_round_trip.test_there_and_back
"""

from __future__ import annotations

import errno
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from pluginkit.errors import CheckFailed, NothingSelected, PluginkitError, UsageError
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.bundles.bundle import Bundle
from pluginkit.registry.oci import addresses, artifacts, blobs, pulling, pushing, reference, repository, transport
from pluginkit.registry.oci.authorization import Authorizer
from pluginkit.registry.oci.repository import Repository
from pluginkit.registry.oci.transport import NotInRegistry, RegistryUnavailable, Transport
from pluginkit.registry.storage.store import Store

from .conftest import Two
from .fake_registry import FakeRegistry, Handler, basic, cut, digest_of, drop, serving, status, times


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    with serving(FakeRegistry()) as found:
        yield found


@pytest.fixture
def waits() -> list[float]:
    """Seconds that a client would have waited."""
    return []


@pytest.fixture
def remote(fake: FakeRegistry, waits: list[float]) -> Iterator[Repository]:
    with Transport(reference.parse(f"{fake.host}/team/plugins"), waits.append) as transport:
        yield Repository(transport)


@pytest.fixture
def content(two: Two) -> Content:
    return two()


@pytest.fixture
def pushed(remote: Repository, content: Content) -> Content:
    """A bundle that is in the registry, by the tag v1."""
    pushing.push(content, repository.Repository(remote.transport), tag="v1")
    return content


def pull(remote: Repository, store: Store, name: str = "v1", **more: object) -> pulling.Pulled:
    given = {"choose": lambda bundle: bundle.variants, "accept": lambda *_: None, **more}
    return pulling.pull(remote, name, store, **given)  # type: ignore[arg-type]


def library(content: Content) -> str:
    return content.bundle.variants[0].digest


def nothing_in(store: Store) -> bool:
    return not store.entries() and not list((store.folder / "blobs").glob("*/*"))


def changed(fake: FakeRegistry, name: str, change: Callable[[dict], None]) -> None:
    """Change a manifest that a tag names, where it is named by that tag."""
    kind, data = fake.manifests[name]
    plain = json.loads(data)
    change(plain)
    fake.manifests[name] = kind, json.dumps(plain).encode()
    fake.manifests[digest_of(fake.manifests[name][1])] = fake.manifests[name]


LONGER, SHORTER, OTHER = (lambda data: data + b"x"), (lambda data: data[:-1]), (lambda data: b"x" + data[1:])


@pytest.mark.parametrize("change", [LONGER, SHORTER, OTHER], ids=["longer", "shorter", "other"])
def test_a_blob_that_is_not_what_it_should_be(
    fake: FakeRegistry, remote: Repository, pushed: Content, store: Store, change: Callable[[bytes], bytes]
) -> None:
    fake.blobs[library(pushed)] = change(fake.blobs[library(pushed)])
    with pytest.raises(CheckFailed, match="the registry"):
        pull(remote, store)
    assert nothing_in(store)


@pytest.mark.parametrize("change", [LONGER, SHORTER, OTHER], ids=["longer", "shorter", "other"])
def test_a_manifest_of_a_bundle_that_is_not_what_it_should_be(
    fake: FakeRegistry, remote: Repository, pushed: Content, store: Store, change: Callable[[bytes], bytes]
) -> None:
    fake.blobs[pushed.digest] = change(fake.blobs[pushed.digest])
    with pytest.raises(CheckFailed, match="the registry"):
        pull(remote, store)
    assert nothing_in(store)


def test_another_manifest_than_was_asked_for(
    fake: FakeRegistry, remote: Repository, pushed: Content, two: Two, store: Store
) -> None:
    index = json.loads(fake.manifests["v1"][1])
    asked = index["manifests"][0]["digest"]
    fake.manifests[asked] = fake.manifests[index["manifests"][1]["digest"]]
    with pytest.raises(CheckFailed, match="gives another manifest"):
        pull(remote, store)
    assert nothing_in(store)


def test_a_tag_whose_digest_header_lies(fake: FakeRegistry, remote: Repository, pushed: Content) -> None:
    def lie(handler: Handler) -> bool:
        handler.answer(200, fake.manifests["v1"][1], Docker_Content_Digest="sha256:" + "0" * 64)
        return True

    fake.fault = times(1, "GET .*/manifests/v1", lie)
    with pytest.raises(CheckFailed, match="gives another manifest"):
        remote.manifest("v1")


LIES: dict[str, Callable[[dict], None]] = {
    "bundle's digest": lambda plain: plain["annotations"].update({artifacts.DIGEST: "sha256:" + "0" * 64}),
    "release": lambda plain: plain["annotations"].update({artifacts.VERSION: "9.0"}),
    "name": lambda plain: plain["annotations"].update({artifacts.TITLE: "other"}),
    "plugins": lambda plain: plain["annotations"].update({artifacts.PLUGINS: '[["Evil", "1", ""]]'}),
    "plugins are none": lambda plain: plain["annotations"].update({artifacts.PLUGINS: "7"}),
    "plugins are deep": lambda plain: plain["annotations"].update({artifacts.PLUGINS: "[" * 100_000}),
    "a size that is none": lambda plain: plain["annotations"].update({artifacts.SIZE: "9" * 400}),
    "a terminal's commands": lambda plain: plain["annotations"].update({artifacts.TARGETS: "\x1b[2J"}),
    "no annotations": lambda plain: plain.pop("annotations"),
    "a library": lambda plain: plain["manifests"][1]["annotations"].update(
        {artifacts.LIBRARY_DIGEST: "sha256:" + "1" * 64}
    ),
    "a library twice": lambda plain: plain["manifests"].append(plain["manifests"][0]),
    "one left out": lambda plain: plain["manifests"].pop(),
    "none": lambda plain: plain["manifests"].clear(),
    "manifests swapped": lambda plain: plain["manifests"].__setitem__(
        0, {**plain["manifests"][1], "annotations": plain["manifests"][0]["annotations"]}
    ),
    "a size": lambda plain: plain["manifests"][0].update(size=7),
    "a negative size": lambda plain: plain["manifests"][0].update(size=-1),
    "a path as digest": lambda plain: plain["manifests"][0].update(digest="sha256:../../../../etc/passwd"),
    "another algorithm": lambda plain: plain["manifests"][0].update(digest="md5:" + "0" * 32),
    "manifests no list": lambda plain: plain.update(manifests=7),
}


@pytest.mark.parametrize("name", LIES)
def test_an_index_that_lies(fake: FakeRegistry, remote: Repository, pushed: Content, store: Store, name: str) -> None:
    changed(fake, "v1", LIES[name])
    with pytest.raises(CheckFailed) as caught:
        pull(remote, store)
    assert caught.value.hint
    assert nothing_in(store)


def test_layers_that_would_lie_outside(
    fake: FakeRegistry, remote: Repository, pushed: Content, store: Store, tmp_path: Path
) -> None:
    """A file's name or a digest as a path: a manifest that has one isn't taken, and nothing is written anywhere."""
    for key, value in (("digest", "sha256:../../../x"), ("size", 1 << 60)):
        with serving(FakeRegistry(manifests=dict(fake.manifests), blobs=dict(fake.blobs))) as evil:
            index = json.loads(evil.manifests["v1"][1])
            for one in index["manifests"]:
                kind, data = evil.manifests[one["digest"]]
                manifest = json.loads(data)
                manifest["layers"][0][key] = value
                manifest["layers"][0]["annotations"][artifacts.TITLE] = "../../../escaped"
                data = json.dumps(manifest).encode()
                one.update(digest=digest_of(data), size=len(data))
                evil.manifests[digest_of(data)] = kind, data
            evil.manifests["v1"] = evil.manifests["v1"][0], json.dumps(index).encode()
            with repository.opened(reference.parse(f"{evil.host}/x")) as other, pytest.raises(CheckFailed):
                pull(other, store)
    assert nothing_in(store)
    assert not list(tmp_path.rglob("escaped"))


def test_what_is_no_bundle(fake: FakeRegistry, remote: Repository, store: Store) -> None:
    for data in (b"{}", b"[]", b"no JSON", b"[" * 100_000, json.dumps({"artifactType": 7}).encode(),
                 json.dumps({"schemaVersion": 2, "layers": []}).encode()):  # fmt: skip
        fake.manifests["image"] = "application/vnd.oci.image.manifest.v1+json", data
        with pytest.raises(UsageError, match="is not a bundle"):
            pull(remote, store, "image")
    fake.manifests["huge"] = fake.manifests["image"][0], b" " * (5 << 20)
    with pytest.raises(CheckFailed, match="longer than"):
        pull(remote, store, "huge")


def test_a_connection_that_is_cut_goes_on(
    fake: FakeRegistry, remote: Repository, pushed: Content, store: Store, waits: list[float]
) -> None:
    fake.fault = times(2, f"GET .*/blobs/{library(pushed)}", cut(4000))
    assert pull(remote, store).new
    assert store.verify() == []
    ranges = [one.get("Range") for one in fake.headers]
    assert "bytes=4000-" in ranges
    assert "bytes=8000-" in ranges
    assert len(waits) == 2


def test_what_a_broken_pull_has_left_is_gone_on_with(
    fake: FakeRegistry, remote: Repository, pushed: Content, store: Store
) -> None:
    fake.fault = times(1, f"GET .*/blobs/{library(pushed)}", cut(4000))
    real = remote.transport.pause

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    remote.transport.pause = dies  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        pull(remote, store)
    remote.transport.pause = real  # type: ignore[method-assign]
    assert store.download_path(library(pushed)).stat().st_size == 4000
    fake.headers.clear()
    assert pull(remote, store).new
    assert "bytes=4000-" in [one.get("Range") for one in fake.headers]
    assert store.verify() == []


def test_what_is_left_of_other_bytes_is_loaded_anew(
    fake: FakeRegistry, remote: Repository, pushed: Content, store: Store
) -> None:
    store.download_path(library(pushed)).write_bytes(b"x" * 100)
    assert pull(remote, store).new
    assert store.verify() == []


def test_a_range_that_lies(fake: FakeRegistry, remote: Repository, pushed: Content, store: Store) -> None:
    def other(handler: Handler) -> bool:
        data = fake.blobs[library(pushed)]
        if not handler.headers.get("Range"):
            return cut(4000)(handler)
        handler.answer(206, data[:-4000], Content_Range=f"bytes 0-{len(data) - 4001}/{len(data)}")
        return True

    fake.fault = times(9, f"GET .*/blobs/{library(pushed)}", other)
    with pytest.raises(CheckFailed, match="has not the"):
        pull(remote, store)
    assert nothing_in(store)


def test_a_registry_without_ranges(fake: FakeRegistry, remote: Repository, pushed: Content, store: Store) -> None:
    def whole(handler: Handler) -> bool:
        if handler.headers.get("Range"):
            handler.answer(200, fake.blobs[library(pushed)])
            return True
        return cut(4000)(handler)

    fake.fault = times(9, f"GET .*/blobs/{library(pushed)}", whole)
    assert pull(remote, store).new
    assert store.verify() == []


@pytest.mark.parametrize("code", [429, 500, 502, 503])
def test_a_registry_that_fails_for_a_while(
    fake: FakeRegistry, remote: Repository, pushed: Content, store: Store, waits: list[float], code: int
) -> None:
    fake.fault = times(3, "GET .*/manifests/v1", status(code, **({"Retry-After": "7"} if code == 429 else {})))
    assert pull(remote, store).new
    assert len(waits) == 3
    assert (waits == [7.0] * 3) == (code == 429), "it waits as long as it is asked to"
    assert waits == sorted(waits) or code != 500


def test_a_registry_that_fails_for_good(
    fake: FakeRegistry, remote: Repository, pushed: Content, store: Store, waits: list[float]
) -> None:
    fake.fault = status(500)
    with pytest.raises(RegistryUnavailable, match=r"answers 500 each time \(UNKNOWN so it is\)"):
        pull(remote, store)
    assert len(waits) == 4
    fake.fault = drop
    with pytest.raises(RegistryUnavailable, match="cannot be reached"):
        pull(remote, store)
    fake.fault = status(429, **{"Retry-After": "3600"})
    with pytest.raises(RegistryUnavailable, match="no request for the next 3600 s"):
        pull(remote, store)
    assert nothing_in(store)


def test_where_nobody_listens(store: Store, waits: list[float]) -> None:
    with (
        Transport(reference.parse("127.0.0.1:1/x"), waits.append) as transport,
        pytest.raises(RegistryUnavailable, match="Connection refused"),
    ):
        pull(Repository(transport), store)
    assert RegistryUnavailable.exit_code == 4


def test_a_registry_that_is_silent(
    fake: FakeRegistry, remote: Repository, waits: list[float], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the connection, and never answers."""
    gone = threading.Event()

    def silent(handler: Handler) -> bool:
        gone.wait()
        return drop(handler)

    monkeypatch.setattr(transport, "READ", 0.05)
    fake.fault = silent
    try:
        with pytest.raises(RegistryUnavailable, match="was silent for"):
            pull(remote, store)
    finally:
        gone.set()
    assert len(waits) == transport.ATTEMPTS - 1


def test_dropped_connections_during_a_push(
    fake: FakeRegistry, remote: Repository, content: Content, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kind of request, once: the push goes on, or begins that blob again."""
    monkeypatch.setattr(blobs, "CHUNK", 5000)
    for number, pattern in enumerate(("POST .*uploads", "PATCH .*uploads", "PUT .*uploads", "HEAD", "PUT .*manifests")):
        fake.blobs.clear()
        fake.fault = times(1, pattern, drop)
        before = len(fake.requests)
        pushing.push(content, remote, tag=f"v{number}")
        fake.fault = None
        assert any(pattern.split()[0] in one for one in fake.requests[before:])
        with Store.open(store.folder.parent / f"fresh{number}") as fresh:
            pull(remote, fresh, f"v{number}")
            assert fresh.verify() == []


def test_a_chunk_that_arrived_though_its_answer_did_not(
    fake: FakeRegistry, remote: Repository, content: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "CHUNK", 5000)

    def taken(handler: Handler) -> bool:
        fake.uploads[handler.path.rpartition("/")[2]] += handler.body()
        return drop(handler)

    fake.fault = times(1, "PATCH", taken)
    pushing.push(content, remote, tag="v1")
    assert fake.asked("POST .*uploads") == len(set(content.bundle.files()) | {content.digest}) + 1, (
        "none was begun again"
    )


def test_a_tag_that_two_write_at_once(
    fake: FakeRegistry, remote: Repository, content: Content, waits: list[float]
) -> None:
    """What docker-registry 2.8 answers then."""
    fake.fault = times(2, "PUT .*manifests/v1", status(400))
    pushing.push(content, remote, tag="v1")
    assert "v1" in fake.manifests
    assert len(waits) == 2
    fake.fault = times(9, "PUT .*manifests/v2", status(400))
    with pytest.raises(CheckFailed, match="answers 400"):
        pushing.push(content, remote, tag="v2")


def test_uploads_that_the_registry_drops(
    fake: FakeRegistry, remote: Repository, content: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "CHUNK", 5000)
    fake.fault = times(2, "PATCH", status(404))
    pushing.push(content, remote, tag="v1")
    assert fake.blobs.keys() >= content.files.keys()
    fake.fault = status(404)
    with pytest.raises(UsageError):
        pushing.push(content, remote, tag="v2")


def test_a_registry_that_stores_something_else(fake: FakeRegistry, remote: Repository, content: Content) -> None:
    def short(handler: Handler) -> bool:
        digest = handler.path.partition("digest=")[2]
        fake.blobs[digest] = b"short"
        handler.answer(201)
        return True

    fake.fault = times(1, "PUT .*uploads", short)
    with pytest.raises(CheckFailed, match="after the upload of"):
        pushing.push(content, remote, tag="v1")
    assert "v1" not in fake.manifests, "a tag comes last"

    def other(handler: Handler) -> bool:
        handler.answer(201, Docker_Content_Digest="sha256:" + "0" * 64)
        return True

    fake.blobs.clear()
    fake.fault = times(1, "PUT .*manifests", other)
    with pytest.raises(CheckFailed, match="has stored"):
        pushing.push(content, remote, tag="v1")


@pytest.mark.parametrize(("code", "error", "words"), [
    (405, UsageError, "can only be read"), (403, UsageError, "it wants a login"),
    (413, UsageError, "nothing that large"), (400, CheckFailed, "answers 400"),
])  # fmt: skip
def test_a_push_that_is_refused(
    fake: FakeRegistry, remote: Repository, content: Content, code: int, error: type[PluginkitError], words: str
) -> None:
    fake.fault = times(9, "POST", status(code))
    with pytest.raises(error, match=words) as caught:
        pushing.push(content, remote, tag="v1")
    assert caught.value.hint
    assert not fake.manifests


def test_a_tag_that_moves_between_looking_and_loading(
    fake: FakeRegistry, remote: Repository, pushed: Content, two: Two, store: Store
) -> None:
    second = two("2.0")
    pushing.push(second, remote, tag="v2")

    def move(bundle: Bundle) -> tuple[object, ...]:
        fake.manifests["v1"] = fake.manifests["v2"]
        return bundle.variants

    done = pull(remote, store, choose=move)
    assert done.digest == pushed.digest, "all of it is of the bundle that the tag named at first"
    assert store.verify() == []
    with pytest.raises(CheckFailed, match=r"is scale 2\.0 .* now, not"):
        pull(remote, store, expected=pushed.digest)


def test_what_is_not_there(fake: FakeRegistry, remote: Repository, pushed: Content, store: Store) -> None:
    with pytest.raises(NotInRegistry, match="v9"):
        pull(remote, store, "v9")
    with pytest.raises(NothingSelected):
        pull(remote, store, choose=lambda _: ())
    del fake.blobs[pushed.bundle.evidence[0].digest]
    assert pull(remote, store).without, "a report that is gone is said"
    assert store.verify() == []
    with Store.open(store.folder.parent / "other") as other:
        del fake.blobs[library(pushed)]
        with pytest.raises(NotInRegistry):
            pull(remote, other)
        assert not other.entries()


def test_files_that_are_too_large(remote: Repository, pushed: Content, store: Store) -> None:
    with pytest.raises(CheckFailed, match="--largest"):
        pull(remote, store, largest=1000)
    assert nothing_in(store)


def test_pages_of_tags(fake: FakeRegistry, remote: Repository, pushed: Content) -> None:
    fake.page = 3
    for number in range(10):
        fake.manifests[f"t{number}"] = fake.manifests["v1"]
    assert [one for one in remote.tags() if not artifacts.is_own_tag(one)] == [*(f"t{n}" for n in range(10)), "v1"]
    assert fake.asked("GET .*/tags/list") == 4

    def endless(handler: Handler) -> bool:
        handler.answer(200, b'{"tags": ["a"]}', Link=f'<{handler.path}>; rel="next"')
        return True

    fake.fault = endless
    with pytest.raises(CheckFailed, match="don't end"):
        list(remote.tags())

    def elsewhere(handler: Handler) -> bool:
        handler.answer(200, b'{"tags": ["a"]}', Link='<http://example.com/v2/x>; rel="next"')
        return True

    fake.fault = elsewhere
    with pytest.raises(CheckFailed, match="another registry"):
        list(remote.tags())


@pytest.mark.parametrize("interface", [True, False])
def test_referrers(fake: FakeRegistry, remote: Repository, content: Content, *, interface: bool) -> None:
    """By the registry's interface, and by a tag where it has none."""
    fake.referrers = interface
    done = pushing.push(content, remote, tag="v1", signatures=[b"one", b"two"])
    assert sorted(pulling.signatures_of(remote, done.index)) == [b"one", b"two"]
    pushing.push(content, remote, tag="v1", signatures=[b"two", b"three"])
    assert sorted(pulling.signatures_of(remote, done.index)) == [b"one", b"three", b"two"]
    assert (done.index.replace(":", "-") in fake.manifests) != interface


@pytest.mark.parametrize("interface", [True, False])
def test_signatures_of_sigstore(fake: FakeRegistry, remote: Repository, content: Content, *, interface: bool) -> None:
    """As cosign and GitHub store them: the artifact type is the sigstore bundle's own. Reports are not signatures."""
    fake.referrers = interface
    kind = f"{artifacts.SIGSTORE}.v0.3+json"
    signature = json.dumps({"mediaType": kind}).encode()
    done = pushing.push(content, remote, tag="v1", signatures=[signature, b"one"])
    assert sorted(pulling.signatures_of(remote, done.index)) == [b"one", signature]
    (only,) = remote.referrers(done.index, kind)
    manifest = json.loads(remote.manifest(only.digest).data)
    assert (manifest["artifactType"], manifest["layers"][0]["mediaType"]) == (kind, kind)
    assert manifest["subject"]["digest"] == done.index


def test_a_list_of_referrers_that_another_client_writes(
    fake: FakeRegistry, remote: Repository, pushed: Content
) -> None:
    """What it overwrote comes in again."""
    fake.referrers = False
    done = pushing.push(pushed, remote, tag="v1", signatures=[b"mine"])
    tag = done.index.replace(":", "-")
    other = fake.manifests[tag]

    def lost(handler: Handler) -> bool:
        fake.manifests[tag] = other
        handler.answer(201)
        return True

    fake.fault = times(1, f"PUT .*manifests/{tag}", lost)
    pushing.push(pushed, remote, tag="v1", signatures=[b"another"])
    assert sorted(pulling.signatures_of(remote, done.index)) == [b"another", b"mine"]


def test_signatures_of_another_bundle_are_passed_over(
    fake: FakeRegistry, remote: Repository, pushed: Content, two: Two
) -> None:
    fake.referrers = False
    done = pushing.push(pushed, remote, tag="v1")
    other = pushing.push(two("2.0"), remote, tag="v2", signatures=[b"of the other"])
    fake.manifests[done.index.replace(":", "-")] = fake.manifests[other.index.replace(":", "-")]
    assert pulling.signatures_of(remote, done.index) == []


def wants_basic(handler: Handler) -> bool:
    if handler.headers.get("Authorization") == basic("me", "secret"):
        return False
    handler.error(401, **{"WWW-Authenticate": 'Basic realm="x"'})
    return True


def log_in(tmp_path: Path, host: str, entry: dict[str, str]) -> None:
    (tmp_path / "docker").mkdir(exist_ok=True)
    (tmp_path / "docker" / "config.json").write_text(json.dumps({"auths": {host: entry}}))


def test_credentials_go_to_their_registry_only(
    fake: FakeRegistry, remote: Repository, pushed: Content, store: Store, tmp_path: Path
) -> None:
    """Downloads that are redirected to another host, as most registries do."""
    log_in(tmp_path, fake.host, {"username": "me", "password": "secret"})
    with serving(FakeRegistry(blobs=dict(fake.blobs))) as mirror:

        def away(handler: Handler) -> bool:
            if wants_basic(handler):
                return True
            if "/blobs/sha256" in handler.path and handler.command == "GET":
                handler.answer(307, Location=f"http://{mirror.host}{handler.path}")
                return True
            return False

        fake.fault = away
        assert pull(remote, store).new
        assert mirror.asked("GET .*/blobs/") >= 4
        assert not any("Authorization" in one for one in mirror.headers)
        # What the other host wants is not given to it.
        mirror.fault = wants_basic
        with Store.open(tmp_path / "other") as other, pytest.raises(UsageError):
            pull(remote, other)
        assert not any("Authorization" in one for one in mirror.headers)


def test_redirects_that_are_not_followed(fake: FakeRegistry, remote: Repository, pushed: Content, store: Store) -> None:
    for target in ("ftp://example.com/x", "file:///etc/passwd"):
        fake.fault = times(1, "GET .*/blobs/", lambda handler, to=target: handler.answer(302, Location=to) or True)
        with pytest.raises((CheckFailed, UsageError)):
            pull(remote, store)
    fake.fault = lambda handler: handler.answer(302, Location=handler.path) or True
    with pytest.raises(CheckFailed, match="more than 5"):
        pull(remote, store)


NO_ADDRESSES = ["http://[x", "http://localhost:99999/x", "http://h:p/"]


@pytest.mark.parametrize("where", NO_ADDRESSES)
def test_addresses_that_are_none(fake: FakeRegistry, remote: Repository, where: str) -> None:
    """In a redirect, a place for an upload, a next page, a server of tokens."""
    fake.fault = status(302, Location=where)
    with pytest.raises(CheckFailed, match="redirects GET"):
        remote.manifest("v1")
    fake.fault = lambda handler: handler.command == "POST" and (handler.answer(202, Location=where) or True)
    with pytest.raises(CheckFailed, match="wants an upload at"):
        blobs.upload(remote, digest_of(b"a"), b"a")
    fake.fault = lambda handler: handler.answer(200, b'{"tags": ["a"]}', Link=f'<{where}>; rel="next"') or True
    with pytest.raises(CheckFailed, match="another registry"):
        list(remote.tags())
    fake.fault = status(401, **{"WWW-Authenticate": f'Bearer realm="{where}"'})
    with pytest.raises(UsageError, match="not an https address"):
        remote.manifest("v1")


def test_the_body_of_a_redirect_is_not_read(fake: FakeRegistry, remote: Repository) -> None:
    fake.fault = lambda handler: handler.answer(302, Location="ftp://x", Content_Length=str(1 << 40)) or True
    with pytest.raises(CheckFailed, match="redirects GET"):
        remote.manifest("v1")


@pytest.mark.parametrize(("base", "text", "wanted"), [
    ("https://a/v2/x", "/v2/y?z=1", "https://a/v2/y?z=1"),
    ("https://a/v2/x", "https://b/y", "https://b/y"),
    ("http://a/v2/x", "https://b/y", "https://b/y"),
    ("http://a:5000/v2/x", "y", "http://a:5000/v2/y"),
    ("https://a/v2/x", "http://a/y", ""),
    ("https://a/v2/x", "ftp://a/y", ""),
    ("https://a/v2/x", "https://b:0/y", ""),
])  # fmt: skip
def test_nothing_leads_from_https_to_http(base: str, text: str, wanted: str) -> None:
    assert addresses.following(base, text) == wanted


def test_an_upload_is_not_sent_unencrypted() -> None:
    with Transport(reference.parse("registry.example.com/x")) as transport:
        response = requests.Response()
        response.url = "https://registry.example.com/v2/x/blobs/uploads/"
        response.headers["Location"] = "http://registry.example.com/v2/x/blobs/uploads/1"
        with pytest.raises(CheckFailed, match="wants an upload at http://registry"):
            transport.location(response)


@pytest.mark.parametrize(
    "realm", ["http://localhost:1@example.com/t", "http://example.com/t", "http://[::1].example.com/"]
)
def test_a_password_is_not_sent_unencrypted(realm: str, tmp_path: Path) -> None:
    """From a registry by https to a server of tokens that only looks like this machine."""
    log_in(tmp_path, "registry.example.com", {"username": "me", "password": "secret"})

    def ask(*_: object) -> requests.Response:
        raise AssertionError("it was sent")

    response = requests.Response()
    response.headers["WWW-Authenticate"] = f'Bearer realm="{realm}"'
    authorizer = Authorizer(reference.parse("registry.example.com/x"), ask)
    with pytest.raises(UsageError, match="not an https address"):
        authorizer.answer(response, "pull", "")


@pytest.mark.parametrize("token", ["t\u20ac", "a\nb", 1, None])
def test_tokens_that_are_none(fake: FakeRegistry, remote: Repository, token: object) -> None:
    def server(handler: Handler) -> bool:
        if handler.path.startswith("/token"):
            handler.answer(200, json.dumps({"token": token}).encode())
        else:
            handler.error(401, **{"WWW-Authenticate": f'Bearer realm="http://{fake.host}/token"'})
        return True

    fake.fault = server
    with pytest.raises(UsageError, match="without a token"):
        remote.manifest("v1")


@pytest.mark.parametrize("text", ["\xb2", "9" * 30, "Mon, 01 Jan 99999999999 00:00:00 GMT", "-1"])
def test_headers_that_are_no_numbers(fake: FakeRegistry, remote: Repository, waits: list[float], text: str) -> None:
    data = b"a"
    fake.fault = times(1, "POST", lambda handler: handler.answer(
        202, Location="/v2/team/plugins/blobs/uploads/1", OCI_Chunk_Min_Length=text) or True)  # fmt: skip
    fake.uploads["1"] = bytearray()
    assert blobs.upload(remote, digest_of(data), data)
    fake.fault = times(1, "HEAD", lambda handler: handler.answer(200, Content_Length=text) or True)
    assert blobs.size_of(remote, digest_of(data)) == -1
    if text.isdigit() and text.isascii():
        return
    fake.fault = times(1, "GET", status(503, **{"Retry-After": text}))
    with pytest.raises(NotInRegistry):
        remote.manifest("v2")
    assert len(waits) == 1
    assert waits[0] < 1


def test_a_full_disk_is_no_broken_connection(
    fake: FakeRegistry, remote: Repository, pushed: Content, waits: list[float]
) -> None:
    class Full(io.BytesIO):
        def write(self, _data: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    digest = library(pushed)
    with pytest.raises(UsageError, match="cannot be written: No space left"):
        blobs.download(remote, digest, len(fake.blobs[digest]), Full())
    assert not waits


def test_tokens(fake: FakeRegistry, remote: Repository, content: Content, store: Store, tmp_path: Path) -> None:
    """By a user and password, by an identity token, and without either; a token that expires is asked for again."""
    given: list[str] = []
    used: dict[str, int] = {}

    def server(handler: Handler) -> bool:
        if handler.path.startswith("/token"):
            given.append(f"{handler.headers.get('Authorization', '')} {handler.path} {handler.body().decode()}")
            handler.answer(200, json.dumps({"token": f"t{len(given)}"}).encode())
            return True
        token = handler.headers.get("Authorization", "").removeprefix("Bearer ")
        used[token] = used.get(token, 0) + 1
        if token.startswith("t") and used[token] <= 4:
            return False
        scope = f"repository:team/plugins:{'pull' if handler.command in {'GET', 'HEAD'} else 'pull,push'}"
        realm = f'Bearer realm="http://{fake.host}/token",service="here",scope="{scope}"'
        handler.error(401, **{"WWW-Authenticate": realm})
        return True

    fake.fault = server
    log_in(tmp_path, fake.host, {"username": "me", "password": "secret"})
    pushing.push(content, remote, tag="v1")
    assert all(one.startswith(basic("me", "secret")) for one in given)
    assert any("scope=repository%3Ateam%2Fplugins%3Apull%2Cpush" in one for one in given)
    assert "service=here" in given[0]
    for entry, wanted in (({"identitytoken": "abc"}, "refresh_token=abc"), ({}, " /token?service=here")):
        log_in(tmp_path, fake.host, entry)
        given.clear()
        used.clear()
        with repository.opened(remote.reference) as other, Store.open(tmp_path / wanted.strip(" /")[:5]) as fresh:
            pull(other, fresh)
        assert all(wanted in one for one in given), given


@pytest.mark.parametrize("header", [
    "", "Digest realm=x", 'Bearer realm="ftp://x"', "Bearer", 'Bearer realm="http://example.com/token"', '"', ",,,=",
])  # fmt: skip
def test_challenges_that_cannot_be_answered(fake: FakeRegistry, remote: Repository, store: Store, header: str) -> None:
    if "example.com" in header:
        header = header.replace("http://example.com", f"http://{fake.host}")
        fake.fault = lambda handler: (
            handler.error(401, **({} if "token" in handler.path else {"WWW-Authenticate": header})) or True
        )
    else:
        fake.fault = status(401, **({"WWW-Authenticate": header} if header else {}))
    with pytest.raises(UsageError) as caught:
        pull(remote, store)
    assert caught.value.hint


def test_messages_have_no_control_characters(fake: FakeRegistry, remote: Repository, store: Store) -> None:
    def evil(handler: Handler) -> bool:
        handler.answer(403, json.dumps({"errors": [{"code": "X", "message": "\x1b[2J\x07 gone"}]}).encode())
        return True

    fake.fault = evil
    with pytest.raises(UsageError) as caught:
        pull(remote, store)
    assert "\x1b" not in str(caught.value)
    assert "gone" in str(caught.value)


def test_the_wait_is_real(fake: FakeRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Transport(reference.parse(f"{fake.host}/x")).wait is time.sleep
