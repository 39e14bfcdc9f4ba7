"""`pluginkit convert`: a layer on another interface, which is one word of `pluginkit.toml`."""

from __future__ import annotations

import re
from pathlib import Path

from pluginkit.bases import written
from pluginkit.errors import UsageError
from pluginkit.manifest import FILE_NAME, Manifest
from pluginkit.manifest.project import root
from pluginkit.scaffold import writing
from pluginkit.scaffold.signature import bases_of


def convert(project: Path, to: str) -> Path:
    """Give a project's layer another base; the path of the pluginkit.toml that has changed.

    Args:
        project: its folder.
        to: the base, or both that a layer can be, as in `dynamic,v3`.

    Raises:
        UsageError: no project, no such base, the plugin has it already or can't have it, or it is not a layer. Nothing
            is written then.
    """
    wanted = bases_of(to)
    manifest = Manifest.load(project)
    plugin = manifest.plugin
    if plugin.interfaces == wanted:
        raise UsageError(f"{plugin.name} is an {plugin.shown} already.", hint="Nothing is to be done.")
    folder = (project if project.is_dir() else project.parent).resolve()
    sources = [*folder.glob("src/*.cpp"), *folder.glob("src/*.h"), *root(folder).glob("src/*.cpp")]
    if not any("pluginkit::Layer<" in path.read_text(encoding="utf-8") for path in sources):
        raise UsageError(
            f"{plugin.name} derives from no pluginkit::Layer, so that its base is more than a word.",
            hint="docs/layers.md of pluginkit shows how a class becomes a layer.",
        )
    file = folder / FILE_NAME
    text = _with_base(file.read_text(encoding="utf-8"), written(wanted))
    Manifest.parse(text, f"With base = {written(wanted)} {file}")
    writing.write(folder, {file: text})
    return file


def _with_base(text: str, base: str) -> str:
    """The manifest's text with another base, comments and all else as they are."""
    changed, count = re.subn(r"(?m)^(\s*base\s*=\s*)(?:([\"'])\w+\2|\[[^\]]*\])", rf"\g<1>{base}", text, count=1)
    return changed if count else re.sub(r"(?m)^\[plugin\][^\n]*$", rf"\g<0>\nbase = {base}", text, count=1)
