"""The plugin as in an engine, without guards: built, serialized, deserialized, with its shapes set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pluginkit import host
from pluginkit.bench.measurements import BenchCase
from pluginkit.dtypes import DType
from pluginkit.errors import UsageError
from pluginkit.field_types import FieldType, Value
from pluginkit.formats import Format
from pluginkit.host.bases.lifecycles import LIFECYCLES
from pluginkit.manifest import Manifest, Tensor
from pluginkit.network.networks import Scale
from pluginkit.testing.plan import field_values


class BenchLayer:
    """A layer for one shape, linear, in static dimensions.

    Raises:
        Finding: the plugin answers wrongly.
        UsageError: a tensor that is never linear.
    """

    def __init__(self, creator: host.Creator, manifest: Manifest, case: BenchCase, scales: Mapping[str, Scale]) -> None:
        shapes = manifest.input_shapes(case.symbols)
        specs = [_spec(manifest, tensor, case.precision, shapes[tensor.name]) for tensor in manifest.inputs]
        built = host.build(creator, "bench", _fields(manifest, case, scales), [specs])
        wanted = manifest.with_fields(case.fields).output_shapes(case.symbols)
        self.ins = [spec.at(spec.dims) for spec in specs]
        self.outs = []
        for tensor, spec, program in zip(manifest.outputs, built.outputs[0], built.shapes, strict=True):
            dims = program.at(built.input_dims, [one.dims for one in specs])
            kind = manifest.type_of(tensor, case.precision)
            if dims != wanted[tensor.name] or spec.dtype is not kind:
                raise host.Finding(
                    "getOutputDimensions",
                    f"output '{tensor.name}' is {spec.dtype.value} of shape {list(dims)}, expected {kind.value} of "
                    f"{list(wanted[tensor.name])}",
                    rule="T19",
                )
            self.outs.append(spec.at(dims))
        self._layer = LIFECYCLES[built.base].restore(creator, built)
        self._layer.reshape(self.ins, self.outs)
        self.workspace_bytes = self._layer.workspace_size(self.ins, self.outs)
        self.enqueue_name = self._layer.name_of("enqueue")

    def enqueue(
        self, inputs: Sequence[int], outputs: Sequence[int], workspace: int, stream: int, times: int = 1
    ) -> None:
        """Calls enqueue on these addresses; `times` over, without Python between them.

        Raises:
            Finding: it does not answer 0.
        """
        self._layer.enqueue(
            self.ins,
            self.outs,
            in_addresses=inputs,
            out_addresses=outputs,
            workspace=workspace,
            stream=stream,
            times=times,
        )

    def close(self) -> None:
        """Ends the layer."""
        self._layer.close()


def _spec(manifest: Manifest, tensor: Tensor, precision: DType, dims: tuple[int, ...]) -> host.TensorSpec:
    kind = manifest.type_of(tensor, precision)
    if manifest.format_of(tensor, kind, Format.LINEAR) is not Format.LINEAR:
        raise UsageError(f"'{tensor.name}' is never linear, and only linear tensors are measured.")
    return host.TensorSpec(kind, dims, dims, dims, dims)


def _fields(manifest: Manifest, case: BenchCase, scales: Mapping[str, Scale]) -> dict[str, tuple[FieldType, Value]]:
    values: dict[str, Value] = {**field_values(manifest), **case.fields}
    for tensor in (*manifest.inputs, *manifest.outputs):
        if tensor.scale and tensor.name in scales:
            scale = scales[tensor.name]
            values[tensor.scale] = scale if isinstance(scale, float) else tuple(np.ravel(scale).tolist())
        elif tensor.scale and tensor.scale_axis is not None:
            # A list can't be left out; in other precisions than INT8 its numbers mean nothing.
            sizes = tensor.dims({**manifest.shape_values(case.fields), **case.symbols})
            values.setdefault(tensor.scale, (1.0,) * sizes[tensor.scale_axis])
    return {field.name: (field.type, values[field.name]) for field in manifest.fields if field.name in values}
