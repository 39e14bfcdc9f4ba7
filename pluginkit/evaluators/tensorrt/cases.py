"""The full TensorRT in a test run: every network built and every case run on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from pluginkit import layouts
from pluginkit.dtypes import DType
from pluginkit.evaluators.engines import EngineRuns, collect, compared
from pluginkit.evaluators.host.cases import guarded
from pluginkit.evaluators.tensorrt import calibrated, version8, weak_types
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork, types_of
from pluginkit.network.networks import Array, Case, Network
from pluginkit.network.plan import Plan
from pluginkit.network.weak_types import Weak
from pluginkit.runtimes import BuildVerdict
from pluginkit.runtimes.tensorrt import session as tensorrt
from pluginkit.runtimes.tensorrt.session import TensorrtSession
from pluginkit.testing.report import Outcome, Verdict


def evaluate(
    library: Path,
    manifest: Manifest,
    timeout: float,
    plan: Plan,
    begin: Callable[[str], None],
    *,
    part: tuple[int, int] = (0, 1),
    remark: Callable[[str], None] = lambda _: None,
) -> list[Verdict]:
    """Have TensorRT build and run everything; one verdict a network.

    Args:
        library: built for target gpu.
        manifest: the plugin's.
        timeout: seconds for each call.
        plan: networks and cases.
        begin: called with what is being done.
        part: which part of the networks, of how many.
        remark: called with what a summary must say.
    """

    def verdicts_of(session: TensorrtSession) -> Iterator[Verdict]:
        if lacking := session.lacking():
            remark(
                f"without {', '.join(lacking)}, whose libraries are not here or only stand-ins: their tactics are off"
            )
        runs = TensorrtRuns(session, plan, part)
        if lacks := {kind for one in share(plan, part) for kind in runs.missing(one)}:
            names = ", ".join(sorted(kind.value for kind in lacks))
            remark(f"networks with {names} are not asked: TensorRT {session.major} hasn't got these types")
        yield from runs.all()

    return collect(
        partial(tensorrt.open, library, manifest, timeout=timeout),
        verdicts_of,
        runtime=tensorrt.NAME,
        networks=[one.id for one in share(plan, part)],
        begin=begin,
    )


@dataclass(frozen=True)
class TensorrtRuns(EngineRuns[TensorrtSession]):
    """TensorRT with a library, and what it is asked."""

    RUNTIME = tensorrt.NAME

    part: tuple[int, int] = (0, 1)

    def all(self) -> Iterator[Verdict]:
        """A verdict on each network of the part."""
        for asked in share(self.plan, self.part):
            if self.missing(asked):
                continue
            if not isinstance(asked, Network):
                yield self._built(asked, self.session.build_api(asked))
                continue
            verdict = self._built(asked, self.session.build(asked))
            yield self._only_in_full_tensorrt(asked, verdict) if verdict.outcome is Outcome.PASSED else verdict
        if self.session.weak:
            number, count = self.part
            for network, weak, cases in [*weak_types.networks(self.plan)][number::count]:
                yield self._weak(network, weak, cases)

    def missing(self, network: AnyNetwork) -> frozenset[DType]:
        """The types of a network that this TensorRT hasn't got."""
        return frozenset(types_of(network) & layouts.layout(self.session.major).lacks)

    def _built(self, network: AnyNetwork, built: BuildVerdict) -> Verdict:
        """As `built`, of the plan's cases."""
        verdict = self.built(network, built, self._in_types, self.cases(network))
        if not self.session.is_8 or not verdict.outcome.bad:
            return verdict
        return version8.whatever(self.session, network, verdict, self._control)

    def _control(self, network: AnyNetwork, cases: Sequence[Case]) -> Verdict:
        """As `built`, with a plugin that copies in the place of the one that is tested."""
        return self.built(network, self.session.build_control(network), self._copied, cases)

    def _copied(self, network: AnyNetwork, case: Case) -> str:
        # The process that built the engine has the creator.
        return compared(self.session.run(network, case, fresh=False).outputs, case)

    def _in_types(self, network: AnyNetwork, case: Case) -> str:
        """Whether the outputs are right; of TensorRT 8 also whether the plugin ran in the network's types."""
        if not self.session.is_8:
            return self.right(network, case)
        if difference := self.right(network, version8.as_8_rounds(network, case)):
            return difference
        return "\n".join(version8.other_types(network, self.session.run_in(network, case)))

    def _only_in_full_tensorrt(self, network: Network, verdict: Verdict) -> Verdict:
        """What only the full TensorRT has: contexts that switch profiles or run at once, shapes that are refused, and
        outputs that are shape tensors."""
        once = list({case.profile: case for case in self.cases(network)}.values())
        if len(network.profiles) > 1:
            verdict = self.checked(network, verdict, self._switched, once)
        if network.family == "plain" and not _static(network):
            verdict = self.checked(network, verdict, self._beyond, once)
            verdict = self._together(network, verdict, once)
            if not verdict.outcome.bad:
                again = self.built(network, self.session.build_shapes(network), self._shapes, self.cases(network))
                verdict = again if again.outcome.bad else verdict
        return verdict

    def _together(self, network: Network, verdict: Verdict, once: Sequence[Case]) -> Verdict:
        """Two contexts at once: of two profiles, or of the only one, twice."""
        if verdict.outcome.bad or not once:
            return verdict
        pair = list(once[:2])
        if len(pair) < 2:
            # Where a dimension is dynamic, each context needs a profile of its own.
            (profile,) = network.profiles
            twin = replace(profile, name=f"{profile.name} again")
            network = replace(network, profiles=(profile, twin))
            pair.append(replace(pair[0], profile=twin.name))
            verdict = self.verdict(network.id, self.session.build(network))
            if verdict.outcome.bad:
                return verdict
        ran: dict[str, dict[str, Array]] = {}

        def check(network: AnyNetwork, case: Case) -> str:
            if not ran:
                ran.update(zip((one.profile for one in pair), self.session.both(network, pair), strict=True))
            difference = compared(ran[case.profile], case)
            return f"with another context at work: {difference}" if difference else ""

        return self.checked(network, verdict, check, pair)

    def _beyond(self, network: AnyNetwork, case: Case) -> str:
        """Shapes that no profile has, which TensorRT refuses; 8.5.3 takes one of another profile than the context's."""
        number = [one.name for one in network.profiles].index(case.profile)
        wrong = []
        for name, (_, _, most) in network.profiles[number].shapes.items():
            for axis in range(len(most)):
                largest = max(profile.shapes[name][2][axis] for profile in network.profiles)
                dims = (*most[:axis], largest + 1, *most[axis + 1 :])
                if self.session.accepts(network, number, name, dims):
                    wrong.append(f"input '{name}' takes {list(dims)}, which no profile has")
        return "\n".join(wrong)

    def _weak(self, network: Network, weak: Weak, cases: Sequence[Case]) -> Verdict:
        built = self.session.build_weak(network, weak)
        if not weak.calibrated:
            return self.built(network, built, self.right, cases)
        verdict = self.verdict(network.id, built)
        if verdict.outcome.bad:
            return verdict
        outcome, message, _ = guarded(partial(calibrated.problem, self.session, network, weak, cases))
        return replace(verdict, outcome=outcome, message=message) if outcome.bad else verdict

    def _switched(self, network: AnyNetwork, case: Case) -> str:
        # First in its own context, which is then released for the other's.
        difference = self.right(network, case) or compared(self.session.run(network, case, switch=True).outputs, case)
        return f"in a context switched to profile {case.profile!r}: {difference}" if difference else ""

    def _shapes(self, network: AnyNetwork, case: Case) -> str:
        found = self.session.shape_values(network, case)
        return "\n".join(
            f"output '{name}' has shape {found[name].tolist()} by TensorRT, expected {list(want.shape)}"
            for name, want in case.expected.items()
            if not np.array_equal(found[name], want.shape)
        )


def share(plan: Plan, part: tuple[int, int]) -> list[AnyNetwork]:
    """The networks of a part, of how many."""
    number, count = part
    networks: list[AnyNetwork] = [*plan.usual, *plan.by_api]
    return networks[number::count]


def _static(network: Network) -> bool:
    """Whether it has one shape: nothing is open then, and no profile counts."""
    return all(low == high for profile in network.profiles for low, _, high in profile.shapes.values())
