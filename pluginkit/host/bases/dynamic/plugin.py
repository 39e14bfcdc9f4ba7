"""One IPluginV2DynamicExt: its virtual methods besides those of every V2 plugin."""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit import _native
from pluginkit.bases import BASES
from pluginkit.demands import warn
from pluginkit.host.bases.v2_plugin import V2Plugin
from pluginkit.host.descriptors import Desc, DynamicDesc
from pluginkit.host.errors import Finding
from pluginkit.host.expressions import ShapeProgram


class DynamicPlugin(V2Plugin[_native.DynamicPlugin]):
    """A plugin with dynamic shapes."""

    BASE = "dynamic"
    INTERFACE = BASES[BASE].interface
    NATIVE = _native.DynamicPlugin

    def output_dimensions(self, index: int, inputs: Sequence[tuple[int, ...]]) -> ShapeProgram:
        """The shape of output `index` as expressions of the -1 dimensions of `inputs` (rules T9, T11, T12)."""
        method = self.name_of("getOutputDimensions")
        nb_dims, roots, nodes, faults, warnings = self.native.output_dimensions(index, inputs)
        if faults:
            raise Finding(method, f"output {index}: {faults[0]}", rule="T12")
        for one in warnings:
            warn("T11", method, f"output {index}: {one}")
        if not 0 <= nb_dims <= 8:
            raise Finding(method, f"output {index} has nbDims {nb_dims}, expected 0 to 8", rule="T9")
        wrong = [(i, root) for i, root in enumerate(roots) if isinstance(root, str)]
        if wrong:
            message = f"output {index}: d[{wrong[0][0]}] is {wrong[0][1]}, expected an expression"
            raise Finding(method, message, rule="T9")
        return ShapeProgram(tuple(nodes), tuple(r for r in roots if isinstance(r, int)))

    def configure_plugin(self, inputs: Sequence[DynamicDesc], outputs: Sequence[DynamicDesc]) -> None:
        """Passes it types, formats and shapes."""
        self.made_over = None
        self.native.configure_plugin([d.native() for d in inputs], [d.native() for d in outputs])

    def workspace_size(self, inputs: Sequence[Desc], outputs: Sequence[Desc]) -> int:
        """The workspace that it wants for these shapes, in bytes."""
        return self.native.workspace_size([d.native() for d in inputs], [d.native() for d in outputs])

    def enqueue(
        self,
        inputs: Sequence[Desc],
        outputs: Sequence[Desc],
        *,
        in_addresses: Sequence[int],
        out_addresses: Sequence[int],
        workspace: int,
        stream: int,
        times: int = 1,
    ) -> None:
        """Expects 0 (rule E1). Addresses are of host memory for target cpu, else of the GPU's."""
        code = self.native.enqueue(
            [d.native() for d in inputs],
            [d.native() for d in outputs],
            in_addresses,
            out_addresses,
            workspace,
            stream,
            times,
        )
        if code != 0:
            raise Finding(self.name_of("enqueue"), f"answered {code}, expected 0", rule="E1")

    def destroy(self) -> None:
        """Ends it, and reports what it did with expressions behind the host's back."""
        native = self.native
        super().destroy()
        faults = native.shape_faults()
        if faults:
            raise Finding(self.name_of("getOutputDimensions"), faults[0], rule="T12")


PLUGIN = DynamicPlugin
