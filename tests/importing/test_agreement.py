"""What the rules of `doctor` call an error, NVIDIA's builder refuses, and nothing else: on onnx's own backend tests."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from pathlib import Path

import onnx
import pytest

from pluginkit.importing import ImportOptions, run
from pluginkit.runtimes.rtx import session as tensorrt_rtx

pytestmark = [
    pytest.mark.rtx,
    pytest.mark.skipif(not tensorrt_rtx.probe().found, reason="TensorRT-RTX isn't here"),
]

BUILT = (
    "test_lstm_with_peepholes",
    "test_layer_normalization_4d_axis1_expanded",
    "test_where_example",
    "test_einsum_batch_matmul",
    "test_gru_defaults",
)
REFUSED = {
    "test_nonzero_example": "M11",
    "test_bitshift_left_uint8": "M11",
    "test_roialign_aligned_true": "M11",
    "test_mul_uint32": "M20",
    "test_cast_FLOAT8E4M3FNUZ_to_FLOAT16": "M20",
    "test_squeeze_negative_axes": "M21",
    "test_reduce_log_sum_exp_do_not_keepdims_example": "M21",
    "test_resize_upsample_scales_linear": "M21",
    "test_quantizelinear_axis": "M21",
    "test_resize_downsample_sizes_linear_antialias": "M22",
    "test_upsample_nearest": "M21",
    "test_averagepool_3d_dilations_large_count_include_pad_is_0_ceil_mode_is_True": "M22",
    "test_layer_normalization_4d_axis_negative_3": "M22",
    "test_attention_4d_with_qk_matmul": "M22",
}
EXPLAINED = {
    r"MyelinCheckException|Could not find any implementation|layerImpls\.empty": "a kernel that TensorRT-RTX lacks",
    r"datatype (FP4|Int4|INT4)|unsupported input type of UINT8": "4 bits, or uint8 with scales, at a network's ends",
    r"reshape of empty tensor|empty tensor|zero volume": "tensors without elements",
    r"ShapeException|kOPT values": "values of a shape tensor that nobody gave, and that the model doesn't take",
    r"must be 4D|past_cache": "TensorScatter of 4-D caches only",
    r"API Usage Error|Invalid Node|Assertion failed|This version of TensorRT": "a limit of one operator's importer",
}
"""NVIDIA's words on models that break none of the rules, and what they mean."""
STEP = 24
"""Of onnx's node tests every so manyth is taken by the sweep."""
LEAST = 0.85
"""The share on which rules and build agree: onnx's tests are of the rarest forms, a model's nodes are not."""


@lru_cache(maxsize=1)
def cases() -> dict[str, onnx.ModelProto]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        # Casts that overflow, on purpose.
        warnings.simplefilter("ignore")
        return {case.name: case.model for case in collect_testcases(None) if case.model is not None}


def judged(name: str, folder: Path) -> tuple[set[str], bool, str]:
    """The rules that are errors, whether NVIDIA built it, and NVIDIA's message."""
    path = folder / "model.onnx"
    onnx.save(cases()[name], path)
    found = run(ImportOptions(path))
    assert found.verdict is not None
    return {one.rule for one in found.problems if one.level == "error"}, found.verdict.ok, found.verdict.message


@pytest.mark.parametrize("name", BUILT)
def test_nvidia_builds_what_breaks_no_rule(name: str, tmp_path: Path) -> None:
    rules, built, message = judged(name, tmp_path)
    assert (rules, built) == (set(), True), message


@pytest.mark.parametrize("name", list(REFUSED))
def test_nvidia_refuses_what_breaks_a_rule(name: str, tmp_path: Path) -> None:
    rules, built, _ = judged(name, tmp_path)
    assert (rules, built) == ({REFUSED[name]}, False)


@pytest.mark.slow
def test_rules_and_build_agree(tmp_path: Path) -> None:
    """A sweep of onnx's node tests; each disagreement is one of those that are explained."""
    taken = sorted(cases())[::STEP]
    differ = {}
    for name in taken:
        rules, built, message = judged(name, tmp_path)
        # An error that NVIDIA's builder doesn't share is a false alarm, whatever it says.
        assert not (rules and built), (name, rules)
        if not rules and not built:
            differ[name] = message
    unexplained = {
        name: message for name, message in differ.items() if not any(re.search(words, message) for words in EXPLAINED)
    }
    assert not unexplained
    assert len(differ) / len(taken) <= 1 - LEAST, differ
