"""The layer in NumPy. Every test compares the plugin with this function."""

from __future__ import annotations


def reference(so_far, item, *, weight):
    """An item, times the weight, added to what there is."""
    return so_far + weight * item
