"""samples/leaky_relu's script against the names and signatures of NVIDIA's bindings: its calls of the full TensorRT,
which run nowhere here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tensorrt_api.conftest import ROOT, Bindings

pytestmark = pytest.mark.xdist_group("tensorrt_api")

SCRIPT = ROOT / "samples" / "leaky_relu" / "leaky_relu.py"
BREAKS = {
    "add_plugin_v2": ("inputs=[x], plugin=plugin", "tensors=[x], plugin=plugin"),
    "add_plugin_v3": ("shape_inputs=[], plugin", "plugin"),
    "field": ("trt.PluginFieldType.FLOAT32", "trt.PluginFieldType.FLOAT"),
    "phase": ("trt.TensorRTPhase.BUILD", "trt.Phase.BUILD"),
    "engine": ("deserialize_cuda_engine(plan)", "deserialize_engine(plan)"),
    "address": ('set_tensor_address("x", ', "set_tensor_address("),
    "run": ("execute_async_v3", "execute_v3"),
}


def test_every_use_is_right(bindings: Bindings) -> None:
    assert bindings.mypy(SCRIPT) == []


def test_rtx_lacks_what_adds_a_layer_and_nothing_else(bindings_rtx: Bindings) -> None:
    wrong = bindings_rtx.mypy(SCRIPT)
    assert [line.partition('"INetworkDefinition" has no attribute ')[2] for line in wrong] == [
        '"add_plugin_v3"  [attr-defined]',
        '"add_plugin_v2"  [attr-defined]',
    ]


def test_a_wrong_name_is_found(bindings10: Bindings, tmp_path: Path) -> None:
    text = SCRIPT.read_text()
    wrong = {}
    for number, (what, (good, bad)) in enumerate(BREAKS.items()):
        assert good in text, what
        wrong[what] = tmp_path / f"wrong_{number}.py"
        wrong[what].write_text(text.replace(good, bad))
    lines = bindings10.mypy(*wrong.values())
    assert [what for what, file in wrong.items() if not any(file.name in line for line in lines)] == []
