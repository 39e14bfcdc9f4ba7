"""What the layer means. Every test compares the plugin with this."""

from __future__ import annotations


def reference(so_far, item, *, weight):
    """An item, times the weight, added to what there is."""
    return so_far + weight * item
