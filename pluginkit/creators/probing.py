"""Which interface a V2 creator's plugins have, which only a plugin shows: one is made, in a process of its own.

No document has what fields a creator can do without, and it may end its process for want of one, as the asserts of
NVIDIA's own do. So what becomes of that process is not a finding: the interface is unknown then.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from functools import partial

from pluginkit import field_types, host
from pluginkit.errors import PluginkitError
from pluginkit.host.bases.changed_fields import Fields
from pluginkit.process import isolated

BASES = ("IPluginV2", "IPluginV2Ext", "IPluginV2IOExt", "IPluginV2DynamicExt")
"""By the top byte of getTensorRTVersion (`nvinfer1::PluginVersion`)."""

ATTEMPT, ALL = 4.0, 20.0
"""Seconds for one plugin, and for a library's creators together: those that hang are given up."""


def bases(creators: Sequence[host.Creator]) -> list[str]:
    """The C++ class of what each creator makes; empty if it makes nothing of no fields, nor of all of them being 1.

    It forks: call it before this process has threads.
    """
    end = time.monotonic() + ALL
    return ["IPluginV3" if creator.kind == "v3" else _base(creator, end) for creator in creators]


def _base(creator: host.Creator, end: float) -> str:
    for fields in _tries(creator):
        (outcome,) = isolated.ask([partial(_made, creator, fields)], each=ATTEMPT, end=end)
        if outcome.answer or outcome.ending in ("hung", "not asked"):
            return outcome.answer or ""
    return ""


def _tries(creator: host.Creator) -> Iterator[Fields]:
    yield {}
    kinds = {field.name: field_types.of_code(field.type) for field in creator.fields}
    ones = {name: (kind, 1) for name, kind in kinds.items() if kind and not kind.is_text}
    if ones:
        yield ones


def _made(creator: host.Creator, fields: Fields) -> str:
    host.set_call_file("")
    try:
        plugin = creator.create("inspect", fields)
    except PluginkitError as error:
        return other_base(error.message)
    return plugin.INTERFACE


def other_base(message: str) -> str:
    """The interface that a refusal of the host names, which it doesn't drive; empty where it names none."""
    other = re.search(r"answered the base (\d+)", message)
    number = int(other[1]) if other else -1
    return "" if number < 0 else BASES[number] if number < len(BASES) else f"base {number}"
