"""Models in other formats than ONNX: which one a file is, and the command that makes ONNX of it.

A format is found by the file's content, for names lie; only TensorFlow's GraphDef, which has no mark, goes by its name.
The commands for torch.export's programs and TorchScript (torch 2.13), Keras (3.15), SavedModels and GraphDefs (tf2onnx
1.17) were tried; the others are from the documents of torch, tf2onnx and Optimum.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pluginkit.errors import UsageError
from pluginkit.process.escapes import quoted

SAVED_MODEL = "saved_model.pb"
_HDF5 = b"\x89HDF\r\n\x1a\n"
_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_TORCH_SUFFIXES = (".pt", ".pth", ".bin", ".ckpt")
_TORCH = "pip install torch onnxscript"
_TF = "pip install tf2onnx tensorflow-cpu"
_KERAS = "pip install keras torch onnxscript"


@dataclass(frozen=True)
class ForeignFormat:
    """A format.

    Attributes:
        name: for the user.
        packages: the command that installs what the conversion needs; empty: nothing can convert it.
        command: the conversion, of the file and of the ONNX file that is made; or what to do, where no command can.
        note: what else has to be known.
    """

    name: str
    packages: str
    command: Callable[[str, str], str]
    note: str = ""


def _python(*lines: str) -> str:
    return f"python -c {quoted('; '.join(lines))}"


EXPORTED = ForeignFormat(
    "a program exported by torch.export (.pt2)",
    _TORCH,
    lambda model, made: _python(
        "import torch", f"torch.onnx.export(torch.export.load({model!r}), f={made!r}, dynamo=True)"
    ),
)
TORCHSCRIPT = ForeignFormat(
    "a TorchScript module",
    _TORCH,
    lambda model, made: _python(
        "import torch",
        f"torch.onnx.export(torch.jit.load({model!r}).eval(), (torch.randn(1, 3, 224, 224),), {made!r}, dynamo=False)",
    ),
    "Put inputs of the model's own shapes in the place of torch.randn(1, 3, 224, 224).",
)
CHECKPOINT = ForeignFormat(
    "a checkpoint of PyTorch: weights, or a pickled module, without the code of the model",
    _TORCH,
    lambda model, made: (
        f"model = MyModel(); model.load_state_dict(torch.load({model!r})); "
        f"torch.onnx.export(model.eval(), (example,), {made!r}, dynamo=True)"
    ),
    "In Python, where the model's class is: no tool can export weights alone.",
)
SAFETENSORS = ForeignFormat(
    "a file of safetensors: weights, without the model",
    'pip install "optimum-onnx[onnxruntime]"',
    lambda model, made: (
        f"optimum-cli export onnx --model {quoted(str(Path(model).parent))} {quoted(Path(made).stem)}_onnx/"
    ),
    "That is for a folder of Hugging Face's, with its config.json. Else load the weights into the model's class, and "
    "torch.onnx.export(model.eval(), (example,), 'model.onnx', dynamo=True).",
)
# Keras exports no model that was never called, and one that is read from a file wasn't.
_ZERO = "lambda t: keras.ops.zeros([d or 1 for d in t.shape], t.dtype)"
_OPEN = (
    "Sizes that the model leaves open (None) are 1 in the call. If that is too small: "
    "m.export(..., input_signature=[keras.InputSpec(shape=(None, 224, 224, 3), dtype='float32', name='image')]), "
    "without the call."
)
KERAS = ForeignFormat(
    "a Keras model",
    _KERAS,
    lambda model, made: (
        "KERAS_BACKEND=torch "
        + _python(
            "import keras",
            f"m = keras.saving.load_model({model!r})",
            f"m(keras.tree.map_structure({_ZERO}, getattr(m, 'input', m.inputs)))",
            f"m.export({made!r}, format='onnx')",
        )
    ),
    _OPEN,
)
HDF5 = ForeignFormat(
    "an HDF5 file, as Keras writes .h5",
    _KERAS,
    KERAS.command,
    f"If it holds weights only, make the model first, and call its load_weights. {_OPEN}",
)
SAVED = ForeignFormat(
    "a SavedModel of TensorFlow",
    _TF,
    lambda model, made: f"python -m tf2onnx.convert --saved-model {quoted(model)} --output {quoted(made)}",
)
GRAPH_DEF = ForeignFormat(
    "perhaps a frozen GraphDef of TensorFlow",
    _TF,
    lambda model, made: (
        f"python -m tf2onnx.convert --graphdef {quoted(model)} --inputs INPUT:0 --outputs OUTPUT:0 "
        f"--output {quoted(made)}"
    ),
    "Put the names of the graph's tensors in the place of INPUT:0 and OUTPUT:0.",
)
TFLITE = ForeignFormat(
    "a model of TensorFlow Lite",
    _TF,
    lambda model, made: f"python -m tf2onnx.convert --tflite {quoted(model)} --output {quoted(made)}",
)
FORMATS = (EXPORTED, TORCHSCRIPT, CHECKPOINT, SAFETENSORS, KERAS, HDF5, SAVED, GRAPH_DEF, TFLITE)


def of_folder(path: Path) -> ForeignFormat | None:
    """The format of a folder; None if it is none that is known."""
    return SAVED if (path / SAVED_MODEL).is_file() else None


def of_file(path: Path, data: bytes) -> ForeignFormat | None:
    """The format of a file that is not an ONNX model; None if it is none that is known. `data` is its content."""
    if data.startswith(b"PK\x03\x04"):
        return _of_archive(path)
    marks = (
        (data.startswith(_HDF5), HDF5),
        (data[4:8] == b"TFL3", TFLITE),
        # 8 bytes with the header's length, then the header, which is JSON.
        (data[8:9] == b"{" and 2 <= int.from_bytes(data[:8], "little") <= len(data) - 8, SAFETENSORS),
        # A pickle of protocol 2 and later, as torch.save wrote until 1.6.
        (data.startswith(_PICKLES) and path.suffix in _TORCH_SUFFIXES, CHECKPOINT),
        (path.name == SAVED_MODEL, SAVED),
        (path.suffix == ".pb", GRAPH_DEF),
    )
    return next((one for found, one in marks if found), None)


def no_model(data: bytes) -> tuple[str, str] | None:
    """What a file is that no command makes ONNX of, and what to do; None if it is not one of these."""
    text = data[:256].lstrip().lower()
    marks = (
        (
            data.startswith((b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")),
            "a compressed file or an archive, perhaps one that is cut off; an ONNX model is neither",
            "Unpack it, and give what is in it; if it can't be unpacked, download it again.",
        ),
        (
            text.startswith((b"<!doctype html", b"<html")),
            "a page of HTML, no ONNX model",
            "Was it downloaded from a page's address? That of the file itself gives the model.",
        ),
    )
    return next(((what, fix) for found, what, fix in marks if found), None)


def refuse(path: Path, found: ForeignFormat) -> UsageError:
    """The error, with the command to type."""
    model = str(path.parent if found is SAVED and path.name == SAVED_MODEL else path)
    made = str(Path(model).with_suffix(".onnx"))
    lines = [f"make ONNX of it: {found.command(model, made)}"]
    if found.packages:
        lines.append(f"(it needs: {found.packages})")
    if found.note:
        lines.append(found.note)
    return UsageError(f"{path} is {found.name}, no ONNX model.", hint="\n".join(lines))


def _of_archive(path: Path) -> ForeignFormat | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return None
    inner = {name.partition("/")[2] for name in names}
    if {"config.json", "metadata.json"} <= set(names):
        return KERAS
    if _any(inner | set(names), ("archive_format", "serialized_exported_program.json", "models/model.json")):
        return EXPORTED
    if any(name.startswith("code/") for name in inner):
        return TORCHSCRIPT
    return CHECKPOINT if "data.pkl" in inner else None


def _any(names: set[str], marks: Sequence[str]) -> bool:
    return any(mark in names for mark in marks)
