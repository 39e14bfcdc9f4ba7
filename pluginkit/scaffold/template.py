"""The project template's rendering: cookiecutter's context, the template's variables, and what comes after.

`templates/project` is a template of cookiecutter's like any other: `cookiecutter pluginkit/templates/project` asks for
what `pluginkit new` has options for. The variables are made of the answers by the Jinja extension `Signature`.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import clang_format
from jinja2 import Environment
from jinja2.ext import Extension

from pluginkit.build.signature import cpp_namespace
from pluginkit.build.signature.fields import quote
from pluginkit.errors import BuildFailed
from pluginkit.manifest import Manifest, slug
from pluginkit.scaffold import cpp, names, python, signature
from pluginkit.scaffold.kernels import patterns

PROJECT = Path(__file__).resolve().parents[1] / "templates" / "project"
SOURCES = (".h", ".cpp", ".cu")
"""What clang-format formats."""
_OF_THE_LIBRARY = (".clang-format", ".github", ".gitignore", "CMakeLists.txt", "python", "src/{slug}.cpp")
"""What a project has once, however many plugins."""
_OF_AN_ADDED_ONE = ("src/{slug}.h",)
"""Where a plugin is that the library's own source lists."""
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

    `_manifest` is the text of a pluginkit.toml; empty: it is made of the answers. `_added`: the plugin shares another
    project's library.

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
        "kernel_pattern": kernel,
        **patterns.variables(manifest, kernel),
    }


def _listed(answer: object) -> list[str]:
    return [item.strip() for item in str(answer).split(SEPARATOR) if item.strip()]


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
        "interface": plugin.shown,
        "namespace_cpp": cpp_namespace(plugin.name),
        "py_module": names.python_module(plugin.name),
        "manifest": text,
        **cpp.snippets(manifest),
        **python.snippets(manifest),
    }


def render(text: str, folder: Path, kernel: str, *, added: bool = False) -> Path:
    """Write a project into a folder of `folder`, which must exist; the new folder's path.

    Args:
        text: of its pluginkit.toml.
        folder: where; what cookiecutter remembers of the call is left in it too.
        kernel: the kernel's pattern.
        added: whether the plugin shares another project's library.

    Raises:
        UsageError: the manifest makes no sense.
        BuildFailed: clang-format can't format what was generated.
    """
    from cookiecutter.main import cookiecutter

    # Not into the home folder, and without its settings: the answers are all there.
    settings = folder / "cookiecutter.yaml"
    settings.write_text(f"replay_dir: {quote(str(folder / 'replay'))}\n", encoding="utf-8")
    name = Manifest.parse(text, "The manifest").plugin.name
    path = cookiecutter(
        str(PROJECT),
        no_input=True,
        extra_context={"name": name, "_manifest": text, "_added": added, "_kernel": kernel},
        output_dir=str(folder),
        config_file=str(settings),
        accept_hooks=False,
    )
    finish(Path(path), slug(name), added=added)
    return Path(path)


def finish(project: Path, short: str, *, added: bool = False) -> None:
    """What cookiecutter can't do: leave out what another plugin's library has once, and format C++.

    C++ is formatted by the project's `.clang-format`: the template has one statement a line, however long.

    Args:
        project: the folder that was rendered.
        short: the plugin's slug.
        added: as of `render`.

    Raises:
        BuildFailed: clang-format can't.
    """
    sources = sorted(str(path) for path in project.rglob("*") if path.suffix in SOURCES)
    command = [clang_format.get_executable("clang-format"), "-i", "--style=file", *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildFailed(f"clang-format cannot format what was generated:\n{done.stderr.strip()}")
    for name in _OF_THE_LIBRARY if added else _OF_AN_ADDED_ONE:
        path = project / name.format(slug=short)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
