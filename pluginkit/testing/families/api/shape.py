"""api-shape-out: the outputs' shapes as network outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from pluginkit.network import api_model as api
from pluginkit.network.networks import Array
from pluginkit.testing.families.api.draft import Draft
from pluginkit.testing.families.api.family import ApiFamily, inputs, named, own
from pluginkit.testing.families.base import Applier, OracleResult


class ShapeByApi(ApiFamily):
    """The plugin's outputs are asked for their shapes; the probe keeps the plugin alive."""

    NAME = "api-shape-out"
    SHAPE_INPUTS = True
    DESCRIPTION = "The plugin's outputs and their shapes as network outputs."
    LAYERS: ClassVar[tuple[str, ...]] = ("IShapeLayer", "ICastLayer")

    def draft(self, draft: Draft) -> None:
        """Shape and Cast behind each output."""
        setting, manifest = draft.setting, draft.setting.manifest
        for tensor, name in zip(manifest.outputs, draft.plugin(inputs(draft)), strict=True):
            shape, dims = draft.name("shape"), draft.name("dims")
            draft.steps += [api.ShapeLayer(name, shape), api.Cast(shape, dims, "int32")]
            draft.show(dims, setting.free_name(f"{tensor.name}_dims"))
            draft.show(name, tensor.name)

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out."""
        setting = applier.setting
        outputs: dict[str, Array] = {}
        for name, value in named(setting, applier(own(setting, feeds))).items():
            outputs[setting.free_name(f"{name}_dims")] = np.array(value.shape, np.int64)
            outputs[name] = value
        return OracleResult(outputs, enqueues=1, chain=1)
