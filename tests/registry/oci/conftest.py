"""Registries, and bundles of two libraries: one for TensorRT 10, one for TensorRT-RTX."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pluginkit.registry.bundles import digests
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.bundles.bundle import Evidence
from pluginkit.registry.storage.store import Store
from tests.registry.conftest import Make

from .docker_registry import running

Two = Callable[..., Content]


@pytest.fixture(autouse=True)
def no_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees what the user of this machine has."""
    for name in ("REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The host and port of a real registry, one for all tests: each has repositories of its own."""
    with running(tmp_path_factory.mktemp("docker-registry")) as host:
        yield host


@pytest.fixture
def two(make: Make, tmp_path: Path) -> Two:
    """A bundle of two libraries, with a report about the first."""

    def made(release: str = "1.0", **more: str) -> Content:
        first = make(release=release, salt="ten", hosts=("tensorrt-10",))
        second = make(release=release, salt="rtx", hosts=("tensorrt-rtx",), **more)
        (ten,), (rtx,) = first.bundle.variants, second.bundle.variants
        ten, rtx = ten.model_copy(update={"file": "libten.so"}), rtx.model_copy(update={"file": "librtx.so"})
        report = tmp_path / f"report-{release}.json"
        report.write_text(json.dumps({"release": release}))
        size, digest = report.stat().st_size, digests.of_file(report)
        evidence = Evidence(digest=digest, size=size, kind="test", library=ten.digest, passed=True, summary="1 of 1")
        bundle = first.bundle.model_copy(update={"variants": (ten, rtx), "evidence": (evidence,)})
        return Content(bundle, bundle.to_bytes(), {**first.files, **second.files, digest: report})

    return made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as found:
        yield found
