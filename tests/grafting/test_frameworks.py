"""Models of Keras, TensorFlow and PyTorch, from the framework's own file to a model with a plugin that NVIDIA builds.

Each framework runs in a process of its own. The packages are not a dependency of pluginkit's; run by hand with an
environment that has them:

    PYTHONPATH=/path/to/that/lib/python3.11/site-packages python -m pytest tests/grafting/test_frameworks.py
"""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from pluginkit import cli, scaffold
from pluginkit.onnxruntime import session
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from tests.shared import Shared

pytest.importorskip("onnxruntime")
pytestmark = [
    pytest.mark.compile,
    pytest.mark.rtx,
    pytest.mark.slow,
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here"),
]


def needs(*packages: str) -> pytest.MarkDecorator:
    missing = [one for one in packages if importlib.util.find_spec(one) is None]
    return pytest.mark.skipif(bool(missing), reason=f"frameworks: {', '.join(missing)} not installed")


# Two outputs in a dict, which TensorFlow orders by their names, whatever the order here.
KERAS = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras, numpy as np
keras.utils.set_random_seed(0)
image = keras.Input((8, 8, 3), name="image")
conv = keras.layers.Conv2D(4, 3, padding="same", name="conv")(image)
features = keras.layers.Activation("silu", name="features")(conv)
pooled = keras.layers.GlobalAveragePooling2D(name="pooled")(features)
model = keras.Model(image, {"pooled": pooled, "features": features})
given = np.random.default_rng(0).standard_normal((2, 8, 8, 3)).astype(np.float32)
answer = {name: keras.ops.convert_to_numpy(one) for name, one in model(given).items()}
np.savez("wanted.npz", image=given, **answer)
"""
EXPORT = "model.export('keras.onnx', format='onnx', verbose=False)\n"
SAVE = "model.save('model{suffix}')\n"
SAVED = "model.export('saved', verbose=False)\n"
FROZEN = """
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
shape = tf.TensorSpec((None, 8, 8, 3), tf.float32, name="image")
whole = tf.function(lambda image: model(image)).get_concrete_function(shape)
frozen = convert_variables_to_constants_v2(whole)
print(sorted(whole.structured_outputs), [one.name for one in frozen.outputs])
tf.io.write_graph(frozen.graph, ".", "frozen.pb", as_text=False)
"""
PATTERN = """
inputs = ["x"]
node = [
  { op = "Sigmoid", inputs = ["x"], outputs = ["s"] },
  { op = "Mul", inputs = ["x", "s"], outputs = ["y"] },
]
"""


@pytest.fixture(scope="module")
def swish(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plugin of NCHW, as TensorRT has images, with its pattern: x times the sigmoid of beta times x."""
    project = scaffold.new(
        "Swish",
        directory=tmp_path_factory.mktemp("swish"),
        inputs=["x:float32:n,c,h,w"],
        fields=["beta:float32=1.0"],
        namespace="acme",
        base="v3",
        kernel="elementwise",
    )
    for path, begin, end, text in (
        ("src/swish.cu", "float const result =", ";", " x / (1.0F + expf(-fields.beta * x))"),
        ("reference.py", "    return ", "\n", "x / (1 + np.exp(-beta * x))"),
    ):
        before = (project / path).read_text()
        start = before.index(begin) + len(begin)
        (project / path).write_text(before[:start] + text + before[before.index(end, start) :])
    (project / "patterns").mkdir()
    (project / "patterns" / "silu.toml").write_text(PATTERN)
    return shared.project(project)


def ran(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def made(folder: Path, *parts: str) -> str:
    (folder / "make.py").write_text("".join((KERAS, *parts)))
    return ran(folder, sys.executable, "make.py")


def grafted(model: Path, swish: Path, capfd: pytest.CaptureFixture[str]) -> Path:
    """The model with the plugin: written, and built by NVIDIA."""
    out = model.with_suffix(".grafted.onnx")
    capfd.readouterr()
    code = cli.run(["graft", str(model), "--replace", "silu", "--by", str(swish), "-o", str(out)])
    printed = capfd.readouterr()
    assert code == 0, printed
    assert "build by TensorRT-RTX: built" in " ".join(printed.out.split())
    kinds = [one.op_type for one in onnx.load(out).graph.node]
    assert kinds.count("Swish") == 1
    assert "Sigmoid" not in kinds
    return out


def same(model: Path, swish: Path, folder: Path, outputs: dict[str, str], *, nchw: bool = False) -> None:
    """It gives what the framework gave, by the names that say which output is which."""
    wanted = np.load(folder / "wanted.npz")
    image = wanted["image"].transpose(0, 3, 1, 2) if nchw else wanted["image"]
    with session(model, [swish]) as opened:
        got = dict(zip([one.name for one in opened.get_outputs()], opened.run(None, {"image": image}), strict=True))
    for name, key in outputs.items():
        np.testing.assert_allclose(got[name], wanted[key], rtol=1e-4, atol=1e-5)


def told(path: Path, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """The command that doctor prints for a file that is not an ONNX model, as a shell takes it."""
    capfd.readouterr()
    assert cli.run(["doctor", str(path)]) == 2
    error = " ".join(capfd.readouterr().err.split())
    command = error.partition("make ONNX of it: ")[2].partition(" (it needs:")[0]
    assert command
    return shlex.split(command)


def by_doctor(path: Path, capfd: pytest.CaptureFixture[str], **instead: str) -> Path:
    """Run that command; with what the user puts into it."""
    words = told(path, capfd)
    settings = [word for word in words if word.startswith("KERAS_BACKEND=")]
    words = [sys.executable if word == "python" else word for word in words if word not in settings]
    for text, new in instead.items():
        assert any(text in word for word in words), words
        words = [word.replace(text, new) for word in words]
    ran(path.parent, "env", *settings, *words)
    return path.with_suffix(".onnx")


@needs("keras", "tensorflow", "tf2onnx")
def test_keras_by_its_own_export(swish: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The input stays NHWC, with a Transpose behind it; the outputs of a dict keep their keys."""
    made(tmp_path, EXPORT)
    out = grafted(tmp_path / "keras.onnx", swish, capfd)
    same(out, swish, tmp_path, {"features": "features", "pooled": "pooled"})


@needs("keras", "tensorflow", "tf2onnx")
def test_a_frozen_graph(swish: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """doctor's command, then the same with NCHW inputs and outputs; an output that isn't named is not in the model."""
    printed = made(tmp_path, FROZEN)
    assert "['features', 'pooled'] ['Identity:0', 'Identity_1:0']" in printed
    names = {"INPUT:0": "image:0", "OUTPUT:0": "Identity:0,Identity_1:0"}
    model = by_doctor(tmp_path / "frozen.pb", capfd, **names)
    assert [one.name for one in onnx.load(model).graph.input] == ["image:0"]
    convert = [sys.executable, "-m", "tf2onnx.convert", "--graphdef", "frozen.pb", "--inputs", "image:0"]
    both = ["--outputs", "Identity:0,Identity_1:0", "--rename-inputs", "image", "--rename-outputs", "features,pooled"]
    ran(tmp_path, *convert, *both, "--inputs-as-nchw", "image:0", "--output", "nchw.onnx")
    kinds = [one.op_type for one in onnx.load(tmp_path / "nchw.onnx").graph.node]
    assert kinds.count("Transpose") == 1  # of the output
    out = grafted(tmp_path / "nchw.onnx", swish, capfd)
    same(out, swish, tmp_path, {"features": "features", "pooled": "pooled"}, nchw=True)
    ran(tmp_path, *convert, "--outputs", "Identity:0", "--output", "one.onnx")
    assert len(onnx.load(tmp_path / "one.onnx").graph.output) == 1


@needs("keras", "tensorflow", "tf2onnx")
def test_a_saved_model(swish: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made(tmp_path, SAVED)
    model = by_doctor(tmp_path / "saved", capfd)
    assert sorted(one.name for one in onnx.load(model).graph.output) == ["features", "pooled"]
    out = grafted(model, swish, capfd)
    same(out, swish, tmp_path, {"features": "features", "pooled": "pooled"})


@needs("keras", "torch", "onnxscript", "h5py")
@pytest.mark.parametrize("suffix", [".h5", ".keras"])
def test_a_file_of_keras(
    suffix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Keras on PyTorch, which needs no TensorFlow. What is read from a file was never called."""
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    made(tmp_path, SAVE.format(suffix=suffix))
    model = by_doctor(tmp_path / f"model{suffix}", capfd)
    wanted = np.load(tmp_path / "wanted.npz")
    with session(model, []) as opened:
        (given,) = opened.get_inputs()
        found = opened.run(None, {given.name: wanted["image"]})
    for shape, key in (((2, 8, 8, 4), "features"), ((2, 4), "pooled")):
        (got,) = (one for one in found if one.shape == shape)
        np.testing.assert_allclose(got, wanted[key], rtol=1e-4, atol=1e-5)


@needs("torch", "onnxscript")
def test_torchscript(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "make.py").write_text(
        "import torch\n"
        "model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.SiLU()).eval()\n"
        "torch.jit.trace(model, torch.randn(1, 3, 8, 8)).save('model.pt')\n"
    )
    ran(tmp_path, sys.executable, "make.py")
    model = by_doctor(tmp_path / "model.pt", capfd, **{"1, 3, 224, 224": "1, 3, 8, 8"})
    assert [one.op_type for one in onnx.load(model).graph.node] == ["Conv", "Sigmoid", "Mul"]
