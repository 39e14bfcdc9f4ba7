"""Which worker executes what, and what becomes of it when a worker dies. Plain data: it knows nothing of Dask.

Dask's own queue is turned off by `workers=`, and then one death suspects every task that waits for that worker
(`distributed.scheduler.KilledWorker`). So a batch is given to a worker only shortly before it runs there.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Hashable, Iterable, KeysView, Sequence
from dataclasses import dataclass, field, replace

OUTSTANDING = 2
"""Batches that a worker has for each of its threads: one that runs, and one so that it needn't wait for the next."""
AT_ONCE = 0.15
"""Seconds that a batch should take: each costs some 10 ms, and what a worker that dies had is done again."""
MOST = 64
"""Items that are put together at most: where a worker dies, each of them runs again by itself."""
WEIGHT = 0.3
"""Of the last batch in what is expected of the next: the first ones of a worker begin with starting processes."""
DEATHS = 2
"""How many workers' deaths in the same item make it a finding: the first in company, the second alone."""


@dataclass(frozen=True)
class Batch:
    """What one worker executes in one go.

    Attributes:
        items: places of the items in the run's list.
        kind: what a worker must be to execute it.
        after: the items whose answers it needs.
        deaths: names of the workers that died while they executed it.
        parts: the batches that it was put together of, where it was.
        apart: whether it is not put together with others: it was, and a worker died of that.
    """

    items: tuple[int, ...]
    kind: Hashable
    after: tuple[int, ...] = ()
    deaths: tuple[str, ...] = ()
    parts: tuple[Batch, ...] = ()
    apart: bool = False

    @property
    def alone(self) -> bool:
        """Whether a worker must have nothing else to do meanwhile."""
        return bool(self.deaths)


@dataclass
class _Member:
    """A worker and the batches that it was given, the oldest first."""

    kinds: tuple[Hashable, ...]
    threads: int
    given: list[Batch] = field(default_factory=list)
    executed: list[Batch] = field(default_factory=list)
    """Of these the answers are still to be fetched from it."""

    @property
    def room(self) -> bool:
        """Whether it can be given one more."""
        return len(self.given) < OUTSTANDING * self.threads and not any(one.alone for one in self.given)

    @property
    def load(self) -> float:
        """Batches that it has for each of its threads."""
        return len(self.given) / self.threads


class Dispatcher:
    """The queue of a run."""

    def __init__(self, batches: Iterable[Batch]) -> None:
        self._suspects: list[Batch] = []
        self._waiting: dict[Hashable, deque[Batch]] = {}
        self._items: Counter[Hashable] = Counter()
        """How many items of a kind wait: counted as they come and go, for it is asked after each answer."""
        self._held: dict[int, list[Batch]] = {}
        self._members: dict[str, _Member] = {}
        self._costs: dict[Hashable, float] = {}
        """Seconds that an item of a kind takes, as far as that has been seen."""
        for one in batches:
            if not one.after:
                self._wait(one)
            else:
                self._held.setdefault(one.after[0], []).append(one)

    @property
    def done(self) -> bool:
        """Whether every batch has its answers, or is a finding."""
        return not (self._suspects or any(self._waiting.values()) or self._held or self._busy)

    @property
    def _busy(self) -> bool:
        return any(member.given for member in self._members.values())

    @property
    def workers(self) -> KeysView[str]:
        """The names of those that are there."""
        return self._members.keys()

    def wanted(self) -> set[Hashable]:
        """The kinds of batches that wait, and that no worker is of."""
        waiting = self._waiting_kinds | {one.kind for one in self._suspects}
        return {kind for kind in waiting if not any(kind in member.kinds for member in self._members.values())}

    @property
    def _waiting_kinds(self) -> set[Hashable]:
        return {kind for kind, batches in self._waiting.items() if batches}

    def joined(self, worker: str, kinds: Iterable[Hashable], threads: int) -> None:
        """A worker is there now. What waits for the first of its kinds it is given first."""
        self._members[worker] = _Member(tuple(kinds), max(1, threads))

    def assignments(self) -> list[tuple[str, Batch]]:
        """Gives waiting batches to workers: which to which. Those that are to run alone come first."""
        found = self._alone()
        # It is asked after each answer: with a thousand workers, what it does for each of them counts.
        if not self._waiting_kinds:
            return found
        free = [(member.load, place, name) for place, (name, member) in enumerate(self._members.items()) if member.room]
        heapq.heapify(free)
        sizes = {kind: self._size(kind) for kind in self._waiting_kinds}
        while free:
            _, place, name = free[0]
            member = self._members[name]
            kind = next((kind for kind in member.kinds if self._waiting.get(kind)), None)
            if kind is not None:
                batch = self._taken(kind, sizes[kind])
                member.given.append(batch)
                found.append((name, batch))
            if kind is None or not member.room:
                heapq.heappop(free)
            else:
                heapq.heapreplace(free, (member.load, place, name))
        return found

    def _size(self, kind: Hashable) -> int:
        """How many items a batch of a kind may have: what takes `AT_ONCE`, and less where little is left, so that all
        workers end together. Nothing is put together before something has been seen of the kind."""
        if kind not in self._costs:
            return 1
        threads = sum(member.threads for member in self._members.values() if kind in member.kinds)
        share = self._items[kind] // max(1, OUTSTANDING * threads)
        return int(min(MOST, share, AT_ONCE / self._costs[kind]))

    def _taken(self, kind: Hashable, size: int) -> Batch:
        """The next batch, with those behind it that it has room for."""
        waiting = self._waiting[kind]
        taken = [waiting.popleft()]
        count = len(taken[0].items)
        while waiting and not (taken[0].apart or waiting[0].apart) and count + len(waiting[0].items) <= size:
            taken.append(waiting.popleft())
            count += len(taken[-1].items)
        self._items[kind] -= count
        if len(taken) == 1:
            return taken[0]
        items = tuple(item for one in taken for item in one.items)
        return Batch(items, kind, tuple(item for one in taken for item in one.after), parts=tuple(taken))

    def _alone(self) -> list[tuple[str, Batch]]:
        found = []
        for batch in list(self._suspects):
            fit = [name for name, member in self._members.items() if batch.kind in member.kinds]
            # Where it has been executed when a worker died, another machine says more.
            fit = [name for name in fit if name not in batch.deaths] or fit
            name = next((name for name in fit if not self._members[name].given), None)
            if name is not None:
                self._members[name].given.append(batch)
                self._suspects.remove(batch)
                found.append((name, batch))
        return found

    def executed(self, worker: str, batch: Batch) -> None:
        """A worker has executed a batch, whose answers are still there: it doesn't die of that any more."""
        member = self._members.get(worker)
        if member is not None and batch in member.given and batch not in member.executed:
            member.executed.append(batch)

    def finished(self, worker: str, batch: Batch, seconds: float = 0.0) -> bool:
        """A batch's answers are here; False if it was given to another worker meanwhile, and they don't count.

        `seconds` is how long its worker took; 0 where nobody knows.
        """
        member = self._members.get(worker)
        if member is None or batch not in member.given:
            return False
        member.given.remove(batch)
        if batch in member.executed:
            member.executed.remove(batch)
        if seconds:
            cost = seconds / len(batch.items)
            known = self._costs.get(batch.kind, cost)
            self._costs[batch.kind] = known + WEIGHT * (cost - known)
        self._release(batch)
        return True

    def left(self, worker: str) -> tuple[Sequence[Batch], Sequence[Batch]]:
        """A worker has died or can't be reached: the batches that it had, and those that are findings now.

        What it may have been executing is suspect: each item of that runs alone next. What it had executed or only had
        waiting isn't; nor is yet what was put together: of so many items, most are innocent where another worker dies
        by chance while they run alone.
        """
        member = self._members.pop(worker, None)
        if member is None:
            return (), ()
        findings = []
        begun = [batch for batch in member.given if batch not in member.executed]
        running, waiting = begun[: member.threads], [*member.executed, *begun[member.threads :]]
        for batch in running:
            if batch.parts:
                for part in reversed(batch.parts):
                    self._wait(replace(part, apart=True), first=True)
                continue
            suspect = replace(batch, deaths=(*batch.deaths, worker))
            if len(suspect.deaths) >= DEATHS:
                findings.append(suspect)
                self._release(suspect)
            else:
                self._suspects += [replace(suspect, items=(item,)) for item in suspect.items]
        for batch in reversed(waiting):
            if batch.alone:
                self._suspects.append(batch)
            else:
                self._wait(batch, first=True)
        return member.given, findings

    def _release(self, batch: Batch) -> None:
        """Batches that were held back for one of its items can run."""
        for item in batch.items:
            for one in self._held.pop(item, ()):
                self._wait(one)

    def _wait(self, batch: Batch, *, first: bool = False) -> None:
        waiting = self._waiting.setdefault(batch.kind, deque())
        (waiting.appendleft if first else waiting.append)(batch)
        self._items[batch.kind] += len(batch.items)
