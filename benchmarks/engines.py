"""Whether ten plugins pay in an engine of TensorRT 8.5: `python benchmarks/engines.py` writes results/engines.csv.

Each is a plugin of the gallery, or of a command of its page, between two elementwise operators; beside it the same
model of TensorRT's own layers, as PyTorch exports it, and the same function by torch.compile. Needs a GPU, nvcc, and
PLUGINKIT_TENSORRT8_PYTHON; torch where it is.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from rich.console import Console

from pluginkit import scaffold
from pluginkit.build import build
from pluginkit.importing.engines import measuring
from pluginkit.importing.engines.measured import EngineBench
from pluginkit.importing.engines.measuring import EngineOptions

HERE = Path(__file__).resolve().parent
GALLERY = HERE.parent / "samples/gallery"
TYPES = "float32,float16,int8"
ROWS, COLUMNS = 8192, 1024
IMAGE = (16, 64, 112, 112)
NAMESPACE = "gallery"
VOCABULARY, WORDS = 30_000, (32, 512)
Nodes = list[onnx.NodeProto]


@dataclass(frozen=True)
class Case:
    """A plugin and what stands in its place.

    Attributes:
        name: the row's name.
        plugin: the node's type.
        project: a folder of the gallery, or the arguments of `scaffold.new`.
        without: TensorRT's own layers from `h` to `o`.
        attributes: the plugin node's.
        weights: initializers of both.
        mine: names of the plugin's inputs.
        torch: the same from `h`, as an expression.
        shape: that of x; of numbers of rows where `table` is.
        shape_out: that of y.
        indices: whether x is INT32 numbers of rows.
        int8: whether it is measured in INT8, between QuantizeLinear and DequantizeLinear.
        before: nodes before the plugin, in both.
    """

    name: str
    plugin: str
    project: str | dict[str, Any]
    without: Nodes
    torch: str
    attributes: dict[str, Any]
    weights: dict[str, np.ndarray[Any, Any]]
    mine: tuple[str, ...] = ("h",)
    shape: tuple[int, ...] = (ROWS, COLUMNS)
    shape_out: tuple[int, ...] | None = None
    indices: bool = False
    int8: bool = False
    before: tuple[onnx.NodeProto, ...] = ()


def _node(kind: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), [output], f"{kind}_{output}", **attributes)


def _random(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def _normalized(center: bool) -> Nodes:
    """From h to n: over the root of the mean square, of what is centered where that is asked for."""
    head = [_node("ReduceMean", "h", "m", axes=[-1]), _node("Sub", "h m", "c")] if center else []
    inner = "c" if center else "h"
    return [
        *head,
        _node("Mul", f"{inner} {inner}", "s"),
        _node("ReduceMean", "s", "v", axes=[-1]),
        _node("Add", "v epsilon", "ve"),
        _node("Sqrt", "ve", "d"),
        _node("Div", f"{inner} d", "n"),
    ]


def cases() -> list[Case]:
    """The ten."""
    epsilon = np.float32(1e-5)
    weight, bias = _random(COLUMNS), _random(COLUMNS)
    rows = {"inputs": [f"x:{TYPES}:n,c"], "kernel": "rows"}
    n, c, h, w = IMAGE
    constants = {"half": np.float32(0.5), "one": np.float32(1), "root": np.float32(1 / np.sqrt(2))}
    return [
        Case("layer norm", "LayerNorm", "layer_norm",
             [*_normalized(True), _node("Mul", "n weight", "g"), _node("Add", "g bias", "o")],
             "torch.nn.functional.layer_norm(h, h.shape[-1:], weight, bias, 1e-5)", {"epsilon": 1e-5},
             {"weight": weight, "bias": bias, "epsilon": epsilon}, ("h", "weight", "bias")),
        Case("RMS norm", "RmsNorm", "rms_norm", [*_normalized(False), _node("Mul", "n weight", "o")],
             "torch.nn.functional.rms_norm(h, h.shape[-1:], weight, 1e-5)", {"epsilon": 1e-5},
             {"weight": weight, "epsilon": epsilon}, ("h", "weight")),
        Case("GELU", "FastGelu", "fast_gelu",
             [_node("Mul", "h root", "e0"), _node("Erf", "e0", "e1"), _node("Add", "e1 one", "e2"),
              _node("Mul", "h e2", "e3"), _node("Mul", "e3 half", "o")],
             "torch.nn.functional.gelu(h, approximate='tanh')", {}, constants),
        Case("SwiGLU", "SwiGlu", "swi_glu",
             [_node("Sigmoid", "h", "e"), _node("Mul", "h e", "f"), _node("Mul", "f gate", "o")],
             "torch.nn.functional.silu(h) * gate", {}, {"gate": _random(ROWS, COLUMNS)}, ("h", "gate")),
        Case("softmax with a mask", "RowSoftmax", {**rows, "name": "RowSoftmax"}, [_node("Softmax", "k", "o", axis=-1)],
             "torch.softmax(h + mask, -1)", {},
             {"mask": np.where(_random(1, COLUMNS) > 0, 0, -1e4).astype(np.float32)}, ("k",),
             before=(_node("Add", "h mask", "k"),)),
        Case("running sum", "Cumsum", {**rows, "name": "Cumsum", "kernel": "scan"}, [_node("CumSum", "h axis", "o")],
             "torch.cumsum(h, -1)", {}, {"axis": np.array(-1, np.int32)}),
        Case("mask of the 8 largest", "KeepLargest",
             {**rows, "name": "KeepLargest", "kernel": "topk", "fields": ["k:int32:1..=8"]},
             [helper.make_node("TopK", ["h", "count"], ["values", "places"], "TopK_values"),
              _node("Slice", "values seven eight last", "least"), _node("Less", "h least", "below"),
              _node("Where", "below zero h", "o")],
             "torch.where(h < h.topk(8).values[:, -1:], 0, h)", {"k": 8},
             {"count": np.array([8], np.int64), "seven": np.array([7], np.int64), "eight": np.array([8], np.int64),
              "last": np.array([1], np.int64), "zero": np.float32(0)}),
        Case("embedding", "Embedding",
             {"name": "Embedding", "kernel": "gather", "inputs": [f"table:{TYPES}:v,d", "ids:int32:b,s"],
              "outputs": [f"y:{TYPES}:b,s,d"]},
             [_node("Gather", "table x", "o")], "torch.nn.functional.embedding(x, table)", {},
             {"table": _random(VOCABULARY, 256)}, ("table", "x"), WORDS, (*WORDS, 256), True),
        Case("reflected padding", "Padding",
             {"name": "Padding", "kernel": "pad", "inputs": [f"x:{TYPES}:n,c,h,w"],
              "outputs": [f"y:{TYPES}:n,c,h + top + bottom,w + left + right"],
              "fields": ["top:int32:0..=1", "bottom:int32:0..=1", "left:int32:0..=1", "right:int32:0..=1",
                         "mode:int32:0..2=2", "value:float32=0"]},
             [_node("Pad", "h pads", "o", mode="reflect")], "torch.nn.functional.pad(h, (1, 1, 1, 1), mode='reflect')",
             {"top": 1, "bottom": 1, "left": 1, "right": 1, "mode": 2, "value": 0.0},
             {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)}, shape=IMAGE, shape_out=(n, c, h + 2, w + 2)),
        Case("leaky ReLU in INT8", "Leaky",
             {"name": "Leaky", "kernel": "elementwise", "inputs": [f"x:{TYPES}:n,c,h,w"]},
             [_node("LeakyRelu", "h", "o", alpha=0.5)], "torch.nn.functional.leaky_relu(h, 0.5)",
             {"alpha": 0.5, "x_scale": 0.05, "y_scale": 0.05}, {}, shape=IMAGE, int8=True),
    ]  # fmt: skip


def write(case: Case, folder: Path) -> tuple[Path, Path]:
    """The two models of a case: with the plugin, and without."""
    attributes = {**case.attributes, **({"plugin_namespace": NAMESPACE} if isinstance(case.project, str) else {})}
    plugin = helper.make_node(case.plugin, list(case.mine), ["o"], "plugin", **attributes)
    paths = []
    for name, own in (("with", [plugin]), ("without", case.without)):
        nodes = [*case.before, *(_quantized(own, "h", "o") if case.int8 else own)]
        before = [] if case.indices else [_node("Mul", "x factor", "b"), _node("Tanh", "b", "h")]
        graph = helper.make_graph(
            [*before, *nodes, _node("Add", "o offset", "y")],
            case.plugin,
            [helper.make_tensor_value_info("x", TensorProto.INT32 if case.indices else TensorProto.FLOAT, case.shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, case.shape_out or case.shape)],
            [
                numpy_helper.from_array(np.asarray(value), key)
                for key, value in {
                    **case.weights,
                    "factor": np.float32(0.5),
                    "offset": np.float32(0.25),
                    **_SCALES,
                }.items()
                if any(key in node.input for node in (*before, *nodes)) or key == "offset"
            ],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        path = folder / f"{case.plugin}-{name}.onnx"
        onnx.save(model, path)
        paths.append(path)
    return paths[0], paths[1]


_SCALES = {"scale": np.float32(0.05), "zero_point": np.int8(0)}


def _quantized(nodes: Nodes, first: str, last: str) -> Nodes:
    """The nodes between a pair of QuantizeLinear and DequantizeLinear at each end."""
    renamed = []
    for node in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.input[0] = "h_d" if copy.input[0] == first else copy.input[0]
        copy.output[0] = "o_raw" if copy.output[0] == last else copy.output[0]
        renamed.append(copy)
    return [
        _node("QuantizeLinear", "h scale zero_point", "h_q"),
        _node("DequantizeLinear", "h_q scale zero_point", "h_d"),
        *renamed,
        _node("QuantizeLinear", "o_raw scale zero_point", "o_q"),
        _node("DequantizeLinear", "o_q scale zero_point", "o"),
    ]


def project_of(case: Case, folder: Path) -> Path:
    """The case's project, built for this GPU."""
    if isinstance(case.project, str):
        ignored = shutil.ignore_patterns("build")
        project = Path(shutil.copytree(GALLERY / case.project, folder / case.project, ignore=ignored))
        manifest = project / "pluginkit.toml"
        # TensorRT 8.5's own plugin library has a LayerNorm.
        text = manifest.read_text(encoding="utf-8")
        manifest.write_text(text.replace('namespace = ""', f'namespace = "{NAMESPACE}"'), encoding="utf-8")
    else:
        given = {**case.project}
        project = scaffold.new(given.pop("name"), directory=folder, **given)
    build(project, "gpu")
    return project


def torch_ms(case: Case, precision: str) -> float | None:
    """The median of torch.compile's milliseconds for the same, without Q/DQ; None where torch isn't."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    kind = torch.float16 if precision == "float16" else torch.float32
    torch.backends.cuda.matmul.allow_tf32 = False
    weights = {key: torch.tensor(value).cuda() for key, value in case.weights.items()}
    weights = {key: value.to(kind) if value.is_floating_point() else value for key, value in weights.items()}
    generator = np.random.default_rng(1)
    if case.indices:
        x = torch.tensor(generator.integers(0, VOCABULARY, case.shape)).cuda()
    else:
        x = torch.tensor(generator.standard_normal(case.shape)).to(kind).cuda()
    code = compile(case.torch, "case", "eval")

    def function(x: Any) -> Any:
        h = x if case.indices else torch.tanh(x * 0.5)
        return eval(code, {"torch": torch, "x": x, "h": h, **weights}) + 0.25

    compiled: Callable[[Any], Any] = torch.compile(function)
    scratch = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
    times = []
    for _ in range(60):
        scratch.fill_(1)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        compiled(x)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return float(statistics.median(times[10:]))


def main() -> int:
    """Build, measure, print, write; the exit code is 1 where a plugin has no time."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="part of a case's name")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="the record's folder")
    asked = parser.parse_args()
    chosen = [case for case in cases() if asked.only in case.name]
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with ThreadPoolExecutor(8) as pool:
            projects = list(pool.map(lambda case: project_of(case, folder), chosen))
        for case, project in zip(chosen, projects, strict=True):
            mine, without = write(case, folder)
            precisions = ("int8",) if case.int8 else ("float32", "float16")
            found = measuring.run(EngineOptions(mine, (project,), without, (), precisions))
            lines += [_line(case, found, index) for index in range(len(found.points))]
            for line in lines[-len(found.points) :]:
                Console().print(line, highlight=False, soft_wrap=True)
                sys.stdout.flush()
    asked.out.mkdir(parents=True, exist_ok=True)
    with (asked.out / "engines.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, lines[0], lineterminator="\n")
        table.writeheader()
        table.writerows(lines)
    return int(any(line["with_ms"] == "" for line in lines))


def _line(case: Case, found: EngineBench, index: int) -> dict[str, Any]:
    one = found.points[index]
    assert one.without is not None
    sides = {"with": one.mine, "without": one.without}
    line: dict[str, Any] = {"case": case.name, "precision": one.precision, "gpu": found.gpu, "tensorrt": found.tensorrt}
    for name, side in sides.items():
        line[f"{name}_ms"] = round(side.times.median, 5) if side.times else ""
        line[f"{name}_layers"] = len(side.layers)
        line[f"{name}_status"] = side.status if side.times else f"{side.status}: {side.message[:300]}"
    line["plugin_ms"] = round(sum(layer.milliseconds for layer in one.mine.of("plugin")), 5)
    line["reformats_ms"] = round(sum(layer.milliseconds for layer in one.mine.because), 5)
    line["lost"] = " | ".join(one.lost)[:300]
    for name in ("median", "low", "high"):
        line[f"ratio_{name}"] = round(getattr(one.ratio, name), 4) if one.ratio else ""
    line["torch_compile_ms"] = torch_ms(case, one.precision) or ""
    return line


if __name__ == "__main__":
    sys.exit(main())
