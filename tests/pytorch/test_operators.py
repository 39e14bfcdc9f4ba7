"""A library's plugins as PyTorch's operators, and the models that PyTorch exports of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from pluginkit import scaffold
from pluginkit.build import build
from pluginkit.scaffold.add import add

pytestmark = [pytest.mark.slow, pytest.mark.compile]
pytest.importorskip("torch")
pytest.importorskip("onnxscript")

SCRIPT = Path(__file__).resolve().parent / "operators_in_torch.py"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plugin of any rank with fields of each kind, one that writes into its input, and two whose sizes values say."""
    made = scaffold.new(
        "Many",
        directory=tmp_path_factory.mktemp("operators"),
        base="v3",
        inputs=["x:float32,float16:n,...,c", "w:float32,float16:c"],
        outputs=["y:float32,float16:n,...,c * 2 + len(pads)", "z:float32,float16:1 if keep,ceil_div(n, 2)"],
        fields=["pads:int32[0..4]=1,2", "keep:int32=1", "slope:float32=0.1", "scales:float32[0..2]=1,2",
                'how:string=a "quoted" \\ text'],
    )  # fmt: skip
    add("Grow", project=made, base="v3", namespace="acme.vision", inputs=["x:float32,float16:n,c"],
        outputs=["y:float32,float16:n,c:alias=x"], fields=["weight:float32", "scales:float32[2]=1,2"])  # fmt: skip
    add("Pick", project=made, base="v3", namespace="acme", inputs=["x:float32:n,c"],
        outputs=["y:float32:count,c", "count:int32::upper=n"], fields=[])  # fmt: skip
    add("Fill", project=made, base="v3", namespace="acme", inputs=["x:float32:n", "size:int64:2:values=oh,ow"],
        outputs=["y:float32:oh,ow,n"], fields=[])  # fmt: skip
    return made


def tried(project: Path, target: str, device: str) -> None:
    """The script tries the operators, then exports a model with them."""
    module, model = build(project, target, python=True)[0].module, project / f"{target}.onnx"
    assert module
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(module.parent), str(model), device, str(project / "reference.py")],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    onnx.checker.check_model(onnx.load(model), full_check=False)


def test_operators_and_export(project: Path) -> None:
    tried(project, "cpu", "cpu")


@pytest.mark.gpu
@pytest.mark.xdist_group("gpu")
def test_operators_and_export_on_a_gpu(project: Path) -> None:
    """Tensors in a GPU's memory: the current stream, graphs and torch.compile's own backend too."""
    tried(project, "gpu", "cuda")
