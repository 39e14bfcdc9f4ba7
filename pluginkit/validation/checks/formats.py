"""Checks of the types and formats that a plugin takes, of configurePlugin and of the workspace."""

from __future__ import annotations

from pluginkit.host import Finding
from pluginkit.host import formats as walks
from pluginkit.host.bases.dynamic.plugin import DynamicPlugin
from pluginkit.host.bases.static_plugin import StaticPlugin
from pluginkit.host.bases.v3.lifecycle import WalkedV3
from pluginkit.host.bases.v3.plugin import PluginV3
from pluginkit.validation.catalog import NothingToCheck, check
from pluginkit.validation.subject import AnyPlugin, Subject

_GROUP = "formats"
_RUNTIME = "NvInferRuntime.h"


def _walk(subject: Subject) -> None:
    plugin = subject.plugin()
    specs = (*subject.inputs, *subject.outputs(plugin))
    descs = [spec.desc() for spec in specs]
    walked = WalkedV3(plugin, [spec.dynamic() for spec in specs]) if isinstance(plugin, PluginV3) else plugin
    walks.walk(walked, descs, len(subject.inputs))


def _own_types(subject: Subject) -> None:
    try:
        _walk(subject)
    except Finding as error:
        if error.rule != "C3":
            raise
        # Where the outputs begin follows from the number of inputs, and a plugin that counts its tensors from the first
        # one has inputs of another type there.
        counts = [str(len(one.ranks)) for one in subject.answers.taken]
        if len(counts) > 1 and not subject.sizes:
            raise NothingToCheck(
                f"the plugin answers alike for {', '.join(counts)} inputs: --model MODEL.onnx says how many it has"
            ) from None
        error.rule = "C19"
        raise


check(
    "C1",
    group=_GROUP,
    level=1,
    fix="Compare inOut[pos] with tensors before it, never behind.",
)(_walk)
check(
    "C2",
    group=_GROUP,
    level=2,
    fix="Answer by the arguments alone.",
)(_walk)
check(
    "C19",
    "The types that the plugin gives to its outputs are among those that it takes for them, in linear formats.",
    group=_GROUP,
    level=2,
    kind="robustness",
    source="NvInferRuntime.h, IPluginV2DynamicExt::supportsFormatCombination: a combination is tried as a whole",
    fix="Let getOutputDataType and supportsFormatCombination agree.",
)(_own_types)


@check(
    "C11",
    group=_GROUP,
    level=2,
    of=("dynamic", "v3"),
    fix="Keep nothing of an earlier call that a later one doesn't overwrite.",
)
def _configure_again(subject: Subject) -> None:
    plugin = subject.plugin()
    subject.configure(plugin)
    subject.configure(plugin)


@check(
    "C13",
    group=_GROUP,
    level=1,
    of=("v3",),
    fix="Return 0.",
)
def _configure(subject: Subject) -> None:
    subject.configure(subject.plugin())


@check(
    "C14",
    group=_GROUP,
    level=2,
    fix="Compute it from the maxima, so that it grows with the sizes.",
)
def _workspace(subject: Subject) -> None:
    # Asked of a plugin that is configured for the larger one: no header lets more be asked for than that.
    larger = subject.doubled()
    plugin = larger.configured()
    large, small = _workspace_size(larger, plugin, 2), _workspace_size(subject, plugin, 1)
    if small > large:
        method = "IPluginV3OneBuild::getWorkspaceSize"
        method = method if isinstance(plugin, PluginV3) else plugin.name_of("getWorkspaceSize")
        what = "a batch" if isinstance(plugin, StaticPlugin) else "inputs"
        message = f"answered {large} bytes for {what} of twice the size, and {small} for the smaller one, which is more"
        raise Finding(method, message, rule="C14")


def _workspace_size(subject: Subject, plugin: AnyPlugin, batch: int) -> int:
    if isinstance(plugin, StaticPlugin):
        return plugin.workspace_size(batch)
    outputs = subject.outputs(plugin)
    if isinstance(plugin, DynamicPlugin):
        return plugin.workspace_size([s.desc() for s in subject.inputs], [s.desc() for s in outputs])
    assert isinstance(plugin, PluginV3)
    return plugin.workspace_size([s.dynamic() for s in subject.inputs], [s.dynamic() for s in outputs])
