"""Names that two want: libraries of one identity, and plugins named like what NVIDIA's own code implements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pluginkit import nvidia_plugins, parser_operators
from pluginkit.library.problem import Problem
from pluginkit.registry.bundles.bundle import Bundle, BundlePlugin
from pluginkit.registry.storage.stores import Stores

_NAMESPACE = "Give one of them a namespace of its own ([plugin] namespace in pluginkit.toml), or another version."


def of_bundle(bundle: Bundle, stores: Stores) -> Iterator[Problem]:
    """What a bundle that is added would meet: other bundles' plugins of the same identity, and NVIDIA's names."""
    for plugin in bundle.plugins:
        yield from of_plugin(plugin)
        others = {
            entry.name
            for _, entry in stores.having(plugin.name, plugin.version, plugin.namespace)
            if entry.name != bundle.name
        }
        if others:
            yield between(plugin.identity, plugin.version, {bundle.name, *others})


def of_plugin(plugin: BundlePlugin) -> Iterator[Problem]:
    """A plugin that is called like one of TensorRT's own, or like an operator of NVIDIA's ONNX parsers."""
    same = [one for one in nvidia_plugins.plugins(plugin.name) if one.version == plugin.version]
    if same and not plugin.namespace:
        yield Problem(
            "warning",
            f"{plugin.name} {plugin.version} is a plugin of TensorRT's own plugin library ({same[0].when}): "
            "where that is initialized, as by trtexec, the registry refuses a second one.",
            _NAMESPACE,
            "clash",
        )
    if advice := parser_operators.advice(plugin.name):
        yield Problem("warning", advice, rule="clash")


def between(identity: str, version: str, bundles: Iterable[str]) -> Problem:
    """Several bundles with one plugin: a registry takes the library that is loaded first, and refuses the others."""
    return Problem(
        "warning",
        f"{identity} {version} is in several bundles: {', '.join(sorted(bundles))}. A registry takes the one that is "
        "loaded first.",
        f"{_NAMESPACE} A lock names the bundle that is meant.",
        "clash",
    )
