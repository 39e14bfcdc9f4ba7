"""Checks of what only an IPluginV3 has: tactics, texts, aliases, answers of its own methods."""

from __future__ import annotations

from pluginkit.host import Finding
from pluginkit.validation.catalog import NothingToCheck, check
from pluginkit.validation.subject import Subject

_GROUP = "v3"
_RUNTIME = "NvInferRuntime.h"


@check(
    "V1",
    group=_GROUP,
    level=2,
    of=("v3",),
    fix="Write exactly nbTactics numbers from 1 on; nothing where it is 0.",
)
def _tactics(subject: Subject) -> None:
    plugin = subject.v3()
    if subject.has_inputs:
        subject.configure(plugin)
    plugin.tactics()


@check(
    "V7",
    group=_GROUP,
    level=3,
    of=("v3",),
    fix="Number tactics from 1 on.",
)
def _positive(subject: Subject) -> None:
    if subject.v3().native.nb_tactics() == 0:
        raise NothingToCheck("it advertises no tactics")
    _tactics(subject)


@check(
    "V2",
    group=_GROUP,
    level=3,
    of=("v3",),
    fix="Return 0.",
)
def _set_tactic(subject: Subject) -> None:
    plugin = subject.v3()
    if subject.has_inputs:
        subject.configure(plugin)
    context = subject.context()
    for tactic in plugin.tactics():
        context.set_tactic(tactic)


@check(
    "V3",
    group=_GROUP,
    level=3,
    of=("v3",),
    fix="Build the texts when the plugin is created.",
)
def _texts(subject: Subject) -> None:
    plugin = subject.v3()
    before = plugin.stable_texts()
    if subject.has_inputs:
        subject.configure(plugin)
        after = plugin.stable_texts()
        if before[0] != after[0]:
            message = f"answered {before[0]!r} before configurePlugin and {after[0]!r} after it"
            raise Finding("IPluginV3OneBuild::getTimingCacheID", message, rule="V3")


@check(
    "V4",
    group=_GROUP,
    level=3,
    of=("v3",),
    fix="Return -1 for outputs with memory of their own.",
)
def _aliases(subject: Subject) -> None:
    plugin = subject.v3()
    if not plugin.has_aliases:
        raise NothingToCheck("its build capability is not an IPluginV3OneBuildV2")
    plugin.aliases(len(subject.inputs), subject.count)


@check(
    "V5",
    group=_GROUP,
    level=2,
    of=("v3",),
    fix="Leave getFormatCombinationLimit to NVIDIA's class.",
)
def _limit(subject: Subject) -> None:
    subject.v3().format_combination_limit()


@check(
    "V8",
    group=_GROUP,
    level=1,
    of=("v3",),
    fix="Return 0.",
)
def _answers(subject: Subject) -> None:
    subject.outputs(subject.plugin())


@check(
    "V6",
    group=_GROUP,
    level=3,
    of=("v3",),
    fix="Return 0.",
)
def _shape_change(subject: Subject) -> None:
    if not subject.sizes:
        raise NothingToCheck("the sizes are guessed: --model MODEL.onnx gives real ones")
    subject.context().on_shape_change(*subject.descs(subject.plugin()))
