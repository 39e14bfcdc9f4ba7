"""Which names a layer's plugin, tensors and fields can have: what is refused has its reason, what is taken compiles."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import pluginkit
from pluginkit import scaffold
from pluginkit.build import toolchain
from pluginkit.build.signature import file_name, header
from pluginkit.build.signature.cpp_names import HEADER_NAMES
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest
from tests.compilers import default_cxx

MEMBERS = [
    *sorted(HEADER_NAMES - {"Inputs", "Outputs"}),
    "run",
    "fields",
    "precision",
    "in_",
    "out",
    "data",
    "f",
    "kName",
]
"""Names that a class can't have and a member can, and those of the header's other scopes."""


def test_the_names_are_those_that_the_header_declares(tmp_path: Path) -> None:
    text = header(Manifest.load(scaffold.new("MyPlugin", directory=tmp_path)))
    declared = re.findall(r"^(?:struct|enum class|cudaError_t) (\w+)", text, re.MULTILINE)
    assert set(declared) == HEADER_NAMES


@pytest.mark.parametrize("name", [*sorted(HEADER_NAMES), "pluginkit", "nvinfer1", "std", "class", "NULL"])
def test_a_plugin_is_not_called_so(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"'{name}' cannot be a plugin's name: .+"):
        scaffold.new(name, directory=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["struct", "NULL", "a__b", "Inputs"])
def test_a_member_is_not_called_so(name: str, tmp_path: Path) -> None:
    for own in ({"fields": [f"{name}:float32=1"]}, {"outputs": [f"{name}:float32:n"]}):
        with pytest.raises(UsageError, match=f"'{name}' cannot be .*'?s name: .+"):
            scaffold.new("MyPlugin", directory=tmp_path, inputs=["x:float32:n"], **own)


@pytest.mark.parametrize(("right", "what"), [("alpha", "a field"), ("x", "a tensor"), ("y", "a tensor")])
def test_the_header_says_so_of_what_is_written_by_hand(right: str, what: str, tmp_path: Path) -> None:
    made = scaffold.new("MyPlugin", directory=tmp_path, inputs=["x:float32:n"], fields=["alpha:float32=1"])
    toml = made / "pluginkit.toml"
    toml.write_text(toml.read_text().replace(f'name = "{right}"', 'name = "struct"'))
    with pytest.raises(UsageError, match=f"'struct' cannot be {what}'s name: it is a C\\+\\+ keyword"):
        header(Manifest.load(made))


@pytest.mark.compile
def test_what_is_next_to_them_compiles(tmp_path: Path) -> None:
    made = scaffold.new(
        "Layer",
        directory=tmp_path,
        inputs=[f"{name}:float32:n" for name in MEMBERS[::2]],
        outputs=["y:float32:n"],
        fields=[f"{name}:float32=1" for name in MEMBERS[1::2]],
    )
    manifest = Manifest.load(made)
    (tmp_path / file_name(manifest)).write_text(header(manifest))
    (source,) = (made / "src").glob("*.cpp")
    folders = [f"-I{tmp_path}", f"-I{pluginkit.include_dir()}", "-isystem", str(toolchain.cuda_include_dirs()[0])]
    command = [default_cxx(), "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *folders, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
