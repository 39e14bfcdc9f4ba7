"""The sizes of `pluginkit bench --sweep`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pluginkit.bench.cases import least_bytes
from pluginkit.bench.sweep import Sweep, parse, sizes
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.manifest import Manifest

from .test_accounting import SHAPE, TEXT

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def test_what_is_asked_for() -> None:
    assert parse("4KiB..1GiB") == Sweep(4096, 2**30)
    assert parse("32B .. 32 B") == Sweep(32, 32)
    assert parse("c=32..65536") == Sweep(32, 65536, "c")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "4KiB",
        "4KiB..",
        "..1GiB",
        "4kB..1GiB",
        "1..2",
        "c=4KiB..8KiB",
        "=1..2",
        "n=1..x",
        "n=-1..4",
        "n=1..99999999999",
    ],
)
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(UsageError, match="is not a range of sizes") as caught:
        parse(text)
    assert "--sweep 4KiB..1GiB" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["n=0..4", "n=8..4", "1MiB..4KiB", "0B..4KiB"])
def test_what_goes_down(text: str) -> None:
    with pytest.raises(UsageError, match="begin at 1 or more, and to end no lower"):
        parse(text)


def test_by_bytes_the_first_symbol_grows() -> None:
    manifest = Manifest.parse(TEXT + SHAPE.replace("c = 3", "c = 300"))
    found = sizes(manifest, Sweep(4096, 1 << 20), DType.FLOAT32)
    assert [shape.name for shape in found] == ["4KiB", "16KiB", "64KiB", "256KiB", "1MiB"]
    for shape, wanted in zip(found, (4096 << 2 * at for at in range(5)), strict=True):
        assert shape.symbols["c"] == 300
        assert abs(least_bytes(manifest, shape.symbols, DType.FLOAT32) - wanted) <= wanted / 2
    # INT8 has a quarter of the bytes: another number of rows.
    assert sizes(manifest, Sweep(1 << 20, 1 << 20), DType.INT8)[0].symbols["n"] > 3 * found[-1].symbols["n"]


def test_without_a_section_the_others_are_opts() -> None:
    assert {shape.symbols["c"] for shape in sizes(Manifest.parse(TEXT), Sweep(4096, 8192), DType.FLOAT32)} == {5}


def test_a_symbol_doubles_and_both_ends_are_there() -> None:
    found = sizes(Manifest.parse(TEXT + SHAPE), Sweep(3, 25, "c"), DType.FLOAT32)
    assert [(shape.name, shape.symbols["c"], shape.symbols["n"]) for shape in found] == [
        (f"c={value}", value, 4) for value in (3, 6, 12, 24, 25)
    ]


def test_sizes_that_no_value_makes() -> None:
    manifest = Manifest.parse(TEXT + SHAPE.replace("c = 3", "c = 30000"))
    assert [shape.name for shape in sizes(manifest, Sweep(4096, 1 << 20), DType.FLOAT32)] == ["64KiB", "256KiB", "1MiB"]
    with pytest.raises(
        UsageError, match=r"no value of 'n' makes a call of Two move 4KiB to 16KiB: with 1 it moves \d+"
    ):
        sizes(manifest, Sweep(4096, 1 << 14), DType.FLOAT32)
    with pytest.raises(UsageError, match="Two has no symbol 'h'") as caught:
        sizes(manifest, Sweep(1, 2, "h"), DType.FLOAT32)
    assert caught.value.hint == "There are: n, c."


@given(st.integers(1, 2**31), st.integers(1, 4000))
def test_no_value_comes_nearer(wanted: int, columns: int) -> None:
    manifest = Manifest.parse(TEXT + SHAPE.replace("c = 3", f"c = {columns}"))
    try:
        found = sizes(manifest, Sweep(wanted, wanted), DType.FLOAT16)
    except UsageError:
        sizes_ = [least_bytes(manifest, {"n": n, "c": columns}, DType.FLOAT16) for n in (1, 2)]
        assert all(not wanted < 2 * size < 4 * wanted for size in sizes_)
        assert sizes_[0] >= wanted or wanted > 2**32
        return
    near = found[0].symbols["n"]
    moved = {n: least_bytes(manifest, {"n": n, "c": columns}, DType.FLOAT16) for n in (near - 1, near, near + 1) if n}
    assert wanted < 2 * moved[near] < 4 * wanted
    assert moved[near] == min(moved.values(), key=lambda size: max(size / wanted, wanted / size))


def test_a_window_that_has_to_fit() -> None:
    """Small values make a dimension negative: they are not sizes."""
    text = TEXT.replace('shape = ["n // 2", "c", 2]', 'shape = ["n - 2", "c", 2]')
    manifest = Manifest.parse(text.replace("n = [2, 8, 8]", "n = [3, 8, 8]") + SHAPE)
    found = sizes(manifest, Sweep(32, 1 << 21), DType.FLOAT32)
    assert found[0].symbols["n"] == 2
    assert [shape.name for shape in found][-2:] == ["512KiB", "2MiB"]
    far = Manifest.parse(text.replace("n = [2, 8, 8]", "n = [3, 8, 8]") + SHAPE.replace("c = 3", "c = 5000"))
    assert [shape.name for shape in sizes(far, Sweep(4096, 1 << 18), DType.FLOAT32)] == ["64KiB", "256KiB"]


def test_beyond_what_kernels_count_to() -> None:
    with pytest.raises(UsageError, match="goes beyond 2147483647"):
        parse("n=1..2147483648")


def test_the_first_shape_that_was_written_down() -> None:
    manifest = Manifest.parse(TEXT + SHAPE + SHAPE.replace("one", "opt").replace("c = 3", "c = 9"))
    assert sizes(manifest, Sweep(4, 4, "n"), DType.FLOAT32)[0].symbols["c"] == 3


@pytest.mark.parametrize("sample", ["bar_plugin", "pool_int8", "leaky_relu", "pad"])
def test_the_samples(sample: str) -> None:
    """Ranks that are open, too."""
    manifest = Manifest.load(SAMPLES / sample)
    for kind in manifest.precisions():
        assert len(sizes(manifest, Sweep(1 << 20, 1 << 30), kind)) >= 4
