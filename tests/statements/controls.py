"""The smallest models that show a statement, and what TensorRT-RTX 1.7.1 makes of each: `refused` or `built`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.importing.models import value
from tests.importing.own_corpus import I8, I32, I64, MODELS, U8, B, F, H, Y, body, c, made, n, w

CONTROLS: dict[str, tuple[str, Callable[[], onnx.ModelProto]]] = {}


def shows(name: str, verdict: str, *given: object, **more: object) -> None:
    """A model of `own_corpus.made`'s arguments."""
    CONTROLS[name] = verdict, lambda: made(*given, **more)  # type: ignore[arg-type]


def same(name: str, verdict: str) -> None:
    """One that the corpus has."""
    CONTROLS[name] = verdict, MODELS[name]


X = [value("x", [2, 16])]
IMAGE = [value("x", [1, 3, 8, 8])]
for one in (
    "resize-antialias",
    "pool-dilated",
    "pool-4d",
    "nms",
    "attention-float",
    "top-k-large",
    "qdq-uint8",
    "scatter-sum",
    "dropout-training",
    "loop-growing",
    "if-ranks",
    "nonzero",
    "roi-align",
    "four-bit",
    "deform-conv",
    "det",
    "sequence",
    "custom",
    "lstm-layout",
):
    same(one, "refused")
for one in ("cumulative-chosen", "double", "rotary-23", "attention-wide"):
    same(one, "built")

shows("pool-indices", "refused", [n("MaxPool", "x", "y i", kernel_shape=[2, 2])], IMAGE, [*Y, value("i", None, I64)])
shows("lp-pool-3", "refused", [n("LpPool", "x", "y", kernel_shape=[2, 2], p=3)], IMAGE, Y)
shows(
    "resize-crop",
    "refused",
    [n("Resize", "x roi s", "y", mode="linear", coordinate_transformation_mode="tf_crop_and_resize")],
    IMAGE,
    Y,
    [c("roi", [0, 0, 0, 0, 1, 1, 1, 1], np.float32), c("s", [1, 1, 2, 2], np.float32)],
)
shows(
    "resize-aspect",
    "refused",
    [n("Resize", "x - - s", "y", mode="linear", keep_aspect_ratio_policy="not_larger", axes=[2, 3])],
    IMAGE,
    Y,
    [c("s", [16, 12])],
    opset=18,
)
shows("layer-norm-mean", "refused", [n("LayerNormalization", "x g", "y m")], X, [*Y, value("m", None)], [w("g", 16)])
shows(
    "batch-norm-training",
    "refused",
    [n("BatchNormalization", "x s b m v", "y m2 v2", training_mode=1)],
    IMAGE,
    [*Y, value("m2", None), value("v2", None)],
    [w("s", 3), w("b", 3), w("m", 3), c("v", [1, 1, 1], np.float32)],
)
QKV = [value(name, [1, 2, 8, 16], H) for name in "qkv"]
HALF = [value("y", None, H)]
shows("attention-softcap", "refused", [n("Attention", "q k v", "y", softcap=2.0)], QKV, HALF, opset=23)
shows(
    "attention-mask-causal",
    "refused",
    [n("Attention", "q k v m", "y", is_causal=1)],
    [*QKV, value("m", [1, 2, 8, 8], H)],
    HALF,
    opset=23,
)
shows(
    "attention-two-sizes",
    "refused",
    [n("Attention", "q k v", "y")],
    [*QKV[:2], value("v", [1, 2, 8, 32], H)],
    HALF,
    opset=23,
)
for size, verdict in ((8, "refused"), (9, "built"), (256, "built"), (257, "refused")):
    shows(
        f"attention-head-{size}",
        verdict,
        [n("Attention", "q k v", "y")],
        [value(name, [1, 2, 8, size], H) for name in "qkv"],
        HALF,
        opset=23,
    )
shows(
    "attention-one-query",
    "refused",
    [n("Attention", "q k v", "y")],
    [value("q", [1, 2, 1, 16], H), *QKV[1:]],
    HALF,
    opset=23,
)
shows(
    "attention-taken-apart",
    "built",
    [n("Attention", "q k v", "y", TRT_decomposable=1)],
    [value(name, [1, 2, 8, 512]) for name in "qkv"],
    Y,
    opset=23,
)
shows("mod-of-floats", "refused", [n("Mod", "x a", "y")], X, Y, [c("a", 2, np.float32)])
shows(
    "range-half",
    "refused",
    [n("Range", "a b d", "y")],
    X,
    HALF,
    [c(name, k, np.float16) for name, k in (("a", 0), ("b", 4), ("d", 1))],
)
shows(
    "bias-int32",
    "refused",
    [n("DequantizeLinear", "b s", "d"), n("Add", "x d", "y")],
    X,
    Y,
    [c("b", np.ones(16), np.int32), c("s", 0.1, np.float32)],
)
shows(
    "zero-point",
    "refused",
    [n("QuantizeLinear", "x s z", "q"), n("DequantizeLinear", "q s z", "y")],
    X,
    Y,
    [c("s", 0.1, np.float32), c("z", 3, np.int8)],
)
for name, least, verdict in (("clip-int8", "-", "refused"), ("clip-int8-from", "l", "built")):
    shows(
        name,
        verdict,
        [n("Cast", "x", "i", to=I8), n("Clip", f"i {least} h", "k"), n("Cast", "k", "y", to=F)],
        [value("x", [2, 16], I32)],
        Y,
        [c("l", 0, np.int8), c("h", 9, np.int8)],
    )
shows(
    "grid-of-rank-5",
    "built",
    [n("GridSample", "x g", "y")],
    [value("x", [1, 3, 4, 4, 4]), value("g", [1, 2, 2, 2, 3])],
    Y,
    opset=20,
)
shows("axes-of-run-time", "refused", [n("Squeeze", "x a", "y")], [value("x", [2, 1]), value("a", [1], I64)], Y)
shows(
    "unsigned",
    "refused",
    [n("Add", "x x", "y")],
    [value("x", [4], TensorProto.UINT32)],
    [value("y", [4], TensorProto.UINT32)],
)
shows("uint8-add", "refused", [n("Add", "x x", "a"), n("Cast", "a", "y", to=F)], [value("x", [4], U8)], Y)
shows("float8-input", "refused", [n("Cast", "x", "y", to=F)], [value("x", [4], TensorProto.FLOAT8E4M3FN)], Y, opset=19)
shows("old-broadcast", "refused", [n("Add", "x b", "y", broadcast=1)], X, Y, [w("b", 16)], opset=6)
shows("onnx-domain", "refused", [n("NoSuchOperator", "x", "y")], X, Y)
COND = value("p", [], B)
STEP = [value("i", [], I64), value("go", [], B), value("s", [2, 16])]
STATE = [value("g2", [], B), value("s2", [2, 16])]
SCANS = body(
    [n("Identity", "go", "g2"), n("Tanh", "s", "s2"), n("Identity", "s2", "o")], STEP, [*STATE, value("o", [2, 16])]
)
shows("loop-without-count", "refused", [n("Loop", "- p x", "y all", body=SCANS)], [*X, COND], [*Y, value("all", None)])
TURN = body([n("Identity", "go", "g2"), n("Tanh", "s", "s2")], STEP, STATE)
shows("loop-without-condition", "refused", [n("Loop", "m - x", "y", body=TURN)], X, Y, [c("m", 5)])
INSIDE = body([n("MaxPool", "x", "t", kernel_shape=[2, 2])], [], [value("t", [1, 3, 7, 7])])
OTHER = body([n("AveragePool", "x", "e", kernel_shape=[2, 2])], [], [value("e", [1, 3, 7, 7])])
shows("pool-in-branch", "built", [n("If", "p", "y", then_branch=INSIDE, else_branch=OTHER)], [*IMAGE, COND], Y)
shows("open-channels", "built", [n("Conv", "x k", "y")], [value("x", [1, "c", 8, 8])], Y, [w("k", 4, 3, 3, 3)])
shows(
    "two-of-a-name",
    "built",
    [helper.make_node("Relu", ["x"], ["a"], "one"), helper.make_node("Neg", ["a"], ["y"], "one")],
    X,
    Y,
)
