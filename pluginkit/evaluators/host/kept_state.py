"""Whether a case fails only after others: then the plugin keeps something from one run to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pluginkit.errors import CheckFailed, PluginCrashed
from pluginkit.runtimes.host.session import Asked, HostSession
from pluginkit.testing.report import CaseResult

TRIES = 6
"""So many failing cases of a session are run again alone: each takes a new process, and a wrong kernel fails in all."""

KEPT = "Look for variables that are static or global, and for device memory that a run does not write again."


@dataclass
class KeptState:
    """The question, asked of the failing cases of one session, as long as there are `tries` left."""

    session: HostSession
    tries: int = TRIES
    _first: str = field(default="", init=False)

    def evaluate(self, result: CaseResult, before: Sequence[Asked], again: Callable[[], CaseResult]) -> CaseResult:
        """The result, with what follows from running the case alone, and after the one that it ran after.

        Args:
            result: of a case that has failed.
            before: what the process had run before it; nothing can be asked where that is nothing.
            again: runs the case once more, in the session's process.
        """
        if not before:
            return result
        if self.tries <= 0:
            known = f"(Not tried alone; {self._first} failed too, and passes alone.)"
            return _with_preface(result, known) if self._first else result
        self.tries -= 1
        self.session.renew()
        if again().outcome.bad:
            return result
        self._first = self._first or result.id
        for one in dict.fromkeys((before[-1].case.id, before[0].case.id)):
            earlier = next(asked for asked in reversed(before) if asked.case.id == one)
            self.session.renew()
            self._run(earlier)
            if again().outcome.bad:
                return replace(
                    _with_preface(result, _sentence(result.id, one)), after=() if one == result.id else (one,)
                )
        preface = (
            f"alone in a process of its own this case passes, and after {before[-1].case.id} too: it fails by what\n"
            "  several runs before it have left, by unwritten memory, or by chance. The whole run shows it,\n"
            "  the command below may not."
        )
        return _with_preface(result, preface)

    def _run(self, asked: Asked) -> None:
        """For what it leaves behind; whether it is right is known."""
        with suppress(CheckFailed, PluginCrashed):
            self.session.run(
                asked.case, order=asked.order, deferred=asked.deferred, convention=asked.convention, way=asked.way
            )


def _sentence(case: str, earlier: str) -> str:
    after = "when it is run a second time in a process" if earlier == case else f"after {earlier} in the same process"
    return f"state is kept between runs: this case passes alone, and fails {after}.\n  fix: {KEPT}"


def _with_preface(result: CaseResult, preface: str) -> CaseResult:
    return replace(result, message=f"{preface}\n{result.message}")
