"""What a run says of the TensorRT that the plugin is for, where that TensorRT took no part: by tables, not by a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pluginkit.layouts import TARGETS, TargetTensorRT
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork
from pluginkit.runtimes.tensorrt import foreseen
from pluginkit.testing.report import REFUSED_ALIKE, Outcome, Verdict

BY_TABLES = ", by tables"
"""How the runtime's name of such a verdict ends."""


def verdicts(manifest: Manifest, networks: Sequence[AnyNetwork], ran: Collection[str]) -> Iterator[Verdict]:
    """Of each target the networks that it refuses whatever the plugin: not tested, and not passed.

    Args:
        manifest: the plugin's, with its targets.
        networks: those of the run.
        ran: the ids of those that a TensorRT itself has had.
    """
    for target in (TARGETS[name] for name in manifest.targets.tensorrt):
        runtime = f"{target.title}{BY_TABLES}"
        if manifest.plugin.base_in(target.layout) is None:
            text = f"{target.title} has no {manifest.plugin.shown}"
            message = (
                f'{text} (by a document): add "dynamic" to `base` in pluginkit.toml, or take it out of its targets.'
            )
            yield Verdict("interface", runtime, Outcome.FAILED, message)
            continue
        for network in networks:
            if network.id not in ran and (why := _why(network, target)):
                yield Verdict(network.id, runtime, Outcome.SKIPPED, why, how=REFUSED_ALIKE)


def _why(network: AnyNetwork, target: TargetTensorRT) -> str:
    if lacking := foreseen.lacking([network.precision], target.layout.lacks):
        return f"{target.title} has no {lacking} for plugins (by a document). So the plugin is not tested in it there."
    row = foreseen.of_network(network, target.name)
    if row is None:
        return ""
    known = row.of(target.name)[1]
    instead = f"\nWhat to do: {row.instead}." if row.instead else ""
    return f"{target.title} refuses {row.network} ({row.id}), whatever the plugin ({known}).{instead}"
