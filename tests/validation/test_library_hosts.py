"""A library in the hosts of both layouts, whose lists of creators are not alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pluginkit.adoption.answers import ListedCreator
from pluginkit.process.worker import Worker
from pluginkit.validation.library_hosts import LibraryHosts

SCALE = ("Scale", "1", "acme")
NORM = ("Norm", "1", "acme")


class ListingWorker(Worker):
    """A worker that lists creators, without a process."""

    def __init__(self, *listed: tuple[str, str, str]) -> None:
        self._listed = [ListedCreator(index, *one, "v2", ()) for index, one in enumerate(listed)]

    def call(self, method: str, /, **arguments: Any) -> Any:
        assert (method, arguments) == ("loaded", {})
        return self._listed, ()

    def close(self) -> None:
        pass


def test_a_creator_is_found_by_its_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its place in the other layout's list may be another one, or none: nobody else's plugin is asked then."""
    workers = {11: ListingWorker(SCALE, NORM), 10: ListingWorker(NORM, ("Scale", "2", "acme"), SCALE)}
    hosts = LibraryHosts(Path("libacme.so"), 1.0)
    monkeypatch.setattr(hosts, "worker", workers.__getitem__)
    listed, _ = workers[11].call("loaded")
    places = {one.name: [(layout, index) for layout, _, index in hosts.with_creator(one)] for one in listed}
    assert places == {"Scale": [(11, 0), (10, 2)], "Norm": [(11, 1), (10, 0)]}
    old = ListedCreator(1, "Scale", "2", "acme", "v2", ())
    assert [(layout, index) for layout, _, index in hosts.with_creator(old)] == [(10, 1)]
