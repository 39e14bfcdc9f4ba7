"""libFuzzer as a library: made by one process while another makes it too, and whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from pluginkit.build import coverage
from pluginkit.build.coverage import FuzzerArchive
from pluginkit.errors import BuildFailed


@pytest.fixture
def archive(tmp_path: Path) -> FuzzerArchive:
    path = tmp_path / "libfuzzer.a"
    path.write_bytes(b"archive")
    return FuzzerArchive(Path("clang++"), "14", path)


def test_two_that_make_it_at_once(archive: FuzzerArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, folder = tmp_path / "source.cpp", tmp_path / "made"
    source.touch()
    folder.mkdir()
    calls = 0

    def linked(command: Sequence[object]) -> SimpleNamespace:
        nonlocal calls
        calls += 1
        Path(str(command[-1])).write_bytes(b"library")
        if calls == 1:
            # The other is done between this one's linker and its renaming.
            coverage.link(archive, source, folder)
        return SimpleNamespace(ok=True)

    monkeypatch.setattr(coverage, "run", linked)
    made = coverage.link(archive, source, folder)
    assert calls == 2
    assert made.read_bytes() == b"library"
    assert list(folder.iterdir()) == [made]


def test_what_can_not_be_linked_leaves_nothing(
    archive: FuzzerArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, folder = tmp_path / "source.cpp", tmp_path / "made"
    source.touch()
    folder.mkdir()

    def broken(command: Sequence[object]) -> SimpleNamespace:
        Path(str(command[-1])).write_bytes(b"half")
        return SimpleNamespace(ok=False, stderr="no main")

    monkeypatch.setattr(coverage, "run", broken)
    with pytest.raises(BuildFailed, match="no main"):
        coverage.link(archive, source, folder)
    assert not list(folder.iterdir())
