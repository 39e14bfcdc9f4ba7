"""What a build writes beside a library: a JSON file of the same name, the build record: how it was made.

| key | from | meaning |
| --- | --- | --- |
| `name`, `slug` | CMake | the first plugin's name, and the library's |
| `target` | CMake | `cpu` or `gpu` |
| `layouts` | CMake | by layout (`10`, `11`): whose headers its classes were compiled with |
| `compiler`, `cuda_compiler` | CMake | id and version; the second for target gpu |
| `architectures` | CMake | for target gpu: compute capabilities |
| `exports` | the file | the names that it exports |
| `sha256`, `size` | the file | by these the record is known to be of this very library; bytes |
| `pluginkit` | | the version that built it |

`build/<target>/` also holds the project's Python module, where it has one, and CMake's own folder `cmake`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class BuildRecord:
    """The JSON file that `pluginkit build` writes next to a library.

    Attributes:
        path: where it is.
        content: the JSON object; None if it cannot be read.
        same: whether its hash is that of the library.
    """

    path: Path
    content: dict[str, Any] | None
    same: bool

    @property
    def layouts(self) -> tuple[str, ...]:
        """The layouts that are in the library: `10`, `11`."""
        return tuple(sorted(self.content.get("layouts", {}), key=int)) if self.content else ()


def path(library: Path) -> Path:
    """Where the record of a library lies."""
    return library.with_suffix(".json")


def make(described: Mapping[str, object], exports: Sequence[str], data: bytes, version: str) -> dict[str, Any]:
    """The record of a library.

    Args:
        described: what CMake wrote of it (`_pluginkit_describe` in `pluginkit/cmake`).
        exports: the names that it exports.
        data: the library's bytes.
        version: pluginkit's.
    """
    return {
        **{key: value for key, value in described.items() if key != "library"},
        "exports": exports,
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
        "pluginkit": version,
    }


def text(record: Mapping[str, Any]) -> str:
    """The file's content."""
    return json.dumps(record, indent=2) + "\n"


def read(library: Path, digest: str) -> BuildRecord | None:
    """The record next to a library whose SHA-256 is `digest`; None if there is none."""
    file = path(library)
    if not file.is_file():
        return None
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return BuildRecord(file, None, False)
    if not isinstance(content, dict):
        return BuildRecord(file, None, False)
    return BuildRecord(file, content, content.get("sha256") == digest)
