"""Models that were mended as `doctor` says: of a control, words of the fix, and the model that follows it.

NVIDIA builds each (test_mended.py).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto

from tests.importing.models import value
from tests.importing.own_corpus import I8, I32, RELU, ROWS, F, H, Y, body, c, made, n, w

from .controls import COND, HALF, IMAGE, QKV, SCANS, TURN, X

MENDED: dict[str, tuple[str, Callable[[], onnx.ModelProto]]] = {}


def fixes(name: str, fix: str, *given: object, **more: object) -> None:
    """A model of `own_corpus.made`'s arguments."""
    MENDED[name] = fix, lambda: made(*given, **more)  # type: ignore[arg-type]


# fmt: off
fixes("lp-pool-3", "Write it by Pow and AveragePool",
      [n("Abs", "x", "a"), n("Pow", "a p", "b"), n("AveragePool", "b", "m", kernel_shape=[2, 2]), n("Mul", "m k", "s"),
       n("Pow", "s q", "y")], IMAGE, Y, [c("p", 3, np.float32), c("k", 4, np.float32), c("q", 1 / 3, np.float32)])
fixes("resize-antialias", "Leave it out", [n("Resize", "x - - s", "y", mode="linear")], [value("x",
      [1, 3, 32, 32])], Y,
      [c("s", [1, 3, 16, 16])], opset=18)
fixes("resize-crop", "Slice, then resize",
      [n("Slice", "x a b", "z"), n("Resize", "z - s", "y", mode="linear")], IMAGE, Y,
      [c("a", [0, 0, 1, 1]), c("b", [1, 3, 7, 7]), c("s", [1, 1, 2, 2], np.float32)])
fixes("resize-aspect", "Compute the sizes", [n("Resize", "x - - s", "y", mode="linear")], IMAGE, Y,
      [c("s", [1, 3, 12, 12])], opset=18)
fixes("layer-norm-mean", "Compute the others by operators of their own",
      [n("LayerNormalization", "x g", "y"), n("ReduceMean", "x", "m", axes=[-1])], X, [*Y, value("m", None)],
      [w("g", 16)])
fixes("attention-softcap", "Write it by MatMul, Tanh and Softmax",
      [n("Transpose", "k", "t", perm=[0, 1, 3, 2]), n("MatMul", "q t", "s"), n("Div", "s d", "e"), n("Tanh", "e", "f"),
       n("Mul", "f d", "g"), n("Softmax", "g", "p"), n("MatMul", "p v", "y")], QKV, HALF, [c("d", 2, np.float16)])
fixes("attention-mask-causal", "Put both in the mask", [n("Attention", "q k v m", "y")],
      [*QKV, value("m", [1, 2, 8, 8], H)], HALF, opset=23)
fixes("attention-two-sizes", "Pad one of them",
      [n("Pad", "q p", "a"), n("Pad", "k p", "b"), n("Attention", "a b v", "y")], [*QKV[:2], value("v",
      [1, 2, 8, 32], H)],
      HALF, [c("p", [0, 0, 0, 0, 0, 0, 0, 16])], opset=23)
fixes("attention-float", "TRT_decomposable=1", [n("Attention", "q k v", "y", TRT_decomposable=1)],
      [value(name, [1, 4, 8, 64]) for name in "qkv"], Y, opset=23)
fixes("attention-one-query", "TRT_decomposable=1", [n("Attention", "q k v", "y", TRT_decomposable=1)],
      [value("q", [1, 2, 1, 16], H), *QKV[1:]], HALF, opset=23)
fixes("mod-of-floats", "Set fmod to 1", [n("Mod", "x a", "y", fmod=1)], X, Y, [c("a", 2, np.float32)])
fixes("range-half", "Cast before and behind it", [n("Range", "a b d", "r"), n("Cast", "r", "y", to=H)], X, HALF,
      [c(name, k, np.float32) for name, k in (("a", 0), ("b", 4), ("d", 1))])
fixes("bias-int32", "Cast and Mul by the scale", [n("Cast", "b", "f", to=F), n("Mul", "f s", "d"),
      n("Add", "x d", "y")],
      X, Y, [c("b", np.ones(16), np.int32), c("s", 0.1, np.float32)])
fixes("zero-point", "Quantize the model symmetrically", [n("QuantizeLinear", "x s z", "q"),
      n("DequantizeLinear", "q s z", "y")],
      X, Y, [c("s", 0.1, np.float32), c("z", 0, np.int8)])
fixes("qdq-uint8", "Quantize the model to int8, with zero points of 0",
      [n("QuantizeLinear", "x s z", "q"), n("DequantizeLinear", "q s z", "y")], X, Y,
      [c("s", 0.1, np.float32), c("z", 0, np.int8)])
fixes("clip-int8", "Give it a constant min and max",
      [n("Cast", "x", "i", to=I8), n("Clip", "i l h", "k"), n("Cast", "k", "y", to=F)], [value("x", [2, 16], I32)], Y,
      [c("l", 0, np.int8), c("h", 9, np.int8)])
fixes("dropout-training", "Export the model for inference", [n("Dropout", "x", "y")], X, Y)
fixes("batch-norm-training", "Export the model for inference", [n("BatchNormalization", "x s b m v", "y")], IMAGE, Y,
      [w("s", 3), w("b", 3), w("m", 3), c("v", [1, 1, 1], np.float32)])
fixes("axes-of-run-time", "an initializer or a Constant", [n("Squeeze", "x a", "y")], [value("x", [2, 1])],
      Y, [c("a", [1])])
fixes("unsigned", "Cast it to int32 where it is an integer", [n("Add", "x x", "y")], [value("x", [4], I32)],
      [value("y", [4], I32)])
fixes("uint8-add", "Cast it to float32 or int32 first", [n("Cast", "x", "c", to=F), n("Add", "c c", "y")],
      [value("x", [4], TensorProto.UINT8)], Y)
fixes("float8-input", "Give the network float32 or float16 there", [n("Relu", "x", "y")], [value("x", [4])],
      Y, opset=19)
fixes("loop-without-count", "the largest number of trips", [n("Loop", "m p x", "y all", body=SCANS)], [*X, COND],
      [*Y, value("all", None)], [c("m", 5)])
fixes("loop-without-condition", "a constant true", [n("Loop", "m p x", "y", body=TURN)], X, Y,
      [c("m", 5), c("p", True, np.bool_)])
fixes("loop-growing", "give the growing tensor as a scan output", [n("Loop", "m p x", "y all", body=SCANS)], X,
      [*Y, value("all", None)], [c("m", 3), c("p", True, np.bool_)])
fixes("if-ranks", "Make both branches give the same",
      [n("If", "p", "y", then_branch=RELU, else_branch=body([n("Neg", "x", "e")], [], [value("e", ["n", 16])]))],
      [*ROWS, COND], Y)
fixes("lstm-layout", "Transpose before and behind it",
      [n("Transpose", "x", "t", perm=[1, 0, 2]), n("LSTM", "t w r", "a", hidden_size=8),
       n("Transpose", "a", "b", perm=[2, 0, 1, 3]), n("Squeeze", "b two", "y")], [value("x", [2, 6, 4])], Y,
      [w("w", 1, 32, 4), w("r", 1, 32, 8), c("two", [2])])
# fmt: on
