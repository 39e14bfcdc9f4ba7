"""`pluginkit convert`: a layer on another interface, which is one word of `pluginkit.toml`."""

from __future__ import annotations

import re
from pathlib import Path

from pluginkit.bases import BASES, FOR_NEW
from pluginkit.errors import UsageError
from pluginkit.manifest import FILE_NAME, Manifest
from pluginkit.manifest.project import root
from pluginkit.scaffold import writing
from pluginkit.scaffold.names import close_to


def convert(project: Path, to: str) -> Path:
    """Give a project's layer another base; the path of the pluginkit.toml that has changed.

    Args:
        project: its folder.
        to: the base.

    Raises:
        UsageError: no project, no such base, the plugin has it already or can't have it, or it is no layer. Nothing is
            written then.
    """
    if to not in FOR_NEW:
        there = ", ".join(f"{name} ({one.interface})" for name, one in FOR_NEW.items())
        raise UsageError(f"There is no base '{to}'{close_to(to, FOR_NEW)}", hint=f"There is: {there}.")
    manifest = Manifest.load(project)
    plugin = manifest.plugin
    if plugin.base == to:
        raise UsageError(f"{plugin.name} is an {BASES[plugin.base].interface} already.", hint="Nothing is to be done.")
    folder = (project if project.is_dir() else project.parent).resolve()
    sources = [*folder.glob("src/*.cpp"), *folder.glob("src/*.h"), *root(folder).glob("src/*.cpp")]
    if not any("pluginkit::Layer<" in path.read_text(encoding="utf-8") for path in sources):
        raise UsageError(
            f"{plugin.name} derives from no pluginkit::Layer, so that its base is more than a word.",
            hint="docs/layers.md of pluginkit shows how a class becomes a layer.",
        )
    file = folder / FILE_NAME
    text = _with_base(file.read_text(encoding="utf-8"), to)
    Manifest.parse(text, f'With base = "{to}" {file}')
    writing.write(folder, {file: text})
    return file


def _with_base(text: str, base: str) -> str:
    """The manifest's text with another base, comments and all else as they are."""
    changed, count = re.subn(r'(?m)^(\s*base\s*=\s*)(["\'])\w+\2', rf'\g<1>"{base}"', text, count=1)
    return changed if count else re.sub(r"(?m)^\[plugin\][^\n]*$", rf'\g<0>\nbase = "{base}"', text, count=1)
