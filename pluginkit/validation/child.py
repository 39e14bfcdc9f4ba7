"""The worker's side of `checking`: a library in the host, and its checks, each asked in a fork of this process."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from mmap import mmap
from pathlib import Path
from time import monotonic

from pluginkit import host
from pluginkit.adoption.answers import ListedCreator
from pluginkit.adoption.child import AdoptedLibrary
from pluginkit.host import Doubt, Finding, read_breadcrumb
from pluginkit.process import backtrace, isolated
from pluginkit.process.backtrace import NativeFrame
from pluginkit.process.child import Breadcrumb
from pluginkit.validation import checks
from pluginkit.validation.catalog import CHECKS, NothingToCheck
from pluginkit.validation.fuzzing.covered_loop import CoveredLoop
from pluginkit.validation.fuzzing.inputs import FuzzInput, Target
from pluginkit.validation.fuzzing.libfuzzer import LibFuzzer
from pluginkit.validation.fuzzing.loop import FuzzFinding, FuzzLimits, FuzzLoop, FuzzPart, FuzzState
from pluginkit.validation.subject import MOST_OF_AN_ATTEMPT, Known, Subject

assert checks.__all__  # imported for what it enters into CHECKS


AFTER_A_HANG = 1.0
"""Seconds for a check of a plugin that has hung in another."""


GUESSED = ("nothing", "ones", "zeros")
"""`PluginAnswers.made` of a plugin whose fields nobody gave."""
OF_SIZES = (
    "configurePlugin",
    "initialize",
    "onShapeChange",
    "getWorkspaceSize",
    "getOutputDimensions",
    "getOutputShapes",
)
"""Methods that are given sizes, and initialize, which works with what configurePlugin was given."""
REFUSALS = ("C13", "L6", "V8", "T9")
"""What they break where they refuse them."""


@dataclass(frozen=True)
class Answer:
    """What a check's function came to.

    Attributes:
        check: its id.
        finding: rule, method, message and hint; None where it raised none.
        doubts: those noted meanwhile, of whatever rule.
        skipped: why there was nothing to check.
        ending: how its process ended instead, as of `ForkOutcome`.
        method: the native call in which it did; empty where it was in none.
        frames: where it did, as far as that is known.
        attempt: what the plugin was given then, where the check has noted it.
    """

    check: str
    finding: tuple[str, str, str, str] | None = None
    doubts: tuple[Doubt, ...] = ()
    skipped: str = ""
    ending: str = ""
    method: str = ""
    frames: tuple[NativeFrame, ...] = ()
    attempt: str = ""


@dataclass(frozen=True)
class ForkLimits:
    """What a check may take.

    Attributes:
        seconds: for one.
        memory: bytes.
    """

    seconds: float
    memory: int


def open(  # noqa: A001
    breadcrumb: Breadcrumb, library: Path, version: int, libfuzzer: Path | None = None
) -> CheckedLibrary:
    """Load the library in a host that says it is TensorRT `version`, behind `libfuzzer` where it counts its edges.

    Raises:
        UsageError, CheckFailed: it can't be loaded, or has no creators.
    """
    host.set_breadcrumb_file(breadcrumb.path)
    host.set_backtrace_file(backtrace.beside(breadcrumb.path))
    fuzzer = LibFuzzer(libfuzzer) if libfuzzer else None
    return CheckedLibrary(host.Library(library, version), breadcrumb.path, fuzzer)


class CheckedLibrary(AdoptedLibrary):
    """A plugin library in this process, which asks its checks in forks."""

    def __init__(self, library: host.Library, crumb: Path, libfuzzer: LibFuzzer | None = None) -> None:
        super().__init__(library, crumb)
        self._libfuzzer = libfuzzer
        self._doubts = host.take_doubts()

    def loaded(self) -> tuple[list[ListedCreator], tuple[Doubt, ...]]:
        """What getCreators answers, and what loading the library has shown."""
        return self.creators(), self._doubts

    def ask(
        self, index: int, names: Sequence[str], known: Known, limits: ForkLimits, within: bool = False
    ) -> list[Answer]:
        """Asks checks of a creator, each with a plugin of its own, in a fork of its own.

        Args:
            index: of the creator.
            names: ids of checks.
            known: of its plugin.
            limits: of one.
            within: ask in this process, for a debugger.
        """
        found = []
        listed = bool(self._library.creators[index].fields)
        each, trace = limits.seconds, backtrace.beside(self._crumb)
        for name in names:
            # Not one that another check has left its marks on.
            subject = self._subject(index, known)
            if within:
                # A plugin of an earlier check must not outlive the library.
                gc.collect()
                found.append(of_guess(_ask(name, subject), known, listed=listed))
                continue
            attempts = mmap(-1, MOST_OF_AN_ATTEMPT)
            question = partial(_ask, name, replace(subject, attempts=attempts), trace)
            (outcome,) = isolated.ask([question], each=each, end=monotonic() + each, most_memory=limits.memory)
            if outcome.ending == isolated.HUNG:
                # What hangs once will hang in other checks too.
                each = min(each, AFTER_A_HANG)
            if outcome.ok:
                found.append(of_guess(outcome.answer, known, listed=listed))
                continue
            if outcome.refusal:
                raise RuntimeError(f"check {name} of {subject.creator}: {outcome.refusal}")
            method, inside = read_breadcrumb(self._crumb) or ("", False)
            ended = Answer(name, ending=outcome.ending, method=method if inside else "", frames=backtrace.read(trace))
            attempt = attempts[:].rstrip(b"\0").decode(errors="replace")
            found.append(of_guess(replace(ended, attempt=attempt), known, listed=listed))
        return found

    def fuzz_good(self, index: int, target: Target, known: Known, limits: FuzzLimits) -> FuzzInput | str:
        """An input of a target that a creator's plugin takes, or why there is none."""
        return self._loop(index, known, limits).good(target)

    def fuzz(
        self, index: int, known: Known, limits: FuzzLimits, state: FuzzState, seconds: float, most: int
    ) -> FuzzPart:
        """Gives inputs to a creator's plugin; the arguments are those of `FuzzLoop.run`."""
        return self._loop(index, known, limits).run(state, seconds, most)

    def fuzz_one(self, index: int, known: Known, limits: FuzzLimits, given: FuzzInput) -> FuzzFinding | None:
        """Gives it one input."""
        return self._loop(index, known, limits).repeat(given)

    def fuzz_smaller(
        self, index: int, known: Known, limits: FuzzLimits, finding: FuzzFinding, good: FuzzInput
    ) -> FuzzFinding:
        """A finding by an input that differs less from a good one."""
        return self._loop(index, known, limits).smaller(finding, good)

    def _loop(self, index: int, known: Known, limits: FuzzLimits) -> FuzzLoop:
        subject = self._subject(index, known)
        if self._libfuzzer is not None:
            return CoveredLoop(subject, self._crumb, limits, self._libfuzzer)
        return FuzzLoop(subject, self._crumb, limits)

    def _subject(self, index: int, known: Known) -> Subject:
        creator = self._library.creators[index]
        return Subject(creator, known.answers, known.sizes, known.types, known.network, self._library)


def _ask(name: str, subject: Subject, trace: Path | None = None) -> Answer:
    if trace is not None:
        host.set_backtrace_file(trace)
    host.take_doubts()
    finding, skipped = None, ""
    try:
        CHECKS[name].ask(subject)
    except Finding as error:
        finding = (error.rule, error.method, error.observed, error.hint)
    except NothingToCheck as reason:
        skipped = str(reason)
    return Answer(name, finding, host.take_doubts(), skipped)


def of_guess(answer: Answer, known: Known, *, listed: bool) -> Answer:
    """The answer, or that there is none where a plugin has refused what nobody gave: it may assert its own sizes, and
    that it has its fields, of which the creator has `listed` some."""
    guessed = known.answers.made in GUESSED and not CHECKS[answer.check].provokes
    if guessed and listed and answer.ending and answer.method.endswith("::createPlugin"):
        why = f"the process ended with {answer.ending} in {answer.method}, of fields that were guessed"
        return replace(answer, skipped=f"{why}: --model MODEL.onnx gives values", ending="", method="", frames=())
    if known.sizes:
        return answer
    method = answer.finding[1] if answer.finding else answer.method
    if method.rpartition("::")[2] not in OF_SIZES or (answer.finding and answer.finding[0] not in REFUSALS):
        return answer
    what = answer.finding[2] if answer.finding else f"the process ended with {answer.ending}"
    skipped = f"{method} refuses the sizes that were guessed ({what}): --model MODEL.onnx gives real ones"
    return replace(answer, finding=None, skipped=skipped, ending="", method="", frames=())
