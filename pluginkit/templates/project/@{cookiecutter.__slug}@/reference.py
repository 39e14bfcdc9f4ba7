@% set plugin = signature(cookiecutter) %@
"""What the layer means. Every test compares the plugin with this."""

from __future__ import annotations

import numpy as np


@% for line in plugin.py_def %@
@{ line }@
@% endfor %@
    """Sum the inputs@{ " and the fields" if plugin.biases }@, flatten what is negative; output k is k times that.

@% if plugin.whole %@
    An INT32 output k is k where the sum isn't negative, else 0.
@% endif %@
    Inputs are float64 arrays (int64 for INT32 tensors)@{ plugin.py_fields_doc }@.
    Where the shapes differ, elements are counted in row-major order, and an input begins again at its end.
    """
@% for line in plugin.py_body %@
    @{ line }@
@% endfor %@
