"""`pluginkit add`: one more plugin in a project's library. All is checked and rendered first, then written,
all files or none.

The plugin gets a folder of its own in `plugins/`, with its signature, reference, sources and tests; the project's
CMakeLists.txt compiles its kernel, and the project's own source, the one with PLUGINKIT_PLUGINS, names its creator.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pluginkit.build.signature import cpp_namespace
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.manifest.project import ADDED, clash, members, root
from pluginkit.scaffold import insert, template, writing
from pluginkit.scaffold.kernels import patterns
from pluginkit.scaffold.project import described


@dataclass(frozen=True)
class Addition:
    """What was added: the plugin's folder, and the files of the project that changed."""

    project: Path
    folder: Path
    changed: tuple[Path, ...]


def add(
    name: str,
    *,
    project: Path | None = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    fields: Sequence[str] | None = None,
    namespace: str = "",
    version: str = "1",
    base: str = "dynamic",
    formats: Sequence[str] = (),
    workspace: str = "",
    kernel: str = "",
) -> Addition:
    """Add a plugin to a project's library.

    Args:
        name: the plugin's name.
        project: a folder of the project: its own, or an added plugin's (default: the current one).
        inputs, outputs, fields, namespace, version, base, formats, workspace, kernel: as of `pluginkit.scaffold.new`.

    Raises:
        UsageError: no project; a name, type, shape or combination that makes no sense; a plugin of that name is there;
            or the project's CMakeLists.txt or its source with PLUGINKIT_PLUGINS is written so that a line can't be
            inserted safely. Nothing is written then.
    """
    folder = root((project or Path()).resolve())
    text, pattern = described(
        name,
        kernel,
        fields,
        inputs=inputs,
        outputs=outputs,
        namespace=namespace,
        version=version,
        base=base,
        formats=formats,
        workspace=workspace,
    )
    return write(text, folder, kernel=pattern)


def write(text: str, folder: Path, *, kernel: str = patterns.LOOP) -> Addition:
    """Add the plugin of a manifest to a project's library.

    Args:
        text: of its pluginkit.toml.
        folder: the project's own.
        kernel: the kernel's pattern.

    Raises:
        UsageError: as `add`.
    """
    manifest, there = Manifest.parse(text, "The manifest"), members(folder)
    name = manifest.plugin.name
    if problem := clash(manifest, there):
        raise UsageError(
            f"{name} cannot be added: {problem}.",
            hint="Give it another name; another version of the same plugin is a project of its own.",
        )
    spaces = {cpp_namespace(one.name): one.name for one in there}
    if owner := spaces.get(cpp_namespace(name)):
        raise UsageError(
            f"{name} cannot be added: its C++ namespace, {cpp_namespace(name)}, is that of {owner}.",
            hint="Give it another name.",
        )
    place = folder / ADDED / manifest.slug
    if place.exists() or place.is_symlink():
        raise UsageError(f"{place} exists already.", hint="Remove it, or give the plugin another name.")
    changed = _changed(folder, there[0].manifest, manifest)
    with tempfile.TemporaryDirectory(prefix="pluginkit-add-") as scratch:
        rendered = template.render(text, Path(scratch), kernel, added=True)
        files = [path for path in rendered.rglob("*") if path.is_file()]
        added = {place / path.relative_to(rendered): path.read_text(encoding="utf-8") for path in files}
    writing.write(folder, {**added, **changed})
    return Addition(folder, place, tuple(changed))


def _changed(folder: Path, own: Manifest, added: Manifest) -> dict[Path, str]:
    """The project's files that change, with their new text.

    Raises:
        UsageError: it is not plain what to change in one of them; its hint is what to write by hand.
    """
    short = added.slug
    header = f"../{ADDED}/{short}/src/{short}.h"
    files = [f"{ADDED}/{short}/src/{short}.cu"]
    creator = f"pluginkit::Creator<{cpp_namespace(added.plugin.name)}::{added.plugin.name}>"
    # A project that was made before there were layers has its exports in a source of their own.
    entry = folder / "src" / "entry.cpp"
    entry = entry if entry.is_file() else entry.with_name(f"{own.slug}.cpp")
    by_hand = {
        folder / "CMakeLists.txt": f"{' '.join(files)} as SOURCES of pluginkit_add_plugin({own.slug} ...)",
        entry: f'#include "{header}", and {creator} in PLUGINKIT_PLUGINS({own.plugin.name}, ...)',
    }
    found: dict[Path, str] = {}
    unclear = []
    for path, text in ((path, _text(path)) for path in by_hand):
        is_cmake = path.suffix == ".txt"
        new = insert.sources(text, own.slug, files) if is_cmake else insert.creator(text, header, creator)
        if new is None:
            unclear.append(path)
        elif new != text:
            found[path] = new
    if unclear:
        which = " and ".join(str(path.relative_to(folder)) for path in unclear)
        lines = [f"{path.relative_to(folder)}: {by_hand[path]}" for path in unclear]
        raise UsageError(
            f"{which} of {folder} {'is' if len(unclear) == 1 else 'are'} not as `pluginkit new` writes them, so that a "
            "line can't be inserted safely; nothing was changed.",
            hint="Write by hand, then run pluginkit add again:\n  " + "\n  ".join(lines),
        )
    return found


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        raise UsageError(
            f"{path} does not exist: this is not a project as `pluginkit new` lays it out.",
            hint="Go to the project's folder, or make one: pluginkit new MyPlugin",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
