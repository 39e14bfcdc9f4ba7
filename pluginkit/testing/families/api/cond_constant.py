"""api-cond-constant: conditions that the builder knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pluginkit.network import api_model as api
from pluginkit.network.networks import Array
from pluginkit.testing.families.api.cond import into
from pluginkit.testing.families.api.draft import Draft
from pluginkit.testing.families.api.family import ApiFamily, inputs, own, scaled, times
from pluginkit.testing.families.base import Applier, OracleResult, Setting


class CondConstant(ApiFamily):
    """A conditional that is always true, and one that never is, side by side.

    The condition is an INT32 constant cast to bool, as in the example of "Working with Conditionals": not every
    TensorRT has constants of bool. A branch that is never taken may be left out by the builder; it never enqueues.
    """

    NAME = "api-cond-constant"
    SHAPE_INPUTS = True
    DESCRIPTION = "Two conditionals, each with the plugin in both branches: the condition is constant, true and false."
    LAYERS: ClassVar[tuple[str, ...]] = (
        "IIfConditional",
        "IConditionLayer of a constant",
        "IIfConditionalInputLayer",
        "IIfConditionalOutputLayer",
        "ICastLayer",
    )

    def sources(self, setting: Setting) -> dict[str, str]:
        """Each conditional shows every output of the plugin."""
        return {
            _shown(setting, tensor.name, condition=condition): tensor.name
            for condition in (True, False)
            for tensor in setting.manifest.outputs
        }

    def draft(self, draft: Draft) -> None:
        """The else branches get other values."""
        setting, outside = draft.setting, inputs(draft)
        for condition in (True, False):
            name, flag = f"if_{condition}".lower(), draft.name("flag")
            draft.steps += [
                api.Cast(draft.constant("int32", int(condition)), flag, "bool"),
                api.Conditional(name, flag),
            ]
            then = draft.plugin(into(draft, outside, name), live=condition)
            otherwise = draft.plugin(
                scaled(draft, into(draft, outside, name), setting.manifest.inputs), live=not condition
            )
            for tensor, one, other in zip(setting.manifest.outputs, then, otherwise, strict=True):
                out = draft.name("either")
                draft.steps.append(api.BranchOutput(name, one, other, out))
                draft.show(out, _shown(setting, tensor.name, condition=condition))

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """Of four plugins two enqueue."""
        setting, manifest = applier.setting, applier.setting.manifest
        given = own(setting, feeds)
        outputs: dict[str, Array] = {}
        for condition in (True, False):
            left = applier(given if condition else times(applier, given, manifest.inputs))
            for tensor, value in zip(manifest.outputs, left, strict=True):
                outputs[_shown(setting, tensor.name, condition=condition)] = value
        return OracleResult(outputs, enqueues=2, chain=1)


def _shown(setting: Setting, name: str, *, condition: bool) -> str:
    """The network output of the conditional on that constant."""
    return setting.free_name(f"{name}_{condition}".lower())
