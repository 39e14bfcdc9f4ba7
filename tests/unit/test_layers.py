"""Who may import whom: the layers of pyproject.toml, no circles, no folder that is too full, one class a name."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
FACE = {("pluginkit", "pluginkit.registry.registration"), ("pluginkit.build", "pluginkit.api.builds")}
"""Imported when they are first asked for, as the modules of `pluginkit.api` are."""
MOST = 15
"""Modules of a folder."""


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    """Each module with those that it imports, for type checkers alone too."""
    found = grimp.build_graph("pluginkit", exclude_type_checking_imports=False, cache_dir=None)
    return {
        module: {one for one in found.find_modules_directly_imported_by(module) if not _public(module, one)}
        for module in found.modules
    }


def _public(module: str, imported: str) -> bool:
    return (module, imported) in FACE or (module == "pluginkit" and imported.startswith("pluginkit.api."))


def test_each_layer_imports_only_what_lies_below() -> None:
    lint = Path(sys.executable).parent / "lint-imports"
    command = [lint, "--no-cache", "--config", ROOT / "pyproject.toml"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_no_circle_of_modules(graph: dict[str, set[str]]) -> None:
    TopologicalSorter(graph).prepare()  # raises CycleError, with the circle


def test_no_folder_holds_too_much() -> None:
    folders: dict[Path, int] = defaultdict(int)
    for file in package():
        folders[file.parent] += file.name != "__init__.py"
    assert {str(folder): count for folder, count in folders.items() if count > MOST} == {}


def test_a_class_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file in package():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def package() -> list[Path]:
    """The package's own modules, without the templates."""
    here = ROOT / "pluginkit"
    return [file for file in here.rglob("*.py") if "templates" not in file.relative_to(here).parts]
