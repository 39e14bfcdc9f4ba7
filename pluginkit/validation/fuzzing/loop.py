"""The worker's side of the fuzzer: inputs one after the other, in forks that a crash ends."""

from __future__ import annotations

import mmap
import signal
import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic

from pluginkit import host
from pluginkit.host import Finding
from pluginkit.process import backtrace, isolated
from pluginkit.process.backtrace import NativeFrame
from pluginkit.process.isolated import ForkOutcome
from pluginkit.validation.fuzzing.calls import Calls, good_input
from pluginkit.validation.fuzzing.inputs import FuzzInput, Target
from pluginkit.validation.fuzzing.mutation import DEEPEST, Draw, Parent
from pluginkit.validation.fuzzing.simplifying import simpler
from pluginkit.validation.subject import Subject

AT_ONCE = 2000
"""Inputs of one fork: a number, not a time, so that a run with the same seed draws the same ones."""
MOST_TRIED = 60
"""Simpler inputs that are tried in place of one with which something is wrong."""
_STEP = struct.Struct("<q")


@dataclass(frozen=True)
class FuzzState:
    """How far the fuzzing of a target has come.

    Attributes:
        draw: how inputs are drawn.
        step: the next one.
        parents: inputs that have shown something new, or are those of a folder.
        seen: what has come of inputs.
    """

    draw: Draw
    step: int = 0
    parents: tuple[Parent, ...] = ()
    seen: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FuzzFinding:
    """An input that ended the process, or showed a broken promise.

    Attributes:
        input: what was given.
        steps: of its seed; none for a descendant of an input of a file.
        ending: how the process ended, as of `ForkOutcome`; empty where it didn't.
        method: the C++ method.
        rule: the promise that is broken; empty where the process ended.
        message: what was observed.
        frames: where the process ended.
    """

    input: FuzzInput
    steps: tuple[int, ...]
    ending: str = ""
    method: str = ""
    rule: str = ""
    message: str = ""
    frames: tuple[NativeFrame, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """What makes it the same as another: the ending, and the innermost two frames of the plugin's library."""
        return self.ending, self.method, self.rule, tuple((one.file, one.offset) for one in self.frames[:2])


@dataclass
class FuzzPart:
    """What came of some inputs.

    Attributes:
        step: the next one.
        done: how many inputs were given.
        fresh: those with which something new was seen.
        seen: what that was.
        findings: those with which something is wrong.
        edges: of the library, that its inputs have reached, and all that there are; zeros where nothing counts them.
    """

    step: int
    done: int = 0
    fresh: list[Parent] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    findings: list[FuzzFinding] = field(default_factory=list)
    edges: tuple[int, int] = (0, 0)

    def add(self, later: FuzzPart) -> None:
        """What came of the inputs behind these."""
        self.step, self.done = later.step, self.done + later.done
        self.fresh += later.fresh
        self.seen |= later.seen
        self.findings += later.findings
        self.edges = max(self.edges, later.edges)


@dataclass(frozen=True)
class FuzzLimits:
    """What an input may take: seconds, and bytes of memory."""

    seconds: float
    memory: int


class FuzzLoop:
    """Gives inputs to the plugin of a subject.

    Args:
        subject: the plugin.
        crumb: the file that holds the last native call.
        limits: of one input.
    """

    at_once = AT_ONCE

    def __init__(self, subject: Subject, crumb: Path, limits: FuzzLimits) -> None:
        self._subject = subject
        self._crumb = crumb
        self._trace = backtrace.beside(crumb)
        self._limits = limits
        # Shared with the forks: the step that is under way.
        self._step = mmap.mmap(-1, _STEP.size)

    def good(self, target: Target) -> FuzzInput | str:
        """A good input of a target, or why there is none."""
        (found,) = isolated.ask(
            [partial(good_input, self._subject, target)], each=self._limits.seconds, end=monotonic() + 60
        )
        return found.answer if found.ok else found.refusal or found.ending

    def run(self, state: FuzzState, seconds: float, most: int) -> FuzzPart:
        """Gives inputs for some time, or `most` of them; at least those of one fork."""
        end = monotonic() + seconds
        part = FuzzPart(state.step)
        while part.done == 0 or (part.done < most and monotonic() < end):
            now = FuzzState(state.draw, part.step, (*state.parents, *part.fresh), state.seen | part.seen)
            self._some(now, part, min(self.at_once, most - part.done))
        return part

    def _some(self, state: FuzzState, part: FuzzPart, count: int) -> None:
        """Gives some inputs in one fork, and enters what came of them."""
        ending = self._forked(partial(self._inside, state, count), state, part, count)
        if ending:
            steps, given = state.draw.child(part.step - 1, state.parents)
            part.findings.append(self.ended(ending, steps, given))

    def _forked(self, question: Callable[[], FuzzPart], state: FuzzState, part: FuzzPart, count: int) -> str:
        """Asks in a fork; how that has ended, at the step before the part's next, where it gave no answer."""
        self._step[:] = _STEP.pack(state.step)
        seconds = count * self._limits.seconds + 60
        (found,) = isolated.ask([question], each=seconds, end=monotonic() + 1e6, most_memory=self._limits.memory)
        if found.refusal:
            raise RuntimeError(f"{self._subject.creator}: {found.refusal}")
        if found.ok:
            part.add(found.answer)
            return ""
        (step,) = _STEP.unpack(self._step[:])
        part.add(FuzzPart(step + 1, step - state.step + 1))
        return found.ending

    def _inside(self, state: FuzzState, count: int) -> FuzzPart:
        """In the fork."""
        host.set_backtrace_file(self._trace)
        calls = Calls(self._subject)
        part = FuzzPart(state.step)
        for step in range(state.step, state.step + count):
            steps, given = state.draw.child(step, state.parents)
            if self._give(calls, state, part, steps, given) and len(steps) < DEEPEST:
                part.fresh.append((steps, given))
        return part

    def _give(self, calls: Calls, state: FuzzState, part: FuzzPart, steps: tuple[int, ...], given: FuzzInput) -> bool:
        """In the fork: the part's next input. Whether what came of it is new."""
        self._step[:] = _STEP.pack(part.step)
        signal.setitimer(signal.ITIMER_REAL, self._limits.seconds)
        try:
            seen = calls(given)
        except Finding as error:
            part.findings.append(FuzzFinding(given, steps, "", error.method, error.rule, error.observed))
            seen = error.message
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        part.step, part.done = part.step + 1, part.done + 1
        new = seen not in state.seen and seen not in part.seen
        if new:
            part.seen.add(seen)
        return new

    def repeat(self, given: FuzzInput) -> FuzzFinding | None:
        """What is wrong with one input alone."""
        (found,) = self._alone(given, closed=True)
        if found.ok:
            answer: FuzzFinding | None = found.answer
            return answer
        return self.ended(found.ending or found.refusal, (), given)

    def smaller(self, finding: FuzzFinding, good: FuzzInput) -> FuzzFinding:
        """The same finding by an input that differs less from a good one, where that is quickly found."""
        if finding.ending in (isolated.HUNG, isolated.MEMORY):
            # Each try would last as long.
            return finding
        tried, tries = 0, simpler(finding.input, good)
        while tried < MOST_TRIED and (given := next(tries, None)) is not None:
            tried += 1
            found = self.repeat(given)
            if found is not None and found.key == finding.key:
                finding = replace(found, steps=finding.steps)
                tries = simpler(given, good)
        return finding

    def _alone(self, given: FuzzInput, *, closed: bool) -> list[ForkOutcome]:
        question = partial(self._ask_in_fork, given, closed=closed)
        seconds = self._limits.seconds + 60
        return isolated.ask([question], each=seconds, end=monotonic() + 1e6, most_memory=self._limits.memory)

    def _ask_in_fork(self, given: FuzzInput, *, closed: bool) -> FuzzFinding | None:
        """In a fork."""
        host.set_backtrace_file(self._trace)
        signal.setitimer(signal.ITIMER_REAL, self._limits.seconds)
        try:
            Calls(self._subject, closed=closed)(given)
        except Finding as error:
            return FuzzFinding(given, (), "", error.method, error.rule, error.observed)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return None

    def ended(self, ending: str, steps: tuple[int, ...], given: FuzzInput) -> FuzzFinding:
        """An input that ended its fork just now."""
        last = host.read_call_file(self._crumb)
        frames = backtrace.read(self._trace)
        ending = isolated.HUNG if ending == "SIGALRM" else ending
        message = _ENDINGS.get(ending, f"the process ended with {ending}")
        if last is not None and last.beyond.startswith("reads"):
            message = f"it reads beyond what it is given ({ending}: it {last.beyond})"
        elif ending in ("SIGSEGV", "SIGBUS"):
            (found,) = self._alone(given, closed=False)
            if found.ok:
                message = f"it reads beyond what it is given ({ending}; with other memory behind it, it goes on)"
        return FuzzFinding(
            given, steps, ending, last.name if last is not None and last.inside else "", "", message, frames
        )


_ENDINGS = {
    isolated.HUNG: "it did not come back in time",
    isolated.MEMORY: "it took more memory than it may (--memory)",
}
