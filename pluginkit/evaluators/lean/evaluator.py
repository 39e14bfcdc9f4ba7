"""NVIDIA's plugin registries, those of tensorrt-lean, as an evaluator."""

from __future__ import annotations

from collections.abc import Sequence

from pluginkit.evaluators.protocol import Answers, Expected, Item, RunWork, Workplace, beyond_registries
from pluginkit.evaluators.rtx.evaluator import CHECKED
from pluginkit.runtimes import Availability
from pluginkit.runtimes.lean import session as lean
from pluginkit.testing.report import Verdict


class LeanEvaluator:
    """Has each registry that is here load the library, and make, clone, serialize and read the plugin."""

    NAME = lean.NAME
    STANDBY: tuple[str, ...] = ()

    def probe(self) -> Availability:
        """Whether a tensorrt-lean is installed, here or in `.venv-nvidia`."""
        return lean.probe()

    def obstacle(self, work: RunWork) -> str:
        """Libraries with checks compiled in are not for it, nor those that only libnvinfer's own process can have."""
        return CHECKED if work.sanitize else beyond_registries(work)

    def ids(self, work: RunWork) -> Sequence[str]:
        """`registry/` with the version of each that is here and that the library is for."""
        return [_id(one) for one in _served(work)]

    def items(self, work: RunWork) -> Sequence[Item]:
        """One for each registry."""
        found = [Item(_id(one), self.NAME, "registries", subject=one, build=work.builds[0]) for one in _served(work)]
        return [item for item in found if work.asks_for(item.id)]

    def execute(self, item: Item, work: RunWork, place: Workplace, configured: Expected | None) -> Answers:
        """A verdict on the library, and on the plugins of one network in each precision."""
        del configured
        from pluginkit.evaluators.lean.registries import evaluate

        networks = {network.precision: network for network in reversed(work.whole.usual)}
        library = place.library(item.build)
        # Another machine may have it in another folder.
        here = next((one for one in lean.installed() if one.version == item.subject.version), item.subject)
        return Answers((evaluate(item.id, here, library, work.manifest, list(networks.values()), work.timeout),))

    def summary(self, work: RunWork, found: Sequence[Answers]) -> str:
        """Which registries."""
        del work
        asked = [one.network for findings in found for one in findings.results if isinstance(one, Verdict)]
        return f"NVIDIA's registries: {', '.join(asked)}"


def _served(work: RunWork) -> list[lean.Lean]:
    """The registries that load the library: of another build's, with the plugin classes of one TensorRT, that one's."""
    section = work.manifest.library
    layout = section.layout if section is not None else None
    return [one for one in lean.installed() if layout is None or one.version.split(".")[0] == str(layout)]


def _id(one: lean.Lean) -> str:
    return f"registry/{one.version}"


EVALUATOR = LeanEvaluator()
