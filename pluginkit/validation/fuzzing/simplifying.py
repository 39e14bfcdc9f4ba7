"""Inputs that differ less from a good one: what is left of the difference is what a finding is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pluginkit.adoption.answers import FieldValue
from pluginkit.validation.fuzzing.inputs import FuzzInput


def simpler(given: FuzzInput, good: FuzzInput) -> Iterator[FuzzInput]:
    """Inputs that are nearer to a good one, the nearest first.

    Args:
        given: one that differs from it.
        good: one that the plugin takes.
    """
    if given.tensors:
        for at, (one, usual) in enumerate(zip(given.tensors, good.tensors, strict=False)):
            if one != usual:
                yield replace(given, tensors=(*given.tensors[:at], usual, *given.tensors[at + 1 :]))
    elif given.fields:
        for fields in _simpler_fields(given.fields, {one[0]: one for one in good.fields}):
            yield replace(given, fields=fields)
    else:
        for data in _simpler_bytes(given.data, good.data):
            yield replace(given, data=data)


def _simpler_fields(fields: tuple[FieldValue, ...], usual: dict[str, FieldValue]) -> Iterator[tuple[FieldValue, ...]]:
    for at, one in enumerate(fields):
        if one != usual.get(one[0]):
            yield fields[:at] + fields[at + 1 :]
    for at, one in enumerate(fields):
        if one[0] in usual and one != usual[one[0]]:
            yield (*fields[:at], usual[one[0]], *fields[at + 1 :])


def _simpler_bytes(data: bytes, good: bytes) -> Iterator[bytes]:
    """Shorter by parts behind the good one's length, or with parts of it as they are there."""
    size = len(data) - len(good)
    while size > 0:
        yield data[:-size]
        size //= 2
    size = min(len(data), len(good))
    while size > 0:
        for at in range(0, len(data), size):
            part = good[at : at + size][: len(data) - at]
            if part and part != data[at : at + len(part)]:
                yield data[:at] + part + data[at + len(part) :]
        size //= 2
