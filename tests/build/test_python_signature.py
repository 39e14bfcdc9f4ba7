"""The signature of pluginkit.toml, as the C++ text that is compiled into a project's Python module."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from pluginkit.build.python_signature import TORCH_OPERATORS, header
from tests.compilers import default_cxx

TEXT = 'a quote ", its end )pluginkit", a line\\nbreak, µ and \\\\'


def test_any_text_comes_back_from_the_compiler(tmp_path: Path) -> None:
    sample = Path(__file__).resolve().parents[2] / "samples" / "leaky_relu" / "pluginkit.toml"
    text = sample.read_text(encoding="utf-8").replace('"what a negative value is multiplied by"', json.dumps(TEXT))
    (tmp_path / "pluginkit.toml").write_text(text, encoding="utf-8")
    (tmp_path / "pluginkit_built.h").write_text(header(tmp_path, "l_re_lu", "LReLU", "cpu"), encoding="utf-8")
    (tmp_path / "show.cpp").write_text(
        '#include "pluginkit_built.h"\n#include <cstdio>\n'
        "int main() { char const* built[] = PLUGINKIT_BUILT; for (char const* one : built) std::puts(one); }\n"
    )
    subprocess.run([default_cxx(), "-o", tmp_path / "show", tmp_path / "show.cpp"], check=True)
    output = subprocess.run([tmp_path / "show"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert output[:3] == ["libl_re_lu.so", "initLReLUPlugins", "cpu"]
    (signature,) = json.loads(output[3])
    assert signature["name"] == "LReLU"
    assert signature["inputs"] == [
        {"name": "x", "types": "float32, float16", "shape": ["n", "c", "h", "w"], "shape_input": False}
    ]
    assert signature["fields"] == [
        {
            "name": "neg_slope",
            "type": "float32",
            "kind": "float",
            "is_list": False,
            "default": 0.01,
            "description": TEXT,
        }
    ]
    assert "\n".join(output[4:]).rstrip() == TORCH_OPERATORS.read_text(encoding="utf-8").rstrip()


def test_a_project_without_a_manifest_has_no_signature(tmp_path: Path) -> None:
    assert 'R"pluginkit([])pluginkit"' in header(tmp_path, "x", "X", "gpu")
