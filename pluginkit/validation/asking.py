"""The questions of `check_library` to a library's hosts, as plain data: asked by threads here, or by a farm."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pluginkit.adoption.answers import ListedCreator, PluginAnswers
from pluginkit.adoption.node import ModelNode
from pluginkit.dtypes import DType
from pluginkit.errors import PluginkitError
from pluginkit.host import DemandWarning
from pluginkit.manifest import Manifest
from pluginkit.process import isolated
from pluginkit.process.worker import TO_TELL
from pluginkit.process.worker_main import CallFile
from pluginkit.process.worker_pool import Sessions, WorkerPool
from pluginkit.validation import validation_worker
from pluginkit.validation.library_hosts import LibraryHosts, LibrarySource
from pluginkit.validation.subject import Known
from pluginkit.validation.subjects import manifests
from pluginkit.validation.validation_worker import AFTER_A_HANG, Answer, ForkLimits

QUESTIONS = 60.0
"""Seconds in addition for finding out what a plugin takes."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Question(Protocol[T_co]):
    """A question to a library's hosts. It can be pickled."""

    def __call__(self, own: Sessions, library: Path) -> T_co:
        """Ask it, by a thread's own sessions of the library."""


class Asker(Protocol):
    """What asks a library's hosts."""

    def all(self, questions: Sequence[Question[T]], done: Callable[[int], None] = lambda _: None) -> list[T]:
        """What each gives, in order. `done` is called with how many have come; what one raises ends it."""


@contextmanager
def pool_asker(library: Path, jobs: int = 0, *, in_process: bool = False) -> Iterator[Asker]:
    """Threads of this process: so many, or as many as there are cores."""
    with WorkerPool(1 if in_process else jobs or len(os.sched_getaffinity(0))) as pool:
        yield _PoolAsker(pool, library)


class _PoolAsker:
    def __init__(self, pool: WorkerPool, library: Path) -> None:
        self._pool = pool
        self._library = library

    def all(self, questions: Sequence[Question[T]], done: Callable[[int], None] = lambda _: None) -> list[T]:
        """As of `Asker`."""
        given = [self._pool.submit(partial(self._ask, one)) for one in questions]
        found = []
        for place, one in enumerate(given):
            done(place)
            found.append(one.result())
        return found

    def _ask(self, question: Question[T], own: Sessions) -> T:
        return question(own, self._library)


@dataclass(frozen=True)
class First:
    """Which creators a library has, and what loading it has shown; or why it can't be loaded.

    Attributes:
        seconds: that loading it may take.
    """

    seconds: float

    def __call__(
        self, own: Sessions, library: Path
    ) -> tuple[list[ListedCreator], tuple[DemandWarning, ...]] | PluginkitError:
        """As of `Question`."""
        return _hosts(own, library, self.seconds).first()


@dataclass(frozen=True)
class Begin:
    """How the plugin of a creator is made, what it takes, and the layout in which the host can call it.

    Attributes:
        creator: whose.
        given: the node of a model that has the values of its fields.
        manifest: the plugin's, where there is one.
        seconds: that a question may take.
        made: whether a plugin is to be made at all.
    """

    creator: ListedCreator
    given: ModelNode | None
    manifest: Manifest | None
    seconds: float
    made: bool = True

    def __call__(self, own: Sessions, library: Path) -> tuple[int, Known]:
        """As of `Question`."""
        hosts = _hosts(own, library, self.seconds)
        if not self.made:
            return hosts.layout, Known(PluginAnswers())
        return known_of(hosts, self.creator, self.given, self.manifest, self.seconds)


@dataclass(frozen=True)
class Ask:
    """Checks of a creator.

    Attributes:
        creator: whose.
        layout, known: as `Begin` has them.
        names: the checks' ids.
        limits: of each.
        in_process: whether they are asked without a fork.
    """

    creator: ListedCreator
    layout: int
    known: Known
    names: tuple[str, ...]
    limits: ForkLimits
    in_process: bool = False

    def __call__(self, own: Sessions, library: Path) -> list[Answer]:
        """As of `Question`."""
        if not self.names:
            return []
        # What hangs once will hang in other checks too.
        hung: set[int] = own.common.shared(("hung", library), set)
        short = min(AFTER_A_HANG, self.limits.seconds) if self.creator.index in hung else self.limits.seconds
        found = self._ask(_hosts(own, library, self.limits.seconds), replace(self.limits, seconds=short))
        if any(one.ending == isolated.HUNG for one in found):
            hung.add(self.creator.index)
        return found

    def _ask(self, hosts: LibraryHosts, limits: ForkLimits) -> list[Answer]:
        there = hosts.with_creator(self.creator)
        worker, index = next((worker, index) for at, worker, index in there if at == self.layout)
        arguments: dict[str, Any] = {"index": index, "names": self.names, "known": self.known, "limits": limits}
        if self.in_process:
            here = validation_worker.open(CallFile(worker.call_file), **hosts.init(self.layout))
            return here.ask(**arguments, within=True)
        timeout = (limits.seconds + TO_TELL) * (len(self.names) + 1)
        found: list[Answer] = worker.call("ask", timeout=timeout, **arguments)
        return found


def _hosts(own: Sessions, library: Path, seconds: float) -> LibraryHosts:
    return own.get(LibrarySource(library, seconds))


def known_of(
    hosts: LibraryHosts, creator: ListedCreator, given: ModelNode | None, manifest: Manifest | None, timeout: float
) -> tuple[int, Known]:
    """How the plugin of a creator is made, what it takes, and the layout in which the host can call it."""
    if manifest is not None and given is None:
        return _declared(hosts, creator, manifests.known(manifest))
    kinds = {kind.code: kind for kind in DType}
    types = tuple(kinds[code] for code in given.types if code in kinds) if given else ()
    whole = given is not None and given.ranks is not None and len(types) == len(given.types)
    tried: list[tuple[int, PluginAnswers]] = []
    for layout, worker, index in hosts.with_creator(creator):
        if given is not None and whole:
            base = worker.call("base", index=index, given=given.given)
            answers = PluginAnswers(base=base, given=given.given, made="model" if base else "")
        else:
            values, ranks = (given.given, given.ranks) if given else (None, None)
            arguments = {"index": index, "given": values, "ranks": ranks}
            answers = worker.call("answers", timeout=QUESTIONS + timeout, **arguments)
        tried.append((layout, answers))
        if answers.made:
            break
    layout, answers = next((one for one in tried if one[1].made), tried[0])
    if given is None:
        return layout, Known(answers)
    if not answers.made:
        # With a model's values each check finds out why not.
        answers = replace(answers, made="model", given=given.given)
    return layout, Known(answers, given.opt_sizes(), types if whole else (), given.network())


def _declared(hosts: LibraryHosts, creator: ListedCreator, declared: Known) -> tuple[int, Known]:
    """The same by a manifest; where no plugin can be made of its values, each check finds out why not."""
    layout = None
    for layout, worker, index in hosts.with_creator(creator):
        if base := worker.call("base", index=index, given=declared.answers.given):
            return layout, replace(declared, answers=replace(declared.answers, base=base))
    return hosts.layout, declared if layout is not None else Known(PluginAnswers())
