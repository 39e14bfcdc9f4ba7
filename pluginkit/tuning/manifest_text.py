"""`[tuning.sm_90]` written into the text of a pluginkit.toml, all else of which stays as it is."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from pluginkit.build.cmake import put
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.manifest.tuning.section import Kept

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def with_kept(text: str, arch: str, kept: Kept | None) -> str:
    """The text with another section of an architecture, in the place of the old one, or at the end; None: without it.

    Raises:
        UsageError: the old one is written in another way than as a table of its own.
    """
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    section = (_section(arch, kept) if kept else "").replace("\n", end_of_line)
    lines = text.splitlines(keepends=True)
    header = re.compile(rf"\s*\[\s*tuning\s*\.\s*{arch}\s*\]\s*(#.*)?$")
    begin = next((i for i, line in enumerate(lines) if header.match(line)), None)
    if begin is None:
        new = text.rstrip("\r\n") + 2 * end_of_line + section if kept else text
    else:
        end = next((i for i in range(begin + 1, len(lines)) if re.match(r"\s*\[", lines[i])), len(lines))
        while lines[end - 1].strip()[:1] in ("", "#") and end - 1 > begin:
            end -= 1  # what stands above the next table belongs to that
        rest = "".join(lines[end:])
        above = "".join(lines[:begin])
        if not kept and rest[:1] in ("", "\r", "\n"):
            above = above.rstrip("\r\n") + end_of_line
        new = above + section + rest
    wanted = tomllib.loads(text)
    if kept:
        wanted.setdefault("tuning", {})[arch] = tomllib.loads(section)["tuning"][arch]
    else:
        wanted.get("tuning", {}).pop(arch, None)
    try:
        same = _without_nothing(tomllib.loads(new)) == _without_nothing(wanted)
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise UsageError(
            f"[tuning] in pluginkit.toml is written in a way that pluginkit doesn't change: {arch} is not a table.",
            hint=f"Put this there by hand:\n\n{section}"
            if kept
            else f"Remove {arch} there by hand: it is no gain now.",
        )
    return new


def _without_nothing(parsed: dict[str, Any]) -> dict[str, Any]:
    """An empty [tuning] says as much as none."""
    return {name: value for name, value in parsed.items() if name != "tuning" or value}


def _section(arch: str, kept: Kept) -> str:
    values = {name: value for name, value in kept.model_dump().items() if name != "also" or value}
    lines = [f"[tuning.{arch}]"]
    for name, value in values.items():
        if isinstance(value, (dict, tuple)):
            lines.append(f"{name} = {_inline(value)}")
        else:
            lines.append(tomli_w.dumps({name: value}).rstrip())
    return "\n".join(lines) + "\n"


def _inline(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {number}" for name, number in value.items()) + " }" if value else "{}"
    assert isinstance(value, tuple)
    return "[" + ", ".join(map(_inline, value)) + "]"


def write(path: Path, changes: Mapping[str, Kept | None]) -> None:
    """Changes the file by a new one that is renamed, so that a kill leaves the old one or the new one.

    Args:
        path: the pluginkit.toml; where it is a symbolic link, the file that it leads to is replaced.
        changes: each architecture's new section; None removes it.

    Raises:
        UsageError: as `with_kept`, or the file was changed so meanwhile that it makes no sense.
    """
    path = path.resolve()
    new = path.read_bytes().decode("utf-8")  # with the ends of lines that it has
    for arch, kept in changes.items():
        new = with_kept(new, arch, kept)
    Manifest.parse(new, str(path))
    put(path, new.encode("utf-8"), path.stat().st_mode & 0o777)
