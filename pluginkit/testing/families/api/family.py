"""What the families made by NVIDIA's network API share: they can say what ONNX can't."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from pluginkit.manifest import Tensor
from pluginkit.network import api_model as api
from pluginkit.network.networks import Array
from pluginkit.testing.families.api.draft import Draft
from pluginkit.testing.families.base import Applier, Setting
from pluginkit.testing.families.family import Family

LOOP = "loop"
CONDITIONAL = "if"


class ApiFamily(Family):
    """A family of networks made by NVIDIA's API around plugin layers of its parser."""

    BY_API = True
    SHAPE_INPUTS = False
    """In those whose plugin stands in a loop or a conditional TensorRT-RTX's process ends, with any values of run time
    (refusal shape-input-in-flow)."""

    @abstractmethod
    def draft(self, draft: Draft) -> None:
        """Add the steps."""

    def build(self, setting: Setting) -> api.ApiNetwork:
        """The network with the plugin in it."""
        draft = Draft(setting, self.NAME)
        self.draft(draft)
        return draft.finish()

    def sources(self, setting: Setting) -> dict[str, str]:
        """Network outputs are called as the plugin's here."""
        return {tensor.name: tensor.name for tensor in setting.manifest.outputs}


def inputs(draft: Draft) -> list[str]:
    """The plugin's inputs as network inputs."""
    return [draft.input(tensor) for tensor in draft.setting.manifest.inputs]


def scaled(draft: Draft, tensors: Sequence[str], of: Sequence[Tensor]) -> list[str]:
    """Other values: a branch that is the same as the other one would be no branch."""
    return [
        draft.times(name, draft.setting.else_factor, len(tensor.shape)) if draft.setting.is_float(tensor) else name
        for name, tensor in zip(tensors, of, strict=True)
    ]


def times(applier: Applier, values: Sequence[Array], of: Sequence[Tensor]) -> list[Array]:
    """The same by NumPy."""
    setting = applier.setting
    return [
        applier.state(value * np.float32(setting.else_factor)) if setting.is_float(tensor) else value
        for tensor, value in zip(of, values, strict=True)
    ]


def own(setting: Setting, feeds: Mapping[str, Array]) -> list[Array]:
    """The plugin's inputs among a network's."""
    return [feeds[tensor.name] for tensor in setting.manifest.inputs]


def named(setting: Setting, values: Sequence[Array]) -> dict[str, Array]:
    """The plugin's outputs by name."""
    return dict(zip([tensor.name for tensor in setting.manifest.outputs], values, strict=True))
