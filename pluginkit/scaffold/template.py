"""The project template's rendering: cookiecutter's context, the template's variables, and what comes after.

`templates/project` is a template of cookiecutter's like any other: `cookiecutter pluginkit/templates/project` asks for
what `pluginkit new` has options for. The variables are made of the answers by the Jinja extension `Signature`.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import clang_format
from jinja2 import Environment
from jinja2.ext import Extension

from pluginkit.bases import BASES
from pluginkit.build.signature import cpp_namespace
from pluginkit.build.signature.fields import quote
from pluginkit.errors import BuildFailed
from pluginkit.manifest import Manifest, slug
from pluginkit.scaffold import cpp, generated, names, python, signature
from pluginkit.scaffold.generated import Generated
from pluginkit.scaffold.kernels import patterns

PROJECT = Path(__file__).resolve().parents[1] / "templates" / "project"
BEFORE_UPDATE = PROJECT.with_name("before_update")
"""The template that projects were made by before they kept what was generated."""
SOURCES = (".h", ".cpp", ".cu")
"""What clang-format formats."""
_OF_THE_LIBRARY = (".clang-format", ".github", ".gitignore", "CMakeLists.txt", "python", "src/entry.cpp")
"""What a project has once, however many plugins."""
SEPARATOR = ";"
"""Between several inputs, outputs, fields or formats, where cookiecutter asks for them in one answer."""


class Signature(Extension):
    """What the template's files call: `signature(cookiecutter)` are their variables."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        environment.globals["signature"] = variables
        environment.filters["slug"] = slug
        environment.filters["py_module"] = names.python_module


def variables(answers: Mapping[str, Any]) -> dict[str, Any]:
    """The template's variables, of cookiecutter's.

    `_manifest` is the text of a pluginkit.toml; empty: it is made of the answers. `_restores_v2` is the version of the
    bytes that an older class of the plugin serialized, for a v3 class that takes them too; 0: there is none.
    `_restores_static`: that one was an IPluginV2IOExt. `_added`: the plugin shares another project's library.

    Raises:
        UsageError: a name, type, shape or combination that makes no sense.
    """
    text = str(answers["_manifest"])
    if not text:
        _, text = signature.manifest(
            str(answers["name"]),
            inputs=_listed(answers["inputs"]),
            outputs=_listed(answers["outputs"]),
            fields=_listed(answers["fields"]),
            namespace=str(answers["namespace"]),
            version=str(answers["version"]),
            base=str(answers["base"]),
            formats=_listed(answers["formats"]),
            workspace=str(answers["workspace"]),
        )
    manifest = Manifest.parse(text, "The manifest")
    # What is rendered again has the pattern that it was made with; what cookiecutter asks for has the usual one.
    kernel = patterns.chosen(manifest, str(answers.get("_kernel", "")))
    return {
        **_of_manifest(text),
        "added": bool(answers["_added"]),
        "restores_v2": int(answers["_restores_v2"]),
        "restores_static": bool(answers["_restores_static"]),
        "kernel_pattern": kernel,
        "tunable": patterns.PATTERNS[kernel].tunable,
        **patterns.variables(manifest, kernel),
    }


def _listed(answer: object) -> list[str]:
    return [item.strip() for item in str(answer).split(SEPARATOR) if item.strip()]


def _changes(manifest: Manifest) -> str:
    """The methods that README names as those to be changed with the signature."""
    found = BASES[manifest.plugin.base].changes_with_signature
    if any(tensor.alias for tensor in manifest.outputs):
        found += ", `getAliasedInput`"
    return found + (", `getWorkspaceSize`" if manifest.plugin.workspace else "")


@lru_cache(maxsize=8)
def _of_manifest(text: str) -> dict[str, Any]:
    manifest = Manifest.parse(text, "The manifest")
    plugin = manifest.plugin
    return {
        "slug": manifest.slug,
        "name": plugin.name,
        "namespace": plugin.namespace,
        "version": plugin.version,
        "base": plugin.base,
        "interface": BASES[plugin.base].interface,
        "changes_with_signature": _changes(manifest),
        "namespace_cpp": cpp_namespace(plugin.name),
        "py_module": names.python_module(plugin.name),
        "name_literal": quote(plugin.name),
        "version_literal": quote(plugin.version),
        "namespace_literal": quote(plugin.namespace),
        "manifest": text,
        **cpp.snippets(manifest),
        **python.snippets(manifest),
    }


def render(text: str, folder: Path, made: Generated, template: Path | None = None) -> Path:
    """Write a project into a folder of `folder`, which must exist; the new folder's path.

    Args:
        text: of its pluginkit.toml.
        folder: where; what cookiecutter remembers of the call is left in it too.
        made: what else the template is to know; its files are not looked at.
        template: the template's folder; None: today's.

    Raises:
        UsageError: the manifest makes no sense.
        BuildFailed: clang-format can't format what was generated.
    """
    from cookiecutter.main import cookiecutter

    # Not into the home folder, and without its settings: the answers are all there.
    settings = folder / "cookiecutter.yaml"
    settings.write_text(f"replay_dir: {quote(str(folder / 'replay'))}\n", encoding="utf-8")
    path = cookiecutter(
        str(template or PROJECT),
        no_input=True,
        extra_context={
            "name": Manifest.parse(text, "The manifest").plugin.name,
            "_manifest": text,
            "_added": made.added,
            "_restores_v2": made.restores_v2,
            "_restores_static": made.restores_static,
            "_kernel": made.kernel,
        },
        output_dir=str(folder),
        config_file=str(settings),
        accept_hooks=False,
    )
    finish(Path(path), made)
    return Path(path)


def finish(project: Path, made: Generated) -> None:
    """What cookiecutter can't do: format C++, leave out what a library has once, and keep what was generated.

    C++ is formatted by the project's `.clang-format`: the template has one statement a line, however long.

    Raises:
        BuildFailed: clang-format can't.
    """
    sources = sorted(str(path) for path in project.rglob("*") if path.suffix in SOURCES)
    command = [clang_format.get_executable("clang-format"), "-i", "--style=file", *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildFailed(f"clang-format cannot format what was generated:\n{done.stderr.strip()}")
    for name in _OF_THE_LIBRARY if made.added else ():
        path = project / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    kept = generated.dumps(replace(made, files=generated.read_files(project)))
    (project / generated.FILE_NAME).write_text(kept, encoding="utf-8")
