"""`pluginkit convert`: the same plugin on IPluginV3. All is made and checked in a temporary folder, then renamed into
place.

The class and the base in `pluginkit.toml` change; the kernel, the reference, the fields and the identity stay. The new
class reads what the old one serialized, from the field in which pluginkit's V3 adapter kept it in engines of
TensorRT-RTX. An engine that TensorRT 10 or 11 built holds an IPluginV2 layer, for which TensorRT asks an
IPluginCreator; one library can't list that and the IPluginCreatorV3One of the same name (docs/bases.md), so such an
engine keeps the library that it was built with, or is built anew.
"""

from __future__ import annotations

import difflib
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pluginkit.bases import BASES
from pluginkit.errors import UsageError
from pluginkit.manifest import FILE_NAME, Manifest
from pluginkit.paths import __version__
from pluginkit.scaffold import generated, merging, origin, template, writing
from pluginkit.scaffold.generated import Generated
from pluginkit.scaffold.kernels import patterns

TARGET: Final = "v3"
_KEPT = ".v2.orig"


@dataclass(frozen=True)
class Conversion:
    """What a conversion does, or did.

    Attributes:
        changed: the files that change, with their new text.
        edited: the differences between the class as it was and what pluginkit had written, as a patch; empty where
            there are none. They are not in the new class.
        kept: where the old files of an edited class are kept.
        generated: what pluginkit has written of the project then.
    """

    project: Path
    changed: dict[Path, str]
    edited: str
    kept: dict[Path, Path]
    generated: Generated

    def patch(self) -> str:
        """All changes as a patch."""
        return "".join(_diff(path, path.read_text(encoding="utf-8"), text) for path, text in self.changed.items())


def convert(project: Path, to: str = TARGET, *, force: bool = False, dry_run: bool = False) -> Conversion:
    """Convert a project's plugin to another base.

    Args:
        project: its folder.
        to: the base; v3 is the only one.
        force: convert although the class was edited by hand; its files are kept under another name.
        dry_run: write nothing.

    Raises:
        UsageError: no project, no such base, the plugin has it already, a file of it is not there, or its class was
            edited by hand (without `force`). Nothing is written then.
    """
    _check_target(to)
    manifest = Manifest.load(project)
    plugin = manifest.plugin
    if plugin.base == TARGET:
        raise UsageError(f"{plugin.name} is an {BASES[TARGET].interface} already.", hint="There is nothing to convert.")
    folder = (project if project.is_dir() else project.parent).resolve()
    header, source = (folder / "src" / f"{manifest.slug}.{kind}" for kind in ("h", "cpp"))
    for path in (header, source):
        if not path.is_file():
            raise UsageError(
                f"{path} does not exist: this is no project as `pluginkit new` lays it out.",
                hint="Only the class that pluginkit has written can be converted; write the new one by hand, as "
                f"{_made_like(plugin.name)} does it.",
            )
    toml = folder / FILE_NAME
    text = toml.read_text(encoding="utf-8")
    was = {path: path.read_text(encoding="utf-8") for path in (header, source)}
    base = origin.load(folder)
    ours = {path: base.files.get(f"src/{path.name}", "") for path in was}
    new_text = _with_base(text)
    made = replace(
        base,
        restores_v2=_serial_version(was[source]),
        restores_static=not BASES[plugin.base].dynamic_shapes,
        version=__version__,
        kernel=patterns.kept(Manifest.parse(new_text, str(toml)), base.kernel),
    )
    with tempfile.TemporaryDirectory(prefix="pluginkit-convert-") as scratch:
        rendered = generated.read_files(template.render(new_text, Path(scratch), made))
    new = {path: rendered[f"src/{path.name}"] for path in was}
    edited = "".join(_diff(path, ours[path], was[path]) for path in was)
    kept = {path: path.with_name(path.name + _KEPT) for path in was} if edited else {}
    changed = {**new, toml: new_text}
    readme = folder / "README.md"
    if readme.is_file() and "README.md" in base.files:
        mine = readme.read_text(encoding="utf-8")
        merged = merging.merge(base.files["README.md"], mine, rendered["README.md"], label="")
        # A README with another text in the same place is the user's to change.
        if not merged.conflicts and merged.text != mine:
            changed[readme] = merged.text
    # Of another signature than the base was made for, the rest of the base would count as the template's changes.
    same = Manifest.parse(base.files[FILE_NAME], str(toml)) == manifest
    files = dict(base.files) if same else rendered
    files |= {path.relative_to(folder).as_posix(): text for path, text in changed.items()}
    files["README.md"] = rendered["README.md"]
    done = Conversion(folder, changed, edited, kept, replace(made, files=files))
    if dry_run:
        return done
    if edited and not force:
        lines = len(re.findall(r"(?m)^(?:\+(?!\+\+ )|-(?!-- ))", edited))
        raise UsageError(
            f"{plugin.name}'s class was edited by hand: {lines} lines of src/{manifest.slug}.h and .cpp are not as "
            "`pluginkit new` writes them, and a conversion can't carry them over.",
            hint=f"--dry-run shows them; --force converts and keeps the old files as *{_KEPT}, for you to take over.",
        )
    for path in kept.values():
        if path.exists():
            raise UsageError(f"{path} exists already.", hint="Move it away: a conversion overwrites no files.")
    texts = {**done.changed, folder / generated.FILE_NAME: generated.dumps(done.generated)}
    writing.write(folder, {**texts, **{path: was[old] for old, path in kept.items()}})
    return done


def _check_target(to: str) -> None:
    if to == TARGET:
        return
    close = difflib.get_close_matches(to, [TARGET], n=1, cutoff=0.3)
    guess = f"; did you mean '{close[0]}'?" if close and to not in BASES else "."
    what = f"There is no conversion to {to}" if to in BASES else f"There is no base '{to}'"
    raise UsageError(what + guess, hint=f"A plugin can be converted to {TARGET} ({BASES[TARGET].interface}).")


def _made_like(name: str) -> str:
    return f"`pluginkit new {name} --base {TARGET} --dir /tmp`"


def _serial_version(source: str) -> int:
    found = re.search(r"\bkSerialVersion\s*=\s*(\d+)", source)
    return int(found[1]) if found else 1


def _with_base(text: str) -> str:
    """The manifest's text with the new base, comments and all else as they are."""
    changed, count = re.subn(r'(?m)^(\s*base\s*=\s*)(["\'])\w+\2', rf'\g<1>"{TARGET}"', text, count=1)
    if count:
        return changed
    return re.sub(r"(?m)^\[plugin\][^\n]*$", rf'\g<0>\nbase = "{TARGET}"', text, count=1)


def _diff(path: Path, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path.name}", f"b/{path.name}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
