"""samples/pool_int8: every network, ONNX's own pooling on hundreds of layers, and photographs."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from pluginkit.build import build
from pluginkit.dtypes import DType
from pluginkit.host import Finding, Library, TensorSpec, take_log
from pluginkit.host import build as build_layer
from pluginkit.run.options import Options
from pluginkit.run.runner import run
from pluginkit.testing.report import Outcome
from tests.judged_networks import ONE_OF_EACH_KIND, judged_networks

from .pooling import SAMPLE, Array, Pooling, expected, halving, onnx_pooling, pool, pool_at, random_layers

pytestmark = [pytest.mark.compile, pytest.mark.xdist_group("pool_int8")]

LAYERS = 300
SEED = 2026
PHOTOS = ("astronaut", "chelsea", "coffee")
POOLINGS = {
    "2x2": Pooling(),
    "3x3, padded": Pooling(0, 3, 3, 2, 2, 1, 1),
    "average 2x2": Pooling(1),
    "average 3x3, padded": Pooling(1, 3, 3, 2, 2, 1, 1, 0, 1),
    "average 7x7, rounded up": Pooling(1, 7, 7, 4, 4, 3, 3, 1, 0),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("sample") / "pool_int8"
    shutil.copytree(SAMPLE, copy, ignore=shutil.ignore_patterns("build"))
    return copy


@pytest.fixture(scope="module")
def library(project: Path) -> Library:
    return Library(build(project, "cpu")[0].library)


def photo(name: str) -> Array:
    """Channels x height x width, values from -1 to 1."""
    pixels: Array = np.load(SAMPLE / "data" / f"{name}.npy").astype(np.float32).transpose(2, 0, 1)
    return pixels / 127.5 - 1


def quantized(values: Array, scale: float) -> Array:
    steps: Array = np.clip(np.rint(values / scale), -128, 127).astype(np.int8)
    return steps


@pytest.mark.rtx
@pytest.mark.parametrize(
    "families",
    [ONE_OF_EACH_KIND, pytest.param(None, marks=pytest.mark.slow)],
    ids=["one of each kind", "every network"],
)
def test_networks_in_every_precision(project: Path, families: tuple[str, ...] | None) -> None:
    report = run(Options(project=project, families=families))
    assert report.bad == []
    ran = {(case.family, case.precision.short) for case in report.cases}
    assert ran >= {(family, precision) for family in ONE_OF_EACH_KIND for precision in ("FP32", "FP16", "INT8")}
    assert {case.runs for case in report.cases} == {2}, "both conventions of what a batch is"
    assert {verdict.outcome for verdict in (*report.verdicts, *report.controls)} == {Outcome.PASSED}
    # Implicit quantization is the host's model alone: no builder here has it.
    assert {verdict.network for verdict in report.verdicts} == judged_networks(report)
    assert {verdict.outcome for verdict in report.registries} <= {Outcome.PASSED}


@pytest.mark.parametrize("implicit_batch", [False, True], ids=["batch in the shape", "batch beside it"])
@pytest.mark.parametrize("kind", ["float32", "float16", "int8"])
def test_as_onnx_pools(library: Library, kind: str, implicit_batch: bool) -> None:
    rng = np.random.default_rng([SEED, implicit_batch])
    for number, (layer, shape) in enumerate(random_layers(LAYERS, SEED)):
        batched = shape if len(shape) > 2 else (2, *shape)
        message = f"layer {number}: {layer} on {batched}"
        if kind == "int8":
            _as_onnx_in_int8(library, layer, rng.integers(-128, 128, batched).astype(np.int8), implicit_batch, message)
            continue
        x = rng.normal(0, 2, batched).astype(kind)
        y = pool(library, layer, x, implicit_batch=implicit_batch)
        onnx = onnx_pooling(layer, x)
        if layer.mode == 0:
            np.testing.assert_array_equal(y, onnx.astype(kind), message)
        else:
            rtol = 1e-5 if kind == "float32" else 1e-3
            np.testing.assert_allclose(
                y.astype(np.float64), onnx, rtol, 1e-6 if kind == "float32" else 1e-3, err_msg=message
            )


def _as_onnx_in_int8(library: Library, layer: Pooling, x: Array, implicit_batch: bool, message: str) -> None:
    """Exact where the scales are equal; else but for values that lie in the middle of two steps."""
    ratios = (1.0, 0.37, 2.6)
    ratio = ratios[x.size % 3]
    scales = (0.05 * ratio, 0.05)
    y = pool(library, layer, x, scales=scales, implicit_batch=implicit_batch, by_field=x.size % 2 == 0)
    exact = expected(layer, x)
    np.testing.assert_allclose(onnx_pooling(layer, x), exact, 1e-4, 1e-4, err_msg=message)
    steps = exact * (scales[0] / scales[1])
    wanted = np.clip(np.rint(steps), -128, 127)
    middle = np.abs(np.abs(steps - np.floor(steps)) - 0.5) < 1e-4
    sure = np.ones_like(middle) if ratio == 1.0 else ~middle
    np.testing.assert_array_equal(y[sure], wanted[sure], message)
    assert np.abs(y - wanted).max() <= 1, message


@pytest.mark.parametrize("kind", ["float32", "float16", "int8"])
def test_the_fast_kernels_give_what_the_general_one_gives(library: Library, kind: str) -> None:
    """Bit for bit: an address that is not a multiple of 16 bytes takes the general kernel for the same image."""
    rng = np.random.default_rng(SEED)
    layers = [
        halving(window, mode, ceil, include) for window in (2, 3) for mode in (0, 1) for ceil in (0, 1)
        for include in (0, 1)
    ]  # fmt: skip
    for number, layer in enumerate(layers):
        for shape in ((3, 33, 16), (2, 8, 64), (1, 1 if layer.kernel_h == 3 else 2, 32), (2, 3, 7, 48)):
            x = rng.integers(-128, 128, shape).astype(kind)
            if kind == "int8":
                x[:, ::3] = rng.integers(-3, 3)  # sums that lie in the middle of two steps
            else:
                x += rng.normal(0, 1, shape).astype(kind)
            for scales in ((1.0, 1.0), (1.0, 0.37), (0.7, 1.9)) if kind == "int8" else ((1.0, 1.0),):
                fast = pool_at(library, layer, x, offset=0, scales=scales)
                message = f"layer {number}: {layer} on {shape} with scales {scales}"
                np.testing.assert_array_equal(fast, pool_at(library, layer, x, offset=1, scales=scales), message)
            if layer.mode == 0:
                np.testing.assert_array_equal(pool_at(library, layer, x, offset=0), onnx_pooling(layer, x), message)


def test_halves_go_to_the_even_step_and_what_is_too_large_stays_the_largest(library: Library) -> None:
    x = np.array([[1, 2], [2, 3], [-1, -2], [-2, -3], [127, 127], [-128, -128]], np.int8)
    pairs = Pooling(1, 1, 2, 1, 2)
    assert pool(library, pairs, x, scales=(1.0, 1.0)).ravel().tolist() == [2, 2, -2, -2, 127, -128]
    assert pool(library, pairs, x, scales=(2.0, 1.0)).ravel().tolist() == [3, 5, -3, -5, 127, -128]
    assert pool(library, pairs, x, scales=(1.0, 2.0)).ravel().tolist() == [1, 1, -1, -1, 64, -64]


@pytest.mark.parametrize("name", PHOTOS)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_photographs(library: Library, name: str, pooling: str) -> None:
    """FP32 and FP16 as onnxruntime; INT8, calibrated on the photograph, within one step of FP32, and often nearer."""
    layer, x = POOLINGS[pooling], photo(name)[None]
    full = onnx_pooling(layer, x)
    np.testing.assert_allclose(pool(library, layer, x), full, 1e-5, 1e-6)
    half = x.astype(np.float16)
    np.testing.assert_allclose(pool(library, layer, half), onnx_pooling(layer, half), 1e-3, 1e-3)
    x_scale, y_scale = (float(np.abs(values).max()) / 127 for values in (x, full))
    for implicit_batch in (False, True):
        steps = pool(library, layer, quantized(x, x_scale), scales=(x_scale, y_scale), implicit_batch=implicit_batch)
        off = np.abs(steps * y_scale - full) / y_scale
        # Half a step of the input, seen in the output's steps, and half a step of rounding.
        assert off.max() <= 0.5 * x_scale / y_scale + 0.5 + 1e-3
        assert off.max() <= STEPS[pooling]
        assert off.mean() <= 0.5


STEPS = {
    "2x2": 1.01,
    "3x3, padded": 1.01,
    "average 2x2": 1.1,
    "average 3x3, padded": 1.2,
    "average 7x7, rounded up": 1.3,
}
"""What docs and README say that INT8 is off by at the most, in the output's steps."""


BAD = {
    "mode": ({"mode": 2}, "mode is 2, must be from 0 to 1"),
    "no kernel": ({"kernel_h": 0}, "kernel_h is 0, must be from 1 to 32768"),
    "no stride": ({"stride_w": 0}, "stride_w is 0, must be from 1 to 32768"),
    "negative stride": ({"stride_h": -2}, "stride_h is -2, must be from 1"),
    "padding of a whole window": ({"pad_h": 2}, "pad_h is 2, must be from 0 to 1"),
    "negative padding": ({"pad_w": -1}, "pad_w is -1, must be from 0 to 1"),
    "flag": ({"ceil_mode": 7}, "ceil_mode is 7, must be from 0 to 1"),
    "huge": ({"kernel_h": 32768, "kernel_w": 32768}, r"kernel_h \* kernel_w is 1073741824"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_fields_make_no_plugin_and_say_why(library: Library, case: str) -> None:
    changed, message = BAD[case]
    take_log()
    with pytest.raises(Finding, match="createPlugin: answered null"):
        pool(library, Pooling(**changed), np.zeros((1, 8, 8), np.float32))
    _printed(message)


def test_a_scale_that_is_none(library: Library) -> None:
    take_log()
    with pytest.raises(Finding, match="createPlugin: answered null"):
        pool(library, Pooling(), np.zeros((1, 8, 8), np.int8), scales=(-1.0, 1.0))
    _printed("x_scale is -1, must be 0")


def test_int8_without_scales_does_not_run(library: Library) -> None:
    with pytest.raises(Finding, match="enqueue: answered 1"):
        pool(library, Pooling(), np.zeros((1, 8, 8), np.int8), scales=(0.0, 0.0), by_field=False)


def test_a_window_larger_than_the_image(library: Library) -> None:
    take_log()
    with pytest.raises(Finding, match="getOutputDimensions: output 0 has nbDims -1"):
        pool(library, Pooling(kernel_h=9), np.zeros((1, 8, 8), np.float32))
    _printed("a window of 9 x 2 is larger than an image of 8 x 8 with its padding")


def test_a_type_that_it_has_not(library: Library) -> None:
    with pytest.raises(Finding, match="supportsFormatCombination: no combination"):
        pool(library, Pooling(), np.zeros((1, 8, 8), np.int32))


def _printed(message: str) -> None:
    import re

    log = [text for severity, text in take_log() if severity == 1]
    assert any(re.search(f"^PoolInt8: .*{message}", text) for text in log), log


def test_bytes_that_are_cut_or_longer_make_no_plugin(library: Library) -> None:
    """Every length of what it serializes but the whole, and what an engine of another time may hold."""
    spec = TensorSpec(DType.INT8, *((2, 3, 8, 8),) * 4, 0.5)
    fields = {name: (DType.INT32, value) for name, value in asdict(Pooling()).items()}
    creator = library.creators[0]
    whole = build_layer(creator, "pool", fields, [[spec]], output_scales=[0.5]).serialized.data
    creator.deserialize("pool", whole).destroy()
    flipped = bytes([whole[0] ^ 0xFF]) + whole[1:]
    for wrong in (*(whole[:length] for length in range(len(whole))), whole + b"\0", flipped):
        with pytest.raises(Finding, match="deserializePlugin: answered null"):
            creator.deserialize("pool", wrong)
    take_log()
