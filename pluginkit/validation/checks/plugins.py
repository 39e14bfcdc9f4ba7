"""Checks of what a creator makes of fields, and of what the plugin says it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pluginkit.host import Finding
from pluginkit.host.bases.v2_plugin import MAX_NAME, V2Plugin
from pluginkit.host.bases.v3.plugin import PluginV3
from pluginkit.validation.catalog import NothingToCheck, check
from pluginkit.validation.checks import lifecycle
from pluginkit.validation.subject import LAYER, AnyPlugin, Subject, serialized

_RUNTIME_PLUGIN = "NvInferRuntimePlugin.h"
WIPED = 0xEE
"""What the host writes over field data once createPlugin has returned."""
LEAST_WIPED = 4
"""Bytes in a row that are taken for wiped data."""
_BASES = (0, 1, 2, 3)
"""`nvinfer1::PluginVersion`: kV2, kV2_EXT, kV2_IOEXT, kV2_DYNAMICEXT."""


@check(
    "F3",
    group="fields",
    level=1,
    fix="Return null only for fields that no plugin can be made of; a node's attributes may be such.",
)
def _made(subject: Subject) -> None:
    subject.plugin().destroy()


@check(
    "F5",
    group="fields",
    level=2,
    fix="Copy what the plugin needs.",
)
def _copies(subject: Subject) -> None:
    if not any(len(data or b"") >= LEAST_WIPED for _, _, data, _ in subject.answers.given):
        raise NothingToCheck("the plugin is made of no field with data")
    wiped = bytes([WIPED]) * LEAST_WIPED
    if any(wiped in (data or b"") for _, _, data, _ in subject.answers.given):
        raise NothingToCheck("the fields' own data look like wiped ones")
    kept = serialized(subject.plugin())
    texts = [one.data for one in kept] if isinstance(kept, tuple) else [kept.data]
    if any(wiped in text for text in texts):
        method = "IPluginCreatorV3One" if subject.creator.kind == "v3" else "IPluginCreator"
        message = "the plugin reads its fields' data after the call has returned, when they are another's"
        raise Finding(f"{method}::createPlugin", message, rule="F5")


@check(
    "I1",
    group="identity",
    level=1,
    fix="Return the same constants from both classes.",
)
def _identity(subject: Subject) -> None:
    plugin, creator = subject.plugin(), subject.creator
    mine = _named(plugin)
    interface = "IPluginV3OneCore" if isinstance(plugin, PluginV3) else plugin.INTERFACE
    if not isinstance(plugin, PluginV3):
        # A V2 plugin's namespace is I6.
        del mine["getPluginNamespace"]
    for (method, answer), expected in zip(
        mine.items(), (creator.name, creator.version, creator.namespace), strict=False
    ):
        if answer != expected:
            message = f"answered {answer!r}, but its creator is that of {expected!r}"
            raise Finding(f"{interface}::{method}", message, rule="I1")


@check(
    "I12",
    "A plugin's name, version and namespace stay what they are when it is configured, cloned and serialized.",
    group="identity",
    level=2,
    kind="contract",
    need="plugin",
    source='NvInferRuntimePlugin.h, IPluginV2::getPluginType: "Should match the plugin name returned by the '
    'corresponding plugin creator"; an engine names its plugins so',
    fix="Return string literals, or members that configurePlugin doesn't change.",
)
def _stays(subject: Subject) -> None:
    plugin = subject.plugin()
    before = _named(plugin)
    subject.configure(plugin)

    def written() -> AnyPlugin:
        serialized(plugin)
        return plugin

    steps: dict[str, Callable[[], AnyPlugin]] = {
        "configurePlugin": lambda: plugin,
        "serialize": written,
        "clone": lambda: lifecycle.clone(plugin),
    }
    for when, step in steps.items():
        for (method, mine), its in zip(before.items(), _named(step()).values(), strict=True):
            if mine != its:
                interface = "IPluginV3OneCore" if isinstance(plugin, PluginV3) else plugin.INTERFACE
                message = f"answered {mine!r}, and {its!r} after {when}: an engine would name another plugin"
                raise Finding(f"{interface}::{method}", message, rule="I12")


def _named(plugin: AnyPlugin) -> dict[str, str]:
    """What it answers for name, version and namespace, by the method."""
    if isinstance(plugin, PluginV3):
        one = plugin.identity()
        return {"getPluginName": one.name, "getPluginVersion": one.version, "getPluginNamespace": one.namespace}
    return {
        "getPluginType": plugin.plugin_type(),
        "getPluginVersion": plugin.plugin_version(),
        "getPluginNamespace": plugin.plugin_namespace(),
    }


@check(
    "I5",
    group="identity",
    level=1,
    of=("v2",),
    fix="Keep a std::string of it.",
)
def _namespace(subject: Subject) -> None:
    plugin = subject.v2()
    for text in ("a", "pluginkit.check", "n" * MAX_NAME, "n" * (2 * MAX_NAME), ""):
        plugin.set_plugin_namespace(text)


@check(
    "I7",
    group="identity",
    level=1,
    of=("v2",),
    fix="Don't override getTensorRTVersion.",
)
def _version(subject: Subject) -> None:
    plugin = subject.v2()
    found = plugin.tensorrt_version()
    if found >> 24 not in _BASES:
        raise Finding(plugin.name_of("getTensorRTVersion"), f"answered {found:#x}", rule="I7")


@check(
    "I6",
    group="identity",
    level=2,
    of=("v2",),
    fix="In createPlugin and deserializePlugin: plugin->setPluginNamespace(mNamespace.c_str()).",
)
def _creators_namespace(subject: Subject) -> None:
    with subject.creator.in_another_namespace() as namespace:
        plugins: dict[str, V2Plugin[Any]] = {"createPlugin": subject.v2()}
        kept = serialized(subject.configured())
        if not isinstance(kept, tuple):
            plugins["deserializePlugin"] = subject.creator.deserialize(LAYER, kept.data)
    for method, plugin in plugins.items():
        found = plugin.plugin_namespace()
        if found != namespace:
            message = f"made a plugin in namespace {found!r}; its creator is in {namespace!r}"
            raise Finding(f"IPluginCreator::{method}", message, rule="I6")
