@% set plugin = signature(cookiecutter) %@
"""The layer in NumPy. Every test compares the plugin with this function."""

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
    """Leaky ReLU of @{ plugin.summed }@@{ "; output k is k times that" if plugin.outputs|length > 1 }@.

@% if plugin.whole %@
    Integer output number k is k where the sum is not negative, else 0.
@% endif %@
    Inputs are float64 arrays (int64 for integers)@{ plugin.py_fields_doc }@.
    Inputs of different shapes are read in row-major order, and repeat when they end.
    """
@% endif %@
@% for line in plugin.py_body %@
    @{ line }@
@% endfor %@
