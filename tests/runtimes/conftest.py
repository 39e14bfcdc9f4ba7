"""A compiled plugin that can misbehave, and networks around it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from pluginkit.dtypes import DType
from pluginkit.interpreter import walker
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network
from pluginkit.network.plan import Plan
from pluginkit.testing.plan import plan
from pluginkit.testing.reference import Reference
from tests.compilers import default_cxx

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "pluginkit" / "include"

TOML = """
[plugin]
name = "Behaving"
version = "1"
namespace = ""
base = "dynamic"
description = "The first output is alpha times the input, the second is the input."

[[inputs]]
name = "x"
types = ["float32", "float16", "int8"]
shape = ["n", "c"]

[[outputs]]
name = "y"
types = ["float32", "float16", "int8"]
shape = ["n", "c"]

[[outputs]]
name = "side"
types = ["float32", "float16", "int8"]
shape = ["n", "c"]

[[fields]]
name = "alpha"
type = "float32"
default = 1.0
description = "Factor."

[[fields]]
name = "fault"
type = "int32"
default = 0
choices = [0]
description = "What to do wrong."

[[profiles]]
name = "default"
symbols = { n = [1, 2, 4], c = [1, 3, 8] }

[[profiles]]
name = "large"
symbols = { n = [5, 6, 7], c = [1, 3, 8] }
"""


def compile_library(source: Path, library: Path, *flags: str) -> Path:
    """A shared library of one source against pluginkit's headers."""
    options = ["-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{INCLUDE}", *flags]
    done = subprocess.run(
        [default_cxx(), *options, str(source), "-o", str(library), "-ldl"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return library


@pytest.fixture(scope="session", name="compile_library")
def compiler() -> Callable[..., Path]:
    """`compile_library`, for test modules."""
    return compile_library


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin Behaving, layout 11 and V3."""
    return compile_library(HERE / "behaving.cpp", tmp_path_factory.mktemp("behaving") / "libbehaving.so")


@pytest.fixture(scope="session")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    path = tmp_path_factory.mktemp("manifest") / "pluginkit.toml"
    path.write_text(TOML)
    return Manifest.load(path)


@pytest.fixture(scope="session")
def whole_plan(manifest: Manifest) -> Plan:
    def reference(x: Any, *, alpha: float, fault: int) -> Any:
        return x * alpha, np.array(x)

    return plan(manifest, Reference(manifest, reference, "conftest.py"), seed=1)


Networks = Callable[..., Network]


@pytest.fixture(scope="session")
def networks(whole_plan: Plan) -> Networks:
    def get(name: str = "plain/float32", fault: int = 0) -> Network:
        (network,) = (n for n in whole_plan.usual if n.id == name)
        return with_fault(network, fault)

    return get


def with_fault(network: Network, fault: int) -> Network:
    """The same network with another value of the field `fault`."""
    model = onnx.load_from_string(network.model)
    for node in walker.nodes(model.graph):
        if node.op_type == "Behaving":
            kept = [attribute for attribute in node.attribute if attribute.name != "fault"]
            del node.attribute[:]
            node.attribute.extend([*kept, onnx.helper.make_attribute("fault", fault)])
    calls = tuple(replace(c, fields={**c.fields, "fault": (DType.INT32, fault)}) for c in network.calls)
    return replace(network, model=model.SerializeToString(), calls=calls)
