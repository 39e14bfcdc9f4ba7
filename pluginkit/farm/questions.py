"""What `pluginkit check` asks of a library, asked by the workers of a farm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pluginkit.errors import PluginCrashed
from pluginkit.evaluators.protocol import ON_CPU
from pluginkit.farm import worker
from pluginkit.farm.arrays import pickled
from pluginkit.farm.dispatch import Batch, Dispatcher
from pluginkit.farm.execution import Execution, WorkerCall
from pluginkit.farm.facts import Kind
from pluginkit.farm.fleet import FarmWorker, Fleet
from pluginkit.validation.asking import Question, T


class FarmAsker(Execution):
    """An `validation.asking.Asker`: each question goes to a worker that can load the library.

    Args:
        fleet: the workers.
        kind: what a worker must be.
        library: which is asked.
    """

    def __init__(self, fleet: Fleet, kind: Kind, library: Path) -> None:
        super().__init__(fleet, None, {ON_CPU: library})
        self._kind = kind
        self._library = library
        self._questions: Sequence[Question[Any]] = ()
        self._answers: dict[int, Any] = {}
        self._done: Callable[[int], None] = lambda _: None

    def all(self, questions: Sequence[Question[T]], done: Callable[[int], None] = lambda _: None) -> list[T]:
        """As of `Asker`.

        Raises:
            PluginkitError: what a question raised; or no worker is left, or workers have died of one.
        """
        self._questions, self._answers, self._done = questions, {}, done
        self._dispatcher = Dispatcher(Batch((place,), self._kind) for place in range(len(questions)))
        self.execute()
        return [self._answers[place] for place in range(len(questions))]

    @property
    def _progress(self) -> str:
        return f"{len(self._answers)} of {len(self._questions)} groups of checks are done"

    def _call(self, there: FarmWorker, batch: Batch) -> WorkerCall:
        del there
        if len(self._answers) < len(self._questions):
            self._done(len(self._answers))
        return WorkerCall(worker.ask_library, (pickled([self._questions[place] for place in batch.items]),))

    def _answered(self, item: int, answer: Any, place: str) -> None:
        del place
        self._answers[item] = answer

    def _killed(self, item: int, places: Sequence[str]) -> None:
        raise PluginCrashed(
            f"{self._library}: {' and '.join(places)} died while {self._questions[item]} was asked, the last time with "
            "nothing else to do: the plugin ends processes that aren't its own, or takes all memory"
        )
