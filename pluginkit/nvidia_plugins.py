"""The plugins that NVIDIA's own libraries bring: by release of TensorRT, and of TensorRT-RTX's registry.

The lists are data with their sources (`nvidia_plugins.json`). A plugin of equal name, version and namespace can't be
registered in addition to one of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from packaging.version import Version

EIGHT = "8.5"
"""The release before 10.0 whose list is known."""


@dataclass(frozen=True)
class Listed:
    """A plugin of TensorRT's plugin library: the releases that list it; `last` is empty if the latest does."""

    name: str
    version: str
    first: str
    last: str

    @property
    def when(self) -> str:
        """For people."""
        if self.first == self.last:
            return f"TensorRT {self.first}"
        return f"TensorRT {self.first} to {self.last}" if self.last else f"TensorRT {self.first} and later"


def plugins(name: str, *, tensorrt: str = "") -> list[Listed]:
    """The versions of a plugin in TensorRT's plugin library: of one release, or of 8.5 and any from 10.0 on."""
    older = [Listed(name, version, EIGHT, EIGHT) for version in _data()["plugins_8_5"].get(name, ())]
    versions: dict[str, list[str | None]] = _data()["plugins"].get(name, {})
    newer = [Listed(name, version, str(first), last or "") for version, (first, last) in versions.items()]
    return [one for one in (*older, *newer) if not tensorrt or _lists(one, tensorrt)]


def releases(name: str) -> str:
    """When TensorRT's plugin library has had each version of a plugin, for people; empty if it never had one."""
    found: dict[str, list[str]] = {}
    for one in plugins(name):
        found.setdefault(one.version, []).append(one.when)
    return "; ".join(f"version {version}: {', '.join(when)}" for version, when in found.items())


def rtx_plugins(name: str) -> tuple[str, ...]:
    """The versions of a plugin that TensorRT-RTX's registry has of its own."""
    return tuple(_data()["rtx_plugins"].get(name, ()))


def _lists(one: Listed, tensorrt: str) -> bool:
    asked = Version(".".join(tensorrt.split(".")[:2]))
    return Version(one.first) <= asked and (not one.last or asked <= Version(one.last))


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    text = resources.files("pluginkit").joinpath("nvidia_plugins.json").read_text(encoding="utf-8")
    found = json.loads(text)
    assert isinstance(found, dict)
    return found
