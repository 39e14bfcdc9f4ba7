"""Tensors to and from the memory layout of their format."""

from __future__ import annotations

from typing import Any

import numpy as np

from pluginkit.formats import Format

Array = np.ndarray[Any, Any]


def pack(values: Array, form: Format, stored: Array) -> None:
    """Writes a tensor's elements to their places in `stored`, an array of shape `form.storage(values.shape)`.

    Padded lanes keep what stands in them.
    """
    if form is Format.LINEAR:
        stored[...] = values
        return
    channel = values.ndim - form.axis
    count = values.shape[channel]
    channels_last = np.moveaxis(values, channel, -1)
    if form.minor:
        stored[..., :count] = channels_last
        return
    vectors = np.moveaxis(stored, channel, -2)
    whole = count // form.lanes
    split = (*channels_last.shape[:-1], whole, form.lanes)
    vectors[..., :whole, :] = channels_last[..., : whole * form.lanes].reshape(split)
    if count % form.lanes:
        vectors[..., whole, : count % form.lanes] = channels_last[..., whole * form.lanes :]


def unpack(stored: Array, form: Format, shape: tuple[int, ...]) -> Array:
    """The tensor of shape `shape` whose elements lie in `stored`, without padded lanes."""
    if form is Format.LINEAR:
        return stored.reshape(shape)
    channel = len(shape) - form.axis
    count = shape[channel]
    channels_last = stored
    if not form.minor:
        vectors = np.moveaxis(stored, channel, -2)
        channels_last = vectors.reshape((*vectors.shape[:-2], vectors.shape[-2] * form.lanes))
    return np.moveaxis(channels_last[..., :count], -1, channel)
