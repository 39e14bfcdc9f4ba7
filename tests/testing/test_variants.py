"""What a plan holds beside the usual networks: formats, implicit quantization, BF16, and shapes outside of profiles."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.evaluators.host import outside_profile
from pluginkit.formats import Format
from pluginkit.host import BuiltPlugin, Finding, ShapeProgram
from pluginkit.host.expressions import OPERATIONS
from pluginkit.interpreter import preflight
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network
from pluginkit.runtimes.host import expected_shapes
from pluginkit.testing.families import FAMILIES
from pluginkit.testing.plan import kinds_of, plan
from pluginkit.testing.points import points, unaligned
from pluginkit.testing.precision import close, represent
from pluginkit.testing.reference import Reference

from .conftest import BAR, EXAMPLES, LEAKY


def manifest(
    channels: str, *, symbols: str = "n = [0, 2, 3], c = [2, 4, 8]", types: str = '"float32", "float16"'
) -> Manifest:
    tensor = (
        f'name = "{{}}"\ntypes = [{types}]\nshape = ["n", {channels}, 3, 3]\nformats = ["linear", "chw2", "hwc8"]\n'
    )
    return Manifest.parse(
        f'[plugin]\nname = "P"\n[[inputs]]\n{tensor.format("x")}[[outputs]]\n{tensor.format("y")}'
        f'[[profiles]]\nname = "even"\nsymbols = {{ {symbols} }}\n'
    )


def identity(made: Manifest) -> Reference:
    return Reference(made, lambda x: x)


def test_each_format_is_a_variant_of_plain_alone() -> None:
    made = manifest('"c"')
    found = plan(made, identity(made))
    usual = [network for network in found.networks if isinstance(network, Network)]
    assert [network.id for network in usual if network.variant] == ["plain/float16-chw2", "plain/float16-hwc8"]
    assert [network.id for network in found.builder_networks] == [network.id for network in found.networks]
    assert [network.held_formats for network in usual if network.variant] == [
        (Format.CHW2, Format.CHW2),
        (Format.HWC8, Format.HWC8),
    ]
    assert all(not network.held_formats for network in found.usual)


def test_opt_runs_again_in_a_context_that_has_run_other_shapes_and_profiles() -> None:
    made = manifest('"c"')
    wide = made.profiles[0].model_copy(update={"name": "wide", "symbols": {"n": (1, 5, 9), "c": (2, 4, 8)}})
    two = made.model_copy(update={"profiles": (*made.profiles, wide)})
    found = plan(two, identity(two), families=["plain", "loop-count"])
    earlier = {case.id: [one.id for one in case.earlier] for case in found.cases if case.earlier}
    assert earlier["plain/float32/even/opt"] == [f"plain/float32/{one}" for one in ("even/min", "even/max", "wide/opt")]
    assert set(earlier) == {f"plain/{kind}/{name}/opt" for kind in ("float32", "float16") for name in ("even", "wide")}


def test_a_point_is_added_where_no_channel_count_leaves_lanes_unused() -> None:
    made = manifest('"c"')
    found = plan(made, identity(made), families=["plain"])
    pairs = [case for case in found.cases if case.network_id == "plain/float16-chw2"]
    assert [case.symbols["c"] for case in pairs if case.point == "unaligned"] == [7]
    assert not [c for c in found.cases if c.point == "unaligned" and c.network_id != "plain/float16-chw2"], "min has 2"
    fixed = manifest("4", symbols="n = [1, 2, 3]")
    forms = {"x": Format.CHW2, "y": Format.CHW2}
    assert unaligned(fixed, forms, points(fixed, 0), 0) == []


def test_empty_tensors_are_points_too() -> None:
    made = manifest('"c"')
    found = plan(made, identity(made), families=["plain"])
    assert {case.feeds["x"].size for case in found.cases if case.point == "min"} == {0}


def test_implicit_quantization_leaves_the_scale_fields_out_and_is_not_judged() -> None:
    found = plan(LEAKY, EXAMPLES["leaky"].reference, families=["plain"])
    (explicit,) = [network.calls[0] for network in found.networks if network.id == "plain/int8"]
    implicit = [network for network in found.networks if network.implicit]
    ids = [network.id for network in implicit]
    assert ids[:2] == ["plain/int8-implicit-max", "plain/int8-implicit-entropy"]
    assert all(name.startswith(("plain/int8-implicit-max/", "plain/int8-implicit-entropy/")) for name in ids[2:])
    assert set(explicit.fields) == {"alpha", "x_scale", "y_scale"}
    assert all(set(network.calls[0].fields) == {"alpha"} for network in implicit)
    assert implicit[0].calls[0].scales == explicit.scales
    assert not any(network.implicit for network in found.builder_networks)


def test_bf16_runs_in_plain_where_fp16_is_tested_too() -> None:
    both, alone = [DType.FLOAT16, DType.BFLOAT16], [DType.BFLOAT16]
    assert kinds_of(FAMILIES["plain"], both) == both
    assert kinds_of(FAMILIES["loop-count"], both) == [DType.FLOAT16]
    assert kinds_of(FAMILIES["loop-count"], alone) == alone


def test_bf16_values_and_tolerance() -> None:
    values = np.array([1.0, 1.0 + 2**-8, 1.0 + 3 * 2**-8, 3.39e38, -1e-38, 1e39])
    expected = [1.0, 1.0, 1.0 + 2**-6, 3.3895313892515355e38, -1e-38, np.inf]
    np.testing.assert_allclose(represent(values, DType.BFLOAT16), expected, rtol=1e-2)
    assert represent(values, DType.BFLOAT16)[:3].tolist() == expected[:3], "half to even"
    made = manifest('"c"', types='"bfloat16"')
    assert close(made, DType.BFLOAT16).rtol == 4 * 2.0**-7
    assert DType.BFLOAT16.numpy == np.dtype(ml_dtypes.bfloat16)
    assert DType.BFLOAT16.itemsize == 2
    assert DType.from_code(7) is DType.BFLOAT16


def test_one_step_outside_of_each_profile_and_only_what_is_asked_for() -> None:
    found = plan(BAR, EXAMPLES["bar"].reference, families=["plain"])
    cases = outside_profile.cases(BAR, found)
    assert len(cases) == 2 * 5 * 2
    assert {case.profile for case in cases} == {"small", "large"}
    for case in cases:
        network = found.network(case)
        profile = next(one for one in network.profiles if one.name == case.profile)
        with pytest.raises(CheckFailed, match=f"profile '{case.profile}', input '[ab]', axis [0-3]: .* is outside of"):
            preflight.check_feeds(profile, case.feeds)
    only = outside_profile.cases(BAR, found, ["plain/float32/outside/large/n-*"])
    assert [case.point for case in only] == ["outside/large/n-below", "outside/large/n-above"]
    assert [case.symbols["n"] for case in only] == [3, 7]


def test_a_profile_refuses_what_another_holds() -> None:
    found = plan(BAR, EXAMPLES["bar"].reference, families=["loop"])
    network = found.networks[0]
    small, large = network.profiles
    for case in (case for case in found.cases if case.network_id == network.id):
        own, other = (small, large) if case.profile == "small" else (large, small)
        preflight.check_feeds(own, case.feeds)
        with pytest.raises(CheckFailed, match=f"profile '{other.name}'"):
            preflight.check_feeds(other, case.feeds)
    (trips,) = small.values
    with pytest.raises(CheckFailed, match=f"profile 'small', input '{trips}', value 0: 99 is outside of"):
        preflight.check_feeds(small, {trips: np.array(99, np.int64)})
    with pytest.raises(CheckFailed, match="rank 1, expected 4"):
        preflight.check_feeds(small, {"a": np.zeros(3, np.float32)})


def built(joined: tuple[int, int]) -> BuiltPlugin:
    """BAR's layer, its second output's first dimension made of these symbols."""
    symbols = [(0, index, 0, 0, 0) for index in range(8)]
    total = len(symbols)
    nodes = (*symbols, (2, OPERATIONS.index("kSUM"), *joined, 0))
    copy, both = (ShapeProgram(nodes, (first, 1, 2, 3), method="IOne::asked") for first in (4, total))
    dims = ((-1,) * 4,) * 2
    return BuiltPlugin("dynamic", "layer", "BarPlugin", "1", "", b"", dims, (copy, both), (), (), 0)


def test_shape_expressions_agree_with_the_manifest_everywhere() -> None:
    found = plan(BAR, EXAMPLES["bar"].reference, families=["plain"])
    (call,) = found.networks[0].calls
    expected_shapes.check(BAR, call, built((0, 4)))
    with pytest.raises(
        Finding, match=r"output 'joined' is .* the manifest says \(n \+ m, c, h, w\), which is"
    ) as error:
        expected_shapes.check(BAR, call, built((0, 0)))
    assert "(profile 'small')" in str(error.value)
    assert error.value.method == "IOne::asked"
    other = replace(call, inputs=tuple(reversed(call.inputs)))
    expected_shapes.check(BAR, other, built((0, 0)))  # a call of other shapes is not one of the manifest's


def test_a_profile_whose_min_is_above_its_opt_is_refused() -> None:
    with pytest.raises(UsageError, match=r"profile 'even': c = \[5, 4, 8\] must rise: 0 <= min <= opt <= max"):
        manifest('"c"', symbols="n = [1, 2, 3], c = [5, 4, 8]")


def test_a_reference_that_is_wrong_only_at_max_is_wrong_only_there() -> None:
    def wrong(x, *, alpha):  # type: ignore[no-untyped-def]
        y = np.where(x >= 0, x, alpha * x)
        if x.shape == (4, 8, 16, 16):
            y[3, 7, 15, 15] += 1.0
        return y

    right = plan(LEAKY, EXAMPLES["leaky"].reference, families=["plain"], precisions=[DType.FLOAT32])
    found = plan(LEAKY, Reference(LEAKY, wrong), families=["plain"], precisions=[DType.FLOAT32])
    differ = [
        one.point
        for one, two in zip(right.cases, found.cases, strict=True)
        if (one.expected["y"] != two.expected["y"]).any()
    ]
    assert set(differ) == {"max"}
