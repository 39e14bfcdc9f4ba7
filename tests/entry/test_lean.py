"""NVIDIA's registries of TensorRT 10 and 11 with a library made by pluginkit/entry.h."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from . import building, hosts

HERE = Path(__file__).parent

pytestmark = [pytest.mark.compile, pytest.mark.lean]
DYNAMIC = 3 << 24
HEADER_VERSIONS = {10: 101600, 11: 110100}
Libraries = Callable[..., Path]


def in_lean(major: int, job: str, *libraries: Path) -> Any:
    return json.loads(hosts.in_lean(major, HERE / "in_lean.py", job, *libraries))


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    """The library of all layouts of a source by a compiler, made once."""
    made: dict[tuple[str, str, tuple[str, ...]], Path] = {}

    def get(source: str, cxx: str = "g++", *defines: str) -> Path:
        key = source, cxx, defines
        if key not in made:
            stem = "Old" if source == "old_creator" else "Echo"
            folder = tmp_path_factory.mktemp(source)
            made[key] = building.all_layouts(folder, HERE / f"{source}.cpp", stem, cxx, defines)
        return made[key]

    return get


@pytest.mark.parametrize("cxx", ["g++", "clang++"])
@pytest.mark.parametrize("major", [10, 11])
def test_load(libraries: Libraries, major: int, cxx: str) -> None:
    saw = in_lean(major, "load", libraries("entry", cxx))
    creator = ["IPluginCreator", "Echo", "1", ""]
    assert saw["listed"] == saw["again"] == [creator]
    assert saw["gone"] == []
    assert saw["fields"] == [["alpha", "PluginFieldType.FLOAT32"]]
    given, default, wrong = saw["made"]
    assert given == {
        "created": True,
        "type": ["Echo", "1", 2],
        # The classes that this library was handed are those of its own layout.
        "version": DYNAMIC | HEADER_VERSIONS[major],
        "size": 12,
        "alpha": 0.25,
        "restored": True,
        "cloned": [True, "somewhere"],
        "damaged": True,
    }
    assert default == {**given, "alpha": 0.5}
    assert wrong == {"created": False}


@pytest.mark.parametrize("major", [10, 11])
def test_init(libraries: Libraries, major: int) -> None:
    saw = in_lean(major, "init", libraries("entry"))
    assert saw["calls"] == [True, True, True, True]
    assert saw["listed"] == [["IPluginCreator", "Echo", "1", namespace] for namespace in ("acme", "other", "")]
    assert saw["version"] == DYNAMIC | HEADER_VERSIONS[major]
    assert saw["then"] == saw["listed"]
    assert saw["alive"] == "Echo"


@pytest.mark.parametrize("major", [10, 11])
def test_init_of_a_name_that_is_taken(libraries: Libraries, major: int) -> None:
    saw = in_lean(major, "refused", libraries("entry"), libraries("registered"))
    assert saw == {"calls": [True, False], "listed": [["IPluginCreator", "Echo", "1", "acme"]]}


@pytest.mark.parametrize("defines", [(), ("-DNAMED_TWICE",)], ids=["registered", "named twice"])
@pytest.mark.parametrize("major", [10, 11])
def test_register_macro(libraries: Libraries, major: int, defines: tuple[str, ...]) -> None:
    saw = in_lean(major, "only_load", libraries("registered", "g++", *defines))
    assert saw == {"listed": [["IPluginCreator", "Echo", "1", ""]]}


@pytest.mark.parametrize("layout", [10, 11])
@pytest.mark.parametrize("major", [10, 11])
def test_one_layout(tmp_path: Path, major: int, layout: int) -> None:
    """Compiled by hand: it serves its own layout, and gives nothing to the other."""
    saw = in_lean(major, "only_load", building.one_layout(tmp_path, HERE / "entry.cpp", layout))
    assert saw == {"listed": [["IPluginCreator", "Echo", "1", ""]] if major == layout else []}


@pytest.mark.parametrize("last", ["V3", "V2"])
@pytest.mark.parametrize("major", [10, 11])
def test_one_name_is_one_creator(tmp_path: Path, major: int, last: str) -> None:
    """Why a layer of two interfaces gives each registry one (docs/decisions.md, 4): both kinds are listed, the last
    is found, and the second is not registered."""
    defines = ["-DV3_LAST"] if last == "V3" else []
    library = building.all_layouts(tmp_path, HERE / "two_kinds.cpp", "Echo", defines=defines, numbers=(11, 10))
    saw = in_lean(major, "found", library)
    kinds = {"V2": "IPluginCreator", "V3": "IPluginCreatorV3One"}
    assert sorted(saw["listed"]) == [[kind, "Echo", "1", ""] for kind in kinds.values()]
    assert saw["found"] == kinds[last]
    assert saw["init"] is False
    assert saw["then"] == saw["listed"]
