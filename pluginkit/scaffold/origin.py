"""What pluginkit had written of a project: kept in it, or worked out where the project is older than that."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path

from pluginkit.errors import UsageError
from pluginkit.manifest import FILE_NAME as MANIFEST
from pluginkit.manifest import Manifest
from pluginkit.manifest.project import root
from pluginkit.scaffold import generated, template
from pluginkit.scaffold.generated import FILE_NAME, Generated


def load(folder: Path) -> Generated:
    """What was generated of the plugin in a folder; worked out, where the project is older than the file that keeps it.

    Raises:
        UsageError: the file is damaged or a later pluginkit's, or the folder is not laid out as `pluginkit new` has it.
    """
    path = folder / FILE_NAME
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return _worked_out(folder)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from None
    return generated.loads(text, str(path))


def _worked_out(folder: Path) -> Generated:
    """What pluginkit wrote before it kept that: by the template of that time, for the signature in pluginkit.toml."""
    manifest = Manifest.load(folder)
    source = folder / "src" / f"{manifest.slug}.cpp"
    laid_out = (source, source.with_suffix(".h"), folder / "reference.py")
    if missing := [path for path in laid_out if not path.is_file()]:
        raise UsageError(
            f"{missing[0]} does not exist: this is no project as `pluginkit new` lays it out.",
            hint="Only what pluginkit has written can be updated.",
        )
    code = source.read_text(encoding="utf-8", errors="replace")
    number = re.search(r"\bkSerialVersion = (\d+)", code) if "kV2StateField" in code else None
    made = Generated(
        {},
        added=root(folder.resolve()) != folder.resolve(),
        restores_v2=int(number[1]) if number else 0,
        restores_static=bool(number) and "reader.get(counts)" in code,
        version="",
    )
    text = (folder / MANIFEST).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="pluginkit-update-") as scratch:
        files = generated.read_files(template.render(text, Path(scratch), made, template.BEFORE_UPDATE))
    for name in files:
        path = folder / name
        if path.suffix in template.SOURCES and path.is_file():
            files[name] = _laid_out_as(files[name], path.read_text(encoding="utf-8", errors="replace"))
    # Of the manifest only its beginning was the template's, and that has not changed.
    return replace(made, files=files | {MANIFEST: text})


def _laid_out_as(made: str, there: str) -> str:
    """C++ with line breaks where the other text has them: before clang-format, a function of ours set them."""
    lines, others = made.splitlines(keepends=True), there.splitlines(keepends=True)
    found: list[str] = []
    for kind, a, b, c, d in SequenceMatcher(None, lines, others, autojunk=False).get_opcodes():
        same = kind == "replace" and _text(lines[a:b]) == _text(others[c:d])
        found += others[c:d] if same else lines[a:b]
    return "".join(found)


def _text(lines: list[str]) -> str:
    """The lines' text without their breaks; a string's blanks count."""
    text = "".join(lines)
    return text if '"' in text else "".join("".join(re.sub(r"^\s*//!? ", "", line) for line in lines).split())
