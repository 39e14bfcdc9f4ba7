"""Write the project: everything is checked first, rendered beside, then renamed into place."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from pluginkit.scaffold import signature, template

_OF_THE_LIBRARY = (".clang-format", ".github", ".gitignore", "CMakeLists.txt", "python", "src/entry.cpp")
"""What a project has once, however many plugins."""


def new(
    name: str,
    *,
    directory: Path | None = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    fields: Sequence[str] | None = None,
    namespace: str = "",
    version: str = "1",
    base: str = "dynamic",
    formats: Sequence[str] = (),
) -> Path:
    """Write a plugin project into a new folder of `directory` (default: the current one); the folder's path.

    `inputs`, `outputs` and `fields` are written as on the command line: `x:float32,int8:n,c,h,w`, `alpha:float32=0.5`.
    No inputs: one image-like x. No outputs: one y like the first floating input. `fields=None`: one alpha; `[]`: none.
    Every tensor with INT8 gets a field for its scale. `formats` are given to the tensors that can have them.

    Raises:
        UsageError: a name, type, shape or combination that makes no sense, or the folder is there already.
            Nothing is written then.
    """
    manifest, text = signature.manifest(
        name,
        inputs=inputs,
        outputs=outputs,
        fields=fields,
        namespace=namespace,
        version=version,
        base=base,
        formats=formats,
    )
    parent = (directory or Path()).resolve()
    project = parent / manifest.slug
    if project.exists() or project.is_symlink():
        raise UsageError(
            f"{project} exists already.", hint="Remove it, give the plugin another name, or say another --dir."
        )
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=parent, prefix=f".{manifest.slug}-") as scratch:
            made = render(manifest, text, Path(scratch))
            made.rename(project)
    except OSError as error:
        raise UsageError(
            f"{project} cannot be written: {error.strerror or error}.", hint="Say another --dir."
        ) from None
    return project


def render(
    manifest: Manifest, text: str, scratch: Path, *, restores_v2: int = 0, restores_static: bool = False
) -> Path:
    """Write a project for a manifest into a folder of `scratch`, which must exist; the folder's path.

    `restores_v2` and `restores_static`: as `template.variables` has them.
    """
    answers = {"_manifest": text, "_restores_v2": restores_v2, "_restores_static": restores_static}
    return template.render(manifest.plugin.name, answers, scratch)


def render_added(manifest: Manifest, text: str, scratch: Path) -> Path:
    """As `render`, for a plugin that shares another project's library: without what that project has."""
    made = template.render(manifest.plugin.name, {"_manifest": text, "_added": True}, scratch)
    for name in _OF_THE_LIBRARY:
        path = made / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return made
