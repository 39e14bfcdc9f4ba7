"""The project template's rendering: what cookiecutter is told, what the template's variables are, what comes after.

`templates/project` is a template of cookiecutter's like any other: `cookiecutter pluginkit/templates/project` asks for
what `pluginkit new` has options for. The variables are made of the answers by the Jinja extension `Signature`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import clang_format
from jinja2 import Environment
from jinja2.ext import Extension

from pluginkit.bases import BASES
from pluginkit.errors import BuildFailed
from pluginkit.manifest import Manifest, slug
from pluginkit.scaffold import cpp, names, python, signature

PROJECT = Path(__file__).resolve().parents[1] / "templates" / "project"
SOURCES = (".h", ".cpp", ".cu")
"""What clang-format formats."""
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
            inputs=_several(answers["inputs"]),
            outputs=_several(answers["outputs"]),
            fields=_several(answers["fields"]),
            namespace=str(answers["namespace"]),
            version=str(answers["version"]),
            base=str(answers["base"]),
            formats=_several(answers["formats"]),
        )
    return {
        **_of_manifest(text),
        "added": bool(answers["_added"]),
        "restores_v2": int(answers["_restores_v2"]),
        "restores_static": bool(answers["_restores_static"]),
    }


def _several(answer: object) -> list[str]:
    return [word.strip() for word in str(answer).split(SEPARATOR) if word.strip()]


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
        "namespace_cpp": names.cpp_namespace(plugin.name),
        "py_module": names.python_module(plugin.name),
        "name_literal": signature.quote(plugin.name),
        "version_literal": signature.quote(plugin.version),
        "namespace_literal": signature.quote(plugin.namespace),
        "manifest": text,
        **cpp.snippets(manifest),
        **python.snippets(manifest),
    }


def render(name: str, answers: Mapping[str, Any], folder: Path, template: Path = PROJECT) -> Path:
    """Write a project into a folder of `folder`, which must exist; the new folder's path.

    Args:
        name: the plugin's.
        answers: others of cookiecutter's variables, as `variables` takes them.
        folder: where; what cookiecutter remembers of the call is left in it too.
        template: the template's folder.

    Raises:
        UsageError: the answers make no sense.
    """
    from cookiecutter.main import cookiecutter

    # Not into the home folder, and without its settings: the answers are all there.
    settings = folder / "cookiecutter.yaml"
    settings.write_text(f"replay_dir: {signature.quote(str(folder / 'replay'))}\n", encoding="utf-8")
    made = cookiecutter(
        str(template),
        no_input=True,
        extra_context={"name": name, **answers},
        output_dir=str(folder),
        config_file=str(settings),
        accept_hooks=False,
    )
    finish(Path(made))
    return Path(made)


def finish(project: Path) -> None:
    """Format what was rendered by the project's `.clang-format`: the template has one statement a line, however long.

    Raises:
        BuildFailed: clang-format can't.
    """
    files = sorted(str(path) for path in project.rglob("*") if path.suffix in SOURCES)
    command = [clang_format.get_executable("clang-format"), "-i", "--style=file", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildFailed(f"clang-format cannot format what was generated:\n{done.stderr.strip()}")
