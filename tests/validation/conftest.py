"""The plugins that the host's tests load are the zoo of `pluginkit check` too; and those whose methods end the
process."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from onnx import TensorProto, helper, save

import pluginkit
from tests.compilers import default_cxx
from tests.host.conftest import STRICT, batched, compile_plugin, v3_library
from tests.shared import Shared

__all__ = ["batched", "compile_plugin", "v3_library"]

PLUGINS = (("Dynamic", "y"), ("V3", "z"), ("IOExt", "w"))
ENDINGS = Path(__file__).with_name("endings.cpp")
_MANIFEST = """\
[plugin]
name = "{name}"
namespace = "tests"
base = "{base}"

[[inputs]]
name = "x"
types = ["float32"]
shape = ["n", "m"]

[[outputs]]
name = "y"
types = ["float32"]
shape = ["n", "m"]

{field}
[[profiles]]
symbols = {{ n = {sizes}, m = {sizes} }}
"""
_FIELD = '[[fields]]\nname = "factor"\ntype = "float32"\n'
MANIFESTS = {
    "Dynamic": _MANIFEST.format(name="Dynamic", base="dynamic", field=_FIELD, sizes="[1, 2, 4]"),
    "IOExt": _MANIFEST.format(name="IOExt", base="ioext", field=_FIELD, sizes="[2, 2, 2]"),
    "V3": _MANIFEST.format(name="V3", base="v3", field="", sizes="[1, 2, 4]"),
}
"""`pluginkit.toml` of each plugin of endings.cpp."""


@pytest.fixture(scope="session")
def endings(shared: Shared) -> Path:
    command = [default_cxx(), *STRICT, "-g1", f"-I{pluginkit.include_dir()}", str(ENDINGS)]

    def make(place: Path) -> None:
        subprocess.run([*command, "-o", str(place / "libendings.so")], check=True)

    return shared.once("endings", repr(command).encode() + ENDINGS.read_bytes(), make) / "libendings.so"


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a node of each plugin: a library may refuse fields and sizes that are guessed."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 5]) for name in "xyzw"]
    nodes = [helper.make_node(name, ["x"], [to], domain="tests") for name, to in PLUGINS]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("tests", 1)]
    path = tmp_path_factory.mktemp("model") / "both.onnx"
    save(helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:]), opset_imports=opsets), path)
    return path
