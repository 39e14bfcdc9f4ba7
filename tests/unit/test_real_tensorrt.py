"""tools/real_tensorrt.py: parts come together again, and a part that is missing or has changed is named."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tarfile
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("real_tensorrt", Path(__file__).parents[2] / "tools/real_tensorrt.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def parts(tool: ModuleType, tmp_path: Path) -> Path:
    """Parts of 100 bytes of an archive, as `pack` leaves them."""
    folder = tmp_path / "tensorrt8"
    folder.mkdir()
    (folder / "lib.so").write_bytes(bytes(range(256)) * 4)
    archive = tmp_path / "archive"
    with tarfile.open(archive, "w:xz") as file:
        file.add(folder, "tensorrt8")
    out = tmp_path / "parts"
    out.mkdir()
    made = [*tool.split(archive, out, 100)]
    assert len(made) > 1
    assert max(one.stat().st_size for one in made) == 100
    (out / tool.DIGESTS).write_text("".join(f"{tool.digest(one)}  {one.name}\n" for one in made))
    return out


def test_parts_come_together(tool: ModuleType, parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = parts.parent / "opt" / "tensorrt8"
    tool.unpack(parts, there)
    assert (there / "lib.so").read_bytes() == bytes(range(256)) * 4
    said = capsys.readouterr().out
    assert f"export PLUGINKIT_TENSORRT8={there}/packages/tensorrt" in said
    assert f"export PLUGINKIT_TENSORRT8_PYTHON={there}/bin/python3.10" in said
    assert [one.name for one in there.parent.iterdir()] == ["tensorrt8"], "nothing else is left"
    with pytest.raises(ValueError, match="is there already"):
        tool.unpack(parts, there)


def test_the_packed_python_finds_its_libraries_wherever_it_is(tool: ModuleType, tmp_path: Path) -> None:
    home = tmp_path / "packed here"
    interpreter = home / "python/bin/python3.10"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH" "$@"\n')
    interpreter.chmod(0o755)
    tool.launcher(home)
    there = home.rename(tmp_path / "moved there")
    link = tmp_path / "link"
    link.symlink_to(there / "bin/python3.10")
    environment = {**os.environ, "LD_LIBRARY_PATH": "/own"}
    done = subprocess.run([link, "-c", "a b"], env=environment, capture_output=True, text=True, check=True)
    folders = ("python/lib", "packages/tensorrt", "packages/nvidia/cuda_runtime/lib")
    assert done.stdout == f"{':'.join(f'{there}/{one}' for one in folders)}:/own -c a b\n"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("part-01", None, "part-01 is missing"), ("part-00", b"x", "part-00 is not what was packed"),
     ("DIGESTS", None, "DIGESTS is missing")],
)  # fmt: skip
def test_a_part_that_is_wrong_is_named(
    tool: ModuleType, parts: Path, name: str, content: bytes | None, said: str
) -> None:
    if content is None:
        (parts / name).unlink()
    else:
        (parts / name).write_bytes(content)
    with pytest.raises(ValueError, match=said):
        tool.unpack(parts, parts.parent / "there")
    assert not (parts.parent / "there").exists()


def test_sizes(tool: ModuleType) -> None:
    assert tool.megabytes("60MB") == tool.megabytes("60 M") == 60_000_000
    for text in ("60", "0MB", "6GB", "x"):
        with pytest.raises(ValueError, match="a size in megabytes is expected"):
            tool.megabytes(text)
