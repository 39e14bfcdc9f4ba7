"""The table of layouts: held against the code that has no access to it, and that nothing else has its numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from pluginkit import _native, layouts
from pluginkit.registry.bundles.bundle import Host, host_of_layout

ROOT = Path(__file__).parents[2]
NUMBERS = {*layouts.NUMBERS, *map(str, layouts.NUMBERS)}
MEANS_A_LAYOUT = re.compile(r"layout|major", re.IGNORECASE)
NATIVE_BRANCH = re.compile(r"PLUGINKIT_TRT_LAYOUT\s*[=!<>]=|NV_TENSORRT_MAJOR\s*[=!<>]=?")
CMAKE = re.compile(r"TRT(?:8|10|11)_|layout(?:8|10|11)\b|LAYOUT[= ](?:8|10|11)\b|LAYOUTS (?:8|10|11)\b")


@pytest.mark.parametrize("one", layouts.LAYOUTS, ids=lambda one: one.number)
def test_the_native_code_has_the_same_numbers(one: layouts.Layout) -> None:
    assert _native.layout_of(one.host_version) == one.number
    unit = 1000 if one.host_version < 10000 else 10000
    assert one.host_version // unit == one.number
    assert _native.layout_of(one.number * unit + one.first_minor * 100) == one.number
    if one.first_minor:
        assert _native.layout_of(one.number * unit + one.first_minor * 100 - 1) == 0


def test_the_bundles_have_a_host_of_each() -> None:
    assert {host_of_layout(one) for one in layouts.NUMBERS} == {*get_args(Host)} - {"tensorrt-rtx"}


def mentions(node: ast.AST) -> bool:
    names = (one.id if isinstance(one, ast.Name) else one.attr if isinstance(one, ast.Attribute) else ""
             for one in ast.walk(node))  # fmt: skip
    return any(MEANS_A_LAYOUT.search(name) for name in names)


def numbers(node: ast.AST | None) -> bool:
    return node is not None and any(
        isinstance(one, ast.Constant) and not isinstance(one.value, bool) and one.value in NUMBERS
        for one in ast.walk(node)
    )


def literals(text: str) -> Iterator[int]:
    """Lines on which a number is a layout: in a comparison, an assignment or an argument of such a name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            found = mentions(node) and numbers(node)
        elif isinstance(node, ast.Assign):
            plain = isinstance(node.value, (ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict))
            found = plain and any(map(mentions, node.targets)) and numbers(node.value)
        elif isinstance(node, ast.AnnAssign):
            found = mentions(node.target) and (numbers(node.value) or numbers(node.annotation))
        elif isinstance(node, ast.keyword):
            found = MEANS_A_LAYOUT.search(node.arg or "") is not None and numbers(node.value)
        else:
            continue
        if found:
            yield node.lineno if not isinstance(node, ast.keyword) else node.value.lineno


def test_no_other_python_has_them() -> None:
    package = ROOT / "pluginkit"
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in package.rglob("*.py")
        if path != package / "layouts.py" and package / "templates" not in path.parents
        for line in literals(path.read_text(encoding="utf-8"))
    }
    assert found == set()


@pytest.mark.parametrize(
    "text",
    ["x = layout == 10", "MAJORS = (10, 11)", "f(layout=8)", "layouts: dict = {'11': 1}", "ok = version.major in {10}"],
)
def test_such_literals_are_found(text: str) -> None:
    assert [*literals(text)] == [1]


def test_only_headers_and_faces_branch() -> None:
    """Where C++ and CMake may tell one layout from another."""
    allowed = {"pluginkit/include", "native/layout.h", "native/layout.cpp", "native/load_library.cpp"}
    found = set()
    for path in [*(ROOT / "native").iterdir(), *(ROOT / "pluginkit" / "include").rglob("*.h")]:
        name = str(path.relative_to(ROOT))
        if NATIVE_BRANCH.search(path.read_text(encoding="utf-8")) and not any(map(name.startswith, allowed)):
            found.add(name)
    for cmake in (ROOT / "CMakeLists.txt", ROOT / "pluginkit/cmake/pluginkit-config.cmake"):
        found |= {f"{cmake.name}: {match[0]}" for match in CMAKE.finditer(cmake.read_text(encoding="utf-8"))}
    assert found == set()


def test_the_page_counts_the_files_of_a_new_layout() -> None:
    """docs/extending/layout.md names each file that a layout stands in, and no other."""
    page = (ROOT / "docs" / "extending" / "layout.md").read_text(encoding="utf-8")
    assert "\n".join(layouts.table()) in page, (
        "python -c 'from pluginkit import layouts; print(*layouts.table(), sep=chr(10))'"
    )
    listed = set(re.findall(r"^\d+\. `([^`]+)`", page, re.MULTILINE))
    recorded = {name for name in listed if "VERSION" in name}
    assert all((ROOT / name).exists() for name in listed - recorded), listed
    headers = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "pluginkit" / "include").glob("NvInfer*.h")
        if "PLUGINKIT_TRT_LAYOUT" in path.read_text(encoding="utf-8")
    }
    assert headers <= listed
    assert len(listed) == int(re.search(r"(\d+) files", page)[1])  # type: ignore[index]
