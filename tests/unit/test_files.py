"""Files that the user names: there whole or not at all, and a refusal is a sentence with the path and what to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pluginkit.errors import UsageError, from_os
from pluginkit.process import files


def full(*_: object) -> None:
    # As a write's: without a path.
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.json"
    files.write(path, "old")
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UsageError) as error:
        files.write(path, "new")
    assert error.value.message == f"{path} cannot be written: No space left on device."
    assert error.value.hint == "Make room there."
    assert [one.name for one in tmp_path.iterdir()] == ["report.json"]
    assert path.read_text() == "old"


def test_a_device_that_is_full() -> None:
    with pytest.raises(UsageError, match=r"^/dev/full cannot be written: No space left on device\.") as error:
        files.write(Path("/dev/full"), "x" * 8192)
    assert error.value.hint == "Make room there."


def test_through_a_link_to_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    files.write(tmp_path / "link", b"text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"text"


@pytest.mark.parametrize(("room", "where"), [(0, "{}"), (1 << 30, "A file")])
def test_a_write_without_a_path_names_the_folder_that_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, where: str
) -> None:
    """And none that isn't."""
    monkeypatch.setattr(
        "shutil.disk_usage", lambda path: type("Usage", (), {"free": room if path == tmp_path else 1 << 40})
    )
    error = from_os(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), tmp_path)
    assert error is not None
    assert error.message == f"{where.format(tmp_path)}: No space left on device."
    assert error.hint == "Make room there."
