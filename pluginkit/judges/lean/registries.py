"""NVIDIA's plugin registries in a test run: the library in each tensorrt-lean that is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pluginkit.judges.host.cases import BUILDS, guarded
from pluginkit.manifest import Manifest
from pluginkit.network.model import Network
from pluginkit.network.plan import Plan
from pluginkit.runtimes import BuildVerdict
from pluginkit.runtimes.lean import session as lean
from pluginkit.runtimes.lean.session import Lean, LeanSession
from pluginkit.testing.report import Outcome, Verdict


@dataclass(frozen=True)
class Registered:
    """The registries of a run."""

    leans: tuple[Lean, ...]

    @property
    def ids(self) -> list[str]:
        """What `--only` finds them by."""
        return [_id(one) for one in self.leans]

    def select(self, only: Sequence[str]) -> Registered:
        """Those that match one of the patterns; all if there are none."""
        return Registered(
            tuple(one for one in self.leans if not only or any(fnmatchcase(_id(one), pattern) for pattern in only))
        )

    def judge(self, library: Path, manifest: Manifest, plan: Plan, timeout: float) -> Iterator[Verdict]:
        """One verdict each: on the library, and on the plugins of one network in each precision."""
        networks = {network.precision: network for network in reversed(plan.usual)}
        for one in self.leans:
            yield _judge(one, library, manifest, list(networks.values()), timeout)


def installed() -> Registered:
    """Every tensorrt-lean that can be had."""
    return Registered(tuple(lean.installed()))


def _id(one: Lean) -> str:
    return f"registry/{one.version}"


def _judge(one: Lean, library: Path, manifest: Manifest, networks: Sequence[Network], timeout: float) -> Verdict:
    said: list[BuildVerdict] = []

    def ask() -> str:
        with lean.open(library, manifest, timeout=timeout, lean=one) as session:
            said.extend(_all(session, networks))
        return ""

    outcome, message, seconds = guarded(ask)
    bad = next((verdict for verdict in said if not verdict.ok), None)
    if outcome is Outcome.PASSED and bad is not None:
        outcome, message = BUILDS[bad.status], bad.message
    elif outcome is Outcome.PASSED and any(lean.STAYED in verdict.message for verdict in said):
        message = lean.STAYED
    return Verdict(_id(one), lean.NAME, outcome, message, (), seconds)


def _all(session: LeanSession, networks: Sequence[Network]) -> Iterator[BuildVerdict]:
    for network in networks:
        yield session.build(network)
    yield session.registry()
