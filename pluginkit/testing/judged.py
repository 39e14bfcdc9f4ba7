"""NVIDIA's builder in a test run: the plan's networks, networks by its API beside them, and what it must refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from pluginkit.manifest import Manifest
from pluginkit.runtimes import BuildVerdict, Configured, tensorrt_rtx
from pluginkit.runtimes.liveness import problems
from pluginkit.runtimes.tensorrt_rtx import RtxSession
from pluginkit.testing import controls, static
from pluginkit.testing.api_model import ApiNetwork
from pluginkit.testing.controls import Control
from pluginkit.testing.hosted import BUILDS, Configurations, Step, guarded
from pluginkit.testing.model import Case, Network, Plan
from pluginkit.testing.networks.base import Setting
from pluginkit.testing.plan import field_values
from pluginkit.testing.report import Outcome, Verdict
from pluginkit.testing.saving import ANY_SCALE


@dataclass(frozen=True)
class Beside:
    """What is built beside a plan's networks."""

    controls: tuple[Control, ...] = ()

    @property
    def ids(self) -> list[str]:
        """What `--only` finds them by."""
        return [control.id for control in self.controls]

    def select(self, only: Sequence[str]) -> Beside:
        """Those that match one of the patterns; all if there are none."""
        # A control is chosen by all that is in it, too, as in `api-loop-while/float32/no-trip-count/*`.
        chosen = (
            one
            for one in self.controls
            if not only or any(fnmatchcase(i, o) for i in (one.id, f"{one.id}/") for o in only)
        )
        return Beside(tuple(chosen))


def beside(manifest: Manifest, plan: Plan) -> Beside:
    """The controls that go with a plan, in the first of its precisions."""
    kind = plan.networks[0].precision
    scales = {tensor.name: ANY_SCALE for tensor in (*manifest.inputs, *manifest.outputs)}
    setting = Setting(manifest, kind, field_values(manifest), scales)
    first = [network for network in plan.models if network.precision is kind]
    return Beside(tuple(controls.network_controls(first, setting)))


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
            names = [network.id for network in self.plan.networks]
            for name in names[len(self.judgement.verdicts) :]:
                self.judgement.verdicts.append(Verdict(name, tensorrt_rtx.NAME, outcome, message, (), seconds))
        return self.judgement

    def _all(self) -> str:
        total = len(self.plan.networks) + len(self.beside.ids)
        with tensorrt_rtx.open(self.library, self.manifest, timeout=self.timeout) as session:
            for network in self.plan.networks:
                self._step(network.id, total)
                self.judgement.verdicts.append(self._network(session, network))
            for control in self.beside.controls:
                self._step(control.id, total)
                self.judgement.controls.append(judge_control(session, control))
        return ""

    def _step(self, what: str, total: int) -> None:
        done = len(self.judgement.verdicts) + len(self.judgement.controls)
        self.step(f"NVIDIA's builder: {what}", done, total)

    def _network(self, session: RtxSession, network: Network | ApiNetwork) -> Verdict:
        if isinstance(network, ApiNetwork):
            return _verdict(network, session.build_api(network), self.configured.get(network.id, ()))
        verdict = _verdict(network, session.build(network), self.configured.get(network.id, ()))
        if not verdict.outcome.bad and network.family == "plain":
            # The same network once more, as models have it whose exporter knows no domains.
            again = _verdict(network, session.build(network, default_domain=True))
            verdict = _if_bad(again, "in ONNX's default domain", verdict)
        if network.precision is self.plan.networks[0].precision:
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
