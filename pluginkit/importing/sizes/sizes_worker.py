"""The worker's side of `profile`: one session of onnxruntime, run with many sizes."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pluginkit.importing import onnx_sessions
from pluginkit.importing.sizes.search import Sizes, find

SECONDS = 20.0
"""After so long no more sizes are tried."""
LARGEST = 2**24
"""Elements of all inputs: beyond it no size is tried."""


def search(
    model: bytes,
    groups: Sequence[str],
    dims: Mapping[str, Sequence[int | str]],
    kinds: Mapping[str, Any],
    values: Mapping[str, str],
) -> tuple[Sizes, Sizes, Sizes] | None:
    """Min, opt and max of the groups of dimensions; None if no sizes were found that run.

    Args:
        model: the model.
        groups: the groups' names.
        dims: of each input, numbers and groups.
        kinds: of each input, NumPy's type; or its values, if the user gave them.
        values: of inputs that shapes follow from, the group that all of their values are.

    Raises:
        ToolMissing: onnxruntime isn't installed.
    """
    onnx_sessions.runtime()
    try:
        session = onnx_sessions.session(model, optimized=False)
    except Exception:  # noqa: BLE001 - it has a class for each of its codes, and no common one
        return None
    names = {one.name for one in session.get_inputs()}
    end = time.monotonic() + SECONDS
    rng = np.random.default_rng(0)

    def runs(sizes: Sizes) -> bool:
        shapes = {name: [sizes[dim] if isinstance(dim, str) else dim for dim in shape] for name, shape in dims.items()}
        if time.monotonic() > end or sum(math.prod(shape) for shape in shapes.values()) > LARGEST:
            return False
        feeds = {}
        for name, shape in shapes.items():
            kind = kinds[name]
            if not isinstance(kind, np.dtype):
                feeds[name] = kind
            elif name in values:
                feeds[name] = np.full(shape, sizes[values[name]], kind)
            elif kind.kind == "f":
                feeds[name] = rng.standard_normal(shape).astype(kind)
            else:
                # 0 is a valid index of every dimension; a lone number is rather a size.
                feeds[name] = np.full(shape, 0 if shape else 1, kind)
        try:
            outputs = session.run(None, {name: one for name, one in feeds.items() if name in names})
        except Exception:  # noqa: BLE001 - any failure means that the sizes don't fit
            return False
        # Outputs without elements: a pooling or slice took all there was.
        return all(one.size > 0 for one in outputs if isinstance(one, np.ndarray))

    return find(groups, runs)
