"""The orders that CUDA leaves open, and the ways in which enqueue may be called: in each a right plugin gives the same
outputs, so a case runs in several of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from pluginkit.bases import BASES
from pluginkit.manifest import Manifest
from pluginkit.network.api_model import AnyNetwork
from pluginkit.network.networks import Case, Network
from pluginkit.runtimes import Target, Way

_SPREAD = 1_000_003
"""Between the seeds of two runs, so that they share no order unless one has very many."""


@dataclass(frozen=True)
class Schedule:
    """How a case is run.

    Attributes:
        order: on target cpu, of a kernel's blocks and threads: `forward`, `reverse`, or the seed of a random one; or
            `lowest` or `highest`: of the threads that can go on always the one with that number.
        deferred: on target cpu, whether streams do nothing before they are waited for.
        way: how enqueue is called.
    """

    order: str = "forward"
    deferred: bool = False
    way: Way = "eager"

    @property
    def in_other_order(self) -> bool:
        """Whether enqueue is called as usual, and blocks, threads or streams come in an order of its own."""
        return self.way == "eager" and self != Schedule()

    @property
    def description(self) -> str:
        """For people; empty for the order and way that all cases run in first."""
        if self.way != "eager":
            return _WAYS[self.way]
        if self.order == "forward":
            return "with streams that do nothing before they are waited for" if self.deferred else ""
        if self.order == "reverse":
            return "with blocks and threads in reverse order"
        if self.order in _AHEAD:
            return f"with the thread of the {self.order} number as far ahead of the others as barriers let it"
        return f"with blocks and threads in the random order of seed {self.order}"


def schedules(count: int, seed: int, *, deferred: bool) -> tuple[Schedule, ...]:
    """How each case runs: in order; with deferred streams if asked; for a count also in reverse and in random orders.

    There are `count` random orders, which follow from `seed`.
    """
    found = [Schedule()]
    if deferred or count:
        found.append(Schedule(deferred=True))
    if count:
        found.append(Schedule("reverse"))
    found += [Schedule(str(seed * _SPREAD + number)) for number in range(1, count + 1)]
    return tuple(found)


_AHEAD = ("lowest", "highest")
"""Orders that show a missing barrier by wrong values, each in one direction."""
_SHOWN = ("opt", "max", "random-1")
"""Where they are enough, besides the opt of each other value of a field."""

_BRANCHES = ("cond-both", "api-cond-lazy")
"""The families with plugins in branches that are run whichever is taken: one by ONNX, one by the network API."""

_WAYS = {
    "graph": "captured into a CUDA graph and replayed on new data",
    "concurrent": "with a second context of the engine at work, on another thread and stream",
    "page-start": "with all device memory right behind a page that can't be read",
    "handles": "as TensorRT 10 with tactics of cuDNN and cuBLAS: attachToContext is given their handles",
    "as-8.5": "as TensorRT 8.5.3: configured at run time with min and max equal to the shapes, enqueue called 100 "
    "times, and contexts of the other profiles at once",
    "branches": "with the branches run that are not taken, on data that they would never see, as TensorRT 8.5.3 runs "
    "them",
    "reused": "in an execution context that has run other shapes before",
}


def other_contexts(
    network: AnyNetwork, case: Case, manifest: Manifest, target: Target, *, checked: bool, for_implicit_batch: bool
) -> tuple[Schedule, ...]:
    """How a case is run once more; not in a build with checks.

    In a context that has run the case's earlier ones, if it has any. In `plain` on target cpu, at a few points, with
    one thread ahead of the others. At opt of the plain network, which is enough: on target cpu with a second context
    at work, and with memory that begins, not ends, at a page's border; and, once for
    the plugin, with handles of cuDNN and cuBLAS, where TensorRT 10 can load the library.
    """
    if checked:
        return ()
    reused = [Schedule(way="reused")] if case.earlier else []
    found = reused
    ahead = []
    if isinstance(network, Network) and network.family == "plain" and target == "cpu":
        varied = network.fields is not None and case.point == "opt"
        shown = (case.point in _SHOWN and not network.variant) or varied
        ahead = [Schedule(one) for one in _AHEAD] if shown else []
    if isinstance(network, Network) and network.family == "plain" and not network.variant and case.point == "opt":
        first = network.precision is manifest.precisions()[0] and case.profile == manifest.profiles[0].name
        found = [Schedule(way="page-start"), *reused, Schedule(way="concurrent")] if target == "cpu" else reused
        once = first and BASES[manifest.plugin.base].generation == "v2"
        found += [Schedule(way="handles")] if once and for_implicit_batch else []
        found += [Schedule(way="as-8.5")] if once and target == "cpu" else []
    if network.family in _BRANCHES and case.point.partition("/")[0] == "opt" and target == "cpu":
        found = [*found, Schedule(way="branches")]
    return (*ahead, *found)


def ways_on_gpu(*, checked: bool) -> tuple[Schedule, ...]:
    """How each case runs on a GPU; once where compute-sanitizer looks on, which has launches wait for one another."""
    return (Schedule(),) if checked else (Schedule(), Schedule(way="graph"), Schedule(way="concurrent"))
