"""cuBLAS and cuDNN of target cpu, held against NumPy, and what they say to mistakes."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pluginkit.process.findings import Findings

from ..api.conftest import control_of
from ..conftest import Kit
from ..corpus.cases import from_bfloat16, to_bfloat16

pytestmark = pytest.mark.compile
HERE = Path(__file__).parent

F32, F64, F16, I8, I32, BF16 = 0, 1, 2, 3, 10, 14
"""`cudaDataType`"""
_DTYPES = {F32: np.float32, F64: np.float64, F16: np.float16, I8: np.int8, I32: np.int32, BF16: np.uint16}
# A and B, C, the cublasComputeType_t, and the type of alpha and beta: cublasGemmEx's table.
TYPES = [
    (F32, F32, 68, F32),
    (F16, F16, 68, F32),
    (F16, F32, 74, F32),
    (BF16, BF16, 68, F32),
    (BF16, F32, 68, F32),
    (I8, F32, 68, F32),
    (F16, F16, 64, F16),
    (F64, F64, 70, F64),
    (I8, I32, 72, I32),
]


class _Matrix(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_long),
        ("type", ctypes.c_int),
        ("leading", ctypes.c_int),
        ("stride", ctypes.c_long),
    )


class _Gemm(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int) for name in ("form", "device_scalars", "trans_a", "trans_b", "m", "n", "k")),
        *((name, ctypes.c_int) for name in ("batches", "how", "scalar_size")),
        ("alpha", ctypes.c_void_p),
        ("beta", ctypes.c_void_p),
        *((name, _Matrix) for name in "abc"),
    )


@pytest.fixture(scope="module")
def library(kit: Kit) -> ctypes.CDLL:
    return ctypes.CDLL(str(kit.within(HERE).library("libraries")))


def _values(rng: np.random.Generator, kind: int, shape: tuple[int, ...]) -> np.ndarray:
    if kind in {I8, I32}:
        return rng.integers(-9, 10, shape).astype(_DTYPES[kind])
    values = rng.standard_normal(shape).astype(np.float32)
    return to_bfloat16(values) if kind == BF16 else values.astype(_DTYPES[kind])


def _wide(values: np.ndarray, kind: int) -> np.ndarray:
    return (from_bfloat16(values) if kind == BF16 else values).astype(np.float64)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_gemm_is_what_the_guide_defines(library: ctypes.CDLL, data: st.DataObject) -> None:
    draw = data.draw
    form = draw(st.sampled_from([0, 1, 2, 4, 5, 6]))
    ab, c_kind, how, scalar = draw(st.sampled_from(TYPES if form >= 4 else [TYPES[0], TYPES[6], TYPES[7]]))
    m, n, k = (draw(st.sampled_from([0, 1, 2, 5, 31, 32, 33, 70])) for _ in range(3))
    trans_a, trans_b = (draw(st.integers(0, 2)) for _ in range(2))
    batches = draw(st.integers(0, 3)) if form % 4 else 1
    alpha, beta = (draw(st.sampled_from([0, 1, 2] if scalar == I32 else [0, 1, -0.5])) for _ in range(2))
    rng = np.random.default_rng(draw(st.integers(0, 999)))

    def matrices(kind: int, rows: int, columns: int) -> tuple[np.ndarray, int, int]:
        """By columns: [batch, column, leading dimension], and behind each matrix a gap."""
        leading = max(1, rows) + draw(st.integers(0, 3))
        gap = draw(st.integers(0, 5))
        whole = _values(rng, kind, (max(1, batches), max(1, columns) * leading + gap))
        return whole, leading, whole.shape[1]

    a, lda, stride_a = matrices(ab, *((k, m) if trans_a else (m, k)))
    b, ldb, stride_b = matrices(ab, *((n, k) if trans_b else (k, n)))
    c, ldc, stride_c = matrices(c_kind, m, n)
    if beta == 0 and c_kind not in {I8, I32}:
        c[...] = 0x7FC0 if c_kind == BF16 else np.nan  # not read
    before = c.copy()

    def part(whole: np.ndarray, kind: int, which: int, leading: int, shape: tuple[int, int]) -> np.ndarray:
        rows, columns = shape
        return _wide(whole[which], kind)[: columns * leading].reshape(columns, leading)[:, :rows].T

    scalars = [np.array(each, _DTYPES[scalar]) for each in (alpha, beta)]

    def described(whole: np.ndarray, kind: int, leading: int, stride: int) -> _Matrix:
        return _Matrix(whole.ctypes.data, whole.nbytes, kind, leading, stride)

    call = _Gemm(
        form, draw(st.integers(0, 1)), trans_a, trans_b, m, n, k, batches, how, scalars[0].nbytes,
        scalars[0].ctypes.data, scalars[1].ctypes.data,
        described(a, ab, lda, stride_a), described(b, ab, ldb, stride_b), described(c, c_kind, ldc, stride_c),
    )  # fmt: skip
    assert library.gemm(ctypes.byref(call)) == 0
    touched = np.zeros(c.shape, bool)
    unit = {F64: 1e-15, F32: 2.0**-23, F16: 2.0**-10, BF16: 2.0**-7, I32: 0.0}
    for which in range(batches):
        left = part(a, ab, which, lda, (k, m) if trans_a else (m, k))
        right = part(b, ab, which, ldb, (n, k) if trans_b else (k, n))
        left, right = left.T if trans_a else left, right.T if trans_b else right
        old = part(before, c_kind, which, ldc, (m, n)) if beta else np.zeros((m, n))
        expected = alpha * (left @ right) + beta * old
        got = part(c, c_kind, which, ldc, (m, n))
        wide = unit[F64 if ab == F64 else F32] if c_kind != I32 else 0.0
        bound = (k + 2) * wide * (np.abs(left) @ np.abs(right) + np.abs(old)) + unit[c_kind] * np.abs(expected)
        assert (np.abs(got - expected) <= bound + (1e-7 if c_kind == F16 else 0)).all()
        for column in range(n):
            touched[which, column * ldc : column * ldc + m] = True
    # Nothing else is written: not the rows behind m, not what lies between the matrices.
    np.testing.assert_array_equal(c.view(np.uint8).reshape(*c.shape, -1)[~touched],
                                  before.view(np.uint8).reshape(*c.shape, -1)[~touched])  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(
    which=st.integers(0, 2), trans=st.integers(0, 1), m=st.integers(1, 9), n=st.integers(1, 9),
    incx=st.sampled_from([1, 2, -1, -3]), incy=st.sampled_from([1, 3, -2]), beta=st.sampled_from([0.0, 2.0]),
)  # fmt: skip
def test_vectors(
    library: ctypes.CDLL, which: int, trans: int, m: int, n: int, incx: int, incy: int, beta: float
) -> None:
    rng = np.random.default_rng(m * 10 + n)
    incy = abs(incy) if which == 2 else incy
    count_x, count_y = ((m, n) if trans else (n, m)) if which == 0 else (n, n)
    a = rng.standard_normal((n, m + 1)).astype(np.float32)
    x = rng.standard_normal((count_x - 1) * abs(incx) + 1).astype(np.float32)
    y = rng.standard_normal((count_y - 1) * abs(incy) + 1).astype(np.float32)
    old = y.copy()
    alpha = 1.5
    status = library.vectors(
        which, trans, m, n, ctypes.c_float(alpha), ctypes.c_void_p(a.ctypes.data), m + 1,
        ctypes.c_void_p(x.ctypes.data), incx, ctypes.c_float(beta), ctypes.c_void_p(y.ctypes.data), incy,
        x.size, y.size,
    )  # fmt: skip
    assert status == 0
    seen_x = x[:: abs(incx)][:: 1 if incx > 0 else -1].astype(np.float64)
    seen_y = old[:: abs(incy)][:: 1 if incy > 0 else -1].astype(np.float64)
    matrix = a[:, :m].T.astype(np.float64)
    expected = (
        alpha * ((matrix.T if trans else matrix) @ seen_x) + beta * seen_y
        if which == 0
        else seen_y + alpha * seen_x
        if which == 1
        else alpha * seen_y
    )
    want = old.astype(np.float64)
    want[:: abs(incy)] = expected[:: 1 if incy > 0 else -1]
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("which", "status", "kind", "text", "mark"),
    [
        (0, 1, None, "", ""),
        (1, 7, None, "", ""),
        (2, 7, None, "", ""),
        (3, 7, None, "", ""),
        (4, 7, None, "", ""),
        (5, 13, "invalid-address", "cublasSgemm reads 80 bytes of A, more than there are from byte 0", "OVERRUN"),
        (6, 15, "not-supported", "cublasSgeam is what target cpu cannot do; it answers NOT_SUPPORTED", "GEAM"),
        (7, 15, "not-supported", "cublasLtCreate is", "LT"),
        (8, 3000, "not-supported", "cudnnCreateConvolutionDescriptor is", "CONVOLUTION"),
        (9, 13, "host-pointer", "cublasSgemm reads 64 bytes of A, which is neither memory of the dev", "HOST"),
        (11, 13, "invalid-address", "cublasSgemm reads 64 bytes of A: 8 bytes behind the 4000 bytes", "BEHIND"),
        (10, 15, "not-supported", "cublasGemmEx with A, B and C of the cudaDataType 3, 2 and 0 and the", "TYPES"),
    ],
)  # fmt: skip
def test_mistakes(
    library: ctypes.CDLL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    which: int, status: int, kind: str | None, text: str, mark: str,
) -> None:  # fmt: skip
    file = tmp_path / "found.jsonl"
    monkeypatch.setenv("PLUGINKIT_CPU_FINDINGS", str(file))
    control = control_of(library)
    memory = mmap.mmap(-1, 4096)
    region = (ctypes.c_float * 1024).from_buffer(memory)
    assert control.register_region(ctypes.addressof(region), 4000, 0, 1) == 0
    try:
        assert library.mistakes(which, ctypes.byref(region)) == status
    finally:
        control.unregister_region(ctypes.addressof(region))
        control.clear_errors()
    found = Findings(file, HERE).take()
    assert [one.kind for one in found] == ([kind] if kind else [])
    for one in found:
        assert text in one.text, one
        lines = (HERE / "libraries.cu").read_text(encoding="utf-8").splitlines()
        numbers = [i for i, line in enumerate(lines, 1) if line.endswith(f"// {mark}")]
        at = int(one.place.rpartition(":")[2])
        assert any(0 <= number - at <= 1 for number in numbers), one


_CUDNN = {0: (np.float32, 1e-6), 1: (np.float64, 1e-14), 2: (np.float16, 1e-3)}


def _forward(library: ctypes.CDLL, which: int, x: np.ndarray, y: np.ndarray, how: list[int], **more: Any) -> np.ndarray:
    """Calls it; NCHW arrays, which are laid out as NHWC where `nhwc` says so."""
    kind = {np.dtype(dtype): number for number, (dtype, _) in _CUDNN.items()}[x.dtype]
    nhwc = more.get("nhwc", 0)
    laid = [np.ascontiguousarray(each.transpose(0, 2, 3, 1) if nhwc else each) for each in (x, y)]
    dims, message = (ctypes.c_int * 4)(*x.shape), (ctypes.c_int * 7)(*how)
    status = library.forward(
        which, kind, nhwc, dims, message, ctypes.c_void_p(laid[0].ctypes.data), ctypes.c_long(x.nbytes),
        ctypes.c_void_p(laid[1].ctypes.data), ctypes.c_long(y.nbytes), ctypes.c_float(more.get("alpha", 1.0)),
        ctypes.c_float(more.get("beta", 0.0)),
    )  # fmt: skip
    assert status == 0
    return laid[1].transpose(0, 3, 1, 2) if nhwc else laid[1]


@pytest.mark.parametrize("nhwc", [0, 1])
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize(("window", "padding", "stride"), [((2, 2), (0, 0), (2, 2)), ((3, 2), (1, 1), (2, 1))])
def test_pooling(
    library: ctypes.CDLL,
    mode: int,
    window: tuple[int, int],
    padding: tuple[int, int],
    stride: tuple[int, int],
    nhwc: int,
) -> None:
    x = np.random.default_rng(mode).standard_normal((2, 3, 7, 6)).astype(np.float32)
    shape = [1 + (x.shape[i + 2] + 2 * padding[i] - window[i]) // stride[i] for i in range(2)]
    y = np.full((2, 3, *shape), np.nan, np.float32)
    got = _forward(library, 0, x, y, [mode, *window, *padding, *stride], nhwc=nhwc)
    pads = [(0, 0), (0, 0), *((each, each) for each in padding)]
    fill = -np.inf if mode == 0 else 0.0
    cut = np.lib.stride_tricks.sliding_window_view
    seen = cut(np.pad(x.astype(np.float64), pads, constant_values=fill), window, axis=(2, 3))
    there = cut(np.pad(np.ones_like(x), pads), window, axis=(2, 3)).sum((-1, -2))
    whole = {0: seen.max((-1, -2)), 1: seen.mean((-1, -2)), 2: seen.sum((-1, -2)) / np.maximum(there, 1)}[mode]
    np.testing.assert_allclose(got, whole[:, :, :: stride[0], :: stride[1]], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", [0, 2])
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("algorithm", [0, 1, 2])
def test_softmax(library: ctypes.CDLL, kind: int, mode: int, algorithm: int) -> None:
    dtype, bound = _CUDNN[kind]
    x = np.random.default_rng(1).standard_normal((2, 5, 3, 4)).astype(dtype)
    got = _forward(library, 1, x, np.full_like(x, np.nan), [algorithm, mode], nhwc=mode)
    axes = (1, 2, 3) if mode == 0 else (1,)
    powers = np.exp(x.astype(np.float64))
    expected = powers / powers.sum(axes, keepdims=True)
    np.testing.assert_allclose(got, np.log(expected) if algorithm == 2 else expected, rtol=bound * 4, atol=bound)


@pytest.mark.parametrize("mode", range(5))
def test_activation(library: ctypes.CDLL, mode: int) -> None:
    x = np.linspace(-4, 4, 96, dtype=np.float32).reshape(2, 3, 4, 4)
    y = np.ones_like(x)
    got = _forward(library, 2, x, y, [mode], alpha=2.0, beta=0.5)
    wide = x.astype(np.float64)
    plain = [
        1 / (1 + np.exp(-wide)),
        np.maximum(wide, 0),
        np.tanh(wide),
        np.clip(wide, 0, 1.5),
        np.where(wide > 0, wide, 1.5 * np.expm1(wide)),
    ]
    np.testing.assert_allclose(got, 2 * plain[mode] + 0.5, rtol=1e-5, atol=1e-5)
