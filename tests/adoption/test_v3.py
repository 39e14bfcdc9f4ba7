"""`pluginkit adopt` of what only an IPluginV3 has: size tensors and aliases, drafted and tested."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from pluginkit import cli
from pluginkit.adoption.answers import ListedCreator, OutputShapes, PluginAnswers, SizeTensor, TakenInputs
from pluginkit.adoption.draft import LibraryFacts, draft
from pluginkit.adoption.expressions import of_trees
from pluginkit.host.expressions import ShapeProgram, Size
from pluginkit.manifest import Manifest
from pluginkit.manifest.mistakes import FILL_IN
from tests.host.conftest import v3_library

__all__ = ["v3_library"]

SIZE, ALIAS = 4, 2
"""The modes of tests/host/v3.cpp."""
REFERENCES = {
    SIZE: "import numpy as np\n\n\ndef reference(x, *, factor):\n"
    "    found = x[x > 0] * factor\n    return found, np.asarray(found.size)\n",
    ALIAS: "def reference(x, *, factor):\n    return x * factor\n",
}


def model(folder: Path, mode: int) -> Path:
    """One node of the plugin in v3.cpp, which has its mode of a variable: another one has another number of outputs."""
    outputs = ["y", "count"] if mode == SIZE else ["y"]
    node = helper.make_node("ProbeV3", ["x"], outputs, factor=2.0, plugin_namespace="tests")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", "columns"])
    found = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph([node], "g", [x], found)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "model.onnx")
    return folder / "model.onnx"


@pytest.mark.compile
def test_another_number_of_outputs_than_the_manifest_has(
    v3_library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A manifest that contradicts the library."""
    folder = tmp_path / "draft"
    assert cli.run(["adopt", str(v3_library), "--model", str(model(tmp_path, ALIAS)), "--dir", str(folder)]) == 0
    text = (folder / "pluginkit.toml").read_text(encoding="utf-8")
    more = '[[outputs]]\nname = "z"\ntypes = ["float32"]\nshape = ["n", "c"]\n\n[[fields]]'
    (folder / "pluginkit.toml").write_text(text.replace("[[fields]]", more, 1), encoding="utf-8")
    reference = "def reference(x, *, factor):\n    return x * factor, x\n"
    (folder / "reference.py").write_text(reference, encoding="utf-8")
    capsys.readouterr()
    assert cli.run(["test", str(folder), "--only", "plain/float32/opt"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "IPluginV3OneBuild::getNbOutputs: answered 1, and the manifest has 2 outputs" in shown, shown


@pytest.mark.compile
@pytest.mark.parametrize("mode", [SIZE, pytest.param(ALIAS, marks=pytest.mark.slow)])
def test_size_tensors_and_aliases_are_drafted_and_tested(
    v3_library: Path, tmp_path: Path, mode: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PROBE_MODE", str(mode))
    folder = tmp_path / "draft"
    command = ["adopt", str(v3_library), "--model", str(model(tmp_path, mode)), "--dir", str(folder)]
    assert cli.run(command) == 0
    assert "to fill in" not in capsys.readouterr().out
    manifest = Manifest.load(folder)
    if mode == SIZE:
        y, count = manifest.outputs
        assert (y.shape, count.shape) == (("count",), ())
        assert (count.upper, count.opt) == ("n * c", "(n * c) // 2")
        assert [one.value for one in count.types] == ["int32"]
    else:
        (y,) = manifest.outputs
        assert y.alias == "x"
    (folder / "reference.py").write_text(REFERENCES[mode], encoding="utf-8")
    assert cli.run(["test", str(folder), "--only", "plain/float32/opt"]) == 0, capsys.readouterr()


def test_size_tensors_are_read_from_the_tree() -> None:
    """[d0_0, size], of which the size is at most d0_0 * 6 and usually as much."""
    nodes = ((0, 0, 0, 0, 0), (1, 0, 0, 0, 6), (2, 1, 0, 1, 0), (0, 1, 0, 0, 0), (2, 5, 0, 1, 0))
    sizes = (Size(output=1, opt=2, upper=2, symbol=1),)
    programs = [ShapeProgram(nodes, roots, sizes) for roots in ((0, 3), ())]
    found = of_trees(programs, [1])
    assert found == OutputShapes((("d0_0", "size_of_output_1"), ()), (SizeTensor(1, "d0_0 * 6", "d0_0 * 6"),))
    # kEQUAL, as an upper bound, has no form in a pluginkit.toml.
    compared = (Size(output=1, opt=0, upper=4, symbol=1),)
    assert of_trees([ShapeProgram(nodes, (3,), compared)], [1]).sizes == (SizeTensor(1, "", "d0_0"),)


def test_a_bound_without_a_form_is_a_line_to_fill_in() -> None:
    sized = TakenInputs((1,), (("size_of_output_1",), ()), ((0, 0, 3),), (SizeTensor(1, "", "d0_0"),))
    answers = PluginAnswers(base="IPluginV3", made="nothing", outputs=2, taken=(sized,))
    text = draft(ListedCreator(0, "P", "1", "", "v3", ()), answers, LibraryFacts("p.so"), None).manifest
    assert 'shape = ["y2"]' in text
    assert f'upper = "1"  {FILL_IN} its upper bound, which no expression fits' in text
