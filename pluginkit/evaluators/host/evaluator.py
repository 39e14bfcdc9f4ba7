"""pluginkit's host as an evaluator: each case on each build, and what lies outside of the profiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pluginkit.evaluators.host.schedules import schedules, ways_on_gpu
from pluginkit.evaluators.protocol import Answers, Build, Expected, Item, RunWork, Workplace
from pluginkit.network.large import LargeCase
from pluginkit.runtimes import Availability, Configured
from pluginkit.runtimes.host import session as host
from pluginkit.testing.report import CaseResult

if TYPE_CHECKING:
    from pluginkit.evaluators.host.cases import Hosted


class HostEvaluator:
    """Runs each case of the plan, in each order that CUDA leaves open, and compares."""

    NAME = host.NAME
    STANDBY: tuple[str, ...] = ()

    def probe(self) -> Availability:
        """It comes with pluginkit."""
        return host.probe()

    def obstacle(self, work: RunWork) -> str:
        """None, ever."""
        del work
        return ""

    def ids(self, work: RunWork) -> Sequence[str]:
        """The cases outside of the profiles, and the one of more than 2^31 elements."""
        from pluginkit.evaluators.host import outside_profile

        names = [case.id for case in outside_profile.cases(work.manifest, work.whole)]
        return [*names, work.large.id] if isinstance(work.large, LargeCase) else names

    def items(self, work: RunWork) -> Sequence[Item]:
        """Each case on each build; on the first build also the cases outside of the profiles, which must be refused."""
        from pluginkit.evaluators.host import outside_profile

        found = [
            Item(case.id if one.target == "cpu" else f"{case.id}/gpu", self.NAME, "cases", network.id, one, case)
            for one in work.builds
            for network in work.plan.networks
            for case in work.plan.cases
            if case.network_id == network.id
        ]
        # What is refused is refused before the library is asked: once is enough for all builds of a kind, and all GPUs.
        kind = (work.builds[0].target, work.builds[0].where)
        first = [one for one in work.builds if (one.target, one.where) == kind]
        found += [
            Item(case.id, self.NAME, "controls", case.network_id, one, case)
            for one in first
            for case in outside_profile.cases(work.manifest, work.whole, work.only)
        ]
        if isinstance(work.large, LargeCase) and work.asks_for(work.large.id):
            found += [
                Item(f"{work.large.id}/{one.target}", self.NAME, "cases", "", one, work.large)
                for one in work.builds
                if not one.instrumentation.name
            ]
        return found

    def execute(self, item: Item, work: RunWork, place: Workplace, configured: Expected | None) -> Answers:
        """Run a case, or have one refused."""
        del configured
        hosting = place.get(self.hosted(work, place, item.build))
        if isinstance(item.subject, LargeCase):
            return Answers((hosting.large(item.subject),))
        network = work.network(item.network)
        if item.section == "controls":
            verdict = hosting.refused(network, item.subject)
            # Where the network can't be built, its cases say why.
            return Answers((verdict,) if verdict else (), hosting.configured(network))
        result = hosting.case(network, item.subject, "" if isinstance(work.large, LargeCase) else work.whole.large)
        return Answers((result,), hosting.configured(network), remark=hosting.remark)

    def configured(self, network: str, work: RunWork, place: Workplace) -> tuple[Configured, ...]:
        """What configure sees of a network on the first build."""
        hosting = place.get(self.hosted(work, place, work.builds[0]))
        return hosting.configured(work.network(network))

    def hosted(self, work: RunWork, place: Workplace, build: Build) -> Hosted:
        """How cases are run on a build."""
        from pluginkit.evaluators.host.cases import Hosted

        if build.target == "gpu":
            orders = ways_on_gpu(checked=bool(build.instrumentation.tool))
        else:
            orders = schedules(work.schedules, work.plan.seed, deferred=bool(work.sanitize))
        return Hosted(
            place.library(build),
            build.instrumentation,
            work.manifest,
            work.project,
            work.timeout,
            orders,
            build.target,
            work.strict,
        )

    def summary(self, work: RunWork, found: Sequence[Answers]) -> str:
        """On which targets, with which checks, in which orders."""
        on_cpu = [one.instrumentation for one in work.builds if one.target == "cpu"]
        where = []
        if on_cpu:
            checks = " with " + " and then with ".join(one.name for one in on_cpu) if work.sanitize else ""
            where.append(f"on target cpu{checks}")
        on_gpus = [one for one in work.builds if one.target == "gpu"]
        if on_gpus:
            tools = " and then ".join(
                dict.fromkeys(one.instrumentation.tool for one in on_gpus if one.instrumentation.tool)
            )
            names = "; ".join(dict.fromkeys(one.where for one in on_gpus))
            where.append(f"on target gpu ({names})" + (f" under {tools}" if tools else ""))
        results = [one for findings in found for one in findings.results if isinstance(one, CaseResult)]
        watched = next((one.watched for one in results if one.watched), "")
        also = ["with deferred streams"] if on_cpu and (work.sanitize or work.schedules) else []
        if work.schedules:
            orders = "order" if work.schedules == 1 else "orders"
            also += ["in reverse", f"in {work.schedules} random {orders} of seed {work.plan.seed}"]
        if on_gpus and not work.sanitize:
            also += ["replayed from a CUDA graph on new data", "with a second context at work"]
        parts = [
            "pluginkit's own, " + " and ".join(where),
            f"each case also {', '.join(also)}" if also else "",
            f"enqueue's calls of CUDA seen {watched}" if watched and not work.sanitize else "",
            *dict.fromkeys(answers.remark for answers in found),
        ]
        untried = next((one.large_untried for one in results if one.large_untried), "")
        if why := work.large if isinstance(work.large, str) and work.large else untried:
            parts.append(f"no tensors of more than 2^31 elements: {why}")
        return "; ".join(filter(None, parts))


EVALUATOR = HostEvaluator()
