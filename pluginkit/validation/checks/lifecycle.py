"""Checks of initialize, clone, contexts and ends."""

from __future__ import annotations

from collections import Counter

from pluginkit.host import Device, Finding
from pluginkit.host.bases.v2_lifecycle import SHARE
from pluginkit.host.bases.v2_plugin import V2Plugin
from pluginkit.host.bases.v3.lifecycle import BUILD
from pluginkit.host.bases.v3.plugin import PluginV3
from pluginkit.host.memory.leaks import held, site_of
from pluginkit.validation.catalog import check
from pluginkit.validation.subject import AnyPlugin, Subject, serialized

_GROUP = "lifecycle"
_RUNTIME_PLUGIN = "NvInferRuntimePlugin.h"


def clone(plugin: AnyPlugin) -> AnyPlugin:
    """A clone, held against its original."""
    return plugin.clone(BUILD) if isinstance(plugin, PluginV3) else plugin.clone()


@check(
    "L6",
    group=_GROUP,
    level=2,
    of=("v2",),
    fix="Return 0.",
)
def _initialize(subject: Subject) -> None:
    plugin = subject.configured()
    assert isinstance(plugin, V2Plugin)
    plugin.terminate()
    plugin.destroy()


@check(
    "L1",
    group=_GROUP,
    level=1,
    fix="Copy every member, the namespace included.",
)
def _clone(subject: Subject) -> None:
    clone(subject.plugin())


@check(
    "L4",
    group=_GROUP,
    level=2,
    fix="Copy what members point to, or share it by std::shared_ptr.",
)
def _outlives(subject: Subject) -> None:
    original = subject.plugin()
    copy = clone(original)
    before = serialized(copy)
    original.destroy()
    after = serialized(copy)
    if before != after:
        method = "IPluginV3::clone" if isinstance(copy, PluginV3) else copy.name_of("clone")
        raise Finding(method, "the clone serializes otherwise once its original is destroyed", rule="L4")
    copy.destroy()


def _attach(subject: Subject) -> None:
    """As an execution context does it: with a clone of an initialized plugin, which has its end before that."""
    with held(Device(subject.library.path if subject.library else None)) as holdings:
        since = holdings.mark()
        plugin = subject.configured()
        assert isinstance(plugin, V2Plugin)
        before = Counter(map(site_of, all_held := holdings.left(since)))
        copy = plugin.clone()
        copy.attach_to_context()
        copy.detach_from_context()
        copy.destroy()
        gone = before - Counter(map(site_of, holdings.left(since)))
    lost = [str(one) for one in all_held if site_of(one) in gone]
    if lost:
        message = f"of a clone gives back what initialize() of the original made and it still uses: {lost[0]}"
        raise Finding(plugin.name_of("destroy"), message, rule="L2")
    plugin.terminate()
    plugin.destroy()


check(
    "L2",
    group=_GROUP,
    level=3,
    of=("v2",),
    fix=f"Let attachToContext need nothing that only the original has. {SHARE}",
)(_attach)
check(
    "L11",
    group=_GROUP,
    level=3,
    of=("v2",),
    fix="Create a handle of the plugin's own where none is given.",
)(_attach)


@check(
    "L9",
    group=_GROUP,
    level=1,
    of=("v3",),
    fix="Return a pointer to the interface's own class: static_cast<IPluginV3OneBuild*>(this).",
)
def _capabilities(subject: Subject) -> None:
    plugin = subject.v3()
    plugin.check_capabilities(BUILD)
    clone(plugin)


@check(
    "L10",
    group=_GROUP,
    level=2,
    of=("v3",),
    fix="return clone() where the context's resources are not needed.",
)
def _context(subject: Subject) -> None:
    subject.context()
