"""NVIDIA's plugin registries in a test run: the library in each tensorrt-lean that is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pluginkit.evaluators.host.cases import BUILDS, guarded
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Network
from pluginkit.runtimes import BuildVerdict
from pluginkit.runtimes.lean import session as lean
from pluginkit.runtimes.lean.session import Lean, LeanSession
from pluginkit.testing.report import Outcome, Verdict


def evaluate(
    name: str, one: Lean, library: Path, manifest: Manifest, networks: Sequence[Network], timeout: float
) -> Verdict:
    """A verdict, called `name`, on a library in one registry, and on the plugins of some networks."""
    verdicts: list[BuildVerdict] = []

    def ask() -> str:
        with lean.open(library, manifest, timeout=timeout, lean=one) as session:
            verdicts.extend(_build_all(session, networks))
        return ""

    outcome, message, seconds = guarded(ask)
    bad = next((verdict for verdict in verdicts if not verdict.ok), None)
    if outcome is Outcome.PASSED and bad is not None:
        outcome, message = BUILDS[bad.status], bad.message
    elif outcome is Outcome.PASSED and any(lean.STAYED in verdict.message for verdict in verdicts):
        message = lean.STAYED
    return Verdict(name, lean.NAME, outcome, message, (), seconds)


def _build_all(session: LeanSession, networks: Sequence[Network]) -> Iterator[BuildVerdict]:
    for network in networks:
        yield session.build(network)
    yield session.registry()
