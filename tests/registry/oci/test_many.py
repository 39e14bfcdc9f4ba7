"""A thousand bundles in one repository."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from pluginkit import cli
from pluginkit.registry.bundles import bundle as bundle_
from pluginkit.registry.bundles.archive import Content
from pluginkit.registry.oci import pushing, reference, repository
from tests.registry.conftest import Make

from .fake_registry import FakeRegistry, serving

COUNT = 1000


def run(*args: str | Path) -> int:
    return cli.run([str(one) for one in args])


def fill(content: Content, place: str, count: int) -> None:
    with repository.opened(reference.parse(place)) as remote:
        for number in range(count):
            plugin = content.bundle.plugins[0].model_copy(update={"name": f"Plugin{number % 100}"})
            change = {"name": f"plugin{number % 100}", "release": f"1.{number // 100}", "plugins": (plugin,)}
            bundle = bundle_.Bundle.model_validate(content.bundle.model_copy(update=change).model_dump(by_alias=True))
            pushing.push(Content(bundle, bundle.to_bytes(), content.files), remote)


def found(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int) -> None:
    """tags and search see all; the seconds that each takes are printed (pytest -s)."""
    begun = time.monotonic()
    assert run("registry", "tags", place, "--json") == 0
    middle = time.monotonic()
    assert len(json.loads(capsys.readouterr().out)) == count
    asked = ("--registry", place, "--store", tmp_path / "store")
    assert run("registry", "search", "PLUGIN7", *asked, "--json") == 0
    ended = time.monotonic()
    output = json.loads(capsys.readouterr().out)
    assert {one["name"] for one in output} == {"plugin7", *(f"plugin7{number}" for number in range(10))} & {
        f"plugin{number}" for number in range(count)
    }
    with capsys.disabled():
        print(f"{count} bundles: tags {middle - begun:.2f} s, search {ended - middle:.2f} s")


@pytest.mark.slow
def test_a_thousand_in_a_real_registry(
    registry: str, make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = f"{registry}/many/plugins"
    fill(make(), place, COUNT)
    found(place, tmp_path, capsys, COUNT)


@pytest.mark.parametrize("count", [pytest.param(one, marks=pytest.mark.slow) for one in (20, COUNT)])
def test_pages(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int) -> None:
    """Of a registry that gives a tenth of the tags at a time."""
    with serving(FakeRegistry(page=2 * count // 10)) as fake:
        fill(make(), f"{fake.host}/x", count)
        fake.requests.clear()
        found(f"{fake.host}/x", tmp_path, capsys, count)
        assert fake.asked("GET .*/tags/list") == 20, "ten pages each"
