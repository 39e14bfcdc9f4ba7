"""The messages of NVIDIA's registry when it refuses a library: what happened, and what to do."""

from __future__ import annotations

import re
from typing import NamedTuple


class Explained(NamedTuple):
    """NVIDIA's message explained: what happened (a sentence's end: `the library ...`), and what to do."""

    what: str
    hint: str


_RULES: tuple[tuple[str, str, str], ...] = (
    (
        r"undefined symbol: (\S+?)[)\s]",
        "uses {0}, which nothing that it is linked with has",
        "Link what has it; `pluginkit inspect` names all such symbols.",
    ),
    (
        r"SymbolAddress for (\w+) could not be loaded",
        "does not export {0}",
        "Put PLUGINKIT_PLUGINS(...) of <pluginkit/entry.h> into one source file.",
    ),
    (
        r"No creator returned by getPluginCreators",
        "has no creator for this TensorRT: it was compiled for the layout of another major version",
        "Build it with `pluginkit build` or pluginkit_add_plugin(), which make both TensorRT 10's and 11's.",
    ),
    (
        r"plugin creator of (\S+) exists already",
        "has the plugin {0}, which the registry has already under that version and namespace",
        "Unload the other library first, or give one of the two another version or namespace.",
    ),
    (
        r"file too short|invalid ELF header",
        "is not a shared library",
        "Rebuild it: `pluginkit build`.",
    ),
    (
        r": (\S+): cannot open shared object file: No such file",
        "is not there, or needs a library that is not: {0}",
        "`pluginkit inspect` lists what it needs and where that is found.",
    ),
    (
        r"version `(\S+)' not found",
        "needs {0}, which is newer than what is here",
        "Build it on the oldest system that it is to run on.",
    ),
)


def explain(message: str) -> Explained | None:
    """The first of NVIDIA's sentences that is known; None if there is none."""
    for pattern, what, hint in _RULES:
        found = re.search(pattern, message)
        if found:
            return Explained(what.format(*found.groups()), hint)
    return None
