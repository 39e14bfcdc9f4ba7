"""NVIDIA's builder in a test run: the plan's networks, networks by its API beside them, and what it must refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from pluginkit.manifest import Manifest
from pluginkit.runtimes import BuildVerdict, Configured, tensorrt_rtx
from pluginkit.runtimes.liveness import problems
from pluginkit.runtimes.tensorrt_rtx import RtxSession
from pluginkit.testing import api_networks, controls, static
from pluginkit.testing.api_model import ApiNetwork
from pluginkit.testing.controls import Control
from pluginkit.testing.hosted import BUILDS, Configurations, Step, guarded
from pluginkit.testing.model import Case, Network, Plan
from pluginkit.testing.networks.base import Setting
from pluginkit.testing.plan import field_values
from pluginkit.testing.report import Outcome, Verdict

ANY_SCALE = 0.0625
"""The INT8 scale of every tensor in networks that are built and not run."""

Item = TypeVar("Item", ApiNetwork, Control)


@dataclass(frozen=True)
class Beside:
    """What is built beside a plan's networks."""

    api: tuple[ApiNetwork, ...] = ()
    controls: tuple[Control, ...] = ()

    @property
    def ids(self) -> list[str]:
        """What `--only` finds them by."""
        return [network.id for network in self.api] + [control.id for control in self.controls]

    def select(self, only: Sequence[str]) -> Beside:
        """Those that match one of the patterns; all if there are none."""
        return Beside(_matching(self.api, only), _matching(self.controls, only))


def _matching(items: Sequence[Item], only: Sequence[str]) -> tuple[Item, ...]:
    # A network is chosen by all that is in it, as in `api-loop-while/float32/*`.
    return tuple(
        item for item in items if not only or any(fnmatchcase(i, o) for i in (item.id, f"{item.id}/") for o in only)
    )


def beside(manifest: Manifest, plan: Plan) -> Beside:
    """The API networks and controls that go with a plan.

    A form is built in one of the plan's precisions, the next form in the next; controls are in the first.
    """
    kinds = list(dict.fromkeys(network.precision for network in plan.usual))
    families = {network.family for network in plan.usual}
    scales = {tensor.name: ANY_SCALE for tensor in (*manifest.inputs, *manifest.outputs)}
    settings = [Setting(manifest, kind, field_values(manifest), scales) for kind in kinds]
    forms = [form for form, (family, _) in api_networks.FORMS.items() if family in families]
    made = [api_networks.make(settings[i % len(settings)], form) for i, form in enumerate(forms)]
    first = [network for network in plan.usual if network.precision is kinds[0]]
    return Beside(
        tuple(network for network in made if network is not None),
        tuple(controls.network_controls(first, settings[0])),
    )


@dataclass
class Judgement:
    """What NVIDIA's builder said."""

    verdicts: list[Verdict] = field(default_factory=list)
    controls: list[Verdict] = field(default_factory=list)
    static: int = 0
    """How many points were built as static networks."""


@dataclass(frozen=True)
class Judge:
    """NVIDIA's builder, asked about one library."""

    library: Path
    manifest: Manifest
    timeout: float
    plan: Plan
    beside: Beside
    configured: Configurations
    step: Step
    judgement: Judgement = field(default_factory=Judgement)

    def run(self) -> Judgement:
        """Ask it everything."""
        outcome, message, seconds = guarded(self._all)
        if outcome is not Outcome.PASSED:
            # Loading failed, so nothing was judged: each network gets that answer, or none would seem to be asked.
            names = [network.id for network in self.plan.judged] + [network.id for network in self.beside.api]
            for name in names[len(self.judgement.verdicts) :]:
                self.judgement.verdicts.append(Verdict(name, tensorrt_rtx.NAME, outcome, message, (), seconds))
        return self.judgement

    def _all(self) -> str:
        total = len(self.plan.judged) + len(self.beside.ids)
        with tensorrt_rtx.open(self.library, self.manifest, timeout=self.timeout) as session:
            for network in self.plan.judged:
                self._step(network.id, total)
                self.judgement.verdicts.append(self._network(session, network))
            for made in self.beside.api:
                self._step(made.id, total)
                self.judgement.verdicts.append(_verdict(made, session.build_api(made)))
            for control in self.beside.controls:
                self._step(control.id, total)
                self.judgement.controls.append(judge_control(session, control))
        return ""

    def _step(self, what: str, total: int) -> None:
        done = len(self.judgement.verdicts) + len(self.judgement.controls)
        self.step(f"NVIDIA's builder: {what}", done, total)

    def _network(self, session: RtxSession, network: Network) -> Verdict:
        verdict = _verdict(network, session.build(network), self.configured.get(network.id, ()))
        if network.variant:
            return verdict
        if not verdict.outcome.bad and network.family == "plain":
            # The same network once more, as models have it whose exporter knows no domains.
            again = _verdict(network, session.build(network, default_domain=True))
            verdict = _if_bad(again, "in ONNX's default domain", verdict)
        if network.precision is self.plan.judged[0].precision:
            # Shapes don't depend on types: one precision is enough.
            for case in static.points(self.plan.cases, network):
                if not verdict.outcome.bad:
                    self.judgement.static += 1
                    verdict = _if_bad(self._static(session, network, case), f"{case.id} as a static network", verdict)
        return verdict

    def _static(self, session: RtxSession, network: Network, case: Case) -> Verdict:
        fixed = static.fixed(network, case, self.manifest)
        built = session.build(fixed)
        verdict = _verdict(network, built, alive=problems(fixed, built.configured))
        wrong = static.wrong_shapes(case, session.shapes()) if built.ok else []
        if not wrong:
            return verdict
        message = "\n".join(filter(None, (verdict.message, *wrong)))
        return Verdict(network.id, tensorrt_rtx.NAME, Outcome.FAILED, message, built.log, built.seconds)


def judge_control(session: RtxSession, control: Control) -> Verdict:
    """Whether a control is refused for its reason: passed if it is."""
    network = control.network
    built = session.build_api(network) if isinstance(network, ApiNetwork) else session.build(network)
    found = controls.problem(control, built)
    outcome = Outcome.FAILED if found else Outcome.PASSED
    return Verdict(control.id, tensorrt_rtx.NAME, outcome, found or built.message, built.log, built.seconds)


def _verdict(
    network: Network | ApiNetwork,
    built: BuildVerdict,
    expected: Sequence[Configured] = (),
    *,
    alive: Sequence[str] | None = None,
) -> Verdict:
    outcome, message = BUILDS[built.status], built.message
    if built.ok:
        found = problems(network, built.configured, expected) if alive is None else alive
        message = "\n".join((*found, *built.lenient))
        outcome = Outcome.FAILED if message else Outcome.PASSED
    return Verdict(network.id, tensorrt_rtx.NAME, outcome, message, built.log, built.seconds)


def _if_bad(one: Verdict, where: str, otherwise: Verdict) -> Verdict:
    """The first verdict with its place if it is bad, else the other one."""
    if not one.outcome.bad:
        return otherwise
    return Verdict(one.network, one.runtime, one.outcome, f"{where}: {one.message}", one.log, one.seconds)
