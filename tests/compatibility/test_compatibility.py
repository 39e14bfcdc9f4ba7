"""What was written for pluginkit on 2026-11-21 (commit 5be73d0) is taken today: manifests and command lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from pluginkit import cli
from pluginkit.bases import BASES
from pluginkit.dtypes import DType
from pluginkit.manifest import Manifest

HERE = Path(__file__).parent
COMMANDS: dict[str, list[dict[str, Any]]] = json.loads((HERE / "command_line.json").read_text())
Old = Callable[[str], Path]


@pytest.mark.parametrize("base", ["dynamic", "v3", "ioext"])
def test_an_old_manifest_means_what_it_meant(base: str) -> None:
    manifest = Manifest.load(HERE / "projects" / base)
    assert (manifest.plugin.name, manifest.plugin.version, manifest.plugin.base) == ("MyPlugin", "1", base)
    assert [tensor.types for tensor in (*manifest.inputs, *manifest.outputs)] == [
        (DType.FLOAT32, DType.FLOAT16, DType.INT8)
    ] * 2
    assert {field.name: field.default for field in manifest.fields} == {"alpha": 0.5, "x_scale": 0, "y_scale": 0}
    assert len(manifest.profiles) == (1 if BASES[manifest.plugin.base].dynamic_shapes else 2)
    assert not manifest.test.strict, "no key, no stricter than it was"


@pytest.mark.parametrize("name", COMMANDS)
def test_an_old_command_line_is_taken(name: str) -> None:
    """Each command, argument and option that there was is there, and takes what it took."""
    group = cli.command
    command = group.get_command(click.Context(group), name)
    assert command is not None
    there = [one.to_info_dict() for one in command.params]
    for was in COMMANDS[name]:
        wanted = set(was["opts"])
        alike = [one for one in there if one["name"] == was["name"]]
        now = next(one for one in alike if wanted <= {*one["opts"], *one.get("secondary_opts", ())})
        assert now["nargs"] == was["nargs"]
        assert (now.get("is_flag", False) or now.get("count", False)) == was["is_flag"]
        assert now["multiple"] == was["multiple"]
        assert was["required"] or not now["required"]
        assert set(was["choices"]) <= set(now["type"].get("choices", was["choices"]))
    known = {was["name"] for was in COMMANDS[name]}
    assert not [one["name"] for one in there if one["required"] and one["name"] not in known]


@pytest.mark.compile
@pytest.mark.xdist_group("old_projects")
@pytest.mark.parametrize(
    "base", ["dynamic", pytest.param("v3", marks=pytest.mark.slow), pytest.param("ioext", marks=pytest.mark.slow)]
)
def test_an_old_project_builds_and_is_green_untouched(old: Old, base: str) -> None:
    project = old(base)
    # The Python module and all networks take longer than the library: test-all has them, test the first family.
    chosen = ["--network", "plain", "--fp32", "--int8"] if base == "dynamic" else []
    assert chosen or cli.run(["build", str(project), "--target", "cpu"]) == 0
    assert cli.run(["test", str(project), "--target", "cpu", *chosen]) == 0
