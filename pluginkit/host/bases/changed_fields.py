"""Which field a plugin has lost, where its serialized form shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pluginkit.dtypes import DType
from pluginkit.field_types import FieldType

Fields = Mapping[str, tuple[DType | FieldType, Any]]
"""What createPlugin was given."""


def changed(fields: Fields, before: bytes, after: bytes, template: str) -> str:
    """A sentence for the first field whose value stands in the bytes once, and has become another.

    Args:
        fields: what createPlugin was given.
        before: a plugin's serialized form.
        after: that of another one, which should be the same.
        template: names the two forms, as in `{} after deserialize, {} before`.
    """
    for name, (dtype, value) in fields.items():
        # A value as common as 0 or 1 stands in more places than its own.
        if dtype not in (FieldType.FLOAT32, FieldType.INT32) or np.ndim(value):
            continue
        raw = np.asarray(value, dtype.numpy).tobytes()
        place = before.find(raw)
        if place < 0 or before.find(raw, place + 1) >= 0 or len(after) < place + len(raw):
            continue
        found = np.frombuffer(after, dtype.numpy, 1, place)[0]
        if found.tobytes() != raw:
            return f": the field '{name}' is " + template.format(f"{found:.9g}", f"{value:.9g}")
    return ""
