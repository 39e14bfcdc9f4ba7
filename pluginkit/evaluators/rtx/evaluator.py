"""NVIDIA's builder, TensorRT-RTX, as an evaluator: it builds each network, and refuses what must be refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pluginkit.bases import BASES
from pluginkit.build import existing
from pluginkit.build.exports import exported
from pluginkit.evaluators.host.evaluator import EVALUATOR as HOST
from pluginkit.evaluators.protocol import Answers, Expected, Item, RunWork, Workplace, beyond_registries
from pluginkit.runtimes import Availability, Configured
from pluginkit.runtimes.rtx import session as rtx

if TYPE_CHECKING:
    from pluginkit.evaluators.rtx.build import Builder
    from pluginkit.evaluators.rtx.negative_controls import Control


NO_ADAPTER = "it takes IPluginV3 alone, and the library, which another build made, has no adapter for IPluginV2"


def without_adapter(work: RunWork) -> str:
    """Why TensorRT-RTX has nothing to load in the library that `[library]` names; empty where it has."""
    section, base = work.manifest.library, BASES[work.manifest.plugin.base]
    if section is None or base.generation == "v3":
        return ""
    if base.batch_apart:
        return f"it takes IPluginV3 alone, and pluginkit has no adapter for {base.interface}"
    # Where pluginkit's CMake package made it, its entry has given it the adapter.
    file = work.project / section.path
    return "" if not file.is_file() or existing.CONTROL in exported(file) else NO_ADAPTER


class RtxEvaluator:
    """Has every network built, and negative controls."""

    NAME = rtx.NAME
    STANDBY: tuple[str, ...] = (rtx.CHILD, rtx.CHILD)
    """The first to see whether the registry takes the library, the second to build."""

    def probe(self) -> Availability:
        """Whether the wheel tensorrt-rtx is installed."""
        return rtx.probe()

    def obstacle(self, work: RunWork) -> str:
        """Libraries with checks compiled in are not for it, nor another build's with IPluginV2 classes alone, or that
        only libnvinfer's own process can have."""
        return CHECKED if work.sanitize else without_adapter(work) or beyond_registries(work)

    def ids(self, work: RunWork) -> Sequence[str]:
        """The negative controls."""
        return [one.id for one in self._controls(work)]

    def items(self, work: RunWork) -> Sequence[Item]:
        """The plan's networks, but for those that are quantized implicitly; and the controls."""
        found = [
            Item(f"{one.id}/{self.NAME}", self.NAME, "verdicts", one.id, work.builds[0], needs=True)
            for one in work.plan.builder_networks
        ]
        # A control is chosen by all that is in it, too, as in `api-loop-while/float32/no-trip-count/*`.
        found += [
            Item(one.id, self.NAME, "controls", build=work.builds[0], subject=one)
            for one in self._controls(work)
            if work.asks_for(one.id)
        ]
        return found

    def execute(self, item: Item, work: RunWork, place: Workplace, configured: Expected | None) -> Answers:
        """Have a network built, or a control refused."""
        builder = place.shared((self.NAME, item.build), lambda: self._builder(item, work, place))
        if item.section == "controls":
            # It is not a verdict where NVIDIA doesn't load the library: each network's verdict has that.
            verdict = builder.control(item.subject, place)
            return Answers((verdict,) if verdict else ())

        # That it was live shows in what configure saw, which the host records.
        def expected() -> tuple[Configured, ...]:
            known = configured() if configured else None
            return HOST.configured(item.network, work, place) if known is None else known

        verdict, static = builder.network(work.network(item.network), expected, place)
        return Answers((verdict,), static=static)

    def summary(self, work: RunWork, found: Sequence[Answers]) -> str:
        """Its version, and in which form it has the plugin."""
        how = "as it is" if BASES[work.manifest.plugin.base].generation == "v3" else "through the V3 adapter"
        points = sum(one.static for one in found)
        return f"{self.probe().version}, {how}" + (f"; {points} points also as static networks" if points else "")

    def _builder(self, item: Item, work: RunWork, place: Workplace) -> Builder:
        from pluginkit.evaluators.rtx.build import Builder

        return Builder(place.library(item.build), work.manifest, work.timeout, work.plan)

    def _controls(self, work: RunWork) -> Sequence[Control]:
        from pluginkit.evaluators.rtx.build import controls

        return controls(work.manifest, work.whole)


CHECKED = "it is not run on libraries with checks compiled in"
EVALUATOR = RtxEvaluator()
