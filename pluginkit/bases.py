"""The interfaces that a plugin can be written against, by their names in `pluginkit.toml` and for `--base`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Name = Literal["dynamic", "ioext", "v3"]


@dataclass(frozen=True)
class Base:
    """What the rest of pluginkit must know of an interface.

    Attributes:
        interface: the C++ class.
        dynamic_shapes: whether a layer's dimensions may be open. Without, a profile is one static shape, and each has
            a network of its own.
        advice: what `pluginkit new` says of the choice; empty where there is nothing to say.
    """

    interface: str
    dynamic_shapes: bool = True
    advice: str = ""


BASES: dict[Name, Base] = {
    "dynamic": Base("IPluginV2DynamicExt"),
    "ioext": Base(
        "IPluginV2IOExt",
        dynamic_shapes=False,
        advice="IPluginV2IOExt takes static shapes only, and what its dimensions are is told in two ways that "
        "contradict each other. Where nothing asks for it, dynamic (IPluginV2DynamicExt) is usually better, and v3 "
        "(IPluginV3) for TensorRT 10 and later: pluginkit new --base dynamic.",
    ),
    "v3": Base("IPluginV3"),
}
"""Those that there are templates for; `docs/bases.md` compares them."""
