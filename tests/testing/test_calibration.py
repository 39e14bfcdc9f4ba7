"""INT8 calibration: properties of the thresholds, and the user's own samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pluginkit.errors import NothingSelected, PluginkitError, UsageError
from pluginkit.manifest import Manifest
from pluginkit.testing.calibration import (
    BINS,
    LEVELS,
    Calibration,
    by_descriptor,
    covered,
    divergence,
    read_samples,
    threshold,
)
from pluginkit.testing.plan import plan

from .conftest import BAR, EXAMPLES, LEAKY, TRIO

WHOLE = (BINS + 0.5) / BINS
"""What is covered where all bins are kept: the middle of the one behind them, as 8.5.3 has it."""

magnitudes = st.lists(st.floats(2.0**-10, 2.0**20, width=32), min_size=1, max_size=60)


@settings(max_examples=6, deadline=None)
@given(values=magnitudes, factor=st.sampled_from([0.25, 2.0, 1024.0]))
def test_a_threshold_lies_within_the_values_and_scales_with_them(values: list[float], factor: float) -> None:
    array = np.array(values)
    found = threshold([array])
    assert 0 <= found <= array.max() * WHOLE
    assert found == 0 or found > array.max() * LEVELS / BINS
    assert threshold([array * factor]) == pytest.approx(found * factor)


def test_what_128_levels_can_tell_is_not_clipped() -> None:
    array = np.tile(np.arange(LEVELS) + 0.5, 3)
    assert threshold([array]) == array.max() * WHOLE
    assert threshold([np.zeros(5)]) == threshold([np.zeros(0)]) == threshold([]) == 0.0


def test_a_larger_batch_makes_the_bins_wider() -> None:
    rng = np.random.default_rng(2)
    first, larger = np.abs(rng.normal(0, 1, 10_000)), np.abs(rng.normal(0, 1, 10_000)) * 1.7
    width = first.max() / BINS
    found = threshold([first, larger]) / width
    assert found % 2 == pytest.approx(1.0), "half of a bin twice as wide"
    assert threshold([np.zeros(7), first]) == pytest.approx(threshold([np.concatenate([np.zeros(7), first])]))
    assert threshold([np.concatenate([np.zeros(20_000), first])]) == threshold([first]), "zeros tell nothing"
    # The other way round nothing grows.
    assert threshold([larger, first]) * BINS / larger.max() % 1 == pytest.approx(0.5)


def test_a_few_outliers_are_clipped_and_a_heavy_tail_is_not() -> None:
    rng = np.random.default_rng(1)
    bulk = np.abs(rng.normal(0, 1, 100_000))
    with_outliers = np.concatenate([bulk, [80.0, 90.0, 100.0]])
    assert 3.0 < threshold([with_outliers]) < 12.0, "the bulk ends at about 4.5"
    even = rng.uniform(0, 100, 100_000)
    assert threshold([even]) > 95.0


def test_divergence_by_hand() -> None:
    """Two bins a level, of 3 and 1: told as 2 and 2. KL is 3/4 ln(3/2) + 1/4 ln(1/2), the same in each level."""
    counts = np.tile([3.0, 1.0], LEVELS)
    by_hand = 0.75 * np.log(1.5) + 0.25 * np.log(0.5)
    assert divergence(counts, 2 * LEVELS) == pytest.approx(by_hand, rel=1e-3)
    assert divergence(np.tile([2.0, 2.0], LEVELS), 2 * LEVELS) == pytest.approx(0.0)


@given(counts=st.lists(st.integers(0, 1000), min_size=LEVELS, max_size=3 * LEVELS))
def test_divergence_is_never_negative_and_nothing_is_lost_where_each_bin_has_a_level(counts: list[int]) -> None:
    array = np.array(counts, np.float64)
    for kept in (LEVELS, len(array)):
        assert -1e-12 <= divergence(array, kept) < float("inf")
    array[LEVELS:] = 0
    assert divergence(array, LEVELS) == pytest.approx(0.0, abs=1e-12)


def test_ranges_hold_zero_and_leave_out_what_is_not_finite() -> None:
    assert covered([np.array([2.0, np.inf]), np.array([5.0, np.nan])], "max") == (0.0, 5.0)
    assert covered([np.array([-2.0])], "max") == (-2.0, 0.0)
    assert covered([], "max") == covered([np.array([np.nan])], "entropy") == (0.0, 0.0)
    low, high = covered([np.r_[np.random.default_rng(0).normal(0, 1, 50_000), 90.0, -2.0]], "entropy")
    assert -6 < low < 0 < high < 12


def save(folder: Path, **arrays: np.ndarray) -> Path:
    file = folder / "samples.npz"
    np.savez(file, **arrays)
    return file


def samples(seed: int = 0, count: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 1, (count, 3, 5, 16, 16)).astype(np.float32)


def scales(data: Path | None, method: str | None) -> dict[str, tuple[float, ...]]:
    calibration = Calibration(method, data)  # type: ignore[arg-type]
    made = plan(LEAKY, EXAMPLES["leaky"].reference, families=["plain"], calibration=calibration)
    return {network.id: (*network.calls[0].scales, *network.calls[0].output_scales) for network in made.networks}


def usual(found: dict[str, tuple[float, ...]]) -> list[str]:
    """Without the networks of other channel counts."""
    return [name for name in found if name.count("/") == 1]


def test_own_samples_and_the_method_decide_the_scales(tmp_path: Path) -> None:
    outlier = samples()
    outlier.flat[17] = 300.0
    file = save(tmp_path, x=outlier)
    largest, clipped = scales(file, "max"), scales(file, "entropy")
    assert largest["plain/int8"][0] == pytest.approx(1.24 * 300 / 127)
    assert clipped["plain/int8"][0] < largest["plain/int8"][0] / 10
    assert usual(largest)[-2:] == ["plain/int8", "plain/int8-implicit-max"]
    assert usual(clipped)[-2:] == ["plain/int8", "plain/int8-implicit-entropy"]
    assert usual(scales(None, None))[-3:] == ["plain/int8", "plain/int8-implicit-max", "plain/int8-implicit-entropy"]
    assert largest["plain/int8/c1"] == largest["plain/int8"], "for all channel counts"


def test_one_sample_needs_no_leading_dimension(tmp_path: Path) -> None:
    assert len(read_samples(LEAKY, save(tmp_path, x=samples()))) == 4
    (one,) = read_samples(LEAKY, save(tmp_path, x=samples()[0]))
    assert one.symbols == {"n": 3, "c": 5, "h": 16, "w": 16}
    assert not one.spread


with_nan = samples()
with_nan[1, 2, 3, 4, 5] = np.nan


@pytest.mark.parametrize(
    ("x", "output"),
    [
        (samples()[:0], "'x' is empty: shape [0, 3, 5, 16, 16]"),
        (np.full((2, 3, 5, 16, 16), 1.5, np.float32), "'x' is 1.5 everywhere, which says nothing about its range"),
        (with_nan, "'x' has a value at index [1, 2, 3, 4, 5] that isn't finite"),
        (samples()[:, :, :, 0, 0], "expected 4 dimension(s) for one sample, or one more in front"),
        (samples(1, 9).transpose(1, 0, 2, 3, 4), "n = 9, c = 5, h = 16, w = 16 is outside of every profile"),
        (samples().astype(np.int32), "'x' is int32; expected float32"),
    ],
    ids=["empty", "constant", "nan", "rank", "outside", "type"],
)  # fmt: skip
def test_samples_that_say_nothing_are_refused(tmp_path: Path, x: np.ndarray, output: str) -> None:
    with pytest.raises(UsageError) as error:
        read_samples(LEAKY, save(tmp_path, x=x))
    assert output in error.value.message
    assert str(tmp_path) in error.value.message


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no archive")
    for file, output in ((tmp_path / "text", "cannot be read as .npz"), (tmp_path / "none", "cannot be read")):
        with pytest.raises(UsageError, match=output):
            read_samples(LEAKY, file)
    with pytest.raises(UsageError, match="every input needs as many samples; 'a' has 2, 'b' has 1"):
        two, one = np.zeros((2, 2, 2, 4, 4), np.float32), np.zeros((1, 2, 2, 4, 4), np.float32)
        read_samples(BAR, save(tmp_path, a=two, b=one))


def test_without_int8_there_is_nothing_to_calibrate(tmp_path: Path) -> None:
    text = (
        '[plugin]\nname = "P"\n[[inputs]]\nname = "x"\ntypes = ["float32"]\nshape = ["n"]\n'
        '[[outputs]]\nname = "y"\ntypes = ["float32"]\nshape = ["n"]\n[[profiles]]\nsymbols = { n = [1, 2, 3] }\n'
    )
    with pytest.raises(NothingSelected, match="for calibration, and no input of P is int8 or float8") as error:
        read_samples(Manifest.parse(text), save(tmp_path, x=np.zeros(2)))
    assert isinstance(error.value, PluginkitError)


def test_scales_come_by_descriptor_only_where_no_field_gives_them() -> None:
    assert by_descriptor(LEAKY)
    assert by_descriptor(BAR), "it has no scale fields at all"
    fixed = LEAKY.model_copy(update={"fields": tuple(f.model_copy(update={"default": 0.1}) for f in LEAKY.fields)})
    assert not by_descriptor(fixed)
    assert by_descriptor(TRIO)
