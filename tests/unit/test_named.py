"""What patterns of ids name, so that nothing else is planned."""

from __future__ import annotations

import pytest

from pluginkit.dtypes import DType
from pluginkit.run.selection import named_families, named_precision


@pytest.mark.parametrize(
    ("only", "families", "precision"),
    [
        ((), None, None),
        (("plain/float32/opt",), ("plain",), (DType.FLOAT32,)),
        (("plain/float16-chw2/*",), ("plain",), (DType.FLOAT16,)),
        (("api-cond-empty/int8/min/else",), ("api-cond-empty",), (DType.INT8,)),
        (("cond-both/int8/*", "plain/int8/opt"), ("plain", "cond-both"), (DType.INT8,)),
        (("cond-both/int8/*", "plain/float32/opt"), ("plain", "cond-both"), None),
        (("plain/*/opt",), ("plain",), None),
        (("registry/*",), ("plain",), None),
        (("plian/float32/opt",), ("plain",), (DType.FLOAT32,)),
        (("*/float32/opt",), None, (DType.FLOAT32,)),
        (("*int8*",), None, None),
        (("plain/float32/opt", "*"), None, None),
    ],
)
def test_what_patterns_name(only: tuple[str, ...], families: object, precision: object) -> None:
    assert named_families(only) == families
    assert named_precision(only) == precision
