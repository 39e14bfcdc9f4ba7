@% set plugin = signature(cookiecutter) %@
"""What the layer means. Every test compares the plugin with this."""

from __future__ import annotations

import numpy as np


@% for line in plugin.py_def %@
@{ line }@
@% endfor %@
@% if plugin.layer %@
    """@{ plugin.layer }@

    Inputs are float64 arrays@{ plugin.py_fields_doc }@.
    """
@% else %@
    """Sum the inputs@{ " and the fields" if plugin.biases }@, flatten what is negative; output k is k times that.

@% if plugin.whole %@
    An output of integers, number k, is k where the sum isn't negative, else 0.
@% endif %@
    Inputs are float64 arrays (int64 for integers)@{ plugin.py_fields_doc }@.
    Where the shapes differ, elements are counted in row-major order, and an input begins again at its end.
    """
@% endif %@
@% for line in plugin.py_body %@
    @{ line }@
@% endfor %@
