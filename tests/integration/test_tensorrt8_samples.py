"""samples/tensorrt8 as far as they go without a GPU: NVIDIA's registry and creators, and the last sentence."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from pluginkit.interpreter import walker
from tests import tensorrt8

pytestmark = pytest.mark.real_tensorrt


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on a machine that has one. Nothing is built for a test that is skipped."""
    tensorrt8.python()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.mark.parametrize("example", sorted({*tensorrt8.EXAMPLES} - {*tensorrt8.PLUGINS}))
def test_without_a_gpu_it_says_so(example: str) -> None:
    done = tensorrt8.run(example)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "makes no builder" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_field_of_the_guide_is_refused_before_it_ends_the_process() -> None:
    done = tensorrt8.run("lrelu")
    assert "LReLU_TRT 1 lists no field 'neg_slope'; it lists negSlope" in done.stdout


def test_without_the_question_the_process_is_gone(tmp_path: Path) -> None:
    """What creator_fields is for: were it not so any more, it could go."""
    made = "    builder, network = common.new_network(explicit_batch=False)\n"
    folder = tensorrt8.changed(tmp_path, "lrelu.py", made, "")
    common = folder / "common.py"
    text = common.read_text(encoding="utf-8").replace("    creator_fields.check(creator, fields)\n", "")
    common.write_text(text.replace("PluginField(name,", 'PluginField("neg_slope",'), encoding="utf-8")
    assert tensorrt8.run("lrelu", folder=folder).returncode < 0


COMPARED = """
import common, numpy, sys
got, wanted = (numpy.array(eval(text), "float32") for text in sys.argv[1:])
common.main(lambda: common.compare("y", got, wanted, 0.1))
"""


@pytest.mark.parametrize(
    ("got", "wanted", "code", "says"),
    [
        ("[1, 2]", "[1, 2.05]", 0, "y: right"),
        ("[1, 2]", "[1, 2.2]", 1, "y: the largest difference to NumPy is 0.2,"),
        ("[1, float('nan')]", "[1, 2]", 1, "y: the largest difference to NumPy is nan"),
        ("[[1, 2]]", "[1, 2]", 1, "y: the shape is (1, 2), not (2,)"),
    ],
)
def test_a_wrong_result_ends_with_1(got: str, wanted: str, code: int, says: str, tmp_path: Path) -> None:
    shutil.copy(tensorrt8.SAMPLES / "tensorrt8" / "common.py", tmp_path)
    (tmp_path / "compared.py").write_text(COMPARED, encoding="utf-8")
    done = tensorrt8.run("compared", got, wanted, folder=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    assert says in done.stdout + done.stderr


EDITED = """
import sys
sys.path.insert(0, sys.argv[1])
import sum_even
open(sys.argv[2], "wb").write(sum_even.model().SerializeToString())
"""


def no_plugin(*_: object) -> object:
    raise AssertionError("there is no plugin in it")


def test_sum_even_is_right_with_the_iteration_number_of_the_parser(tmp_path: Path) -> None:
    """8.5's parser makes it a tensor [1]: both branches of the If have one dimension all the same."""
    (tmp_path / "edited.py").write_text(EDITED, encoding="utf-8")
    written = tmp_path / "edited.onnx"
    done = tensorrt8.run("edited", str(tensorrt8.SAMPLES / "tensorrt8"), str(written), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    model = onnx.load(written)
    onnx.checker.check_model(model, full_check=True)
    (body,) = (node.attribute[0].g for node in model.graph.node if node.op_type == "Loop")
    (gather,) = (node for node in body.node if node.op_type == "Gather")
    body.node.insert(0, helper.make_node("Unsqueeze", [gather.input[1], "axis"], ["number"]))
    gather.input[1] = "number"
    model.graph.initializer.append(helper.make_tensor("axis", onnx.TensorProto.INT64, [1], [0]))
    items = np.random.default_rng(3).integers(-5, 6, (7, 2)).astype(np.float32)
    total = walker.run(model, "NoPlugin", no_plugin, {"items": items})["total"]
    np.testing.assert_array_equal(total, items[items.sum(axis=1) % 2 == 0].sum(axis=0), strict=True)


@pytest.mark.parametrize("example", tensorrt8.PLUGINS)
def test_a_plugin_needs_its_library(example: str, tmp_path: Path) -> None:
    for arguments in ([], [str(tmp_path / "none.so")]):
        done = tensorrt8.run(example, *arguments)
        assert done.returncode == 2, done.stdout + done.stderr
        assert f"in samples/{tensorrt8.PLUGINS[example]}" in done.stderr


@pytest.mark.compile
def test_a_library_of_layout_8_registers_in_its_namespace(tmp_path: Path) -> None:
    """Of target cpu, which the registry takes as well."""
    from pluginkit.build import build

    (made,) = build(tensorrt8.copied("bar", tmp_path), "cpu", chosen=[8])
    done = tensorrt8.run("bar", str(made.library))
    assert "BarPlugin 1 is registered in the namespace 'acme'" in done.stdout, done.stderr
