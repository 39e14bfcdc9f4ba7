"""What IPluginV2 and IPluginV2Ext share: one format for all floating tensors, and shapes without the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pluginkit import _native
from pluginkit.dtypes import DType
from pluginkit.formats import NEVER_IN_V2EXT, Format
from pluginkit.host.bases.static_plugin import StaticPlugin
from pluginkit.host.descriptors import Desc

B = TypeVar("B", _native.ExtPlugin, _native.BasicPlugin)

_INTEGERS = tuple(kind.code for kind in DType if kind.is_integer)
_REFUSED = tuple(form.code for form in NEVER_IN_V2EXT)


class BatchedPlugin(StaticPlugin[B]):
    """A plugin that gets its batch apart from the shapes, always."""

    @classmethod
    def name_of(cls, method: str) -> str:
        """The C++ name of a method; what later interfaces call otherwise has these interfaces' name."""
        return super().name_of("supportsFormat" if method == "supportsFormatCombination" else method)

    def supports_format_combination(self, pos: int, in_out: Sequence[Desc], nb_inputs: int, nb_outputs: int) -> bool:
        """Whether supportsFormat takes the type and format of tensor `pos`. The format is that of floating tensors, and
        the method is not told whose type it is asked about, so integers are not asked for: they are linear."""
        asked = in_out[pos]
        if asked.format in _REFUSED:
            return False
        if asked.type in _INTEGERS and self.BASE == "v2ext":
            return asked.format == Format.LINEAR.code
        return super().supports_format_combination(pos, in_out, nb_inputs, nb_outputs)

    def configure(self, inputs: Sequence[Desc], outputs: Sequence[Desc], max_batch_size: int) -> None:
        """Passes it shapes, types, the format of the floating tensors, and the largest batch."""
        self.made_over = None
        forms = [d.format for d in (*inputs, *outputs) if d.type not in _INTEGERS]
        self.native.configure(
            [d.native() for d in inputs],
            [d.native() for d in outputs],
            forms[0] if forms else Format.LINEAR.code,
            max_batch_size,
        )
