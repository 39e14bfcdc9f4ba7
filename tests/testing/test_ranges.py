"""What a plugin behind another one sees of a profile."""

from __future__ import annotations

from pluginkit.dtypes import DType
from pluginkit.manifest import Manifest
from pluginkit.testing.families.api import forms
from pluginkit.testing.families.base import Setting

FALLING = Manifest.parse(
    """
    plugin = {name = "Falling"}
    inputs = [{name = "x", types = ["float32"], shape = ["n", "m"]}]
    outputs = [{name = "y", types = ["float32"], shape = ["9 - n", "12 // (n - m)"]}]
    profiles = [{symbols = {n = [3, 5, 8], m = [2, 3, 4]}}]
    """
)


def test_bounds_of_an_output_that_shrinks_while_its_input_grows() -> None:
    setting = Setting(FALLING, DType.FLOAT32, {})
    assert setting.ranges(FALLING.outputs[0]) == (((6, 12), (4, 6), (1, 3)),)
    assert setting.output_ranges(FALLING.outputs[0]) == (((1, 6), (4, 6), (6, 6)),)


def test_the_probe_is_expected_to_see_them() -> None:
    network = forms.make(Setting(FALLING, DType.FLOAT32, {}), "api-shape-out")
    assert network is not None
    plugin, probe = network.calls
    assert plugin.inputs == ((((3, 2), (5, 3), (8, 4)),),)
    assert probe.inputs == ((((1, 6), (4, 6), (6, 6)),),)
