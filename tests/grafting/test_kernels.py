"""Subgraphs that become plugins with kernels: each model is grafted, compared on target cpu, and built by NVIDIA.

The plugins are what `pluginkit new` and `pluginkit add` write, with the layer's lines put in, and samples/pad.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from pluginkit import cli, scaffold
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from tests.shared import Shared

pytestmark = [
    pytest.mark.compile,
    pytest.mark.rtx,
    pytest.mark.slow,
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here"),
]
pytest.importorskip("onnxruntime")

ROOT = Path(__file__).resolve().parents[2]
HEAD = '<ir_version: 8, opset_import: ["" : 20]>'
# What stands in the scaffold, and what is put there.
ELEMENTWISE = {
    "bias_gelu": (
        "float const sum = x + bias;\n        float const result = sum >= 0.0F ? sum : 0.25F * sum;",
        "float const sum = x + bias;\n        float const result = 0.5F * sum * (1.0F + erff(sum * 0.70710678F));",
        "    total = np.where(total >= 0, total, 0.25 * total)\n",
        "    total = 0.5 * total * (1 + np.vectorize(math.erf)(total / np.sqrt(2.0)))\n",
    ),
    "swi_glu": (
        "float const sum = gate + up;\n        float const result = sum >= 0.0F ? sum : 0.25F * sum;",
        "float const result = gate / (1.0F + expf(-gate)) * up;",
        "    total = gate\n    total = total + up\n    total = np.where(total >= 0, total, 0.25 * total)\n",
        "    total = gate / (1 + np.exp(-gate)) * up\n",
    ),
}
# Of kernels that begin as loops: what replaces the whole file's kernel and launch.
LAYER_NORM = """#include "layer_norm_signature.h"

#include <pluginkit/kernels/normalize.cuh>

namespace layer_norm
{
namespace
{

namespace kernels = pluginkit::kernels;

struct Norm
{
    float epsilon;
    float share; //!< one element's of its row

    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& y) const
    {
        float const mean = share * row.reduce(kernels::Sum{}, [](float x, float, float) { return x; });
        float const variance = share * row.reduce(kernels::Sum{}, [mean](float x, float, float) {
            return (x - mean) * (x - mean);
        });
        float const inverse = 1.0F / sqrtf(variance + epsilon);
        row.write(y, [mean, inverse](float x, float gamma, float beta) { return (x - mean) * inverse * gamma + beta; });
    }
};

} // namespace

cudaError_t launch(Run const& run) noexcept
{
    int64_t const rows = run.in.x.shape.dims[0];
    int64_t const columns = run.in.x.shape.dims[1];
    return kernels::launchRows(run.stream, rows, columns,
                               Norm{run.fields.epsilon, 1.0F / static_cast<float>(columns)},
                               kernels::output<float>(run.out.y), kernels::input<float>(run.in.x),
                               kernels::row<float>(run.in.gamma, columns), kernels::row<float>(run.in.beta, columns));
}

} // namespace layer_norm
"""
EMBEDDING = """#include "embedding_signature.h"

#include <pluginkit/kernels/gather.cuh>

namespace embedding_plugin
{

cudaError_t launch(Run const& run) noexcept
{
    auto const& table = run.in.table;
    return pluginkit::kernels::launchGatherRows(
        run.stream, run.in.ids.count, table.shape.dims[1] * static_cast<int64_t>(sizeof(float)), table.shape.dims[0],
        static_cast<int64_t const*>(run.in.ids.data), table.data, run.out.y.data);
}

} // namespace embedding_plugin
"""
NORMED = "return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon) * gamma + beta"
TAKEN = "return np.where((np.abs(ids * 2 + 1) < 2 * len(table))[:, None], table[ids % len(table)], 0.0)"
PATTERNS = {
    "bias_gelu": """
plugin = "BiasGelu"
inputs = ["x", "bias"]
node = [
  { op = "Add", inputs = ["x", "bias"], outputs = ["h"] },
  { op = "Div", inputs = ["h", "root"], outputs = ["d"] },
  { op = "Erf", inputs = ["d"], outputs = ["e"] },
  { op = "Add", inputs = ["e", "one"], outputs = ["p"] },
  { op = "Mul", inputs = ["h", "p"], outputs = ["q"] },
  { op = "Mul", inputs = ["q", "half"], outputs = ["y"] },
]
constants = { bias = {}, root = 1.41421356, one = 1.0, half = 0.5 }
""",
    "swiglu": """
plugin = "SwiGlu"
inputs = ["gate", "up"]
node = [
  { op = "Sigmoid", inputs = ["gate"], outputs = ["s"] },
  { op = "Mul", inputs = ["gate", "s"], outputs = ["silu"] },
  { op = "Mul", inputs = ["silu", "up"], outputs = ["y"] },
]
""",
    "layer_norm": """
plugin = "LayerNorm"
inputs = ["x", "gamma", "beta"]
node = [
  { op = "ReduceMean", inputs = ["x", "axes"], outputs = ["mean"] },
  { op = "Sub", inputs = ["x", "mean"], outputs = ["centered"] },
  { op = "Pow", inputs = ["centered", "two"], outputs = ["squared"] },
  { op = "ReduceMean", inputs = ["squared", "axes"], outputs = ["variance"] },
  { op = "Add", inputs = ["variance", "epsilon"], outputs = ["more"] },
  { op = "Sqrt", inputs = ["more"], outputs = ["root"] },
  { op = "Div", inputs = ["centered", "root"], outputs = ["normed"] },
  { op = "Mul", inputs = ["normed", "gamma"], outputs = ["scaled"] },
  { op = "Add", inputs = ["scaled", "beta"], outputs = ["y"] },
]
constants = { axes = [-1], two = 2.0, epsilon = { min = 0, max = 0.1 }, gamma = {}, beta = {} }
""",
    "embedding": """
plugin = "Embedding"
inputs = ["table", "ids"]
node = [{ op = "Gather", inputs = ["table", "ids"], outputs = ["y"], attributes = { axis = 0 } }]
constants = { table = {} }
""",
}
MODELS = {
    "bias_gelu": """ g (float[n, 8] x) => (float[n, 8] y)
<float root = {1.4142135}, float one = {1.0}, float half = {0.5},
 float[8] a = {0.1, 0.2, 0.3, -0.1, -2.0, 1.0, 4.0, 0.0}, float[8] b = {1.0, 0.5, 0.3, -0.1, 2.0, 1.0, 0.0, 3.0}> {
  h = Add(x, a)  d = Div(h, root)  e = Erf(d)  p = Add(e, one)  q = Mul(h, p)  m = Mul(q, half)
  h2 = Add(b, m)  d2 = Div(h2, root)  e2 = Erf(d2)  p2 = Add(one, e2)  q2 = Mul(p2, h2)  y = Mul(half, q2)
}""",
    "swiglu": """ g (float[n, 8] x) => (float[n, 4] z)
<int64[2] halves = {4, 4}> {
  gate, up = Split<axis = 1>(x, halves)  s = Sigmoid(gate)  silu = Mul(gate, s)  y = Mul(silu, up)  z = Tanh(y)
}""",
    "layer_norm": """ g (float[n, 4] x) => (float[n, 4] z)
<int64[1] axis = {-1}, float eps = {0.01}, float two = {2.0}, float[4] gamma = {1.0, 2.0, 3.0, 4.0},
 float[4] beta = {0.1, 0.2, 0.3, 0.4}> {
  mean = ReduceMean(x, axis)  centered = Sub(x, mean)  squared = Pow(centered, two)
  variance = ReduceMean(squared, axis)  more = Add(variance, eps)  root = Sqrt(more)
  normed = Div(centered, root)  scaled = Mul(normed, gamma)  y = Add(scaled, beta)  z = Relu(y)
}""",
    "embedding": """ g (int64[n] ids) => (float[n, 4] z)
<float[3, 4] words = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, -1.0, -2.0, -3.0, -4.0}> {
  rows = Gather(words, ids)  z = Relu(rows)
}""",
}
NODES = {
    "bias_gelu": ["BiasGelu", "BiasGelu"],
    "swiglu": ["Split", "SwiGlu", "Tanh"],
    "layer_norm": ["LayerNorm", "Relu"],
    "embedding": ["Embedding", "Relu"],
}


@pytest.fixture(scope="module")
def layers(shared: Shared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four plugins in one library, with a pattern each."""
    two = ["x:float32:n,c", "bias:float32:c"]
    folder = tmp_path_factory.mktemp("layers")
    common = {"base": "v3", "namespace": "acme"}
    project = scaffold.new(
        "BiasGelu", directory=folder, inputs=two, outputs=["y:float32:n,c"], fields=[], kernel="elementwise", **common
    )
    for name, kernel, inputs, fields in (
        ("SwiGlu", "elementwise", ["gate:float32:n,c", "up:float32:n,c"], []),
        ("LayerNorm", "loop", ["x:float32:n,c", "gamma:float32:c", "beta:float32:c"], ["epsilon:float32=0.00001"]),
        ("Embedding", "loop", ["table:float32:v,c", "ids:int64:n"], []),
    ):
        scaffold.add(
            name, project=project, inputs=inputs, outputs=["y:float32:n,c"], fields=fields, kernel=kernel, **common
        )
    for slug, (kernel_text, kernel_new, body, body_new) in ELEMENTWISE.items():
        where = project if slug == "bias_gelu" else project / "plugins" / slug
        _change(where / "src" / f"{slug}.cu", kernel_text, kernel_new)
        _change(where / "reference.py", body, body_new)
        _change(where / "reference.py", "import numpy as np\n", "import math\n\nimport numpy as np\n")
    for slug, text, body in (("layer_norm", LAYER_NORM, NORMED), ("embedding", EMBEDDING, TAKEN)):
        where = project / "plugins" / slug
        (where / "src" / f"{slug}.cu").write_text(text)
        reference = (where / "reference.py").read_text()
        (where / "reference.py").write_text(f"{reference[: reference.index('    shape = ')]}    {body}\n")
    (project / "patterns").mkdir()
    for name, text in PATTERNS.items():
        (project / "patterns" / f"{name}.toml").write_text(text)
    return shared.project(project)


def _change(path: Path, text: str, new: str) -> None:
    before = path.read_text()
    assert before.count(text) == 1, path
    path.write_text(before.replace(text, new))


@pytest.mark.parametrize("case", sorted(MODELS))
def test_a_layer(case: str, layers: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model, out = tmp_path / "model.onnx", tmp_path / "out.onnx"
    onnx.save(parser.parse_model(HEAD + MODELS[case]), model)
    np.savez(tmp_path / "in.npz", ids=np.array([2, 0, -1, 1, -3], np.int64))
    data = ["--data", str(tmp_path / "in.npz")] if case == "embedding" else []
    capfd.readouterr()
    code = cli.run(["graft", str(model), "--replace", case, "--by", str(layers), "-o", str(out), *data])
    printed = capfd.readouterr()
    assert code == 0, printed
    assert "build by TensorRT-RTX: built" in " ".join(printed.out.split())
    assert [one.op_type for one in onnx.load(out).graph.node] == NODES[case]


def test_pads_of_each_mode(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """samples/pad: the modes from the nodes' attributes, the pads from a constant, the value where there is one."""
    project = tmp_path / "pad"
    shutil.copytree(ROOT / "samples" / "pad", project, ignore=shutil.ignore_patterns("build"))
    (project / "patterns").mkdir()
    (project / "patterns" / "pad.toml").write_text(
        'inputs = ["x"]\n'
        'node = [{ op = "Pad", inputs = ["x", "pads"], outputs = ["y"], attributes = { mode = "mode" } }]\n'
        'constants = { pads = {} }\nattributes = { pads = "[pads[2], pads[3], pads[6], pads[7]]", mode = "mode" }\n'
    )
    (project / "patterns" / "pad_value.toml").write_text(
        'inputs = ["x"]\n'
        'node = [{ op = "Pad", inputs = ["x", "pads", "value"], outputs = ["y"], attributes = { mode = "mode" } }]\n'
        "constants = { pads = {}, value = {} }\n"
        'attributes = { pads = "[pads[2], pads[3], pads[6], pads[7]]", mode = "mode", value = "value" }\n'
    )
    model = parser.parse_model(
        HEAD
        + """ g (float[1, 2, 4, 5] x) => (float[1, 2, h, w] y)
    <int64[8] p = {0, 0, 1, 0, 0, 0, 2, 1}, int64[8] q = {0, 0, 0, 2, 0, 0, 1, 0}, float v = {-3.0}> {
      a = Pad(x, p)  b = Pad<mode = "edge">(a, q)  c = Pad<mode = "reflect">(b, p)  d = Pad<mode = "wrap">(c, q)
      y = Pad<mode = "constant">(d, p, v) }"""
    )
    onnx.save(model, tmp_path / "model.onnx")

    def grafted(source: str, pattern: str, out: str) -> str:
        given = [str(tmp_path / source), "--replace", pattern, "--by", str(project), "-o", str(tmp_path / out)]
        capfd.readouterr()
        code = cli.run(["graft", *given])
        printed = capfd.readouterr()
        assert code == 0, printed
        return " ".join(printed.out.split())

    printed = grafted("model.onnx", "pad", "four.onnx")
    for mode in ("constant", "edge", "reflect", "wrap"):
        assert f"mode={mode}" in printed
    printed = grafted("four.onnx", "pad_value", "five.onnx")
    assert "value=-3" in printed
    assert "build by TensorRT-RTX: built" in printed
    assert {one.op_type for one in onnx.load(tmp_path / "five.onnx").graph.node} == {"PadPlugin"}
