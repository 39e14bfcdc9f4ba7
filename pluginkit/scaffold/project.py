"""Write the project: everything is checked first, rendered into a temporary folder, then renamed into place."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pluginkit.errors import UsageError
from pluginkit.layouts import TargetName
from pluginkit.manifest import Manifest
from pluginkit.scaffold import signature, template, writing
from pluginkit.scaffold.kernels import patterns


def new(
    name: str,
    *,
    directory: str | os.PathLike[str] = ".",
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    fields: Sequence[str] | None = None,
    namespace: str = "",
    version: str = "1",
    base: str = "dynamic",
    formats: Sequence[str] = (),
    workspace: str = "",
    kernel: str = "",
    targets: Sequence[TargetName] = (),
) -> Path:
    """Write a plugin project into a new folder of `directory`, as `pluginkit new NAME`.

    Args:
        name: the plugin's C++ class: `MyPlugin`.
        directory: the parent folder.
        inputs: tensors as `NAME:TYPES:SHAPE`, `x:float32,int8:n,c,h,w`. None: one image-like x.
        outputs: likewise; the shape may be an expression. None: one y like the first floating input.
        fields: plugin fields as `NAME:TYPE=DEFAULT`, `alpha:float32=0.5`. None: one alpha, or none where the kernel
            uses none. Every tensor with INT8 or FP8 gets a field for its scale besides.
        namespace: the plugin's namespace in TensorRT's registry.
        version: the plugin's version in TensorRT's registry.
        base: `dynamic` (IPluginV2DynamicExt), `v3` (IPluginV3), `ioext` (IPluginV2IOExt) or `dynamic,v3`.
        formats: tensor formats besides linear, as `chw32`, for the tensors that can have them.
        workspace: its size in bytes as an expression of the shapes' symbols: `4 * n * c`.
        kernel: the pattern that the kernel begins as (`pluginkit new --help` lists them). Empty: the usual one.
        targets: the TensorRT that it is for: `8.5`, `10`, `11`, `rtx`. None: pluginkit.toml says nothing, which is 10,
            11 and rtx.

    Returns:
        The project's folder: `directory/my_plugin`.

    Raises:
        UsageError: a name, type, shape or combination that is not possible, or the folder exists. Nothing is written.
    """
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
    return write(with_targets(text, targets), Path(directory), kernel=pattern)


def with_targets(text: str, names: Sequence[TargetName]) -> str:
    """A pluginkit.toml with the section that names the TensorRTs that it is for; as it is where none is named."""
    named = ", ".join(f'"{name}"' for name in names)
    return f"{text.rstrip()}\n\n[targets]\ntensorrt = [{named}]\n" if names else text


def described(name: str, kernel: str, fields: Sequence[str] | None, **options: Any) -> tuple[str, str]:
    """The text of a new plugin's pluginkit.toml, and its kernel's pattern; `options` are those of `signature.manifest`.

    Raises:
        UsageError: as `new`.
    """
    manifest, _ = signature.manifest(name, fields=fields or [], **options)
    pattern = patterns.chosen(manifest, kernel)
    _, text = signature.manifest(name, fields=patterns.fields(pattern, fields), **options)
    return text, pattern


def write(
    text: str,
    directory: Path | None = None,
    other: Mapping[Path, bytes | Callable[[str], str]] | None = None,
    *,
    kernel: str = patterns.LOOP,
) -> Path:
    """Write the project of a manifest into a new folder of `directory`; the folder's path.

    Args:
        text: of its pluginkit.toml.
        directory: where (default: the current folder).
        other: by path in the project, files that are not as the template makes them: a file's content, or what makes
            its text of the template's.
        kernel: the kernel's pattern.

    Raises:
        UsageError: the manifest makes no sense, or the folder is there already. Nothing is written then.
    """
    manifest = Manifest.parse(text, "The manifest")
    parent = (directory or Path()).resolve()
    project = parent / manifest.slug
    if project.exists() or project.is_symlink():
        raise UsageError(
            f"{project} exists already.", hint="Remove it, give the plugin another name, or choose another --dir."
        )
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with writing.scratch(parent, f".{manifest.slug}-") as folder:
            made = template.render(text, folder, kernel)
            for path, content in (other or {}).items():
                file = made / path
                file.parent.mkdir(parents=True, exist_ok=True)
                new_one = content if isinstance(content, bytes) else content(file.read_text(encoding="utf-8")).encode()
                file.write_bytes(new_one)
            made.rename(project)
    except OSError as error:
        raise UsageError(
            f"{project} cannot be written: {error.strerror or error}.", hint="Say another --dir."
        ) from None
    return project
