"""NVIDIA's builder in a test run: the plan's networks, those made by its API, and what it must refuse."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from pluginkit import parser_operators
from pluginkit.errors import PluginkitError
from pluginkit.evaluators.digests import digest
from pluginkit.evaluators.host.cases import BUILDS, guarded
from pluginkit.evaluators.protocol import Workplace
from pluginkit.evaluators.rtx import constant_values, negative_controls, own_operators
from pluginkit.evaluators.rtx import static_networks as static
from pluginkit.evaluators.rtx.negative_controls import Control
from pluginkit.evaluators.rtx.participation import problems
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork, ApiNetwork
from pluginkit.network.networks import Case, Network
from pluginkit.network.plan import Plan
from pluginkit.runtimes import BuildVerdict, Configured
from pluginkit.runtimes.rtx import refusals
from pluginkit.runtimes.rtx import session as tensorrt_rtx
from pluginkit.runtimes.rtx.refusals import Refusal
from pluginkit.runtimes.rtx.session import RtxSession
from pluginkit.testing.families.base import Setting
from pluginkit.testing.onnx_export import ANY_SCALE
from pluginkit.testing.plan import field_values
from pluginkit.testing.report import BUILT, NOT_REFUSED, REFUSED_ALIKE, Outcome, Verdict

Host: TypeAlias = Callable[[], Sequence[Configured]]
"""Gives what configure saw of a network in pluginkit's host; may wait for it."""


def controls(manifest: Manifest, plan: Plan) -> tuple[Control, ...]:
    """The controls that go with a plan, in the first of its precisions."""
    kind = plan.networks[0].precision
    scales = {tensor.name: ANY_SCALE for tensor in (*manifest.inputs, *manifest.outputs)}
    setting = Setting(manifest.static()[0], kind, field_values(manifest), scales)
    first = [network for network in plan.usual if network.precision is kind]
    return tuple(negative_controls.network_controls(first, setting))


@dataclass
class Builder:
    """NVIDIA's builder, asked about one library."""

    library: Path
    manifest: Manifest
    timeout: float
    plan: Plan
    _asked: threading.Lock = field(default_factory=threading.Lock)
    _taken: bool = False
    _problem: PluginkitError | None = None

    @property
    def key(self) -> Hashable:
        """The library's content, and how it is loaded."""
        return (tensorrt_rtx.NAME, digest(self.library), self.timeout)

    def open(self) -> RtxSession:
        """NVIDIA's builder with the library loaded. Whether its registry takes the library is asked once.

        Raises:
            CheckFailed, WorkerCrashed, WorkerTimeout: it doesn't.
        """
        with self._asked:
            if self._problem is not None:
                raise self._problem
            try:
                session = tensorrt_rtx.open(self.library, self.manifest, timeout=self.timeout, check=not self._taken)
            except PluginkitError as error:
                self._problem = error
                raise
            self._taken = True
            return session

    def network(self, network: AnyNetwork, expected: Host, place: Workplace) -> tuple[Verdict, int]:
        """Build a network of the plan: the verdict, and at how many points it was built as a static network too.

        Args:
            network: one of the plan's.
            expected: gives what configure saw in the host; asked once the network is built.
            place: has the session, or opens it; if it can't be opened, that is the verdict.
        """
        counted: list[Case] = []
        told = _Told(expected)
        try:
            verdict = _guarded(network, lambda: self._network(place.get(self), network, told, counted))
        except _HostFailed as failed:
            raise failed.error from None
        return replace(verdict, seconds=max(verdict.seconds - told.seconds, 0)), len(counted)

    def control(self, control: Control, place: Workplace) -> Verdict | None:
        """Whether a control is refused for its reason; None if the builder can't be asked."""
        try:
            session = place.get(self)
        except PluginkitError:
            return None
        return evaluator_control(session, control)

    def _network(
        self,
        session: RtxSession,
        network: AnyNetwork,
        expected: Host,
        counted: list[Case],
    ) -> Verdict:
        if isinstance(network, ApiNetwork):
            built = session.build_api(network)
            verdict = _verdict(network, built, expected())
            row = refusals.recognise(built)
            return self._without(session, network, row, verdict, expected()) if row and row.hidden else verdict
        built = session.build(network)
        verdict = _verdict(network, built)
        if row := self._recognised(built):
            if row.hidden:
                return self._without(session, network, row, verdict, expected())
            return self._whatever(session, own_operators.replaced(network, self.manifest), row, verdict)
        if not network.variant:
            verdict = self._otherwise(session, network, verdict, counted)
        # Last: the host may be at work on it yet.
        compared = _verdict(network, built, expected())
        if compared.outcome.bad:
            counted.clear()
            return compared
        return verdict

    def _otherwise(self, session: RtxSession, network: Network, verdict: Verdict, counted: list[Case]) -> Verdict:
        """The verdict on a network, or a bad one on its other forms: as exporters write it, and as static networks."""
        if not verdict.outcome.bad and network.family == "plain":
            again = _verdict(network, session.build(network, as_exported=True))
            if again.outcome.bad and (advice := parser_operators.advice(self.manifest.plugin.name)):
                again = replace(again, message=f"{again.message}\n{advice}")
            verdict = _if_bad(again, "the same network as exporters write it", verdict)
        if network.precision is self.plan.builder_networks[0].precision:
            # Shapes don't depend on types: one precision is enough.
            for case in static.points(self.plan.cases, network):
                if not verdict.outcome.bad:
                    fixed = self._static(session, network, case)
                    counted += [case] if fixed.outcome is not Outcome.SKIPPED else []
                    verdict = _if_bad(fixed, f"{case.id} as a static network", verdict)
        return verdict

    def _whatever(self, session: RtxSession, own: Network, row: Refusal, verdict: Verdict) -> Verdict:
        """A refusal whose message matches a row: NVIDIA's own, if `own`, the same network with ONNX's operators in the
        plugin's place, gets it too."""
        other = session.build(own)
        refusal = f"{row.cause} (refusal {row.id})"
        if refusals.recognise(other) is not row:
            answer = "builds" if other.ok else f"is {other.status} with another message"
            message = (
                f"Its message for {refusal}; but with ONNX's own operators in the plugin's place the network {answer}."
            )
            return replace(verdict, message=f"{verdict.message}\n{message}")
        message = (
            f"NVIDIA's builder refuses {refusal}, whatever the operator: with ONNX's own in the plugin's place too. So "
            f"the plugin is not tested in this network.\nWhat builds: {row.instead}."
        )
        return replace(verdict, outcome=Outcome.SKIPPED, message=message, how=REFUSED_ALIKE)

    def _without(
        self,
        session: RtxSession,
        network: AnyNetwork,
        row: Refusal,
        verdict: Verdict,
        expected: Sequence[Configured],
    ) -> Verdict:
        """A refusal for something that a plugin may have: NVIDIA's own, if the network is built, the plugin live, once
        the builder hears of none."""
        rows = [row]
        hiding, built = self._hiding(rows, session, network)
        while (more := self._recognised(built)) and more.hidden and more not in rows:
            # What has a size that only enqueue knows may want a workspace besides: each is refused by itself.
            rows.append(more)
            hiding, built = self._hiding(rows, session, network)
        every = [one.hidden for one in rows]
        hidden = " and ".join(every)
        # Upper bounds in the place of sizes, and constants, are others in configurePlugin, too.
        seen = () if {"sizes", "values"} & set(every) else expected
        other = _verdict(hiding, built, seen)
        cause = ", and ".join(f"{one.cause} (refusal {one.id})" for one in rows)
        if "sizes" in every and built.status == "refused" and isinstance(network, Network):
            own = session.build(own_operators.replaced(network, self.manifest))
            if own.status == "refused" and refusals.place(own) == refusals.place(built):
                message = (
                    f"NVIDIA's builder refuses {cause}. Told that the plugin has no {hidden}, it refuses the network "
                    f"too, and with ONNX's own operators in the plugin's place:\n{built.message}\n{own.message}\n"
                    f"So the plugin is not tested in this network.\nWhat builds: {row.instead}."
                )
                return replace(verdict, outcome=Outcome.SKIPPED, message=message, how=REFUSED_ALIKE)
        if other.outcome.bad:
            message = f"Its message for {cause}; but without the {hidden}: {other.how}."
            return replace(verdict, message="\n".join(filter(None, (verdict.message, message, other.message))))
        instead = "; and ".join(one.instead for one in rows)
        if every == ["values"]:
            message = (
                f"NVIDIA's builder crashes on {cause}. With these values as constants it builds the network, and the "
                f"plugin is judged so.\nWhat builds: {instead}."
            )
            return replace(verdict, outcome=Outcome.SKIPPED, message=message, how=REFUSED_ALIKE)
        message = (
            f"NVIDIA's builder refuses {cause}. Told that the plugin has no {hidden}, it builds the network, and all "
            f"else of the plugin is tested so.\nWhat builds: {instead}."
        )
        return replace(verdict, outcome=Outcome.SKIPPED, message=message, how=REFUSED_ALIKE)

    def _recognised(self, built: BuildVerdict) -> Refusal | None:
        return refusals.recognise(built, shape_inputs=bool(self.manifest.shape_inputs()))

    def _hiding(
        self, rows: Sequence[Refusal], session: RtxSession, network: AnyNetwork
    ) -> tuple[AnyNetwork, BuildVerdict]:
        """What is built and the answer, once the builder hears of nothing that the rows are about. Values of shape
        inputs are constants then, which is for one profile."""
        hidden = [one.hidden for one in rows if one.hidden != "values"]
        if len(hidden) < len(rows) and isinstance(network, Network):
            network = constant_values.with_constants(network, self.manifest)
        if hidden:
            return network, session.without(hidden, network)
        return network, session.build_api(network) if isinstance(network, ApiNetwork) else session.build(network)

    def _static(self, session: RtxSession, network: Network, case: Case) -> Verdict:
        fixed = static.fixed(network, case, self.manifest)
        built = session.build(fixed)
        verdict = _verdict(network, built, alive=problems(fixed, built.configured))
        if (row := self._recognised(built)) and not row.hidden:
            own = static.fixed(own_operators.replaced(network, self.manifest), case, self.manifest)
            return self._whatever(session, own, row, verdict)
        wrong = static.wrong_shapes(case, session.shapes(), self.manifest) if built.ok else []
        if not wrong:
            return verdict
        message = "\n".join(filter(None, (verdict.message, *wrong)))
        how = f"{BUILT}, wrong shapes"
        return Verdict(network.id, tensorrt_rtx.NAME, Outcome.FAILED, message, built.log, built.seconds, how)


def evaluator_control(session: RtxSession, control: Control) -> Verdict:
    """Whether a control is refused for its reason: passed if it is."""
    network = control.network
    built = session.build_api(network) if isinstance(network, ApiNetwork) else session.build(network)
    found = negative_controls.problem(control, built)
    if not found:
        return Verdict(control.id, tensorrt_rtx.NAME, Outcome.PASSED, built.message, built.log, built.seconds)
    how = NOT_REFUSED if built.ok else f"{built.status}, but not for its reason"
    return Verdict(control.id, tensorrt_rtx.NAME, Outcome.FAILED, found, built.log, built.seconds, how)


class _HostFailed(Exception):
    """What the host saw can't be had: no fault of the builder's, which this passes by."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class _Told:
    """What the host saw, asked for once, and the seconds that this took: they aren't the builder's."""

    def __init__(self, expected: Host) -> None:
        self._expected = expected
        self._known: Sequence[Configured] | None = None
        self.seconds = 0.0

    def __call__(self) -> Sequence[Configured]:
        if self._known is None:
            begun = time.monotonic()
            try:
                self._known = self._expected()
            except Exception as error:
                raise _HostFailed(error) from error
            self.seconds = time.monotonic() - begun
        return self._known


def _guarded(network: AnyNetwork, ask: Callable[[], Verdict]) -> Verdict:
    """The verdict; or, where there can be none, how the asking ended."""
    found: list[Verdict] = []

    def action() -> str:
        found.append(ask())
        return ""

    outcome, message, seconds = guarded(action)
    if found:
        # A network is built several times over.
        return replace(found[0], seconds=seconds)
    how = "not loaded" if outcome is Outcome.FAILED else ""
    return Verdict(network.id, tensorrt_rtx.NAME, outcome, message, (), seconds, how)


def _verdict(
    network: AnyNetwork,
    built: BuildVerdict,
    expected: Sequence[Configured] = (),
    *,
    alive: Sequence[str] | None = None,
) -> Verdict:
    outcome, message = BUILDS[built.status], built.message
    how: str = built.status
    if built.ok:
        found = problems(network, built.configured, expected) if alive is None else alive
        message = "\n".join((*found, *built.lenient))
        outcome = Outcome.FAILED if message else Outcome.PASSED
        how = f"{BUILT}, {'not live' if found else 'leniently' if built.lenient else 'live'}"
    return Verdict(network.id, tensorrt_rtx.NAME, outcome, message, built.log, built.seconds, how)


def _if_bad(one: Verdict, where: str, otherwise: Verdict) -> Verdict:
    """The first verdict with its place if it is bad, else the other one."""
    if not one.outcome.bad:
        return otherwise
    return replace(one, message=f"{where}: {one.message}")
