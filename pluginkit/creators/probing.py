"""Which interface a V2 creator's plugins have, which only a plugin shows: one is made, in a process of its own.

No document has what fields a creator can do without, and it may end its process for want of one, as the asserts of
NVIDIA's own do. So what becomes of that process is no finding: the interface is unknown then.
"""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from pluginkit import field_types, host
from pluginkit.errors import PluginkitError
from pluginkit.host.bases.changed_fields import Fields

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
    try:
        attempts = (_elsewhere(partial(_made, creator, fields), end) for fields in _tries(creator))
        return next(filter(None, attempts), "")
    except TimeoutError:
        return ""


def _tries(creator: host.Creator) -> Iterator[Fields]:
    yield {}
    kinds = {number: dtype for dtype, number in field_types.NUMBERS.items()}
    ones = {field.name: (kinds[field.type], 1) for field in creator.fields if field.type in kinds}
    if ones:
        yield ones


def _made(creator: host.Creator, fields: Fields) -> str:
    try:
        plugin = creator.create("inspect", fields)
    except PluginkitError as error:
        other = re.search(r"answered the base (\d+)", error.message)
        number = int(other[1]) if other else -1
        return "" if number < 0 else BASES[number] if number < len(BASES) else f"base {number}"
    return plugin.INTERFACE


def _elsewhere(ask: Callable[[], str], end: float) -> str:
    """What a function answers in a copy of this process; empty if that ends by itself.

    Raises:
        TimeoutError: it doesn't end in time.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        # Not by way of exit handlers, which are the parent's.
        try:
            with suppress(BaseException):
                # A plugin's last output would be taken for those of the process that goes on.
                silent = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silent, 1)
                os.dup2(silent, 2)
                host.set_breadcrumb_file("")
                os.write(write, ask().encode())
        finally:
            os._exit(0)
    os.close(write)
    try:
        left = min(ATTEMPT, end - time.monotonic())
        if not select.select([read], [], [], max(0.0, left))[0]:
            raise TimeoutError
        return os.read(read, 4096).decode()
    finally:
        os.close(read)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
