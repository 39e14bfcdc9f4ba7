"""A module's arguments as `new --from-torch` varies them."""

from __future__ import annotations

import pytest

from pluginkit.torch.subject import floats


@pytest.mark.parametrize(
    ("value", "wanted"), [(3, 3.0), ([1, 2.5], [1.0, 2.5]), ((1, 2), (1.0, 2.0)), ("near", "near"), (True, True)]
)
def test_a_list_stays_a_list_and_a_tuple_a_tuple(value: object, wanted: object) -> None:
    made = floats(value)
    assert made == wanted
    assert type(made) is type(wanted)
