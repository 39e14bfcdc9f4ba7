"""Values that are drawn for listed fields: of their types and lengths, and longer where a plugin has read beyond."""

from __future__ import annotations

import numpy as np

from pluginkit.adoption.answers import ListedField
from pluginkit.adoption.draws import BATCH, CHAR, FLOAT32, INT32, Draws
from pluginkit.field_types import NAMES

LISTED = [ListedField("num_heads", NAMES.index("kUNKNOWN"), 0), ListedField("weights", FLOAT32, 36864)]
LISTED += [ListedField("box", FLOAT32, 1), ListedField("mode", CHAR, 0), ListedField("dims", NAMES.index("kDIMS"), 1)]


def test_draws_have_the_listed_types_and_lengths() -> None:
    (batch,) = Draws(LISTED).batches(1)
    assert len(batch) == BATCH
    for heads, weights, box, mode in batch:
        assert heads[1] == INT32
        assert weights[3] == len(np.frombuffer(weights[2] or b"", np.float32)) == 36864
        assert 4 * box[3] == len(box[2] or b"")
        assert (mode[2] or b"").endswith(b"\0")


def test_a_list_that_was_read_beyond_gets_longer() -> None:
    draws = Draws(LISTED)
    for _ in range(3):
        draws.learn("reads byte 4 of the data of field 'box', which has 4")
    draws.learn("reads inputs[2], which has 2")
    assert {one[2][3] for batch in draws.batches(1) for one in batch} == {8}
