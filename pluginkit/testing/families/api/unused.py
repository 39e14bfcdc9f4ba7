"""api-unused: a loop and a conditional that nothing depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from pluginkit.network import api_model as api
from pluginkit.network.networks import Array
from pluginkit.testing.families.api.cond import into
from pluginkit.testing.families.api.draft import Draft
from pluginkit.testing.families.api.family import CONDITIONAL, LOOP, ApiFamily, inputs, named, own, scaled
from pluginkit.testing.families.base import Applier, OracleResult, Setting
from pluginkit.testing.families.cond import flag_name
from pluginkit.testing.families.family import Runs, feedback

TRIPS = 3
"""Of the loop that is left out."""


class Unused(ApiFamily):
    """The plugin alone, in a loop without outputs, and in a conditional whose output nothing uses.

    Source: "Working with Loops": a loop without ILoopOutputLayer is optimised away. A conditional without
    IIfConditionalOutputLayer is ill-formed ("Working with Conditionals"), so it has one.
    """

    NAME = "api-unused"
    SHAPE_INPUTS = True
    DESCRIPTION = (
        "The plugin, and behind it plugins in a loop without outputs and in a conditional that nothing uses: "
        "they never enqueue."
    )
    LAYERS: ClassVar[tuple[str, ...]] = (
        "ITripLimitLayer kCOUNT",
        "IRecurrenceLayer",
        "IIfConditional",
        "IConditionLayer",
        "IIfConditionalInputLayer",
        "IIfConditionalOutputLayer",
    )

    def draft(self, draft: Draft) -> None:
        """Both constructs work on what the live plugin works on."""
        manifest, outside = draft.setting.manifest, inputs(draft)
        for tensor, name in zip(manifest.outputs, draft.plugin(outside), strict=True):
            draft.show(name, tensor.name)
        self._loop(draft, outside)
        flag = draft.network_input(flag_name(draft.setting), "bool", [((), (), ())] * len(draft.profiles))
        draft.steps.append(api.Conditional(CONDITIONAL, flag))
        then = draft.plugin(into(draft, outside), live=False)
        otherwise = draft.plugin(scaled(draft, into(draft, outside), manifest.inputs), live=False)
        for one, other in zip(then, otherwise, strict=True):
            draft.steps.append(api.BranchOutput(CONDITIONAL, one, other, draft.name("either")))

    def _loop(self, draft: Draft, outside: Sequence[str]) -> None:
        """What fits an input is fed back; the other inputs stay as they are, but come from the loop too."""
        setting, manifest = draft.setting, draft.setting.manifest
        draft.steps += [api.LoopStep(LOOP), api.TripLimit(LOOP, "COUNT", draft.constant("int32", TRIPS))]
        states = [draft.name(f"{tensor.name}_state") for tensor in manifest.inputs]
        draft.steps += [api.Recurrence(LOOP, x, state) for x, state in zip(outside, states, strict=True)]
        left = dict(zip([tensor.name for tensor in manifest.outputs], draft.plugin(states, live=False), strict=True))
        fed = dict(feedback(setting))
        for tensor, state in zip(manifest.inputs, states, strict=True):
            draft.steps.append(api.Recur(state, left[fed[tensor.name]] if tensor.name in fed else state))

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """Whatever the condition says."""
        del point
        return [("", {**feeds, flag_name(setting): np.array(True)})]

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What the live plugin gives; the other three don't enqueue."""
        setting = applier.setting
        return OracleResult(named(setting, applier(own(setting, feeds))), enqueues=1, chain=1)
