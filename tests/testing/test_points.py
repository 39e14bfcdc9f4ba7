"""Points, own data, and what a plan refuses."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pluginkit.dtypes import DType
from pluginkit.errors import NothingSelected, UsageError
from pluginkit.manifest import Manifest
from pluginkit.testing.families import FAMILIES
from pluginkit.testing.plan import plan
from pluginkit.testing.points import bind, bind_shapes, holds, points, read_data
from pluginkit.testing.reference import Reference

from .conftest import BAR, EXAMPLES, LEAKY, TRIO


def same(one: object, other: object) -> bool:
    return pickle.dumps(one) == pickle.dumps(other)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.lists(st.integers(0, 6), min_size=12, max_size=12))
def test_points_lie_in_their_profile(seed: int, numbers: list[int]) -> None:
    ends = [tuple(sorted(numbers[3 * i : 3 * i + 3])) for i in range(4)]
    dump = LEAKY.model_dump(by_alias=True)
    dump["profiles"] = [{"name": "p", "symbols": dict(zip("nchw", ends, strict=True))}]
    manifest = Manifest.model_validate(dump)
    found = points(manifest, seed, random=2)
    for point in found:
        shape = tuple(point.symbols[name] for name in "nchw")
        assert point.feeds["x"].shape == shape
        assert point.feeds["x"].dtype == np.float32
        assert holds(manifest.profiles[0], point.symbols)
        assert bind(manifest, point.feeds) == point.symbols
    fixed = all(low == high for low, _, high in ends)
    assert [point.name for point in found] == ["min", "opt", "max", *([] if fixed else ["random-1", "random-2"])]


def test_the_seed_repeats_values_and_another_changes_them() -> None:
    assert same([p.feeds for p in points(TRIO, 5)], [p.feeds for p in points(TRIO, 5)])
    assert not same([p.feeds for p in points(TRIO, 5)], [p.feeds for p in points(TRIO, 6)])


def test_values_have_zeros_and_large_ones_and_indices_are_valid() -> None:
    x = next(point for point in points(LEAKY, 0) if point.name == "opt").feeds["x"]
    assert {60.0, -60.0, 0.0} <= set(x.flat)
    for point in points(TRIO, 0):
        assert point.feeds["k"].dtype == np.int64
        assert 0 <= point.feeds["k"].min() <= point.feeds["k"].max() < min(point.feeds["a"].shape)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            {"a": (1, 2, 3, 3), "b": (1, 2, 3)},
            "'b' has shape [1, 2, 3]; the manifest says (m, c, h, w): 4 dimension(s)",
        ),
        (
            {"a": (1, 2, 3, 3), "b": (1, 3, 3, 3)},
            "'b' has shape [1, 3, 3, 3]; the manifest says (m, c, h, w): 'c' is 2 in 'a'",
        ),
    ],
)
def test_shapes_that_do_not_fit(sizes: dict[str, tuple[int, ...]], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        bind_shapes(BAR, sizes)
    assert message in caught.value.message


def test_a_fixed_dimension_must_be_that_number() -> None:
    with pytest.raises(UsageError, match="dimension 0 must be 1"):
        bind_shapes(TRIO, {"a": (1, 4), "b": (1, 4), "k": (2,)})


def saved(folder: Path, **arrays: np.ndarray) -> Path:
    np.savez(folder / "data.npz", **arrays)
    return folder / "data.npz"


def test_own_data_becomes_a_point_as_it_is(tmp_path: Path) -> None:
    x = np.random.default_rng(0).random((1, 3, 5, 7))
    file = saved(tmp_path, x=x)
    made = plan(LEAKY, EXAMPLES["leaky"].reference, data=file)
    ids = [case.id for case in made.cases if case.point == "data"]
    assert len(ids) > 50
    assert {"plain/int8/data", "cond-both/float16/data/else", "loop-count/float32/data"} <= set(ids)
    for case in made.cases:
        if case.point == "data" and case.network_id.startswith(("plain", "cond", "loop-count", "api-cond")):
            assert np.array_equal(case.feeds["x"], x.astype(np.float32))


def test_own_data_chooses_the_profile_that_holds_it(tmp_path: Path) -> None:
    file = saved(tmp_path, a=np.zeros((5, 3, 7, 7), "f"), b=np.zeros((3, 3, 7, 7), "f"))
    assert read_data(BAR, file).profile == "large"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": np.zeros((1, 1, 1, 1), "f")}, "has no array 'b'. The inputs are: a, b."),
        (
            {name: np.zeros((1, 1, 1, 1), "f") for name in "abc"},
            "has an unknown array 'c'. The inputs are: a, b.",
        ),
        ({"a": np.zeros((1, 1, 1, 1), "f"), "b": np.zeros((1, 1, 1), "f")}, "'b' has shape [1, 1, 1]"),
        ({"a": np.zeros((1, 1, 1, 1), "f"), "b": np.zeros((1, 2, 1, 1), "f")}, "'c' is 1 in 'a'"),
        (
            {"a": np.zeros((9, 1, 1, 1), "f"), "b": np.zeros((1, 1, 1, 1), "f")},
            "n = 9, c = 1, h = 1, w = 1, m = 1 is outside of every profile (small: n 1..3",
        ),
        (
            {"a": np.zeros((1, 1, 1, 1), "u1"), "b": np.zeros((1, 1, 1, 1), "f")},
            "'a' is uint8; expected float32.",
        ),
        (
            {"a": np.full((1, 1, 1, 1), np.nan), "b": np.zeros((1, 1, 1, 1), "f")},
            "'a' has a value at index [0, 0, 0, 0] that isn't finite in float32",
        ),
        (
            {"a": np.full((1, 1, 1, 1), 1e300), "b": np.zeros((1, 1, 1, 1), "f")},
            "that isn't finite in float32",
        ),
    ],
)
def test_own_data_that_does_not_fit(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    file = saved(tmp_path, **arrays)
    with pytest.raises(UsageError) as caught:
        read_data(BAR, file)
    assert message in caught.value.message
    assert str(file) in caught.value.message


def test_integers_in_own_data(tmp_path: Path) -> None:
    a = np.zeros((1, 4), "f")
    assert read_data(TRIO, saved(tmp_path, a=a, b=a, k=np.array([3], np.int32))).feeds["k"].dtype == np.int64
    with pytest.raises(UsageError, match="'k' is uint64; expected int64, and its values don't fit"):
        read_data(TRIO, saved(tmp_path, a=a, b=a, k=np.array([2**63], np.uint64)))
    with pytest.raises(UsageError, match="'k' is float64; expected int64") as caught:
        read_data(TRIO, saved(tmp_path, a=a, b=a, k=np.array([1.0])))
    assert "astype('int64')" in caught.value.hint


@pytest.mark.parametrize("content", [None, b"", b"no archive", b"PK\x03\x04 broken"])
def test_files_that_are_no_npz(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "data.npz"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=r"data.npz cannot be read as \.npz") as caught:
        read_data(BAR, file)
    assert "a=..., b=..." in caught.value.hint


def test_a_single_npy_is_no_archive(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(3))
    with pytest.raises(UsageError, match=r"x.npy cannot be read as \.npz: it is not an archive of named arrays"):
        read_data(LEAKY, tmp_path / "x.npy")


def test_plans_are_plain_data_and_repeatable() -> None:
    example = EXAMPLES["trio"]
    made = plan(example.manifest, example.reference, seed=7)
    again = pickle.loads(pickle.dumps(made))
    assert [case.id for case in again.cases] == [case.id for case in made.cases]
    assert same(made, plan(example.manifest, example.reference, seed=7))
    assert made.network(made.cases[-1]).id == made.cases[-1].network_id


def test_selection() -> None:
    example = EXAMPLES["leaky"]
    made = plan(LEAKY, example.reference, precisions=[DType.INT8], families=["cond-both"])
    assert [network.id for network in made.networks] == ["cond-both/int8"]
    kinds = plan(LEAKY, example.reference, precisions=[DType.INT8], families=["cond"]).networks
    assert {network.family for network in kinds} == {name for name in FAMILIES if "cond-" in name}
    with pytest.raises(UsageError, match="There is no network 'lop'; did you mean 'loop'"):
        plan(LEAKY, example.reference, families=["lop"])
    with pytest.raises(NothingSelected, match="No network is selected"):
        plan(LEAKY, example.reference, families=[])
    with pytest.raises(NothingSelected, match="No precision is selected; on offer: float32, float16, int8"):
        plan(LEAKY, example.reference, precisions=[])
    dump = LEAKY.model_dump(by_alias=True)
    dump["inputs"][0]["types"] = dump["outputs"][0]["types"] = ["float32"]
    single = Manifest.model_validate(dump)
    with pytest.raises(NothingSelected, match="No input of Leaky is int8; on offer: float32"):
        plan(single, example.reference, precisions=[DType.INT8])


ANY_RANK = """
[plugin]
name = "P"
[[inputs]]
name = "x"
types = ["float32"]
shape = ["n", "..."]
[[outputs]]
name = "y"
types = ["float32"]
shape = ["...", "n"]
[[profiles]]
name = "rows"
symbols = { n = [1, 2, 4] }
rest = [[1, 3, 5]]
[[profiles]]
name = "none"
symbols = { n = [1, 2, 4] }
rest = []
"""


def test_a_plan_has_every_rank_and_own_data_at_theirs(tmp_path: Path) -> None:
    manifest = Manifest.parse(ANY_RANK)
    reference = Reference(manifest, lambda x: 2 * np.moveaxis(x, 0, -1))
    np.savez(tmp_path / "x.npz", x=np.ones(3, np.float32))
    made = plan(manifest, reference, families=["plain", "chain"], data=tmp_path / "x.npz")
    assert [network.id for network in made.networks] == [
        "plain/float32/rank2",
        "plain/float32/rank1",
        "chain/float32/rank1",
    ]
    shapes = {case.id: case.expected["y"].shape for case in made.cases if case.id.startswith("plain")}
    assert shapes["plain/float32/rank2/opt"] == (3, 2)
    assert shapes["plain/float32/rank1/opt"] == (2,)
    assert [name for name in shapes if name.endswith("/data")] == ["plain/float32/rank1/data"]
    np.savez(tmp_path / "x.npz", x=np.ones((3, 1, 1), np.float32))
    with pytest.raises(UsageError, match=r"no profile is for tensors of so many dimensions \(x of 3\)"):
        plan(manifest, reference, data=tmp_path / "x.npz")
    with pytest.raises(UsageError, match="The network 'chain' cannot hold P"):
        plan(Manifest.parse(ANY_RANK.replace('["...", "n"]', '["1", "..."]')), reference, families=["chain"])


def test_no_symbol_is_alone_at_0_where_an_output_broadcasts_it() -> None:
    text = ANY_RANK.replace('["n", "..."]', '["n", "m", "..."]').replace("[1, 2, 4] }", "[0, 2, 4], m = [0, 2, 4] }")
    manifest = Manifest.parse(text.replace('["...", "n"]', '["broadcast(n, m)"]'))
    reference = Reference(manifest, lambda x: np.ones(np.broadcast_shapes(x.shape[0], x.shape[1])))
    assert not [case for case in plan(manifest, reference, families=["plain"]).cases if "empty" in case.point]
