"""Plugins in networks by TensorRT-RTX's network API: declared, wired, built."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pluginkit import cli
from pluginkit.build.artifact import library_path
from pluginkit.runtimes.rtx import session as tensorrt_rtx

pytestmark = [
    pytest.mark.compile,
    pytest.mark.rtx,
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="no TensorRT-RTX"),
]
SHAPES = {
    "fifty": [-1, 5],
    "loop": [-1, 5],
    "branch": [-1, 5],
    "alias": [-1, 5],
    "size": [-1],
    "shape_input": [7, 5],
}
REFUSED = {
    "field": "UsageError: a: tests::ProbeV3 has no field 'faktor'.\nIts creator lists ",
    "value": "UsageError: a: field 'factor' is 'two', and the creator lists it as FLOAT32.",
    "fraction": "UsageError: a: field 'mode' is 1.5, and the creator lists it as INT32.",
    "wide": "UsageError: a: field 'mode' is 1099511627776, and NVIDIA's parser cuts attributes to 32 bits.",
    "creator": "CheckFailed: a: the creator of tests::ProbeV3 makes no plugin of the fields fault=1.",
    "plugin": "UsageError: a: RTX's registry has no plugin ProbeV3 of version 1; there is tests::ProbeV3.",
    "version": "UsageError: a: RTX's registry has no plugin tests::ProbeV3 of version 2; it has version 1.",
    "later": "UsageError: The network has 1 layer already",
    "twice": "UsageError: Several plugin layers are called a.",
    "shapes": "CheckFailed: RTX's parser refuses the declared plugins:\n",
    "type": "UsageError: a, input 0 ('half'): its type is float16; declared is float32[?, 5].",
    "rank": "UsageError: a, input 0 ('flat'): it has 1 dimension; declared is float32[?, 5].",
    "size": "UsageError: a, input 0 ('wide'): its shape is (-1, 6); declared is float32[?, 5].",
    "count": "UsageError: <a: tests::ProbeV3(float32[?, 5]), not wired> takes 1 input, and is given 2.",
    "network": "UsageError: None is not a network of tensorrt_rtx.",
}


@pytest.fixture(scope="module")
def answers(v3_library: Path, scale_project: Path) -> dict[str, Any]:
    """By name, what building a network gave. LD_LIBRARY_PATH names no folder of NVIDIA's, as in the user's process."""
    program = Path(__file__).with_name("rtx_networks.py")
    libraries = (str(v3_library), str(library_path(scale_project, "scale", "cpu")))
    ran = subprocess.run(
        [sys.executable, str(program), *libraries, *SHAPES], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", SHAPES)
def test_it_is_built(answers: dict[str, Any], name: str) -> None:
    assert answers[name] == {"shape": SHAPES[name], "plugin": True}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(answers: dict[str, Any], name: str) -> None:
    assert answers[f"refused_{name}"].startswith(REFUSED[name])


BUILD = """
config, profile = builder.create_builder_config(), builder.create_optimization_profile()
profile.set_shape("x", *[(n, 64) for n in (1, 2, 4)])
config.add_optimization_profile(profile)
plan = builder.build_serialized_network(network, config)
import json, os, sys
names = [network.get_layer(index).name for index in range(network.num_layers)]
print(json.dumps({"plugins": [name for name in names if name in layers], "built": b"Scale" in bytes(plan)}))
sys.stdout.flush()
os._exit(0)
"""


def test_the_example_of_the_documentation(scale_project: Path, tmp_path: Path) -> None:
    """As it is written, but for the plugin: docs/rtx.md's has another name, field and rank."""
    page = (Path(__file__).parents[2] / "docs" / "rtx.md").read_text()
    example = page.split("```python\n")[1].split("```")[0]
    for written, here in (("acme::MyPlugin", "acme::Scale"), ("(-1, 64, -1, -1)", "(-1, 64)"), ('"alpha"', '"factor"')):
        assert written in example
        example = example.replace(written, here)
    assert cli.run(["registry", "add", str(scale_project), "--store", str(tmp_path / "store")]) == 0
    env = {key: value for key, value in os.environ.items() if not re.match("(PLUGINKIT|XDG)_", key)}
    env |= {"PLUGINKIT_STORE": str(tmp_path / "store"), "XDG_CONFIG_HOME": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", example + BUILD], capture_output=True, text=True, env=env, check=False)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1]) == {"plugins": ["first", "second"], "built": True}
