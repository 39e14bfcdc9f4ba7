"""api-cond-lazy, -eager, -mixed, -empty, -select, -shared: a conditional's input layers decide what is lazy.

Source of the numbers of enqueues: "Working with Conditionals" of NVIDIA's documents: what depends on an input layer of
the conditional is lazy, all else is eager; without input layers all is, as with an ISelectLayer; one input layer may
feed both branches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from pluginkit.network import api_model as api
from pluginkit.network.networks import Array
from pluginkit.testing.families.api.draft import Draft
from pluginkit.testing.families.api.family import CONDITIONAL, ApiFamily, inputs, named, own, scaled, times
from pluginkit.testing.families.base import Applier, OracleResult, Setting
from pluginkit.testing.families.cond import flag_name
from pluginkit.testing.families.family import Runs, feedback

_LAYERS = ("IIfConditional", "IConditionLayer", "IIfConditionalInputLayer", "IIfConditionalOutputLayer")


def into(draft: Draft, tensors: Sequence[str], conditional: str = CONDITIONAL) -> list[str]:
    """Through input layers of a conditional."""
    entered = [draft.name("entered") for _ in tensors]
    draft.steps += [api.BranchInput(conditional, x, out) for x, out in zip(tensors, entered, strict=True)]
    return entered


class CondLazy(ApiFamily):
    """Input layers before everything."""

    NAME = "api-cond-lazy"
    DESCRIPTION = "A conditional with its input layers before both branches' plugins: only the branch taken enqueues."
    LAYERS: ClassVar[tuple[str, ...]] = _LAYERS

    def runs(self, setting: Setting, point: str, feeds: Mapping[str, Array]) -> Runs:
        """Both branches."""
        del point
        name = flag_name(setting)
        return [("then", {**feeds, name: np.array(True)}), ("else", {**feeds, name: np.array(False)})]

    def draft(self, draft: Draft) -> None:
        """The conditional between what the branches give."""
        outside = inputs(draft)
        flag = draft.network_input(flag_name(draft.setting), "bool", [((), (), ())] * len(draft.profiles))
        draft.steps.append(api.Conditional(CONDITIONAL, flag))
        then, otherwise = self.branches(draft, outside)
        for tensor, one, other in zip(draft.setting.manifest.outputs, then, otherwise, strict=True):
            out = draft.name("either")
            draft.steps.append(api.BranchOutput(CONDITIONAL, one, other, out))
            draft.show(out, tensor.name)

    def branches(self, draft: Draft, outside: Sequence[str]) -> tuple[list[str], list[str]]:
        """What then and else give, from the network's inputs."""
        then = draft.plugin(into(draft, outside))
        otherwise = draft.plugin(scaled(draft, into(draft, outside), draft.setting.manifest.inputs))
        return then, otherwise

    def oracle(self, applier: Applier, feeds: Mapping[str, Array]) -> OracleResult:
        """What must come out, and who is enqueued."""
        setting = applier.setting
        taken = bool(feeds[flag_name(setting)])
        left, enqueues = self.answer(applier, own(setting, feeds), taken=taken)
        return OracleResult(named(setting, left), enqueues, chain=1)

    def answer(self, applier: Applier, given: list[Array], *, taken: bool) -> tuple[Sequence[Array], int]:
        """The plugin outputs that the branch taken gives, and the number of enqueues."""
        manifest = applier.setting.manifest
        return applier(given if taken else times(applier, given, manifest.inputs)), 1


class CondEager(CondLazy):
    """Input layers behind everything."""

    NAME = "api-cond-eager"
    DESCRIPTION = "A conditional with its input layers behind both plugins: both enqueue, whatever the condition is."

    def branches(self, draft: Draft, outside: Sequence[str]) -> tuple[list[str], list[str]]:
        """Both plugins stand before the conditional."""
        then = draft.plugin(outside)
        otherwise = draft.plugin(scaled(draft, outside, draft.setting.manifest.inputs))
        return into(draft, then), into(draft, otherwise)

    def answer(self, applier: Applier, given: list[Array], *, taken: bool) -> tuple[Sequence[Array], int]:
        """The same values by two enqueues."""
        left, _ = super().answer(applier, given, taken=taken)
        return left, 2


class CondMixed(CondLazy):
    """Input layers in the midst."""

    NAME = "api-cond-mixed"
    DESCRIPTION = (
        "A conditional with input layers behind the then plugin, which is eager, and before the else plugin, lazy."
    )

    def branches(self, draft: Draft, outside: Sequence[str]) -> tuple[list[str], list[str]]:
        """What follows the eager plugin is lazy: its outputs are scaled."""
        then = scaled(draft, into(draft, draft.plugin(outside)), draft.setting.manifest.outputs)
        return then, draft.plugin(into(draft, outside))

    def answer(self, applier: Applier, given: list[Array], *, taken: bool) -> tuple[Sequence[Array], int]:
        """The then plugin is always enqueued, the other one if its branch is taken."""
        left = applier(given)
        return times(applier, left, applier.setting.manifest.outputs) if taken else left, 1 if taken else 2


class CondEmpty(CondLazy):
    """The else branch has no layers."""

    NAME = "api-cond-empty"
    DESCRIPTION = "A conditional whose else branch is empty: it gives inputs as they are, or what was computed outside."

    def branches(self, draft: Draft, outside: Sequence[str]) -> tuple[list[str], list[str]]:
        """Inputs of the outputs' shapes, if every output has one."""
        manifest = draft.setting.manifest
        by_name = dict(zip([tensor.name for tensor in manifest.inputs], outside, strict=True))
        passed = _passed(draft.setting)
        given = [by_name[name] for name in passed] if passed else draft.plugin(outside)
        return draft.plugin(into(draft, outside)), into(draft, given)

    def answer(self, applier: Applier, given: list[Array], *, taken: bool) -> tuple[Sequence[Array], int]:
        """What is computed outside is enqueued always."""
        setting = applier.setting
        passed = _passed(setting)
        if not passed:
            return applier(given), 2 if taken else 1
        by_name = dict(zip([tensor.name for tensor in setting.manifest.inputs], given, strict=True))
        if applier.exact or taken:
            left = applier(given)
        return left if taken else [by_name[name].astype(np.float64) for name in passed], int(taken)


class CondSelect(CondEager):
    """No input layers."""

    NAME = "api-cond-select"
    SHAPE_INPUTS = True
    DESCRIPTION = "A conditional without input layers: both plugins enqueue, and it selects, as an ISelectLayer does."
    LAYERS: ClassVar[tuple[str, ...]] = ("IIfConditional", "IConditionLayer", "IIfConditionalOutputLayer")

    def branches(self, draft: Draft, outside: Sequence[str]) -> tuple[list[str], list[str]]:
        """Both branches are empty."""
        return draft.plugin(outside), draft.plugin(scaled(draft, outside, draft.setting.manifest.inputs))


class CondShared(CondLazy):
    """One input layer for both branches."""

    NAME = "api-cond-shared"
    DESCRIPTION = "A conditional whose input layers feed both branches: only the branch taken enqueues."

    def branches(self, draft: Draft, outside: Sequence[str]) -> tuple[list[str], list[str]]:
        """Each of the plugin's inputs enters once."""
        entered = into(draft, outside)
        return draft.plugin(entered), draft.plugin(scaled(draft, entered, draft.setting.manifest.inputs))


def _passed(setting: Setting) -> list[str]:
    """For each output an input of its shape; nothing if one has none."""
    fed = {output: name for name, output in feedback(setting)}
    outputs = [tensor.name for tensor in setting.manifest.outputs]
    return [fed[name] for name in outputs] if set(outputs) <= set(fed) else []
