"""The interfaces that a plugin can be written against, by their names in `pluginkit.toml` and for `--base`.

The calls of each are in `pluginkit/host/bases/<name>`, its class for new projects, where it is one for those, in
`pluginkit/templates/project/templates/<name>`; `docs/extending/base.md` shows how one is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Name = Literal["dynamic", "ioext", "v3", "v2ext", "v2"]
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
        batch_apart: whether it always gets it so: the shapes that it sees and gives never have the batch.
        one_format: whether all floating tensors have one format, of those that TensorRT 5 had, and the plugin is not
            given any INT8 scale.
        one_type: whether all tensors have one type.
        for_new: whether there is a template for new projects; the others are in libraries that exist.
        advice: what `pluginkit new` prints on the choice; empty where there is nothing to know.
    """

    interface: str
    generation: Generation
    changes_with_signature: str
    dynamic_shapes: bool = True
    implicit_batch: bool = False
    batch_apart: bool = False
    one_format: bool = False
    one_type: bool = False
    for_new: bool = True
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
    "v2ext": Base("IPluginV2Ext", "v2", _V2, dynamic_shapes=False, batch_apart=True, one_format=True, for_new=False),
    "v2": Base(
        "IPluginV2",
        "v2",
        _V2,
        dynamic_shapes=False,
        batch_apart=True,
        one_format=True,
        one_type=True,
        for_new=False,
    ),
}
"""All that the host runs; `docs/bases.md` compares them."""

BOTH: tuple[Name, Name] = ("dynamic", "v3")
"""What one layer can be together: an IPluginV2DynamicExt with TensorRT 8, which has no IPluginV3, and that with later
ones. A registry has one creator of a name."""

FOR_NEW: dict[Name, Base] = {name: base for name, base in BASES.items() if base.for_new}
"""Those that there are templates for."""


def written(names: Sequence[Name]) -> str:
    """As `base` of `pluginkit.toml` has them: `"v3"`, or `["dynamic", "v3"]`."""
    quoted = [f'"{name}"' for name in names]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"
