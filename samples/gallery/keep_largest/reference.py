"""What the layer means. Every test compares the plugin with this."""

from __future__ import annotations

import numpy as np


def reference(x, *, k):
    """The k largest elements of each row, which is the last dimension; the others become 0.

    Inputs are float64 arrays; fields are numbers.
    """
    order = np.lexsort((-x, ~np.isnan(x)), axis=-1)
    among = np.zeros(x.shape, bool)
    np.put_along_axis(among, order[..., : int(k)], True, axis=-1)
    return np.where(among, x, 0.0)
