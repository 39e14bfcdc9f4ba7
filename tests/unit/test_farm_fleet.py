"""What a client makes of a worker: what it lays for it, and an introduction that isn't of this pluginkit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pluginkit.farm.arrays import digest
from pluginkit.farm.arrivals import Arrivals, Lacking
from pluginkit.farm.fleet import FarmWorker, Fleet

DATA = b"some numbers"
NAME = digest(DATA)


@pytest.mark.parametrize("failures", [1, 2])
def test_what_is_removed_while_it_is_laid_is_laid_again_or_sent(
    failures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay, tries = Arrivals.lay, []

    def pruned(self: Arrivals, file: str, found: Mapping[str, bytes]) -> None:
        tries.append(file)
        if len(tries) <= failures:
            raise Lacking(NAME)
        lay(self, file, found)

    monkeypatch.setattr(Arrivals, "lay", pruned)
    there = FarmWorker("a", "p", "w", 1, shared=tmp_path)
    there.lay({NAME: DATA})
    assert there.held == Arrivals(tmp_path).held() == ({NAME} if failures == 1 else set())


def test_a_worker_that_introduces_itself_otherwise_takes_no_part() -> None:
    identity = {"name": "w", "local_directory": "p", "nthreads": 1, "last_seen": 0.0}

    client: Any = SimpleNamespace(
        sync=lambda *_, **__: {"workers": {"a": identity}},
        run=lambda *_, **__: {"a": ("facts", frozenset())},
        get_versions=lambda: {"workers": {}},
    )
    fleet = Fleet(client, "tcp://somewhere")
    ((one,), gone) = fleet.refresh()
    assert not gone
    assert one.problem.startswith("another pluginkit than this ")
    assert fleet.ready == []
