"""Which other values of fields are tried."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import numpy as np
import onnx
import pytest
from rich.console import Console

from pluginkit.cli import table
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network
from pluginkit.testing import plan as plans
from pluginkit.testing.field_values import Varied, choose
from pluginkit.testing.points import points
from pluginkit.testing.reference import Reference
from pluginkit.testing.report import Report

TOML = """
[plugin]
name = "P"
[[inputs]]
name = "x"
types = ["float32"]
shape = ["n"]
[[outputs]]
name = "y"
types = ["float32"]
shape = ["n"]
[[profiles]]
symbols = {{ n = [1, 8, 16] }}
[[fields]]
name = "k"
{field}
"""
FLOAT, INT = 'type = "float32"\ndefault = 2.0', 'type = "int32"\ndefault = 2'


def tried(field: str, function: Callable[..., Any]) -> Varied:
    manifest = Manifest.parse(TOML.format(field=field))
    reference = Reference(manifest, function)
    return choose(manifest, reference, plans.field_values(manifest), points(manifest, 0), 0)


def times(x: Any, *, k: float) -> Any:
    return x * k


def test_a_float_without_a_range_is_tried_above_and_below_its_default() -> None:
    one, two = tried(FLOAT, times).values
    assert 2.5 <= one.value <= 3.5 and 0.5 <= two.value <= 1.5
    assert (one.variant, two.variant, one.declared, one.default) == ("field-k", "field-k-2", False, 2.0)
    assert one.value == np.float32(one.value)


def test_an_integer_without_a_range_is_tried_once() -> None:
    (one,) = tried(INT, times).values
    assert (one.value, one.declared) == (3, False)


@pytest.mark.parametrize("default", [-(2**31), 2**31 - 1])
def test_beyond_the_ends_of_int32_nothing_is_tried(default: int) -> None:
    found = tried(f'type = "int32"\ndefault = {default}', lambda x, *, k: x + k / 2**31)
    assert all(-(2**31) <= one.value < 2**31 for one in found.values)


@pytest.mark.parametrize("default", [3e38, -3e38])
def test_beyond_the_ends_of_float32_nothing_is_tried(default: float) -> None:
    found = tried(f'type = "float32"\ndefault = {default}', lambda x, *, k: x + k / 3e38)
    assert all(np.isfinite(np.float32(one.value)) for one in found.values)


def test_what_the_reference_refuses_or_gives_another_shape_keeps_its_default() -> None:
    def picky(x: Any, *, k: float) -> Any:
        assert k == 2
        return x

    found = tried(INT, picky)
    assert found.values == ()
    assert found.kept == {"k": "the reference raises, or gives another shape, with other values, as 1"}
    assert tried(INT, lambda x, *, k: x[: len(x) - abs(k - 2)]).values == ()
    assert tried(FLOAT, lambda x, *, k: np.where(k > 3 or k < 2, 1e30, x)).values == ()


def test_what_shows_in_no_output_is_tried_and_told() -> None:
    found = tried(FLOAT, lambda x, *, k: x)
    assert len(found.values) == 1
    assert found.kept == {"k": "outputs do not depend on it"}


def test_the_table_of_all_cases_and_json_say_what_is_not_tested() -> None:
    report = Report("P", "", "", 0, (), (), kept_fields={"k": "outputs do not depend on it"})
    console = Console(width=200, record=True, file=StringIO())
    table.show(report, console, command="pluginkit test", detail=1)
    assert "field k is not tested with other values: outputs do not depend on it" in console.export_text()
    assert report.to_json()["kept_fields"] == report.kept_fields


@pytest.mark.parametrize(
    ("output", "values"),
    [
        ("choices = [0, 2, 5, 7]", [0, 5, 7]),
        ("min = 1\nmax = 4", [4, 1, 3]),
        ("min = 2", [4, 3]),
        ("choices = [2]", []),
    ],
)
def test_declared_values_are_tried_whatever_they_are(output: str, values: list[int]) -> None:
    found = tried(f"{INT}\n{output}", times)
    assert [one.value for one in found.values] == values
    assert all(one.declared for one in found.values)
    assert bool(found.kept) == (not values)


def test_a_declared_value_must_fit_the_reference() -> None:
    with pytest.raises(CheckFailed, match=r"k = 5, which pluginkit\.toml allows"):
        tried(f"{INT}\nchoices = [2, 5]", lambda x, *, k: x[: 10 - k])


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("min = 3", "a default outside of min and max"),
        ("max = 1", "a default outside of min and max"),
        ("min = 4\nmax = 1", "a min above its max"),
        ("choices = [1, 3]", "not one of its choices"),
        ("choices = [1, 2]\nmin = 1", "choices, and min or max besides"),
        ("choices = [2, 2.5]", "choices 2 is not a whole number"),
        ("min = true", "must be a number"),
    ],
)
def test_ranges_that_make_no_sense(output: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Manifest.parse(TOML.format(field=f"{INT}\n{output}"))


def shaped(dim: str, field: str, function: Callable[..., Any]) -> Varied:
    text = TOML.format(field=field)
    head, _, rest = text.partition("[[outputs]]")
    manifest = Manifest.parse(f"{head}[[outputs]]" + rest.replace('"n"', f'"{dim}"'))
    return choose(manifest, Reference(manifest, function), plans.field_values(manifest), points(manifest, 0), 0)


def test_a_field_that_makes_a_shape_is_tried_where_there_is_one() -> None:
    found = shaped("min(n, k)", INT, lambda x, *, k: x[:k])
    assert [one.value for one in found.values] == [3]
    found = shaped("n // (3 - k)", INT, lambda x, *, k: x[: len(x) // (3 - k)])
    assert [one.value for one in found.values] == [1]
    found = shaped("3 - k", INT, lambda x, *, k: x[: 3 - k])
    assert [one.value for one in found.values] == [3]
    found = shaped("k * 100000", f"{INT}\nmin = 2\nmax = 2147483647", lambda x, *, k: np.full(k * 100000, k))
    assert found.values == ()
    assert "too many elements" in found.kept["k"]


def test_a_plan_has_a_fields_shapes_where_it_differs() -> None:
    text = TOML.format(field=f"{INT}\nchoices = [2, 5]").replace(
        'types = ["float32"]\nshape = ["n"]\n[[prof', 'types = ["float32"]\nshape = ["min(n, k)", "1 if k < 3"]\n[[prof'
    )
    manifest = Manifest.parse(text)
    reference = Reference(manifest, lambda x, *, k: x[:k].reshape((-1, 1) if k < 3 else -1) * k)
    plan = plans.plan(manifest, reference, families=["plain", "cond-both"])
    sizes = {case.network_id: {one.shape for one in case.expected.values()} for case in plan.cases}
    assert sizes["plain/float32"] <= {(1, 1), (2, 1)}
    assert sizes["plain/float32-field-k"] == {(5,)}
    (varied,) = (one for one in plan.networks if one.id == "plain/float32-field-k")
    assert varied in plan.builder_networks
    assert isinstance(varied, Network)
    (shown,) = onnx.load_from_string(varied.model).graph.output
    assert len(shown.type.tensor_type.shape.dim) == 1
    (case,) = (one for one in plan.cases if one.network_id == varied.id and one.point == "opt")
    assert case.lost["y"].shape == (2, 1)


def test_declared_ends_and_zero_are_tried() -> None:
    found = tried(f"{FLOAT}\nmin = -1.0\nmax = 4.0", times)
    assert {one.value for one in found.values} >= {-1.0, 0.0, 4.0}


def test_each_two_declared_values_of_two_fields_are_tried_at_once() -> None:
    lines = (
        f'{INT}\nchoices = [1, 2, 3]\n[[fields]]\nname = "m"\ntype = "string"\ndefault = "a"\nchoices = ["a", "b", "c"]'
    )
    found = tried(lines, lambda x, *, k, m: x * k + ord(m)).values
    several = [one for one in found if one.more]
    assert {tuple(one.values.items()) for one in several} == {(("k", k), ("m", m)) for k in (1, 3) for m in ("b", "c")}
    assert [one.variant for one in several] == ["fields-1", "fields-2", "fields-3", "fields-4"]


def test_other_values_are_tried_where_all_sizes_differ() -> None:
    text = TOML.format(field=f"{INT}\nchoices = [2, 5]").replace('["n"]', '["n", "m"]')
    manifest = Manifest.parse(text.replace("symbols = {", "symbols = { m = [1, 4, 8],"))
    plan = plans.plan(manifest, Reference(manifest, lambda x, *, k: x * k), families=["plain"], random=0)
    shapes = {case.point: next(iter(case.feeds.values())).shape for case in plan.cases if "field-k" in case.id}
    assert {"min", "opt", "max"} <= shapes.keys()
    assert any(rows != columns for rows, columns in shapes.values())


AXES = 'type = "int64"\nlength = [0, 3]\ndefault = [0, 1]'


def test_a_list_is_tried_longer_and_shorter() -> None:
    longer, shorter = tried(AXES, lambda x, *, k: x + np.sum(k) + 10 * len(k)).values
    assert (len(longer.value), len(shorter.value)) == (3, 1)  # type: ignore[arg-type]
    assert (longer.default, longer.declared, longer.variant) == ((0, 1), False, "field-k")


def test_a_list_of_fixed_length_is_tried_with_other_elements_and_in_another_order() -> None:
    lines = 'type = "float32"\nlength = 2\ndefault = [0.5, 1.5]'
    other, reversed_ = tried(lines, lambda x, *, k: x * k[0]).values
    assert len(other.value) == 2 and not set(other.value) & {0.5, 1.5}  # type: ignore[arg-type]
    assert reversed_.value == (1.5, 0.5)


def test_the_elements_of_a_list_stay_within_what_is_declared() -> None:
    lines = f"{AXES}\nchoices = [0, 1, 2]"
    values = tried(lines, lambda x, *, k: x + np.sum(k)).values
    assert values and all(one.declared and set(one.value) <= {0, 1, 2} for one in values)  # type: ignore[arg-type]
    bounded = tried('type = "int8"\nlength = [0, 9]\ndefault = []\nmin = 5\nmax = 6', lambda x, *, k: x + np.sum(k))
    assert [set(one.value) <= {5, 6} for one in bounded.values] == [True]  # type: ignore[arg-type]


def test_a_text_is_tried_with_each_choice() -> None:
    lines = 'type = "string"\ndefault = "a"\nchoices = ["a", "b", "c"]'
    assert [one.value for one in tried(lines, lambda x, *, k: x + ord(k)).values] == ["b", "c"]


def test_a_text_without_choices_is_tried_near_its_default() -> None:
    lines = 'type = "string"\ndefault = "ab"'
    assert [one.value for one in tried(lines, lambda x, *, k: x + sum(k.encode())).values] == ["abx", "a"]
    picky = tried(lines, lambda x, *, k: {"ab": x}[k])
    assert picky.kept == {"k": 'the reference raises, or gives another shape, with other values, as "ba"'}


def test_what_no_attribute_carries_is_not_tried() -> None:
    found = tried(f'type = "int64"\ndefault = {2**31 - 1}', lambda x, *, k: x + k / 2**31)
    assert [one.value for one in found.values] == [2**31 - 2]


def test_the_reference_gets_arrays_and_texts() -> None:
    seen: list[Any] = []

    def reference(x: Any, *, k: Any) -> Any:
        seen.append(k)
        return x

    tried(AXES, reference)
    assert seen[0].dtype == np.int64 and seen[0].tolist() == [0, 1]
    seen.clear()
    tried('type = "float16"\nlength = [0, 2]\ndefault = []', reference)
    assert seen[0].dtype == np.float64 and seen[0].shape == (0,)
    seen.clear()
    tried('type = "string"\ndefault = "ab"', reference)
    assert seen[0] == "ab"


def test_a_number_is_as_the_plugin_sees_it() -> None:
    manifest = Manifest.parse(TOML.format(field='type = "float16"\ndefault = 0.1'))
    assert plans.field_values(manifest) == {"k": float(np.float16(0.1))}
    # An attribute of a node holds a float32.
    manifest = Manifest.parse(TOML.format(field='type = "float64"\nlength = 1\ndefault = [0.1]'))
    assert plans.field_values(manifest) == {"k": (float(np.float32(0.1)),)}
