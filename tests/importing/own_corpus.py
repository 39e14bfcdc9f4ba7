"""Sixty small models of many kinds, and what TensorRT-RTX's parser and builder make of each.

`python -m tests.importing.own_corpus` asks NVIDIA again and prints, model by model, what `doctor` foresees with and
without it; `--record` writes the verdicts to own_corpus.toml. A model more is a function more.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import onnx
import tomllib
from onnx import TensorProto, helper, numpy_helper

from pluginkit.importing import Imported, ImportOptions, importer, run
from pluginkit.importing.running import RunOutcome
from pluginkit.runtimes.rtx import session as tensorrt_rtx

from .models import value

F, H, I32, I64, I8, U8, B = (
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.INT32,
    TensorProto.INT64,
    TensorProto.INT8,
    TensorProto.UINT8,
    TensorProto.BOOL,
)
RECORD = Path(__file__).with_suffix(".toml")
Node = onnx.NodeProto
Model = onnx.ModelProto
MODELS: dict[str, Callable[[], Model]] = {}
RNG = np.random.default_rng(44)


def n(op: str, inputs: str, outputs: str, **attributes: object) -> Node:
    """A node; names are separated by blanks, `-` is an input that is left out."""
    domain = str(attributes.pop("domain", ""))
    given = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(
        op, given, outputs.split(), f"{op.lower()}_{outputs.split(maxsplit=1)[0]}", domain=domain, **attributes
    )


def w(name: str, *shape: int, kind: type = np.float32) -> onnx.TensorProto:
    return numpy_helper.from_array((RNG.normal(size=shape) * 0.1).astype(kind), name)


def c(name: str, given: object, kind: type = np.int64) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(given, kind), name)


def made(
    nodes: Sequence[Node],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    constants: Sequence[onnx.TensorProto] = (),
    opset: int = 17,
    domains: Sequence[str] = (),
) -> Model:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(one, 1) for one in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def add(name: str, *given: object, **more: object) -> None:
    """A model of `made`'s arguments."""
    MODELS[name] = lambda: made(*given, **more)  # type: ignore[arg-type]


def body(
    nodes: Sequence[Node],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    constants: Sequence[onnx.TensorProto] = (),
) -> onnx.GraphProto:
    return helper.make_graph(nodes, "body", inputs, outputs, list(constants))


IMAGE = [value("x", ["n", 3, "h", "w"])]
ROWS = [value("x", ["n", 16])]
TOKENS = [value("x", ["n", "t", 32])]
Y4, Y3, Y2 = [value("y", [None] * 4)], [value("y", [None] * 3)], [value("y", [None] * 2)]
Y = [value("y", None)]

# fmt: off
# ---- vision
add("residual", [n("Conv", "x k b", "a", pads=[1, 1, 1, 1]), n("Relu", "a", "r"),
                 n("Conv", "r k2 b", "d", pads=[1, 1, 1, 1]), n("Add", "a d", "s"), n("Relu", "s", "y")],
    IMAGE, Y4, [w("k", 8, 3, 3, 3), w("k2", 8, 8, 3, 3), w("b", 8)])
add("depthwise", [n("Conv", "x k", "a", group=3, strides=[2, 2], pads=[1, 1, 1, 1]), n("Clip", "a lo hi", "r"),
                  n("Conv", "r p", "y")], IMAGE, Y4,
    [w("k", 3, 1, 3, 3), w("p", 12, 3, 1, 1), c("lo", 0, np.float32), c("hi", 6, np.float32)])
add("squeeze-excite", [n("GlobalAveragePool", "x", "a"), n("Conv", "a k", "e"), n("HardSigmoid", "e", "s"),
                       n("Mul", "x s", "y")], IMAGE, Y4, [w("k", 3, 3, 1, 1)])
add("upsampling", [n("Resize", "x - s", "a", mode="linear", coordinate_transformation_mode="align_corners"),
                   n("ConvTranspose", "a k", "y", strides=[2, 2])], IMAGE, Y4,
    [c("s", [1, 1, 2, 2], np.float32), w("k", 3, 4, 2, 2)])
add("resize-cubic", [n("Resize", "x - s", "y", mode="cubic")], IMAGE, Y4, [c("s", [1, 1, 2, 2], np.float32)])
add("resize-antialias", [n("Resize", "x - - s", "y", mode="linear", antialias=1)], [value("x", [1, 3, 32, 32])], Y4,
    [c("s", [1, 3, 16, 16])], opset=18)
add("instance-norm", [n("InstanceNormalization", "x s b", "y")], IMAGE, Y4, [w("s", 3), w("b", 3)])
add("group-norm-21", [n("GroupNormalization", "x s b", "y", num_groups=1)], IMAGE, Y4, [w("s", 3), w("b", 3)],
    opset=21)
add("pixel-shuffle", [n("Conv", "x k", "a"), n("DepthToSpace", "a", "y", blocksize=2)],
    IMAGE, Y4, [w("k", 8, 3, 1, 1)])
add("grid-sample", [n("GridSample", "x g", "y")], [value("x", [1, 3, 8, 8]), value("g", [1, 4, 4, 2])], Y4)
add("lrn-lppool", [n("LRN", "x", "a", size=3), n("LpPool", "a", "y", kernel_shape=[2, 2], p=2)], IMAGE, Y4)
add("max-unpool", [n("MaxPool", "x", "a i", kernel_shape=[2, 2], strides=[2, 2]),
                   n("MaxUnpool", "a i", "y", kernel_shape=[2, 2], strides=[2, 2])], [value("x", [1, 3, 8, 8])], Y4)
add("pool-dilated", [n("MaxPool", "x", "y", kernel_shape=[3, 3], dilations=[2, 2])], IMAGE, Y4)
add("pool-4d", [n("AveragePool", "x", "y", kernel_shape=[2, 2, 2, 2])], [value("x", [1, 2, 4, 4, 4, 4])], Y)
add("conv-3d", [n("Conv", "x k", "y")], [value("x", [1, 2, 5, 5, 5])], Y, [w("k", 4, 2, 3, 3, 3)])
add("nms", [n("NonMaxSuppression", "b s m i t", "y")], [value("b", [1, 40, 4]), value("s", [1, 3, 40])],
    [value("y", [None, 3], I64)],
    [c("m", [10]), c("i", [0.5], np.float32), c("t", [0.1], np.float32)])
add("roi-align", [n("RoiAlign", "x r i", "y", output_height=3, output_width=3)],
    [value("x", [1, 3, 16, 16]), value("r", [5, 4]), value("i", [5], I64)], Y4)
add("deform-conv", [n("DeformConv", "x k o", "y", kernel_shape=[3, 3])],
    [value("x", [1, 2, 8, 8]), value("o", [1, 18, 6, 6])], Y4, [w("k", 4, 2, 3, 3)], opset=19)
add("affine-grid", [n("AffineGrid", "t s", "g"), n("GridSample", "x g", "y")],
    [value("x", [1, 3, 8, 8]), value("t", [1, 2, 3])], Y4, [c("s", [1, 3, 8, 8])], opset=20)
add("crop", [n("CenterCropPad", "x s", "y", axes=[2, 3])], [value("x", [1, 3, 8, 8])], Y4, [c("s", [4, 4])], opset=18)
add("col2im", [n("Col2Im", "x i b", "y")], [value("x", [1, 12, 9])], Y, [c("i", [4, 4]), c("b", [2, 2])], opset=18)

# ---- language
add("encoder", [n("MatMul", "x q", "a"), n("MatMul", "x k", "b"), n("Transpose", "b", "bt", perm=[0, 2, 1]),
                n("MatMul", "a bt", "s"), n("Softmax", "s", "p", axis=-1), n("MatMul", "p x", "o"),
    n("Add", "o x", "r"),
                n("LayerNormalization", "r g", "y")], TOKENS, Y3, [w("q", 32, 32), w("k", 32, 32), w("g", 32)])
add("gelu-mlp", [n("Gemm", "x a b", "h"), n("Gelu", "h", "g"), n("Gemm", "g d", "y", transB=1)], ROWS, Y2,
    [w("a", 16, 64), w("b", 64), w("d", 16, 64)], opset=20)
add("rms-norm-23", [n("RMSNormalization", "x g", "y")], TOKENS, Y3, [w("g", 32)], opset=23)
add("rotary-23", [n("RotaryEmbedding", "x c s", "y", num_heads=2)], [value("x", [1, 8, 32])], Y3,
    [w("c", 1, 8, 8), w("s", 1, 8, 8)], opset=23)
add("attention-half", [n("Attention", "q k v", "y", is_causal=1)], [value(x, [1, 4, 8, 64], H) for x in "qkv"],
    [value("y", [1, 4, 8, 64], H)], opset=23)
add("attention-float", [n("Attention", "q k v", "y")], [value(x, [1, 4, 8, 64]) for x in "qkv"],
    [value("y", [1, 4, 8, 64])], opset=23)
add("attention-wide", [n("Attention", "q k v", "y", q_num_heads=2, kv_num_heads=2)],
    [value(x, [1, 8, 1024], H) for x in "qkv"], [value("y", [1, 8, 1024], H)], opset=23)
add("embedding", [n("Gather", "e x", "a"), n("ReduceMean", "a", "y", axes=[1], keepdims=0)],
    [value("x", ["n", "t"], I64)], Y2, [w("e", 50, 8)])
add("four-bit", [n("MatMulNBits", "x b s", "y", domain="com.microsoft", K=32, N=8, bits=4, block_size=32)],
    [value("x", [4, 32], H)], [value("y", [4, 8], H)],
    [c("b", np.full((8, 1, 16), 0x88), np.uint8), c("s", np.ones((8, 1)), np.float16)], domains=("com.microsoft",))
add("skip-layer-norm", [n("SkipLayerNormalization", "x z g", "y", domain="com.microsoft")],
    [value("x", [1, 8, 32]), value("z", [1, 8, 32])], Y3, [w("g", 32)], domains=("com.microsoft",))
add("tfidf", [n("TfIdfVectorizer", "x", "y", max_gram_length=1, max_skip_count=0, min_gram_length=1, mode="TF",
                ngram_counts=[0], ngram_indexes=[0, 1], pool_int64s=[2, 3])], [value("x", [6], I64)],
    [value("y", [2])])
add("sampling", [n("Softmax", "x", "p"), n("Multinomial", "p", "y", sample_size=2)], ROWS, [value("y", ["n", 2], I32)])
add(
    "top-k",
    [n("TopK", "x k", "y i", largest=1)],
    ROWS,
    [value("y", ["n", 4]), value("i", ["n", 4], I64)],
    [c("k", [4])],
)
add("top-k-large", [n("TopK", "x k", "y i")], [value("x", ["n", 9000])], [value("y", ["n", 5000])], [c("k", [5000])])
add("unique", [n("Unique", "x", "y")], [value("x", [9])], [value("y", ["m"])])

# ---- signals and series
RECURRENT = [value("x", [6, "n", 4])]
add("lstm", [n("LSTM", "x w r", "a", hidden_size=8), n("Squeeze", "a one", "y")], RECURRENT, Y3,
    [w("w", 1, 32, 4), w("r", 1, 32, 8), c("one", [1])])
add("lstm-layout", [n("LSTM", "x w r", "a", hidden_size=8, layout=1), n("Squeeze", "a two", "y")],
    [value("x", [2, 6, 4])], Y, [w("w", 1, 32, 4), w("r", 1, 32, 8), c("two", [2])])
add("gru-both-ways", [n("GRU", "x w r", "y", hidden_size=8, direction="bidirectional", linear_before_reset=1)],
    RECURRENT,
    [value("y", [6, 2, "n", 8])], [w("w", 2, 24, 4), w("r", 2, 24, 8)])
add("dft", [n("DFT", "x", "y", axis=1)], [value("x", [1, 16, 1])], [value("y", [1, 16, 2])])
add(
    "stft",
    [n("STFT", "x f - l", "y")],
    [value("x", [1, 64, 1])],
    [value("y", [1, None, 9, 2])],
    [c("f", 8), c("l", 16)],
)
add("mel", [n("MelWeightMatrix", "a b r l u", "m"), n("MatMul", "x m", "y")], [value("x", ["n", 9])], Y2,
    [c("a", 4), c("b", 16), c("r", 8000), c("l", 0, np.float32), c("u", 4000, np.float32)])
add("window", [n("HannWindow", "s", "h"), n("Mul", "x h", "y")], [value("x", ["n", 16])], Y2, [c("s", 16)])
add("cumulative", [n("CumSum", "x a", "y")], ROWS, Y2, [c("a", 1)])
add("cumulative-chosen", [n("CumSum", "x a", "y")], [*ROWS, value("a", [], I64)], Y2)

# ---- quantized
add("qdq", [n("QuantizeLinear", "x s z", "q"), n("DequantizeLinear", "q s z", "d"), n("MatMul", "d a", "y")], ROWS, Y2,
    [c("s", 0.1, np.float32), c("z", 0, np.int8), w("a", 16, 8)])
add("qdq-uint8", [n("QuantizeLinear", "x s z", "q"), n("DequantizeLinear", "q s z", "y")], ROWS, Y2,
    [c("s", 0.1, np.float32), c("z", 128, np.uint8)])
add("dynamic-quantization", [n("DynamicQuantizeLinear", "x", "q s z"), n("MatMulInteger", "q a z", "m"),
                             n("Cast", "m", "f", to=F), n("Mul", "f s", "y")], ROWS, Y2, [c("a", np.ones((16, 4)),
    np.int8)])
add("qlinear-conv", [n("QLinearConv", "x s z k s z s z", "y")], [value("x", [1, 1, 4, 4], I8)], [value("y", None, I8)],
    [c("s", 0.1, np.float32), c("z", 0, np.int8), c("k", np.ones((1, 1, 1, 1)), np.int8)])

# ---- control flow, sequences, shapes
RELU = body([n("Relu", "x", "t")], [], [value("t", ["n", 16])])
NEG = body([n("Neg", "x", "e")], [], [value("e", ["n", 16])])
FLAT = body([n("Reshape", "x all", "f")], [], [value("f", [None])], [c("all", [-1])])
COND = value("p", [], B)
add("if", [n("If", "p", "y", then_branch=RELU, else_branch=NEG)], [*ROWS, COND], Y2)
add("if-ranks", [n("If", "p", "y", then_branch=RELU, else_branch=FLAT)], [*ROWS, COND], Y)
STEP = [value("i", [], I64), value("go", [], B), value("s", ["n", 16])]
KEPT = [value("g2", [], B), value("s2", ["n", 16])]
add("loop", [n("Loop", "m p x", "y", body=body([n("Identity", "go", "g2"), n("Tanh", "s", "s2")], STEP, KEPT))],
    ROWS, Y2, [c("m", 5), c("p", True, np.bool_)])
GROWN = [value("g2", [], B), value("s2", ["k", 16])]
add("loop-growing", [n("Loop", "m p x", "y", body=body([n("Identity", "go", "g2"), n("Concat", "s s", "s2", axis=0)],
                                                     STEP, GROWN))], [value("x", [2, 16])], Y2,
    [c("m", 3), c("p", True, np.bool_)])
add("sequence", [n("SplitToSequence", "x", "q", axis=1, keepdims=1), n("SequenceAt", "q i", "y")],
    [value("x", [4, 6])],
    Y, [c("i", 2)])
add(
    "nonzero",
    [n("NonZero", "x", "i"), n("Transpose", "i", "t"), n("GatherND", "x t", "y")],
    [value("x", [4, 6])],
    [value("y", ["m"])],
)
add("reshape-by-shape", [n("Shape", "x", "s"), n("Gather", "s z", "b"), n("Concat", "b m", "t", axis=0),
                         n("Reshape", "x t", "y")], [value("x", ["n", 4, 4])], Y2, [c("z", [0]), c("m", [-1])])
add("einsum", [n("Einsum", "x a", "y", equation="nti,ij->ntj")], TOKENS, Y3, [w("a", 32, 8)])
add(
    "scatter-sum",
    [n("ScatterND", "x i u", "y", reduction="add")],
    [value("x", [4, 6]), value("u", [2, 6])],
    Y2,
    [c("i", [[1], [3]])],
)
add(
    "bits",
    [n("BitShift", "x s", "y", direction="LEFT")],
    [value("x", [8], U8)],
    [value("y", [8], U8)],
    [c("s", [1], np.uint8)],
)
add("det", [n("Det", "x", "y")], [value("x", ["n", 3, 3])], [value("y", ["n"])])
add("mod-float", [n("Mod", "x a", "y", fmod=1)], ROWS, Y2, [c("a", 2, np.float32)])
add("dropout-training", [n("Dropout", "x r t", "y")], ROWS, Y2, [c("r", 0.5, np.float32), c("t", True, np.bool_)])
add("bernoulli", [n("Sigmoid", "x", "p"), n("Bernoulli", "p", "y", dtype=F)], ROWS, Y2)
add("custom", [n("MyVoxels", "x", "y", domain="acme")], ROWS, Y2, domains=("acme",))
add("nan-guard", [n("IsNaN", "x", "i"), n("Where", "i z x", "y")], ROWS, Y2, [c("z", 0, np.float32)])
add("trilu-mask", [n("Trilu", "x", "y", upper=0)], [value("x", ["n", 8, 8])], Y3)
add("one-hot", [n("OneHot", "x d v", "y")], [value("x", ["n"], I64)], Y2, [c("d", 5), c("v", [0, 1], np.float32)])
add("double", [n("Add", "x a", "y")], [value("x", ["n", 4], TensorProto.DOUBLE)], [value("y", ["n", 4],
    TensorProto.DOUBLE)],
    [c("a", 1, np.float64)])

# fmt: on


@dataclass(frozen=True)
class Score:
    """What doctor foresaw of models whose verdicts are known. `late` was built and is foreseen as refused."""

    missed: tuple[str, ...]
    late: tuple[str, ...]
    refused: int

    @property
    def recall(self) -> float:
        return 1 - len(self.missed) / self.refused

    @property
    def precision(self) -> float:
        right = self.refused - len(self.missed)
        return right / (right + len(self.late))


def verdicts() -> dict[str, str]:
    """NVIDIA's recorded verdicts: `built` or `refused`."""
    recorded = tomllib.loads(RECORD.read_text(encoding="utf-8"))
    return {name: str(found) for name, found in recorded["verdicts"].items()}


def judged(name: str, folder: Path) -> Imported:
    """What doctor finds of a model without a run on the CPU."""
    path = folder / f"{name}.onnx"
    onnx.save(MODELS[name](), path)
    unasked = RunOutcome("not run", "not asked")
    with mock.patch.multiple(importer, _run=lambda *_: unasked, _missing=lambda *_: (), _engine=lambda *_: None):
        return run(ImportOptions(path, timeout=300))


def without_runtime(name: str, folder: Path) -> Imported:
    """The same where TensorRT-RTX isn't installed."""
    nothing = tensorrt_rtx.Availability(False, reason="not here", remedy="install it")
    with mock.patch.object(tensorrt_rtx, "probe", lambda: nothing):
        return judged(name, folder)


def score(foreseen: Mapping[str, str], known: Mapping[str, str]) -> Score:
    missed = tuple(name for name, found in known.items() if found == "refused" and foreseen[name] == "built")
    late = tuple(name for name, found in known.items() if found == "built" and foreseen[name] == "refused")
    return Score(missed, late, sum(found == "refused" for found in known.values()))


def main() -> None:
    """Asks NVIDIA of each, and prints what was foreseen."""
    with tempfile.TemporaryDirectory() as folder:
        found = {name: judged(name, Path(folder)) for name in MODELS}
        alone = {name: without_runtime(name, Path(folder)).foreseen for name in MODELS}
    known = {name: one.verdict.status for name, one in found.items() if one.verdict is not None}
    for name, one in found.items():
        assert one.verdict is not None
        rules = " ".join(sorted({p.rule for p in one.problems if p.level == "error"}))
        words = "" if rules else one.verdict.message[-90:]
        print(f"{name:22}{one.verdict.status:9}{one.foreseen:9}{alone[name]:9}{rules:10}{words}")
    for what, foreseen in (("with", {name: one.foreseen for name, one in found.items()}), ("without", alone)):
        got = score(foreseen, known)
        numbers = f"recall {got.recall:.2f}, precision {got.precision:.2f}; {got.refused} of {len(known)} refused"
        wrong = f"missed: {', '.join(got.missed) or 'none'}; false: {', '.join(got.late) or 'none'}"
        print(f"{what} the runtime: {numbers}; {wrong}")
    if "--record" in sys.argv:
        version = tensorrt_rtx.probe().version
        lines = [
            f'version = "TensorRT-RTX {version}"',
            "",
            "[verdicts]",
            *(f'{name} = "{one}"' for name, one in known.items()),
        ]
        RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
