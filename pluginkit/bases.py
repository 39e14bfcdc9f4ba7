"""The interfaces that a plugin can be written against, by their names in `pluginkit.toml` and for `--base`.

The calls of each are in `pluginkit/host/bases/<name>`, its class for new projects in
`pluginkit/templates/project/templates/<name>`; `docs/extending/base.md` shows how one is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Name = Literal["dynamic", "ioext", "v3"]
Generation = Literal["v2", "v3"]

_V2 = "`getOutputDimensions`, `serialize` (raise `kSerialVersion`)"


@dataclass(frozen=True)
class Base:
    """What the rest of pluginkit must know of an interface.

    Attributes:
        interface: the C++ class.
        generation: of its creators: `v2` is IPluginCreator, `v3` IPluginCreatorV3One. TensorRT-RTX takes the latter as
            it is, and the former through an adapter.
        changes_with_signature: the methods to be changed with an input, output or field, for a project's README.
        dynamic_shapes: whether a layer's dimensions may be open. Without, a profile is one static shape, and each has
            a network of its own.
        implicit_batch: whether a plugin may get its batch size apart from the shapes (implicit batch), too.
        advice: what `pluginkit new` prints on the choice; empty where there is nothing to know.
    """

    interface: str
    generation: Generation
    changes_with_signature: str
    dynamic_shapes: bool = True
    implicit_batch: bool = False
    advice: str = ""


BASES: dict[Name, Base] = {
    "dynamic": Base("IPluginV2DynamicExt", "v2", _V2),
    "ioext": Base(
        "IPluginV2IOExt",
        "v2",
        _V2,
        dynamic_shapes=False,
        implicit_batch=True,
        advice="IPluginV2IOExt takes static shapes only, and its dimensions are passed in two ways that "
        "contradict each other. Where nothing asks for it, dynamic (IPluginV2DynamicExt) is usually better, and v3 "
        "(IPluginV3) for TensorRT 10 and later: pluginkit new --base dynamic.",
    ),
    "v3": Base("IPluginV3", "v3", "`getOutputShapes`, `getFieldsToSerialize`"),
}
"""Those that there are templates for; `docs/bases.md` compares them."""
