"""The full TensorRT in a test run: every network built and every case run on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from pluginkit import layouts
from pluginkit.judges.engines import EngineRuns, collect, compared
from pluginkit.judges.host.cases import guarded
from pluginkit.judges.tensorrt import calibrated, version8, weak_types
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.model import Array, Case, Network
from pluginkit.network.plan import Plan
from pluginkit.network.weak_types import Weak
from pluginkit.runtimes import BuildVerdict
from pluginkit.runtimes.tensorrt import session as tensorrt
from pluginkit.runtimes.tensorrt.session import TensorrtSession
from pluginkit.testing.report import Outcome, Verdict


def judge(
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
    number, count = part

    def verdicts_of(session: TensorrtSession) -> Iterator[Verdict]:
        if lacking := session.lacking():
            remark(
                f"without {', '.join(lacking)}, whose libraries are not here or only stand-ins: their tactics are off"
            )
        yield from TensorrtRuns(session, plan, part).all()

    return collect(
        partial(tensorrt.open, library, manifest, timeout=timeout),
        verdicts_of,
        runtime=tensorrt.NAME,
        networks=[*(one.id for one in plan.usual), *(one.id for one in plan.by_api)][number::count],
        begin=begin,
    )


@dataclass(frozen=True)
class TensorrtRuns(EngineRuns[TensorrtSession]):
    """TensorRT with a library, and what it is asked."""

    RUNTIME = tensorrt.NAME

    part: tuple[int, int] = (0, 1)

    def all(self) -> Iterator[Verdict]:
        """A verdict on each network of the part."""
        number, count = self.part
        networks: list[AnyNetwork] = [*self.plan.usual, *self.plan.by_api]
        for asked in [one for one in networks if not self.missing(one)][number::count]:
            if not isinstance(asked, Network):
                yield self._built(asked, self.session.build_api(asked))
                continue
            verdict = self._built(asked, self.session.build(asked))
            yield self._more(asked, verdict) if verdict.outcome is Outcome.PASSED else verdict
        if self.session.weak:
            for network, weak, cases in [*weak_types.networks(self.plan)][number::count]:
                yield self._weak(network, weak, cases)

    def missing(self, network: AnyNetwork) -> bool:
        """Whether the network has types that this TensorRT hasn't got."""
        types = {kind for call in network.calls for kind in (*call.types, *call.output_types)}
        return bool(types & layouts.layout(self.session.major).lacks)

    def _built(self, network: AnyNetwork, built: BuildVerdict) -> Verdict:
        """As `built`, of the plan's cases."""
        if self.session.major == 8 and built.status == "refused":
            return version8.whatever(self.session, network, self.verdict(network.id, built))
        return self.built(network, built, self._in_types, self.cases(network))

    def _in_types(self, network: AnyNetwork, case: Case) -> str:
        """Whether the outputs are right; of TensorRT 8 also whether the plugin ran in the network's types."""
        difference = self.right(network, case)
        if difference or self.session.major != 8:
            return difference
        return "\n".join(version8.other_types(network, self.session.run_in(network, case)))

    def _more(self, network: Network, verdict: Verdict) -> Verdict:
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
            # Where a dimension is open, each context needs a profile of its own.
            (profile,) = network.profiles
            twin = replace(profile, name=f"{profile.name} again")
            network = replace(network, profiles=(profile, twin))
            pair.append(replace(pair[0], profile=twin.name))
            verdict = self.verdict(network.id, self.session.build(network))
            if verdict.outcome.bad:
                return verdict
        ran: list[dict[str, Array]] = []

        def check(network: AnyNetwork, case: Case) -> str:
            if not ran:
                ran.extend(self.session.both(network, pair))
            difference = compared(ran[pair.index(case)], case)
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


def _static(network: Network) -> bool:
    """Whether it has one shape: nothing is open then, and no profile counts."""
    return all(low == high for profile in network.profiles for low, _, high in profile.shapes.values())
