"""Which kernel a new project begins with, and that it keeps it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pluginkit import scaffold
from pluginkit.errors import UsageError
from pluginkit.scaffold import signature
from pluginkit.scaffold.kernels import patterns

PLAIN: dict[str, Any] = {"inputs": ["x:float32,int8:n,c"], "outputs": [], "base": "v3"}


def chosen(name: str, **options: Any) -> str:
    given = {**PLAIN, **options}
    manifest, _ = signature.manifest("Some", **{"fields": None, "namespace": "", "version": "1", **given})
    return patterns.chosen(manifest, name)


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({}, "elementwise"),
        ({"inputs": ["x:float32:n,c", "b:float32:c", "k:int32:"]}, "elementwise"),
        ({"outputs": ["y:float32:n,c", "k:int32:n,c"]}, "elementwise"),
        ({"outputs": ["y:float32:n,c", "k:int32:n"]}, "loop"),
        ({"workspace": "4 * n"}, "loop"),
        ({"inputs": ["x:float32,float16:n,8,h,w"], "formats": ["chw32"]}, "loop"),
        ({"inputs": ["x:float32:n,c", "b:float32:n"], "outputs": ["y:float32:n:alias=b"]}, "elementwise"),
        ({"outputs": ["k:int32::upper=n:opt=1", "y:float32:k,c"]}, "loop"),
    ],
)
def test_the_usual_pattern(options: dict[str, Any], pattern: str) -> None:
    assert chosen("", **options) == pattern


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("rowz", {}, "did you mean 'rows'"),
        ("elementwise", {"workspace": "8"}, "it has a workspace"),
        ("rows", {"inputs": ["x:float32:n", "b:float32:n"]}, "one input and one output"),
        ("rows", {"inputs": ["x:float32:"]}, "no row in a scalar"),
        ("scan", {"outputs": ["y:float32:n"]}, "another shape"),
        ("scan", {"inputs": ["x:float32:n,..."]}, "may be none"),
        ("rows", {"base": "ioext"}, "fixed shapes"),
    ],
)
def test_a_pattern_that_does_not_fit(name: str, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError) as raised:
        chosen(name, **options)
    assert problem in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize("name", list(patterns.PATTERNS))
def test_a_project_keeps_its_pattern(name: str, tmp_path: Path) -> None:
    project = scaffold.new("Some", directory=tmp_path, kernel=name, inputs=["x:float32,int8:n,c"])
    assert json.loads((project / ".pluginkit.json").read_text())["kernel"] == name
    assert scaffold.update(project).changes == ()
    (kernel,) = (project / "src").glob("*_kernel.cu")
    assert ("kernels::launch" in kernel.read_text()) == (name != "loop")


def test_a_file_that_names_no_pattern_is_of_a_loop_and_an_unknown_one_is_damaged(tmp_path: Path) -> None:
    project = scaffold.new("Some", directory=tmp_path, kernel="loop")
    file = project / ".pluginkit.json"
    content = json.loads(file.read_text())
    del content["kernel"]
    file.write_text(json.dumps(content))
    assert scaffold.update(project).changes == ()
    file.write_text(json.dumps({**content, "kernel": "none"}))
    with pytest.raises(UsageError, match="no kernel pattern 'none'"):
        scaffold.update(project)


def test_the_layer_of_a_pattern_is_in_the_reference_too(tmp_path: Path) -> None:
    project = scaffold.new("Some", directory=tmp_path, kernel="scan", inputs=["x:float32:n,c"])
    assert "return np.cumsum(x, axis=-1)" in (project / "reference.py").read_text()
    assert "The running sum of each row" in (project / "README.md").read_text()


def test_a_project_whose_signature_no_longer_fits_its_pattern_is_converted(tmp_path: Path) -> None:
    project = scaffold.new("Some", directory=tmp_path, inputs=["x:float32:n,c"])
    toml, kernel = project / "pluginkit.toml", project / "src" / "some_kernel.cu"
    before = kernel.read_text()
    toml.write_text(toml.read_text().replace('base = "dynamic"', 'base = "dynamic"\nworkspace = "4 * n"'))
    scaffold.convert(project)
    assert kernel.read_text() == before
    assert json.loads((project / ".pluginkit.json").read_text())["kernel"] == "loop"
    assert not scaffold.update(project).conflicts


def test_inputs_with_names_of_the_layers_function_are_other_arguments(tmp_path: Path) -> None:
    names = ("result", "resultInput", "result_", "kernels", "parameters", "x")
    project = scaffold.new("Some", directory=tmp_path, inputs=[f"{name}:float32:n" for name in names])
    text = (project / "src" / "some_kernel.cu").read_text()
    arguments = re.findall(r"float (\w+)", re.sub(r"\s+", " ", text.split("operator()(")[1].split(")")[0]))
    assert len(set(arguments)) == len(names)
    assert not {"sum", "result", "kernels", "parameters"} & set(arguments)
