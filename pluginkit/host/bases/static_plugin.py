"""What V2 interfaces with static shapes share: no shapes at run time, but a batch size that is passed separately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pluginkit import _native
from pluginkit.demands import warn
from pluginkit.host.bases.v2_plugin import V2Plugin
from pluginkit.host.errors import Finding

MAX_DIMS = 8
"""`nvinfer1::Dims::MAX_DIMS`."""

S = TypeVar("S", _native.IOExtPlugin, _native.ExtPlugin, _native.BasicPlugin)


class StaticPlugin(V2Plugin[S]):
    """A plugin with static shapes."""

    def output_dimensions(self, index: int, inputs: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """The shape of output `index` for inputs of these shapes (rule T9), the same when asked again (T18)."""
        method = self.name_of("getOutputDimensions")
        first, second = (self.native.output_dimensions(index, inputs) for _ in range(2))
        if first != second:
            warn("T18", method, f"answered {first[1]} for output {index}, and {second[1]} when asked again")
        nb_dims, dims = first
        if not 0 <= nb_dims <= MAX_DIMS:
            raise Finding(method, f"output {index} has nbDims {nb_dims}, expected 0 to {MAX_DIMS}", rule="T9")
        if any(dim < 0 for dim in dims):
            raise Finding(
                method,
                f"output {index} has the shape {dims} for inputs of {list(inputs)}: a negative dimension",
                rule="T9",
            )
        return tuple(dims)

    def check_broadcast(self, nb_inputs: int, nb_outputs: int) -> None:
        """Warnings a tensor that would be one for all batches (rule C17): that ended with TensorRT 10."""
        for index in range(nb_outputs):
            if self.native.is_output_broadcast_across_batch(index, nb_inputs):
                method = self.name_of("isOutputBroadcastAcrossBatch")
                warn("C17", method, f"answered true for output {index}: no input is broadcast")
        for index in range(nb_inputs):
            # Both answers are allowed: TensorRT asks, and has had nothing to broadcast since 10.0.
            self.native.can_broadcast_input_across_batch(index)

    def workspace_size(self, max_batch_size: int) -> int:
        """The workspace that it wants for that many batches, in bytes."""
        return self.native.workspace_size(max_batch_size)

    def enqueue(
        self,
        batch_size: int,
        *,
        in_addresses: Sequence[int],
        out_addresses: Sequence[int],
        workspace: int,
        stream: int,
        times: int = 1,
    ) -> None:
        """Expects 0 (rule E1). It gets no shapes: those of its configuration hold, `batch_size` times."""
        code = self.native.enqueue(batch_size, in_addresses, out_addresses, workspace, stream, times)
        if code != 0:
            raise Finding(self.name_of("enqueue"), f"answered {code}, expected 0", rule="E1")
