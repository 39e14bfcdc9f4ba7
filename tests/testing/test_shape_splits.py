"""Which shapes of a signature stand in one network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pluginkit.dtypes import DType
from pluginkit.manifest import Manifest
from pluginkit.testing.plan import plan
from pluginkit.testing.points import points
from pluginkit.testing.reference import Reference
from pluginkit.testing.shape_splits import ShapeSplit, shape_splits

TOML = """
[plugin]
name = "Join"
base = "{base}"

[[inputs]]
name = "x"
types = ["float32", "int8"]
shape = ["n", "c", "w"]

[[outputs]]
name = "y"
types = ["float32", "int8"]
shape = ["n", "c * 2", "w"]
"""
ONE = '[[profiles]]\nname = "one"\nsymbols = {{ n = [1, 2, 4], c = [{c}], w = [1, 8, 16] }}\n'
TWO = '[[profiles]]\nname = "two"\nsymbols = {{ n = [1, 1, 8], c = [{c}], w = [1, 4, 8] }}\n'


def manifest(*profiles: str, base: str = "dynamic") -> Manifest:
    return Manifest.parse(TOML.format(base=base) + "\n".join(profiles))


def found(
    signature: Manifest, kind: DType = DType.INT8, *, all_counts: bool = False, data: Path | None = None
) -> list[ShapeSplit]:
    return list(shape_splits(signature, kind, points(signature, 0, data=data), 0, all_counts=all_counts))


def test_int8_has_constant_channels() -> None:
    (part,) = found(manifest(ONE.format(c="4, 8, 12")))
    assert part.name == ""
    assert part.manifest.inputs[0].shape == ("n", "8", "w")
    assert part.manifest.outputs[0].shape == ("n", "16", "w")
    assert {point.feeds["x"].shape[1] for point in part.points} == {8}
    assert {point.feeds["x"].shape[0] for point in part.points} >= {1, 2, 4}


def test_other_precisions_and_constant_channels_have_the_signature_itself() -> None:
    signature = manifest(ONE.format(c="4, 8, 12"))
    (part,) = found(signature, DType.FLOAT32)
    assert part.manifest is signature
    constant = manifest(ONE.format(c="8, 8, 8"))
    (part,) = found(constant)
    assert part.manifest is constant


def test_the_channels_of_min_and_max_have_networks_where_all_counts_are_wanted() -> None:
    made = found(manifest(ONE.format(c="4, 8, 12")), all_counts=True)
    assert [part.name for part in made] == ["", "c4", "c12"]


def test_a_symbol_that_ends_with_a_digit_is_kept_apart_from_its_size() -> None:
    signature = Manifest.parse(
        (TOML.format(base="dynamic") + ONE.format(c="1, 8, 16")).replace('"c', '"d2').replace("c =", "d2 =")
    )
    assert [part.name for part in found(signature, all_counts=True)] == ["", "d2_1", "d2_16"]


@pytest.mark.parametrize(
    ("first", "second", "names", "held"),
    [
        ("4, 8, 12", "8, 16, 32", [""], [["one", "two"]]),
        ("4, 8, 12", "16, 16, 32", ["", "c16"], [["one"], ["two"]]),
    ],
)
def test_profiles_that_hold_the_same_channels_share_a_network(
    first: str, second: str, names: list[str], held: list[list[str]]
) -> None:
    made = found(manifest(ONE.format(c=first), TWO.format(c=second)))
    assert [part.name for part in made] == names
    assert [[profile.name for profile in part.manifest.profiles] for part in made] == held


def test_a_persons_data_has_a_network_of_its_channels(tmp_path: Path) -> None:
    file = tmp_path / "data.npz"
    np.savez(file, x=np.ones((2, 5, 8), np.float32))
    first, own = found(manifest(ONE.format(c="4, 8, 12")), data=file)
    assert "data" not in [point.name for point in first.points]
    assert own.name == "c5"
    assert "data" in [point.name for point in own.points]


def test_a_static_base_has_a_part_for_each_profile() -> None:
    profiles = [
        f'[[profiles]]\nname = "{name}"\nsymbols = {{ n = [{n}], c = [4, 4, 4], w = [8, 8, 8] }}\n'
        for name, n in (("one", "1, 1, 1"), ("two", "2, 2, 2"))
    ]
    for kind in (DType.FLOAT32, DType.INT8):
        made = found(manifest(*profiles, base="ioext"), kind)
        assert [part.name for part in made] == ["one", "two"]
        assert [part.manifest.inputs[0].shape for part in made] == [("1", "4", "8"), ("2", "4", "8")]


def test_no_int8_input_of_a_plan_has_open_channels() -> None:
    signature = manifest(ONE.format(c="4, 8, 12"), TWO.format(c="16, 16, 32"))
    made = plan(signature, Reference(signature, lambda x: np.concatenate([x, x], 1), __file__), random=0)
    calls = [call for network in made.networks for call in network.calls if DType.INT8 in call.types]
    assert calls
    for call in calls:
        assert len({dims[1] for profile in call.inputs for dims in profile[call.types.index(DType.INT8)]}) == 1
