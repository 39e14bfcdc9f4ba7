"""A project's reference against the outputs that were recorded with its saved cases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pluginkit.errors import CheckFailed
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Array
from pluginkit.testing.reference import Reference
from pluginkit.testing.saved_cases.files import FOLDER, load

RTOL, ATOL = 1e-3, 1e-4
"""What a reference in FP64 may differ by from outputs that another implementation gave in FP32."""
HALF = 10
"""How many times as much, if the outputs are of 16 bits."""


def check(manifest: Manifest, project: Path, usual: Mapping[str, Any], reference: Reference) -> None:
    """Compare the reference with the outputs that the cases have.

    Raises:
        UsageError: as `read`.
        CheckFailed: it gives something else.
    """
    for file in sorted((project / FOLDER).glob("*.npz")):
        case, outputs = load(manifest, file, usual)
        if not outputs:
            continue
        inputs = [case.point.feeds[tensor.name] for tensor in manifest.inputs]
        wide = [array.astype(np.float64 if array.dtype.kind == "f" else np.int64) for array in inputs]
        for tensor, got in zip(manifest.outputs, reference(wide, case.fields), strict=True):
            if tensor.name in outputs:
                _compare(file, tensor.name, got, outputs[tensor.name])


def _compare(file: Path, name: str, got: Array, expected: Array) -> None:
    loose = HALF if expected.dtype.itemsize == 2 else 1
    wide = expected.astype(np.float64)
    if got.shape != expected.shape:
        shapes = f"{list(got.shape)}; it was {list(expected.shape)} in the model"
        raise CheckFailed(f"{file}: reference() gives '{name}' of shape {shapes}.")
    near = np.isclose(got, wide, rtol=RTOL * loose, atol=ATOL * loose, equal_nan=True)
    if not near.all():
        index = tuple(int(one) for one in np.argwhere(~near)[0])
        raise CheckFailed(
            f"{file}: reference() gives {got[index]:g} for '{name}' at {list(index)}; in the model it was "
            f"{wide[index]:g} ({int((~near).sum())} of {near.size} elements differ).",
            hint="The outputs in the file were recorded from the model: fix reference.py, or remove the file.",
        )
