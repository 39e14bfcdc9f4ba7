"""What pluginkit has written of a project, kept in it: the base from which `pluginkit update` merges.

The file is JSON, so that a person sees what it is; the texts in it are compressed, so that a search through the project
does not find each of them twice.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pluginkit.errors import UsageError
from pluginkit.manifest import FILE_NAME as MANIFEST
from pluginkit.paths import __version__
from pluginkit.scaffold.kernels.patterns import LOOP, PATTERNS

FILE_NAME = ".pluginkit.json"
SCHEMA = 1
_ABOUT = "What pluginkit wrote into this project. `pluginkit update` merges by it: commit it, and leave it as it is."
_WIDTH = 100
_MOST = 16 * 2**20
"""Bytes of all files: many times what any signature makes."""


@dataclass(frozen=True)
class Generated:
    """What was generated.

    Attributes:
        files: texts by their paths in the plugin's folder, as `src/my_plugin.cpp`.
        added: whether the plugin shares another project's library.
        restores_v2, restores_static: as `template.variables` has them.
        version: of the pluginkit that wrote them; empty if it kept no such file yet.
        kernel: the kernel's pattern.
    """

    files: Mapping[str, str]
    added: bool = False
    restores_v2: int = 0
    restores_static: bool = False
    version: str = __version__
    kernel: str = LOOP


def read_files(folder: Path) -> dict[str, str]:
    """The text files in a folder that was just rendered."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != FILE_NAME)
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def dumps(made: Generated) -> str:
    """The text of the file in a project."""
    packed = zlib.compress(json.dumps(dict(sorted(made.files.items()))).encode(), 9)
    text = base64.b64encode(packed).decode()
    content = {
        "about": _ABOUT,
        "schema": SCHEMA,
        "pluginkit": made.version,
        "added": made.added,
        "restores_v2": made.restores_v2,
        "restores_static": made.restores_static,
        "kernel": made.kernel,
        "files": [text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH)],
    }
    return json.dumps(content, indent=2) + "\n"


def loads(text: str, where: str) -> Generated:
    """Read the file's text; `where` it is from, for a person.

    Raises:
        UsageError: it is damaged, or a later pluginkit's.
    """
    try:
        content = json.loads(text)
        schema = int(content["schema"])
        if schema != SCHEMA:
            raise UsageError(
                f"{where} is of schema version {schema}; this pluginkit knows version {SCHEMA}.",
                hint="Update pluginkit: a later one has written it.",
            )
        files = _unpacked("".join(content["files"]))
        return Generated(
            files,
            bool(content["added"]),
            int(content["restores_v2"]),
            bool(content["restores_static"]),
            str(content["pluginkit"]),
            _pattern(content.get("kernel", LOOP)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error, binascii.Error) as error:
        raise UsageError(
            f"{where} is damaged: {error or type(error).__name__}.",
            hint="Take it from your version control. Without the file, an update works it out from pluginkit.toml.",
        ) from None


def _pattern(name: object) -> str:
    if name not in PATTERNS:
        raise ValueError(f"there is no kernel pattern {name!r}")
    return str(name)


def _unpacked(text: str) -> dict[str, str]:
    unpacker = zlib.decompressobj()
    files = json.loads(unpacker.decompress(base64.b64decode(text, validate=True), _MOST))
    if (
        not unpacker.eof
        or MANIFEST not in files
        or not all(_is_inside(name) and isinstance(one, str) for name, one in files.items())
    ):
        raise ValueError("its files are not a project's")
    return dict(files)


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\\" not in name
