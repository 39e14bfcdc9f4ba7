"""What `pluginkit bench` counts and chooses: shapes, bytes, buffers, samples."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.bench.buffers import ALIGNMENT, MOST_SETS, Buffers, aligned, sets_needed
from pluginkit.bench.cases import cases, least_bytes
from pluginkit.bench.runner import select
from pluginkit.bench.timing import NODES, SAMPLES, Timer, Work
from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, NothingSelected, UsageError
from pluginkit.manifest import Manifest

from .fake_gpu import Context

SAMPLES_DIR = Path(__file__).resolve().parents[2] / "samples"

TEXT = """
[plugin]
name = "Two"
[[inputs]]
name = "x"
types = ["float32", "float16", "int8"]
shape = ["n", "c"]
scale = "x_scale"
[[inputs]]
name = "index"
types = ["int32"]
shape = ["n"]
[[outputs]]
name = "y"
types = ["float32", "float16", "int8"]
shape = ["n // 2", "c", 2]
scale = "y_scale"
[[fields]]
name = "x_scale"
type = "float32"
default = 0.0
[[fields]]
name = "y_scale"
type = "float32"
default = 0.0
[[fields]]
name = "mode"
type = "int32"
default = 0
[[profiles]]
symbols = { n = [2, 8, 8], c = [1, 5, 7] }
"""

SHAPE = """
[[bench.shapes]]
name = "one"
symbols = { n = 4, c = 3 }
"""


def test_each_input_and_each_output_counts_once_in_its_type() -> None:
    manifest = Manifest.parse(TEXT)
    env = {"n": 8, "c": 5}
    assert least_bytes(manifest, env, DType.FLOAT32) == 8 * 5 * 4 + 8 * 4 + 4 * 5 * 2 * 4
    assert least_bytes(manifest, env, DType.FLOAT16) == 8 * 5 * 2 + 8 * 4 + 4 * 5 * 2 * 2
    assert least_bytes(manifest, env, DType.INT8) == 8 * 5 + 8 * 4 + 4 * 5 * 2


def test_without_a_section_the_profiles_points_but_none_twice() -> None:
    found = cases(Manifest.parse(TEXT.replace("[1, 5, 7]", "[1, 7, 7]")), [DType.FLOAT32])
    assert [(case.id, dict(case.symbols)) for case in found] == [
        ("min/float32", {"n": 2, "c": 1}),
        ("opt/float32", {"n": 8, "c": 7}),
    ]


def test_the_sections_shapes_in_every_precision() -> None:
    text = TEXT + '[bench]\nbaseline = "torch: x"\n' + SHAPE + 'fields = { mode = 2 }\nbaseline = ""\n'
    text += SHAPE.replace("one", "two") + "allowed = { float16 = { rtol = 0.5 } }\n"
    found = cases(Manifest.parse(text))
    assert [case.id for case in found] == [
        f"{name}/{kind}" for name in ("one", "two") for kind in ("float32", "float16", "int8")
    ]
    assert [case.baseline for case in found[::3]] == ["", "torch: x"]
    assert found[0].fields == {"mode": 2}
    assert [case.allowed.rtol if case.allowed else None for case in found[3:]] == [None, 0.5, None]


def test_a_part_of_them() -> None:
    found = cases(Manifest.parse(TEXT))
    assert [case.id for case in select(found, ["*/int8", "min/float16"])] == [
        "min/float16", "min/int8", "opt/int8", "max/int8"
    ]  # fmt: skip
    with pytest.raises(NothingSelected, match=r"No case matches 'large/\*'"):
        select(found, ["large/*"])
    with pytest.raises(NothingSelected, match="No input of Two is bfloat16"):
        cases(Manifest.parse(TEXT), [DType.BFLOAT16])


BAD = {
    "[bench]\nbaseline = 'numpy: x'": "must begin with 'torch:', as in \"torch: torch.relu\\(x\\)\"",
    "[bench]\nbaseline = 'torch: x +'": "'x \\+' is not a Python expression",
    "[bench]\nbaseline = 'torch: torch.relu(z)'": "'z' is neither an input nor a field; known: index, mode, torch, x",
    "[bench]\nspeed = 1": "bench.speed: unknown key 'speed'",
    SHAPE + "field = {}": "bench.shapes.1.field: unknown key 'field'; did you mean 'fields'?",
    SHAPE + SHAPE: "two shapes of \\[bench\\] are called 'one'",
    SHAPE + "fields = { mod = 1 }": "bench shape 'one': there is no field 'mod'; known: x_scale, y_scale, mode",
    SHAPE + "fields = { mode = 0.5 }": "the field 'mode' is int32, and the value is not a whole number .0.5.",
    SHAPE + "allowed = { bfloat16 = {} }": "'bfloat16' is not a precision of this plugin",
    SHAPE.replace(", c = 3", ""): "no number for the symbol 'c'",
    SHAPE.replace("c = 3", "c = 0"): "c = 0 must be 1 or more",
    SHAPE.replace("c = 3", "c = 3, d = 1"): "there is no symbol 'd'; known: n, c",
}


@pytest.mark.parametrize("text", BAD)
def test_a_section_that_makes_no_sense(text: str) -> None:
    with pytest.raises(UsageError, match=BAD[text]):
        Manifest.parse(TEXT + text)


@pytest.mark.parametrize("sample", ["bar_plugin", "pool_int8"])
def test_the_samples_sections(sample: str) -> None:
    found = cases(Manifest.load(SAMPLES_DIR / sample))
    assert {case.precision.short for case in found} >= {"FP32", "FP16", "INT8"}
    assert max(case.bytes for case in found) >= 1 << 30 if sample == "bar_plugin" else 5e8


@given(st.integers(1, 1 << 34), st.sampled_from([0, 1 << 16, 50 << 20]))
def test_more_than_four_times_the_cache_between_two_turns(set_bytes: int, l2: int) -> None:
    count = sets_needed(set_bytes, l2)
    assert 2 <= count <= MOST_SETS
    assert (count - 1) * set_bytes > 4 * l2 or count == MOST_SETS


@given(st.integers(0, 1 << 40))
def test_alignment(size: int) -> None:
    assert aligned(size) % ALIGNMENT == 0
    assert max(size, 1) <= aligned(size) < max(size, 1) + ALIGNMENT


def arrays() -> tuple[list[Any], list[Any]]:
    return [np.arange(10.0), np.arange(3, dtype=np.int8)], [np.zeros(5, np.float16), np.zeros((2, 300), np.int8)]


def test_sets_lie_apart_and_hold_the_inputs() -> None:
    inputs, outputs = arrays()
    context = Context()
    buffers = Buffers(context, inputs, outputs)
    assert buffers.count == sets_needed(256 * 3 + 768, context.l2_bytes)
    assert buffers.turn_bytes > 4 * context.l2_bytes
    spans = sorted(
        (address, address + array.nbytes)
        for index in range(buffers.count)
        for address, array in zip(buffers.inputs[index] + buffers.outputs[index], inputs + outputs, strict=True)
    )
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))
    for index in range(buffers.count):
        for address, array in zip(buffers.inputs[index], inputs, strict=True):
            got = np.empty_like(array)
            context.read(got, address)
            np.testing.assert_array_equal(got, array)


def test_sets_that_differ_from_the_first() -> None:
    inputs, outputs = arrays()
    context = Context()
    buffers = Buffers(context, inputs, outputs)
    buffers.poison(context.stream())
    first = buffers.read(0)
    assert {int(one) for array in first for one in array.view(np.uint8).ravel()} == {0xFF}
    assert list(buffers.others(first)) == []
    for index in (3, buffers.count - 1):
        context.fill(buffers.outputs[index][1] + 599, 0, 1)
    assert list(buffers.others(first)) == [3, buffers.count - 1]


def test_too_much_memory() -> None:
    with pytest.raises(CheckFailed, match="sets of 1536 bytes are needed, and the GPU has 14336 for them"):
        Buffers(Context(free=1 << 14), *arrays())


def test_what_is_long_is_timed_launch_by_launch() -> None:
    context, turns = Context(captures=True, tick=1e-3), []
    times, note = Timer(context, context.stream()).measure(Work(turns.append, 3), turns.clear)
    assert (times.enqueues, times.samples, note) == (1, SAMPLES, "")
    assert turns == [turn % 3 for turn in range(SAMPLES)], "the buffers in turn"
    assert times.median == pytest.approx(1e-3)
    assert times.spread == pytest.approx(0, abs=1e-6)


def test_what_is_short_is_timed_in_a_graph_behind_an_empty_cache() -> None:
    context, turns = Context(captures=True), []
    stream = context.stream()
    context.filled.clear()
    times, note = Timer(context, stream).measure(Work(turns.append, 5))
    assert note == ""
    assert stream.captured == 1
    assert times.enqueues == 35
    assert times.enqueues >= NODES
    assert times.median == pytest.approx(10e-6 / 35)
    assert len(context.filled) > times.samples
    assert all(size > 4 * context.l2_bytes for size in context.filled)


def test_what_can_not_be_captured_is_timed_launch_by_launch_and_that_is_said() -> None:
    context = Context()
    times, note = Timer(context, context.stream()).measure(Work(lambda turn: None, 2))
    assert times.enqueues == 1
    assert note.startswith("not captured into a graph: cuStreamBeginCapture_v2 gave")
