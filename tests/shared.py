"""What the workers of a run build once between them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from pluginkit.build import build


@dataclass(frozen=True)
class Shared:
    """Folders named by the hash of what they are made of.

    A run has a folder of its own, so pluginkit's own sources are the same for all that is in it.
    """

    folder: Path

    def once(self, name: str, made_of: bytes, make: Callable[[Path], object]) -> Path:
        """The folder that `make` has filled, here or in another worker. Nobody changes what is in it."""
        place = self.folder / f"{name}-{hashlib.sha256(made_of).hexdigest()[:16]}"
        done = place.with_name(f"{place.name}.done")
        with FileLock(f"{place}.lock"):
            if not done.exists():
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir(parents=True)
                make(place)
                done.touch()
        return place

    def project(self, written: Path) -> Path:
        """A project as it is written there, built for target cpu."""
        files = sorted(path for path in written.rglob("*") if path.is_file())
        content = b"\0".join(part for file in files for part in (bytes(file.relative_to(written)), file.read_bytes()))

        def make(place: Path) -> None:
            build(Path(shutil.copytree(written, place / written.name)), "cpu")

        return self.once(written.name, content, make) / written.name
